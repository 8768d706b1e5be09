"""Dynamic parameters of the bodies and joints of a tree.

Ten numbers a body, lumped links included, in the axes of the link that names it and about that link's
origin: LINK/mass, LINK/mx my mz (mass times centre of mass), LINK/ixx ixy ixz iyy iyz izz. For each joint
JOINT/damping, JOINT/friction (JOINT/static where that is another), JOINT/rotor, JOINT/stiffness (with the
rest position held); last, for elastic joints, JOINT/elasticity_stiffness and JOINT/elasticity_damping. tau is
linear in them (Atkeson, An & Hollerbach 1986).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.numerics.algebra.manifold import BALL
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.robot.inertial import changed_inertia, inertia_of, inertial_parameters
from flexdyn_ros.robot.parameters import Parameter

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
    """Those of the bodies."""
    bodies = body_links_of(tree)
    return tuple(p for body, link in bodies for p in inertial_parameters(link, _of_link(tree, body, link)))


def changed(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree with other values of these parameters."""
    inertia, dof = tree.model.inertia.copy(), tree.model.dof.copy()
    for body, link in body_links_of(tree):
        new = changed_inertia(link, _of_link(tree, body, link), values)
        if new is not None:
            inertia[10 * body : 10 * body + 10] = new.seen_from(tree.frames[link].placement).flat()
    for name, columns, _ in _joint_numbers(tree):
        if name in values:
            dof[list(columns)] = values[name]
    for array in (inertia, dof):
        array.setflags(write=False)
    return replace(tree, model=tree.model._replace(inertia=inertia, dof=dof))


def body_links_of(tree: RigidTree) -> Iterator[tuple[int, str]]:
    """Bodies that move, and the links that name them."""
    for body, link in enumerate(tree.body_links):
        if body > 0 and link in tree.frames and tree.frames[link].body == body:
            yield body, link


def _of_link(tree: RigidTree, body: int, link: str) -> np.ndarray:
    """The ten numbers of a body in the axes of its link, about the link's origin."""
    R, p = tree.frames[link].placement
    own = inertia_of(tree.model.inertia[10 * body : 10 * body + 10])
    return own.seen_from(Placement(R.T, -R.T @ p)).flat()


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
