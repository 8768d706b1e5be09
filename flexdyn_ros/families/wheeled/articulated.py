"""Wheels on a general tree (method `articulated`): their forces around the recursions of trees.

The second, independent path for planar bases, and the only one for floating bases, whose wheels always have
the exact kinematics of their mounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.wheeled.kernels.tree_wheels import (
    WHEEL_ROWS,
    pushing,
    tree_wheels_many,
    weigh_hubs,
    wheeled_header,
    wheels_push,
)
from flexdyn_ros.families.wheeled.robot import MobileFunctions
from flexdyn_ros.numerics.verbs.kernels_of import InterpretedKernels
from flexdyn_ros.robot.arguments import Rows, numbers
from flexdyn_ros.robot.wrenches import flat_wrenches


class WheelsAround(NamedTuple):
    """What wheels add to a tree, in rows of states.

    numbers (N, wheels, 6): of `wheels_many`; force (N, 2, nv): generalized, of all wheels and of the hubs'
    weight; energy (N, 2): of springs and tyres, and of that weight.
    """

    numbers: np.ndarray
    force: np.ndarray
    energy: np.ndarray


class ArticulatedMobileFunctions(MobileFunctions):
    """A `MobileFunctions` whose recursions are those of the tree, which know no wheels."""

    direct = False
    observed = MobileFunctions.observed - {"bias_terms", "energy"}

    def _wheels_many(
        self, address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, out: np.ndarray
    ) -> int:
        out[...] = self._around(q, v).numbers
        return 0

    def _around(self, q: np.ndarray, v: np.ndarray) -> WheelsAround:
        """In rows of q, v."""
        out = np.empty((len(q), len(self.wheel_names), 6))
        force, energy = np.empty((len(q), 2, self.nv)), np.empty((len(q), 2))
        # entries take no read-only arrays
        work = np.zeros(self.packed.numbers)
        tree_wheels_many(self.address, work, np.array(q), np.array(v), out, force, energy)
        return WheelsAround(out, force, energy)

    def _push(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalized force (N, nv) of wheels and of the hubs' weight at rows of q, v; 0 if one is not
        finite."""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return np.zeros((len(q), self.nv))
        return self._around(q, v).force.sum(axis=1)

    @property
    def kernels(self) -> InterpretedKernels:
        """The tree's kernels with the forces of the wheels."""
        tree, nv, count = self.entries.kernels, self.nv, len(self.wheel_names)

        def inverse(address: int, work: Any, q: np.ndarray, v: Any, a: np.ndarray, tau: np.ndarray) -> None:
            size = wheeled_header(address)[WORK_SIZE]
            rows, wrench = work[size : size + WHEEL_ROWS * count], work[size + WHEEL_ROWS * count :]
            force = np.zeros(nv, dtype=tau.dtype)
            wheels_push(address, work[:size], q, v, rows, wrench, force)
            weigh_hubs(address, force)
            tree.prepare(address, work)
            tree.inverse(address, work, q, v, a, tau)
            tau -= force

        return InterpretedKernels(tree.prepare, inverse, tree.mass, tree.frames)

    # ---- rows of the verbs ----

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        super().inverse_dynamics_rows(rows, wrenches, tau)
        tau -= self._push(rows.take("q"), rows.take("v"))

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        # a single state stays one, so that what is wrong with it is raised
        given = (rows.take(name) for name in ("q", "v", "tau"))
        q, v, tau = (array.reshape(*rows.shape, array.shape[-1]) for array in given)
        loads = {name: w.reshape(*rows.shape, 6) for name, w in (flat_wrenches(rows, wrenches) or {}).items()}
        a[...] = self.partial(q, v, tau, np.zeros_like(v), self.prescribed, loads)[1].reshape(a.shape)

    def partial(
        self,
        q: Any,
        v: Any,
        tau: np.ndarray,
        a: Any,
        given: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        push = self._push(rows.take("q"), rows.take("v")).reshape(*rows.shape, self.nv)
        tau = push if tau is None else numbers(tau, "tau", self.nv) + push
        tau, a = super().partial(q, v, tau, a, given, wrenches)
        return tau - push, a

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        terms = super().bias_terms_rows(rows)
        terms[:, [4, 1]] -= self._around(rows.take("q"), rows.take("v")).force
        return terms

    def energy_rows(self, rows: Rows) -> np.ndarray:
        energy = super().energy_rows(rows)
        energy[:, [2, 1]] += self._around(rows.take("q"), rows.take("v")).energy
        return energy

    def slopes_rows(self, rows: Rows, wrenches: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        dq, dv = super().slopes_rows(rows, wrenches)
        none = (np.zeros(0, dtype=np.int64), np.zeros((0, 3))), np.zeros((rows.count, 0, 6))
        of_wheels = self.balance_slopes(rows, *none, entries=pushing)
        return dq + of_wheels[0], dv + of_wheels[1]
