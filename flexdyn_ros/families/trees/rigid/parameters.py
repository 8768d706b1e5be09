"""Dynamic parameters of the bodies and joints of a tree.

Ten numbers a body, in the axes of the link that names it and about that link's origin: LINK/mass, LINK/mx my
mz (mass times centre of mass), LINK/ixx ixy ixz iyy iyz izz. Links on fixed joints count as parts of the body
that carries them, except those at the ends, such as payloads and tools, which have numbers of their own; a
body has those of what is left, and of payloads that came after loading. For each joint
JOINT/damping, JOINT/friction (JOINT/static where that is another), JOINT/rotor, JOINT/stiffness (with the
rest position held); last, for elastic joints, JOINT/elasticity_stiffness and JOINT/elasticity_damping. tau is
linear in them (Atkeson, An & Hollerbach 1986).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.model import Load, RigidTree
from flexdyn_ros.numerics.algebra.manifold import BALL
from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia
from flexdyn_ros.robot.parameters import Parameter, Payload, changed_inertia, inertia_of, inertial_parameters

#: numbers of a joint: columns of `TreeModel.dof`, units for turns and for slides
_OF_JOINTS = {
    "damping": ((at.DAMPING,), "N m s/rad", "N s/m"),
    "friction": ((at.COULOMB, at.STATIC), "N m", "N"),
    "rotor": ((at.ARMATURE,), "kg m2", "kg"),
    "stiffness": ((at.STIFFNESS,), "N m/rad", "N/m"),
}

#: numbers of the spring between a motor and its joint
_OF_SPRINGS = {
    "elasticity_stiffness": (at.STIFFNESS, "N m/rad", "N/m"),
    "elasticity_damping": (at.DAMPING, "N m s/rad", "N s/m"),
}
#: those of the coordinates of a ball joint, which have no positions
_OF_BALLS = ("damping", "friction")


def parameters_of(tree: RigidTree) -> tuple[Parameter, ...]:
    """The parameters, bodies first."""
    found = [*body_parameters(tree)]
    for name, columns, unit in _joint_numbers(tree):
        found.append(Parameter(name, float(tree.model.dof[columns[0]]), unit, 0.0))
    return tuple(found)


def body_parameters(tree: RigidTree) -> tuple[Parameter, ...]:
    """Those of the bodies, then of the loads on them."""
    return tuple(p for link, numbers in numbers_of(tree) for p in inertial_parameters(link, numbers))


def changed(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree with other values of these parameters."""
    inertia, dof, loads = tree.model.inertia.copy(), tree.model.dof.copy(), list(tree.loads)
    changes = {link: changed_inertia(link, old, values) for link, old in numbers_of(tree)}
    for body, link in body_links_of(tree):
        new = changes[link]
        if new is not None:
            rest = _of_loads(tree, body)
            inertia[10 * body : 10 * body + 10] = rest + new.seen_from(tree.frames[link].placement).flat()
    for i, load in enumerate(tree.loads):
        new = changes[load.link]
        if new is not None:
            placement, at = tree.frames[load.link].placement, 10 * load.body
            inertia[at : at + 10] += new.seen_from(placement).flat() - _seen(load, placement)
            loads[i] = load._replace(numbers=new.flat())
    for name, columns, _ in _joint_numbers(tree):
        if name in values:
            dof[list(columns)] = values[name]
    for array in (inertia, dof):
        array.setflags(write=False)
    return replace(tree, model=tree.model._replace(inertia=inertia, dof=dof), loads=tuple(loads))


def links_of(tree: RigidTree) -> tuple[str, ...]:
    """Links that have ten numbers: those that name bodies that move, and loads."""
    return (*(link for _, link in body_links_of(tree)), *(load.link for load in tree.loads))


def numbers_of(tree: RigidTree) -> Iterator[tuple[str, np.ndarray]]:
    """Each of `links_of`, and its ten numbers in link axes about the link's origin."""
    for body, link in body_links_of(tree):
        R, p = tree.frames[link].placement
        total, loads = tree.model.inertia[10 * body : 10 * body + 10], _of_loads(tree, body)
        # what rounding leaves beside the loads is 0
        left = np.where(np.abs(total - loads) > 1e-14 * np.abs(loads), total - loads, 0.0)
        yield link, inertia_of(left).seen_from(Placement(R.T, -R.T @ p)).flat()
    yield from ((load.link, load.numbers) for load in tree.loads)


def _of_loads(tree: RigidTree, body: int) -> np.ndarray:
    """The ten numbers (10,) of all loads of a body, in its axes."""
    parts = [_seen(load, tree.frames[load.link].placement) for load in tree.loads if load.body == body]
    return np.sum(parts, axis=0) if parts else np.zeros(10)


def _seen(load: Load, placement: Placement) -> np.ndarray:
    return inertia_of(load.numbers).seen_from(placement).flat()


def body_links_of(tree: RigidTree) -> Iterator[tuple[int, str]]:
    """Bodies that move, and the links that name them."""
    for body, link in enumerate(tree.body_links):
        if body > 0 and link in tree.frames and tree.frames[link].body == body:
            yield body, link


def unit_rows_of(tree: RigidTree) -> tuple[np.ndarray, np.ndarray]:
    """For each parameter of a joint the row of `TreeModel.dof` with that number 1 and the others 0 (m, 9),
    and the coordinate's places in v and q, and that of the joint it drives in q, if it is a motor (m, 3)."""
    linear = [column for columns, *_ in _OF_JOINTS.values() for column in columns]
    rows, places = [], []
    for _, columns, _ in _joint_numbers(tree):
        i = columns[0] // at.DOF_NUMBERS
        row = tree.model.dof[at.DOF_NUMBERS * i : at.DOF_NUMBERS * (i + 1)].copy()
        row[linear] = 0.0
        row[[column % at.DOF_NUMBERS for column in columns]] = 1.0
        rows.append(row)
        joint = int(row[at.MOTOR_OF]) - 1
        places.append((i, tree.model.q_of_v[i], tree.model.q_of_v[joint] if joint >= 0 else -1))
    return np.array(rows).reshape(-1, at.DOF_NUMBERS), np.array(places, dtype=np.int64).reshape(-1, 3)


def _joint_numbers(tree: RigidTree) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Name, places in `TreeModel.dof` and unit of the parameters of joints."""
    of_balls = np.flatnonzero(tree.model.joint_type == BALL)
    balls = {int(tree.model.v_index[b]) + i for b in of_balls for i in range(3)}
    motors = motors_of(tree)
    for c in tree.coordinates:
        if c.kind != "joint" or (c.q_index < 0 and c.v_index not in balls):
            continue
        first = at.DOF_NUMBERS * c.v_index
        own = tree.model.dof[first : first + at.DOF_NUMBERS]
        turns = c.unit == "rad"
        for name, (columns, of_turns, of_slides) in _OF_JOINTS.items():
            if c.v_index in balls and name not in _OF_BALLS:
                continue
            unit = of_turns if turns else of_slides
            if name == "rotor" and c.v_index in motors:
                yield f"{c.name}/{name}", (at.DOF_NUMBERS * motors[c.v_index] + at.ARMATURE,), unit
                continue
            if name == "friction" and own[at.COULOMB] != own[at.STATIC]:
                yield f"{c.name}/static", (first + at.STATIC,), unit
                columns = (at.COULOMB,)
            yield f"{c.name}/{name}", tuple(first + column for column in columns), unit
    for name, (column, of_turns, of_slides) in _OF_SPRINGS.items():
        for joint, motor in motors.items():
            c = tree.coordinates[joint]
            unit = of_turns if c.unit == "rad" else of_slides
            yield f"{c.name}/{name}", (at.DOF_NUMBERS * motor + column,), unit


def motors_of(tree: RigidTree) -> dict[int, int]:
    """Indices in v of the motors of elastic joints, by those of their joints."""
    of_joint = tree.model.dof[at.MOTOR_OF :: at.DOF_NUMBERS].astype(int) - 1
    return {int(joint): i for i, joint in enumerate(of_joint) if joint >= 0}


# Rigid trees with payloads.


def carry(tree: RigidTree, payloads: Sequence[Payload]) -> RigidTree:
    """The tree with payloads fixed to its frames; the tree itself stays as it is."""
    if not payloads:
        return tree
    inertia = tree.model.inertia.copy()
    for payload in payloads:
        if payload.frame not in tree.frames:
            raise UnknownNameError("frame", payload.frame, tuple(tree.frames))
        frame = tree.frames[payload.frame]
        body = RigidInertia.of(payload.mass, payload.com, payload.inertia).seen_from(frame.placement)
        inertia[10 * frame.body : 10 * frame.body + 10] += body.flat()
    inertia.setflags(write=False)
    return replace(tree, model=tree.model._replace(inertia=inertia))
