"""Derivatives by the entries of numerics/verbs/derivatives.py, for families with a `balance` and `slopes`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS
from flexdyn_ros.numerics.verbs import derivatives
from flexdyn_ros.robot.arguments import Rows, explain_status, warn_of_singular_rows
from flexdyn_ros.robot.entries.head import Head
from flexdyn_ros.robot.entries.observed import ObservedFunctions
from flexdyn_ros.robot.threads import run_in_slices

__all__ = ["DerivativeEntries"]

_empty, _zeros = np.empty, np.zeros
_Points = tuple[np.ndarray, np.ndarray]


class DerivativeEntries(ObservedFunctions):
    """A family whose entries have the C functions `balance` and `slopes` too."""

    def balance_slopes(
        self, rows: Rows, points: _Points, wrenches: np.ndarray, entries: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, nv, nv) of the balance of forces, of other `entries` if there are any, by q and
        by v at rows of q, v, a and, where the balance needs it, tau; wrenches (count, k, 6) at points."""
        data = {name: rows.take(name) for name in rows.names if name in ("q", "v", "a", "tau")}
        tau = data.get("tau", _empty((rows.count, 0)))
        slopes = _empty((rows.count, self.nv, 2 * self.nv))
        head = self.new_head("slopes", efforts=tau.shape[1], frames=points, entries=entries)

        def call(*arrays: np.ndarray) -> int:
            return derivatives.slopes_many(head.address, self.work(PER_TANGENTS), *arrays)

        status = run_in_slices(call, [data["q"], data["v"], data["a"], tau, wrenches, slopes])
        explain_status(status, data)
        return slopes[:, :, : self.nv].copy(), slopes[:, :, self.nv :].copy()

    def linearizations(
        self, rows: Rows, points: _Points, wrenches: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of `linearize_rows`."""
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        nv, n = self.nv, rows.count
        a, A, B = _zeros((n, nv)), _empty((n, 2 * nv, 2 * nv)), _empty((n, 2 * nv, nv))
        head = self.new_head("mass", "balance", "slopes", efforts=self.nu, frames=points)

        def call(*arrays: np.ndarray) -> int:
            memory = _empty(self.memory.spare.size), self.work(PER_TANGENTS)
            return derivatives.linearize_many(head.address, *memory, *arrays)

        status = run_in_slices(call, [*data.values(), a, wrenches, A, B])
        if status or np.isnan(a).any():
            explain_status(status, data)
            warn_of_singular_rows(a, data, "the mass matrix", rows.shape)
        return A, self.by_efforts(B, data["q"])

    @cached_property
    def linearizing(self) -> Head:
        """For `linearize` of a single state."""
        return self.new_head("mass", "balance", "slopes", efforts=self.nu)

    @cached_property
    def differentiating(self) -> Head:
        """For the derivatives of inverse dynamics of a single state."""
        return self.new_head("mass", "slopes")

    @cached_property
    def balancing(self) -> Head:
        """For inverse dynamics of a single state."""
        return self.new_head("balance")

    @cached_property
    def solving(self) -> Head:
        """For forward dynamics of single states through the mass matrix."""
        return self.new_head("mass", "balance", efforts=self.nv)

    @cached_property
    def freeing(self) -> Head:
        """For inverse dynamics of single states in which nothing drives some coordinates."""
        return self.new_head("mass", "balance", efforts=self.nv, given=self.robot.driven)

    def by_efforts(self, B: np.ndarray, q: np.ndarray) -> np.ndarray:
        """B by efforts from B by forces along the velocities."""
        return B if self.effort_names == self.v_names else B @ self.robot.actuation_matrix(q)
