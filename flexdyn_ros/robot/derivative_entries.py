"""Derivatives by a family's entries (numerics/verbs/derivatives.py)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS
from flexdyn_ros.robot.arguments import Rows, explain_status, warn_of_singular_rows
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.results import Linearization
from flexdyn_ros.robot.threads import run_in_slices

__all__ = ["DerivativeEntries"]

_NO_WRENCHES = np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 6))
_empty, _zeros = np.empty, np.zeros


class DerivativeEntries(FamilyFunctions):
    """A family whose entries have `balance_slopes`, `linearize_many` and `linearize_one`."""

    def balance_slopes(
        self, rows: Rows, bodies: np.ndarray, points: np.ndarray, wrenches: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, nv, nv) of the balance of forces by q and by v at rows of q, v, a and, where
        the balance needs it, tau."""
        data = {name: rows.take(name) for name in rows.names if name in ("q", "v", "a", "tau")}
        tau = data.get("tau", _empty((rows.count, 0)))
        slopes = _empty((rows.count, self.nv, 2 * self.nv))

        def call(*arrays: np.ndarray) -> int:
            q, v, a, tau, w, slopes = arrays
            work = self.work(PER_TANGENTS)
            return self.entries.balance_slopes(self.address, work, q, v, a, tau, bodies, points, w, slopes)

        status = run_in_slices(call, [data["q"], data["v"], data["a"], tau, wrenches, slopes])
        explain_status(status, data)
        return slopes[:, :, : self.nv].copy(), slopes[:, :, self.nv :].copy()

    def linearizations(
        self, rows: Rows, bodies: np.ndarray, points: np.ndarray, wrenches: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of `linearize_rows`."""
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        nv, n = self.nv, rows.count
        a, A, B = _zeros((n, nv)), _empty((n, 2 * nv, 2 * nv)), _empty((n, 2 * nv, nv))

        def call(*arrays: np.ndarray) -> int:
            q, v, tau, a, w, A, B = arrays
            return self.entries.linearize_many(
                self.address, self.work(PER_TANGENTS), q, v, tau, self.prescribed, self._turns, a, bodies,
                points, w, A, B,
            )  # fmt: skip

        status = run_in_slices(call, [*data.values(), a, wrenches, A, B])
        if status or np.isnan(a).any():
            explain_status(status, data)
            warn_of_singular_rows(a, data, "the mass matrix", rows.shape)
        return A, self._by_efforts(B, data["q"])

    def linearize_state(self, q: Any, v: Any, tau: Any) -> Linearization | None:
        nv = self.nv
        A, B, a = _empty((2 * nv, 2 * nv)), _empty((2 * nv, nv)), _zeros(nv)
        try:
            if not self.direct or q.shape != (self.nq,) or v.shape != (nv,):
                return None
            tau = _zeros(self.nu) if tau is None else tau
            if tau.shape != (self.nu,):
                return None
            status = self.entries.linearize_one(
                self.address, self._own, q, v, tau, self.prescribed, self._turns, a, *_NO_WRENCHES, A, B
            )
        except (TypeError, AttributeError):
            return None
        return None if status else Linearization(A, self._by_efforts(B, q))

    def _by_efforts(self, B: np.ndarray, q: np.ndarray) -> np.ndarray:
        """B by efforts from B by forces along the velocities."""
        return B if self.effort_names == self.v_names else B @ self.actuation_matrix(q)

    @cached_property
    def _turns(self) -> np.ndarray:
        return np.array(self.free_twists, dtype=np.int64)

    @cached_property
    def _own(self) -> np.ndarray:
        """Work memory of the entry that keeps the GIL."""
        return self.work(PER_TANGENTS)
