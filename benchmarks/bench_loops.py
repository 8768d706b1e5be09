"""Closed mechanisms beside Pinocchio and MuJoCo in one run, and their steps in time.

    python benchmarks/bench_loops.py [--json] [--repeats 15] [--calls 1000] [--quick]

Forward dynamics of a four-bar and of the delta robot whose six rods are links with mass (ball joint at the
platform, `spherical` loop at the arm), as all three can have them, by our general functions and by those that
`export.specialized` has compiled for the mechanism: Pinocchio's `constraintDynamics`
(CONTACT_3D, proximal), MuJoCo's `mj_forward` with `connect` equalities as hard as it lets them be. The sides
take turns; each figure is the median of processor times over the turns, each ratio (theirs / ours: above 1,
ours is faster) the median of the ratios of one turn. Accelerations are those of Pinocchio to 1e-10; MuJoCo's
constraints are soft. Then: implicit steps of 1 ms of the robots `excavator` and `delta`, and how much faster
than real time `simulate` runs them with steps of 1 ms.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.simulation import FusedHydraulics, Stepper

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


def mujoco_side(
    mujoco: Any, m: Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[Callable, Callable]:
    """A call of `mj_forward`, and the accelerations of the motors."""

    def body(b: Body) -> str:
        kind = {
            "revolute": f'<joint name="{b.name}_joint" type="hinge" axis="0 1 0"/>',
            "floating": f'<freejoint name="{b.name}_joint"/>',
            "ball": f'<joint name="{b.name}_joint" type="ball"/>',
        }[b.joint]
        below = "".join(body(c) for c in m.bodies if c.parent == b.name)
        turn = np.cos(0.5 * b.turn), 0.0, 0.0, np.sin(0.5 * b.turn)
        return (
            f'<body name="{b.name}" pos="{words(b.at)}" quat="{words(turn)}">{kind}'
            f'<inertial pos="{words(b.com)}" mass="{b.mass}" diaginertia="{words(b.inertia)}"/>{below}</body>'
        )

    welds = "".join(
        f'<connect body1="{c.base}" body2="{c.end}" anchor="{words(c.base_at)}" '
        'solimp="0.9999 0.9999 0.001"/>'
        for c in m.loops
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 {-G}"><flag contact="disable" limit="disable"/></option><worldbody>'
        f"{''.join(body(b) for b in m.bodies if b.parent == 'ground')}</worldbody>"
        f"<equality>{welds}</equality></mujoco>"
    )
    # the second anchors are those of the open pose otherwise
    for i, c in enumerate(m.loops):
        model.eq_data[i, 3:6] = c.end_at
    data, motors = mujoco.MjData(model), []
    for b, (iq, iv) in zip(m.bodies, places_of(m), strict=True):
        joint = model.joint(f"{b.name}_joint")
        jq, jv = int(joint.qposadr[0]), int(joint.dofadr[0])
        if b.joint == "revolute":
            data.qpos[jq], data.qvel[jv], data.qfrc_applied[jv] = q[iq], v[iv], tau[iv]
            motors.append((iv, jv))
        elif b.joint == "ball":
            data.qpos[jq : jq + 4] = np.roll(q[iq : iq + 4], 1)
            data.qvel[jv : jv + 3] = rotation(q[iq : iq + 4]).T @ v[iv : iv + 3]
        else:
            data.qpos[jq : jq + 3], data.qpos[jq + 3 : jq + 7] = (
                q[iq : iq + 3],
                np.roll(q[iq + 3 : iq + 7], 1),
            )
            data.qvel[jv : jv + 3] = v[iv + 3 : iv + 6]
            data.qvel[jv + 3 : jv + 6] = rotation(q[iq + 3 : iq + 7]).T @ v[iv : iv + 3]

    def accelerations() -> np.ndarray:
        found = np.full_like(v, np.nan)
        for iv, jv in motors:
            found[iv] = data.qacc[jv]
        return found

    return lambda: mujoco.mj_forward(model, data), accelerations


def seconds_per_call(call: Callable[[], object], calls: int) -> float:
    """Mean processor time of a call: other work on the machine counts less."""
    begin = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begin) / calls


def compare(what: str, ours: Callable, theirs: Callable | None, calls: int, repeats: int) -> dict:
    """Medians over turns in which both sides are timed one after the other."""
    ours(), theirs and theirs()
    turns = [
        (seconds_per_call(ours, calls), seconds_per_call(theirs, calls) if theirs else np.nan)
        for _ in range(repeats)
    ]
    own, other = (median(x) for x in zip(*turns, strict=True))
    ratio = median(b / a for a, b in turns)
    return {
        "what": what,
        "ours": own,
        "theirs": other if theirs else None,
        "ratio": ratio if theirs else None,
    }


def forward_dynamics(calls: int, repeats: int) -> list[dict]:
    """Both mechanisms beside both peers."""
    rows = []
    pin, mujoco = program.peer("pinocchio", "pin"), program.peer("mujoco", "mujoco")
    for name, m in (("four-bar", four_bar()), ("delta, rods with mass", delta())):
        robot = flexdyn_ros.load(urdf_of(m))
        rng = np.random.default_rng(1)
        lock = m.active
        start = robot.neutral()
        for k, joint in enumerate(lock):
            start[robot.q_names.index(joint)] += 0.1 * (k + 1)
        q, v = robot.project(robot.assemble(start, lock=lock), rng.uniform(-1.0, 1.0, robot.nv))
        tau = np.zeros(robot.nu)
        for joint in lock:
            tau[robot.v_names.index(joint)] = rng.uniform(1.0, 5.0)
        sides = {"": robot, "specialized, ": export.specialized(robot)}
        own = robot.forward_dynamics(q, v, tau)
        calls_of = {kind: partial(side.forward_dynamics, q, v, tau) for kind, side in sides.items()}
        assert np.abs(calls_of["specialized, "]() - own).max() < 1e-10 * np.abs(own).max()

        peers: dict[str, Callable | None] = {}
        if pin is not None:
            peers["Pinocchio constraintDynamics"], answer = pinocchio_side(pin, m, q, v, tau)
            peers["Pinocchio constraintDynamics"]()
            apart = np.abs(own - answer()).max() / np.abs(own).max()
            assert apart < 1e-10, f"the accelerations of {name} differ by {apart:.1e}"
        if mujoco is not None:
            peers["MuJoCo mj_forward"], answer = mujoco_side(mujoco, m, q, v, tau)
            peers["MuJoCo mj_forward"]()
            apart = np.nanmax(np.abs(own - answer())) / np.abs(own).max()
            print(f"MuJoCo's accelerations of motors of {name} differ by {apart:.1e}", file=sys.stderr)
        rows += [
            compare(f"{name}: forward dynamics, {kind}{peer}", call, theirs, calls, repeats)
            for kind, call in calls_of.items()
            for peer, theirs in (peers or {"alone": None}).items()
        ]
    return rows


def steps(count: int, repeats: int) -> list[dict]:
    """Implicit steps of 1 ms of shipped robots, held where they are, and runs of `simulate`."""
    rows = []
    for name in ("delta", "excavator"):
        robot = flexdyn_ros.load(name)
        q, still = robot.neutral(), np.zeros(robot.nv)
        tau = robot.inverse_dynamics(q, still, still)
        stepper = Stepper(robot, 1e-3, "rosenbrock", q0=q)
        if robot.hydraulics is None:
            control = tau
            stepper.set_efforts(tau)
        else:
            # valves are shut
            control = None
            FusedHydraulics(stepper, "valve")
        stepper.advance(2)

        def run(stepper=stepper, q=q, still=still) -> None:
            stepper.set_state(q, still)
            stepper.advance(count)

        found = median(seconds_per_call(run, 1) for _ in range(repeats)) / count
        rows.append({"what": f"{name}: implicit step of 1 ms", "ours": found, "theirs": None, "ratio": None})

        def simulated(robot=robot, q=q, control=control) -> None:
            flexdyn_ros.simulate(robot, 1e-3 * count, q, control=control, dt=1e-3, record=())

        simulated()
        found = median(seconds_per_call(simulated, 1) for _ in range(repeats))
        rows.append(
            {
                "what": f"{name}: simulate at 1 ms, x real time",
                "factor": 1e-3 * count / found,
                "ours": found / count,
            }
        )
    return rows


def main() -> None:
    """Print a table, or JSON."""
    parser = program.parser(__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    count = 1000
    if options.quick:
        options.calls, options.repeats, count = 2, 1, 20
    rows = forward_dynamics(options.calls, options.repeats) + steps(count, options.repeats)
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        if "factor" in row:
            print(f"{row['what']:72} {row['factor']:8.1f}")
            continue
        peer = "" if row["theirs"] is None else f"{1e6 * row['theirs']:9.2f} us {row['ratio']:7.2f} x"
        print(f"{row['what']:72} {1e6 * row['ours']:8.2f} us {peer}")


if __name__ == "__main__":
    main()
