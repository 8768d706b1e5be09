"""Closed mechanisms of bench_loops.py, and how Pinocchio is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

G = 9.81
TURN = 2.0 * np.pi / 3.0


class Body(NamedTuple):
    """A body and the joint that carries it: revolute (about y), floating or ball; all in axes of the parent,
    turned about z. inertia: about the centre of mass, diagonal."""

    name: str
    parent: str
    joint: str
    at: tuple[float, float, float]
    turn: float
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]


class Joined(NamedTuple):
    """A point of one body that stays on a point of another."""

    base: str
    base_at: tuple[float, float, float]
    end: str
    end_at: tuple[float, float, float]


class Mechanism(NamedTuple):
    """Bodies, what closes their loops, the start of assembly and what is held in it."""

    bodies: tuple[Body, ...]
    loops: tuple[Joined, ...]
    start: str
    active: tuple[str, ...]


def four_bar() -> Mechanism:
    """Crank 0.3, coupler 0.8, rocker 0.6 m on a ground of 0.9 m."""

    def rod(name: str, parent: str, x: float, length: float, mass: float) -> Body:
        across = mass * length**2 / 12.0
        return Body(
            name, parent, "revolute", (x, 0.0, 0.0), 0.0, mass, (0.5 * length, 0.0, 0.0),
            (1e-4 * mass, across, across),
        )  # fmt: skip

    bodies = (
        rod("crank", "ground", 0.0, 0.3, 1.0),
        rod("coupler", "crank", 0.3, 0.8, 2.0),
        rod("rocker", "ground", 0.9, 0.6, 1.5),
    )
    loop = Joined("coupler", (0.8, 0.0, 0.0), "rocker", (0.6, 0.0, 0.0))
    return Mechanism(bodies, (loop,), "crank_joint -1 coupler_joint 0.55 rocker_joint -1.6", ("crank_joint",))


def delta() -> Mechanism:
    """The dimensions of the robot `delta`; each rod is a link on a ball joint of the platform."""
    arm, rod, half = 0.565, 1.26, 0.0834
    bodies = [
        Body(
            f"arm_{i}", "ground", "revolute",
            (0.14 * np.cos(TURN * i), 0.14 * np.sin(TURN * i), 0.0), TURN * i, 2.3, (0.25, 0.0, 0.0),
            (0.006, 0.08, 0.085),
        )
        for i in range(3)
    ]  # fmt: skip
    bodies.append(
        Body(
            "platform", "ground", "floating", (0.0, 0.0, 0.0), 0.0, 1.2, (0.0, 0.0, -0.01), (0.01, 0.01, 0.02)
        )
    )
    loops, start = [], ["platform_joint/z -1.09"]
    for i in range(3):
        c, s = np.cos(TURN * i), np.sin(TURN * i)
        for side in (-1.0, 1.0):
            name = f"rod_{i}{'a' if side < 0 else 'b'}"
            lug = (0.075 * c - side * half * s, 0.075 * s + side * half * c, 0.0)
            across = 0.35 * rod**2 / 12.0
            bodies.append(
                Body(
                    name,
                    "platform",
                    "ball",
                    lug,
                    TURN * i,
                    0.35,
                    (0.0, 0.0, 0.5 * rod),
                    (across, across, 2e-5),
                )
            )
            loops.append(Joined(f"arm_{i}", (arm, side * half, 0.0), name, (0.0, 0.0, rod)))
    return Mechanism(tuple(bodies), tuple(loops), " ".join(start), tuple(f"arm_{i}_joint" for i in range(3)))


def words(values: Any) -> str:
    """Numbers as an attribute."""
    return " ".join(repr(float(x)) for x in values)


def urdf_of(m: Mechanism) -> str:
    """The description that we load."""
    kinds = {"revolute": "continuous", "floating": "floating", "ball": "floating"}
    parts = ['<robot name="mechanism"><link name="ground"/>']
    for b in m.bodies:
        x, y, z = b.inertia
        parts.append(
            f'<link name="{b.name}"><inertial><origin xyz="{words(b.com)}"/><mass value="{b.mass}"/>'
            f'<inertia ixx="{x!r}" iyy="{y!r}" izz="{z!r}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{b.name}_joint" type="{kinds[b.joint]}"><parent link="{b.parent}"/>'
            f'<child link="{b.name}"/><origin xyz="{words(b.at)}" rpy="0 0 {b.turn!r}"/>'
            f'<axis xyz="0 1 0"/></joint>'
        )
        if b.joint == "ball":
            parts.append(f'<flexdyn reference="{b.name}_joint"><joint_type>ball</joint_type></flexdyn>')
    parts.append(f'<flexdyn><gravity>0 0 {-G}</gravity><assembly start="{m.start}"/>')
    parts += [
        f'<loop name="loop_{i}" type="spherical" base="{c.base}" base_xyz="{words(c.base_at)}" end="{c.end}" '
        f'end_xyz="{words(c.end_at)}"/>'
        for i, c in enumerate(m.loops)
    ]
    return "".join(parts) + f'<actuation active="{" ".join(m.active)}"/></flexdyn></robot>'


def rotation(x: np.ndarray) -> np.ndarray:
    """R (3, 3) of a quaternion (x, y, z, w)."""
    x, y, z, w = x
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def places_of(m: Mechanism) -> list[tuple[int, int]]:
    """Where each joint begins in our q and v: bodies are described in the order of the tree."""
    sizes = {"revolute": (1, 1), "floating": (7, 6), "ball": (4, 3)}
    found, at = [], np.zeros(2, dtype=int)
    for b in m.bodies:
        found.append((int(at[0]), int(at[1])))
        at += sizes[b.joint]
    return found


def pinocchio_side(
    pin: Any, m: Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[Callable, Callable]:
    """A call of `constraintDynamics`, and its accelerations in our coordinates.

    Free bodies have the velocities of their own axes there: v' = R' v, w' = R' w, and so
    a = R (a' + w' x v').
    """
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -G])
    made = {
        "revolute": pin.JointModelRY,
        "floating": pin.JointModelFreeFlyer,
        "ball": pin.JointModelSpherical,
    }
    number = {"ground": 0}
    for b in m.bodies:
        place = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, b.turn), np.array(b.at))
        number[b.name] = model.addJoint(number[b.parent], made[b.joint](), place, f"{b.name}_joint")
        inertia = pin.Inertia(b.mass, np.array(b.com), np.diag(b.inertia))
        model.appendBodyToJoint(number[b.name], inertia, pin.SE3.Identity())
    contacts, memory = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for c in m.loops:
        ends = (pin.SE3(np.eye(3), np.array(x)) for x in (c.base_at, c.end_at))
        first, second = ends
        contact = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, number[c.base], first, number[c.end], second,
            pin.ReferenceFrame.LOCAL,
        )  # fmt: skip
        contacts.append(contact)
        memory.append(contact.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, contacts, memory)
    qp, vp, tp = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for b, (iq, iv) in zip(m.bodies, places_of(m), strict=True):
        joint = model.joints[number[b.name]]
        jq, jv = joint.idx_q, joint.idx_v
        if b.joint == "revolute":
            qp[jq], vp[jv], tp[jv] = q[iq], v[iv], tau[iv]
        elif b.joint == "ball":
            qp[jq : jq + 4] = q[iq : iq + 4]
            vp[jv : jv + 3] = rotation(q[iq : iq + 4]).T @ v[iv : iv + 3]
        else:
            R = rotation(q[iq + 3 : iq + 7])
            qp[jq : jq + 7] = q[iq : iq + 7]
            vp[jv : jv + 3], vp[jv + 3 : jv + 6] = R.T @ v[iv + 3 : iv + 6], R.T @ v[iv : iv + 3]
    settings = pin.ProximalSettings(1e-13, 1e-14, 20)

    def accelerations() -> np.ndarray:
        a, found = np.array(data.ddq), np.zeros_like(v)
        for b, (iq, iv) in zip(m.bodies, places_of(m), strict=True):
            jv = model.joints[number[b.name]].idx_v
            if b.joint == "revolute":
                found[iv] = a[jv]
            elif b.joint == "ball":
                found[iv : iv + 3] = rotation(q[iq : iq + 4]) @ a[jv : jv + 3]
            else:
                R = rotation(q[iq + 3 : iq + 7])
                turned = a[jv : jv + 3] + np.cross(vp[jv + 3 : jv + 6], vp[jv : jv + 3])
                found[iv : iv + 3], found[iv + 3 : iv + 6] = R @ a[jv + 3 : jv + 6], R @ turned
        return found

    return lambda: pin.constraintDynamics(model, data, qp, vp, tp, contacts, memory, settings), accelerations
