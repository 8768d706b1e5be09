"""Wheels on a general tree (method `articulated`): a layer around the functions of trees.

The second, independent path for planar bases, and the only one for floating bases, whose wheels always have
the exact kinematics of their mounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from flexdyn_ros.families.wheeled.kernels import tree_wheels_verbs as verbs
from flexdyn_ros.families.wheeled.kernels.tree_wheels import (
    room_of,
    tree_wheels_many,
    weigh_hubs,
    wheels_push,
)
from flexdyn_ros.families.wheeled.robot import MobileFunctions
from flexdyn_ros.numerics.verbs.kernels_of import InterpretedKernels
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.entries.observed import Head

#: functions of a tree that know no wheels and have nothing around them
_OF_THE_TREE_ALONE = ("inverse", "forward", "forward_on_lanes")


class ArticulatedMobileFunctions(MobileFunctions):
    """A `MobileFunctions` over the functions of the tree and those of `tree_wheels_verbs` around them."""

    def _build(self) -> None:
        super()._build()
        tree = {name: x for name, x in vars(self.entries).items() if name not in _OF_THE_TREE_ALONE}
        self.packed.keep_functions(self.entries, verbs.pushing)
        self.entries = SimpleNamespace(**{**tree, **vars(verbs.layer)})

    def new_head(self, *needed: str, looking: str = "", **options: Any) -> Head:
        self.packed.provide((*needed, looking))
        return super().new_head(*needed, looking=looking, **options)

    @cached_property
    def by_mass_matrix(self) -> bool:  # type: ignore[override]
        """True: the recursion of the tree knows no wheels."""
        return True

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        super().inverse_dynamics_rows(rows, wrenches, tau)
        if self.takes_lanes("inverse_on_lanes", wrenches):
            # those of the tree alone
            tau -= self.look(self.looking("push"), rows)

    def _wheels_many(
        self, address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, out: np.ndarray
    ) -> int:
        return tree_wheels_many(address, work, q, v, out)

    @property
    def kernels(self) -> InterpretedKernels:
        """The tree's kernels with the forces of the wheels."""
        tree, nv = self.entries.kernels, self.nv

        def inverse(address: int, work: Any, q: np.ndarray, v: Any, a: np.ndarray, tau: np.ndarray) -> None:
            memory, rows, wrench, _ = room_of(address, work)
            force = np.zeros(nv, dtype=tau.dtype)
            wheels_push(address, memory, q, v, rows, wrench, force)
            weigh_hubs(address, force)
            tree.prepare(address, work)
            tree.inverse(address, work, q, v, a, tau)
            tau -= force

        return InterpretedKernels(tree.prepare, inverse, tree.mass, tree.frames)
