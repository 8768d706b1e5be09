"""Fixed steps of trees, rigid or with flexible links: their `Motion`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.parameters import motors_of
from flexdyn_ros.numerics.verbs.table import Table
from flexdyn_ros.robot.motion import Motion, actuator_limits


def tree_table(
    tree: RigidTree, entries: Any, steps: Any, before: Callable[[tuple[str, ...]], None] | None = None
) -> Table:
    """The functions of a tree, of modules of kernels: of the verbs, and of steps; before: see `Table`."""
    accelerate = steps.accelerate_densely if tree.has_mimic else steps.accelerate
    return Table({**entries.functions, "accelerate": accelerate, "losses": steps.losses}, before=before)


def tree_motion(functions: Any) -> Motion:
    """Motion of a tree, by its `TreeFunctions`."""
    tree = functions.tree
    m = tree.model
    stiffness, damping = _joint_forces(tree)
    effort_limit, lower, upper = actuator_limits(tree.coordinates)
    dense = m.nv * (m.nv + 1) if tree.has_mimic else 0
    modal = []
    if tree.flexible is not None:
        modal = [(link.v, link.stiffness, link.damping) for link in tree.flexible.links]
        modal += [(link.v, *link.slopes()) for link in tree.flexible.others]
    return Motion(
        robot=functions.heads.moving.address,
        table=functions.table,
        work_size=functions.heads.memory.floats.size + dense,
        place=functions.place,
        stiffness=stiffness,
        damping=damping,
        modal=tuple(modal),
        stiff=functions.bends,
        keep=functions,
        effort_limit=effort_limit,
        lower=lower,
        upper=upper,
    )


def _joint_forces(tree: RigidTree) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and steepest damping (nv,) of springs, damping and friction of the joints."""
    dof = tree.model.dof.reshape(tree.model.nv, at.DOF_NUMBERS)
    dry = np.maximum(dof[:, at.COULOMB], dof[:, at.STATIC]) / dof[:, at.SMOOTHING]
    stiffness, damping = dof[:, at.STIFFNESS].copy(), dof[:, at.DAMPING] + dry
    for joint, motor in motors_of(tree).items():
        stiffness[joint] += stiffness[motor]
        damping[joint] += dof[motor, at.DAMPING]
    return stiffness, damping


# Which coordinates of a tree have an actuator of their own: none where a cylinder moves the joint.


def with_actuation(
    tree: RigidTree, description: RobotDescription, driven: Iterable[tuple[int, int]]
) -> RigidTree:
    """The tree whose coordinates are actuated as `<actuation>` says; driven: nodes at the ends of each
    cylinder, between which joints are passive unless that names them active."""
    stated: Any = next(iter(description.extras.get("actuation", ())), None)
    active, passive = ((), ()) if stated is None else (stated.active, stated.passive)
    moved = {tree.body_links[node] for ends in driven for node in _between(tree, *ends)}
    children = {joint.name: joint.child for joint in description.joints}
    idle = (moved - {children[name] for name in active}) | {children[name] for name in passive}
    if not idle:
        return tree
    coordinates = tuple(
        replace(c, actuated=False) if c.kind in ("joint", "motor") and c.body in idle else c
        for c in tree.coordinates
    )
    return replace(tree, coordinates=coordinates)


def _between(tree: RigidTree, base: int, end: int) -> set[int]:
    """Nodes whose joints are on the way from one node to another."""
    return _below(tree, base) ^ _below(tree, end)


def _below(tree: RigidTree, node: int) -> set[int]:
    """A node and those that carry it, without the world."""
    found = set()
    while node > 0:
        found.add(node)
        node = int(tree.model.parent[node])
    return found
