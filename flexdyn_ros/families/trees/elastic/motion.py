"""Fixed steps of trees with elastic joints: their `Motion` around that of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.elastic.kernels.steps import ELASTIC_MOTION
from flexdyn_ros.families.trees.elastic.model import ElasticJoints
from flexdyn_ros.robot.motion import Motion, actuator_limits


def elastic_motion(
    tree: Motion,
    joints: ElasticJoints,
    nq: int,
    place: Callable[[Iterable[str]], tuple[Motion, np.ndarray, np.ndarray]],
) -> Motion:
    """Motion of motors and springs around that of the tree, which has nq positions."""
    sizes = (nq, len(tree.stiffness), joints.count)
    header = Header(tree.robot, tree.table(), *sizes, joints.q.copy(), joints.v.copy(), joints.numbers)
    effort_limit, lower, upper = actuator_limits(joints.coordinates)
    stiffness, damping = (
        np.concatenate([own, spring])
        for own, spring in ((tree.stiffness, joints.stiffness), (tree.damping, joints.damping))
    )
    stiffness[joints.v] += joints.stiffness
    damping[joints.v] += joints.damping
    return replace(
        tree,
        robot=header.address,
        functions=ELASTIC_MOTION,
        work_size=tree.work_size + joints.count,
        place=place,
        effort_limit=effort_limit,
        lower=lower,
        upper=upper,
        stiffness=stiffness,
        damping=damping,
        stiff=True,
        keep=(tree, header),
    )
