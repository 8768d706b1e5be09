"""Fixed steps of trees with affine section frames (preset `paper`): their `Motion`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexdyn_ros.families.trees.lagrange.kernels.steps import (
    LAGRANGE_HEADER,
    LAGRANGE_MOTION,
    lagrange_steps_size,
)
from flexdyn_ros.families.trees.lagrange.model import LagrangeModel
from flexdyn_ros.robot.motion import Motion


def lagrange_motion(tree: Motion, model: LagrangeModel, no_moments: str) -> Motion:
    """Motion by the Lagrangian model in place of the recursions of the same tree."""
    header = np.zeros(LAGRANGE_HEADER, dtype=np.int64)
    header[:] = (
        tree.robot,
        model.ints.ctypes.data,
        len(model.ints),
        model.floats.ctypes.data,
        len(model.floats),
        model.work_size,
    )
    return replace(
        tree,
        robot=int(header.ctypes.data),
        functions=LAGRANGE_MOTION,
        work_size=lagrange_steps_size(model.work_size, model.nv),
        keep=(tree, model, header),
        no_moments=no_moments,
    )
