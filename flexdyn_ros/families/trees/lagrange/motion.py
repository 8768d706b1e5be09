"""Fixed steps of trees with affine section frames (preset `paper`): their `Motion`."""

from __future__ import annotations

from dataclasses import replace

from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.lagrange.kernels.steps import LAGRANGE_MOTION, lagrange_steps_size
from flexdyn_ros.families.trees.lagrange.model import LagrangeModel
from flexdyn_ros.robot.motion import Motion


def lagrange_motion(tree: Motion, model: LagrangeModel, no_moments: str) -> Motion:
    """Motion by the Lagrangian model in place of the recursions of the same tree."""
    arrays = (model.ints, len(model.ints), model.floats, len(model.floats))
    header = Header(tree.robot, *arrays, model.work_size)
    return replace(
        tree,
        robot=header.address,
        functions=LAGRANGE_MOTION,
        work_size=lagrange_steps_size(model.work_size, model.nv),
        keep=(tree, header),
        no_moments=no_moments,
    )
