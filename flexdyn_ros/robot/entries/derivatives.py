"""Derivatives by the entries of numerics/verbs/derivatives.py, for families with a `balance` and `slopes`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS
from flexdyn_ros.numerics.verbs import derivatives, dynamics
from flexdyn_ros.robot.arguments import Rows, explain_status, warn_of_overflow
from flexdyn_ros.robot.entries.observed import Head, ObservedFunctions
from flexdyn_ros.robot.entries.taped import Taped
from flexdyn_ros.robot.threads import run_in_slices, shared_property
from flexdyn_ros.robot.wrenches import wrench_rows

__all__ = ["DerivativeEntries"]

_empty, _zeros = np.empty, np.zeros
_Points = tuple[np.ndarray, np.ndarray]


class DerivativeEntries(ObservedFunctions):
    """A family whose entries have the C functions `balance` and `slopes` too."""

    def slopes_rows(self, rows: Rows, wrenches: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        seeing, names = self.seeing(wrenches or ()), tuple(wrenches or ())
        return seeing.balance_slopes(rows, seeing.points(names), wrench_rows(rows, wrenches))

    def linearize_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        if not self.direct:
            return super().linearize_rows(rows, wrenches)
        seeing, names = self.seeing(wrenches or ()), tuple(wrenches or ())
        return seeing.linearizations(rows, seeing.points(names), wrench_rows(rows, wrenches))

    def balance_slopes(
        self, rows: Rows, points: _Points, wrenches: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, nv, nv) of the balance of forces by q and by v at rows of q, v, a and, where
        the balance needs it, tau; wrenches (count, k, 6) at points."""
        data = {name: rows.take(name) for name in rows.names if name in ("q", "v", "a", "tau")}
        tau = data.get("tau", _empty((rows.count, 0)))
        slopes = _empty((rows.count, self.nv, 2 * self.nv))
        head = self.new_head("slopes", efforts=tau.shape[1], frames=points)

        def call(*arrays: np.ndarray) -> int:
            return derivatives.slopes_many(head.address, self.work(PER_TANGENTS), *arrays)

        status = run_in_slices(call, [data["q"], data["v"], data["a"], tau, wrenches, slopes])
        explain_status(status, data)
        warn_of_overflow(slopes, data, "a derivative of the forces", rows.shape)
        return slopes[:, :, : self.nv].copy(), slopes[:, :, self.nv :].copy()

    def linearizations(
        self, rows: Rows, points: _Points, wrenches: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of `linearize_rows`."""
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        nv, n = self.nv, rows.count
        a, A, B = _zeros((n, nv)), _empty((n, 2 * nv, 2 * nv)), _empty((n, 2 * nv, nv))
        left = np.arange(n)
        if not wrenches.size and self.taped.is_worth(n):
            left = self.taped.linearize(data, A, B)
        status = self._linearize(left, points, [*data.values(), a, wrenches, A, B])
        if status or np.isnan(a).any():
            explain_status(status, data)
            self.warn_of_singular(a, data, rows.shape)
        return A, self.by_efforts(B, data["q"])

    def _linearize(self, left: np.ndarray, points: _Points, arrays: list[np.ndarray]) -> int:
        """Linearize the rows `left` of q, v, tau, a, wrenches, A, B by tangents; the status."""
        head = self.new_head("mass", "balance", "slopes", efforts=self.nu, frames=points)
        is_all = left.size == arrays[0].shape[0]
        chosen = arrays if is_all else [array[left] for array in arrays]

        def call(*rows: np.ndarray) -> int:
            memory = _empty(self.memory.matrices.size), self.work(PER_TANGENTS)
            return derivatives.linearize_many(head.address, *memory, *rows)

        status = run_in_slices(call, chosen)
        if not is_all:
            for array, found in zip(arrays, chosen, strict=True):
                array[left] = found
        return status and status % 8 + 8 * int(left[status // 8])

    @shared_property
    def taped(self) -> Taped:
        """For `linearize` of many states."""
        return Taped(self, self.linearizing)

    @shared_property
    def linearizing(self) -> Head:
        """For `linearize` of a single state."""
        return self.new_head("mass", "balance", "slopes", efforts=self.nu)

    @shared_property
    def differentiating(self) -> Head:
        """For the derivatives of inverse dynamics of a single state."""
        return self.new_head("mass", "slopes")

    def on_lanes(self, name: str, names: tuple[str, ...] = ()) -> Head:
        """For batches of inverse or forward dynamics, by the C function of that name, under wrenches on the
        frames `names`."""
        if not names:
            return self.head(name, lambda: self.new_head(lanes=name, efforts=self.nu))
        points = self.points(names)
        return self.head((name, names), lambda: self.new_head(lanes=name, efforts=self.nu, frames=points))

    @shared_property
    def moving(self) -> Head:
        """For the functions of steps in time."""
        return self.new_head(results=3)

    @shared_property
    def accelerating(self) -> Head:
        """For forward dynamics of a single state by the family's own recursion."""
        return self.new_head("forward")

    @shared_property
    def recurring(self) -> Head:
        """For inverse dynamics of a single state by the family's own recursion."""
        head = self.new_head("inverse", "ready")
        dynamics.make_ready(head.address)
        return head

    @shared_property
    def weighing(self) -> Head:
        """For the mass matrix of a single state."""
        head = self.new_head("ready", looking="inertia", results=self.nv * self.nv)
        dynamics.make_ready(head.address)
        return head

    @shared_property
    def balancing(self) -> Head:
        """For inverse dynamics of a single state."""
        return self.new_head("balance")

    @shared_property
    def checking(self) -> Head:
        """For the balance of forces with efforts of a single state."""
        return self.new_head("balance", efforts=self.nu)

    @shared_property
    def solving(self) -> Head:
        """For forward dynamics of single states through the mass matrix."""
        return self.new_head("mass", "balance", efforts=self.nv)

    @shared_property
    def freeing(self) -> Head:
        """For inverse dynamics of single states in which nothing drives some coordinates."""
        return self.new_head("mass", "balance", efforts=self.nv, given=self.robot.driven)

    def by_efforts(self, B: np.ndarray, q: np.ndarray) -> np.ndarray:
        """B by efforts from B by forces along the velocities."""
        return B if self.effort_names == self.v_names else B @ self.robot.actuation_matrix(q)
