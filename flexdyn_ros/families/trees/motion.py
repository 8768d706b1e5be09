"""Fixed steps of trees, rigid or with flexible links: their `Motion`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.motion import Motion, actuator_limits


def tree_motion(
    tree: RigidTree, packed: Any, place: Callable[[Iterable[str]], tuple[Motion, np.ndarray, np.ndarray]]
) -> Motion:
    """Motion of a tree that `packed` holds."""
    m = tree.model
    if tree.flexible is None:
        from flexdyn_ros.families.trees.rigid.kernels.steps import (
            DENSE_RIGID_MOTION,
            RIGID_MOTION,
            rigid_steps_size,
        )

        functions = DENSE_RIGID_MOTION if tree.has_mimic else RIGID_MOTION
        size = rigid_steps_size(m.nb, m.nq, m.nv, tree.has_mimic)
    else:
        from flexdyn_ros.families.trees.flexible.kernels.steps import (
            DENSE_FLEXIBLE_MOTION,
            FLEXIBLE_MOTION,
            flexible_steps_size,
        )

        functions = DENSE_FLEXIBLE_MOTION if tree.has_mimic else FLEXIBLE_MOTION
        size = flexible_steps_size(packed.numbers, m.nv, tree.has_mimic)
    stiffness, damping = _joint_forces(m)
    effort_limit, lower, upper = actuator_limits(tree.coordinates)
    links = () if tree.flexible is None else tree.flexible.links
    return Motion(
        robot=packed.address,
        functions=functions,
        work_size=size,
        place=place,
        stiffness=stiffness,
        damping=damping,
        modal=tuple((link.v, link.stiffness, link.damping) for link in links),
        stiff=tree.flexible is not None,
        keep=packed,
        effort_limit=effort_limit,
        lower=lower,
        upper=upper,
    )


def _joint_forces(model: at.TreeModel) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and steepest damping (nv,) of springs, damping and friction of the joints."""
    dof = model.dof.reshape(model.nv, at.DOF_NUMBERS)
    dry = np.maximum(dof[:, at.COULOMB], dof[:, at.STATIC]) / dof[:, at.SMOOTHING]
    return dof[:, at.STIFFNESS].copy(), dof[:, at.DAMPING] + dry
