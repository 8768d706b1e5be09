"""Wheels on a general tree (method `articulated`): a layer around the functions of trees.

The second, independent path for planar bases, and the only one for floating bases, whose wheels always have
the exact kinematics of their mounts.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from flexdyn_ros.families.wheeled.kernels.tree_wheels import tree_wheels_many
from flexdyn_ros.families.wheeled.robot import MobileFunctions


class ArticulatedMobileFunctions(MobileFunctions):
    """A `MobileFunctions` whose table wraps that of the tree."""

    @cached_property
    def by_mass_matrix(self) -> bool:  # type: ignore[override]
        """True: the recursion of the tree knows no wheels."""
        return True

    def _wheels_many(
        self, address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, out: np.ndarray
    ) -> int:
        return tree_wheels_many(address, work, q, v, out)
