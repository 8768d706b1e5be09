"""Functions of the verbs over a family's entries (numerics/verbs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numba
import numpy as np

from flexdyn_ros.numerics.numbers.memory import PER_LANES
from flexdyn_ros.numerics.verbs import dynamics, partial
from flexdyn_ros.robot.analysis.partial import warn_of_unknown_efforts
from flexdyn_ros.robot.arguments import Rows, explain_status, numbers, warn_of_overflow
from flexdyn_ros.robot.entries.derivatives import DerivativeEntries
from flexdyn_ros.robot.functions import DirectFunctions
from flexdyn_ros.robot.threads import run_in_slices
from flexdyn_ros.robot.wrenches import rows_with_wrenches, wrench_rows

__all__ = ["EntryFunctions"]

Points = tuple[np.ndarray, np.ndarray]


class EntryFunctions(DerivativeEntries, DirectFunctions):
    """A family all of whose verbs are entries over one address."""

    # ---- rows of the verbs ----

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        self._dynamics("inverse_dynamics", rows, ("q", "v", "a"), tau, wrenches)

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        self._dynamics("forward_dynamics", rows, ("q", "v", "tau"), a, wrenches)

    def _dynamics(
        self,
        verb: str,
        rows: Rows,
        names: tuple[str, ...],
        out: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> None:
        """One of the dynamics over all rows: on lanes, or one by one with wrenches and if interpreted."""
        seeing = self.seeing(wrenches or ())
        data = {name: rows.take(name) for name in names}
        result = out.reshape(rows.count, self.nv)
        on_lanes = verb.replace("dynamics", "on_lanes")
        if self.takes_lanes(on_lanes, wrenches):
            head = seeing.on_lanes(on_lanes)

            def call(*arrays: np.ndarray) -> int:
                return dynamics.many_on_lanes(head.address, seeing.work(PER_LANES), *arrays)

            status = run_in_slices(call, [*data.values(), result])
        else:
            run = seeing.balances if verb == "inverse_dynamics" else seeing.accelerations
            points = seeing.points(tuple(wrenches or ()))
            status = run(data, points, wrench_rows(rows, wrenches), result)
        if not status and verb == "forward_dynamics" and self.checked:
            status = self._without_unbalanced(data, wrenches, rows.shape, result)
        if status:
            explain_status(status, data)
            if verb == "inverse_dynamics":
                warn_of_overflow(result, data, "inverse dynamics", rows.shape)
            else:
                self.warn_of_singular(result, data, rows.shape)

    def takes_lanes(self, name: str, wrenches: Mapping[str, object] | None) -> bool:
        """Whether batches go on lanes, by the C function of that name."""
        return not wrenches and name in self.table and not numba.config.DISABLE_JIT

    def _without_unbalanced(
        self,
        data: Mapping[str, np.ndarray],
        wrenches: Mapping[str, object] | None,
        batch: tuple[int, ...],
        a: np.ndarray,
    ) -> int:
        """Make rows of accelerations NaN that do not balance the efforts; whether there are any."""
        q, v, tau = data.values()
        loads = {name: np.asarray(w, dtype=float) for name, w in (wrenches or {}).items()}
        rows = {name: np.broadcast_to(w, (*batch, 6)).reshape(len(q), 6) for name, w in loads.items()}
        still = np.zeros_like(v)
        sizes = np.maximum(
            np.abs(tau).max(axis=1, initial=0.0),
            np.abs(self.robot.inverse_dynamics(q, v, still, rows) - tau).max(axis=1, initial=0.0),
        )
        left = np.abs(self.robot.inverse_dynamics(q, v, a, rows) - tau).max(axis=1, initial=0.0)
        wrong = ~(left <= dynamics.UNBALANCED * sizes)
        a[wrong] = np.nan
        return int(wrong.any())

    def balances(
        self, data: Mapping[str, np.ndarray], points: Points, wrenches: np.ndarray, tau: np.ndarray
    ) -> int:
        """tau (N, nv) = M a + h - sum J^T w at rows of q, v, a, one by one."""
        head = self.new_head("balance", frames=points)

        def call(q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, tau: np.ndarray) -> int:
            return dynamics.balance_many(head.address, self.work(), q, v, a, tau[:, :0], w, tau)

        return run_in_slices(call, [*data.values(), wrenches, tau])

    def accelerations(
        self, data: Mapping[str, np.ndarray], points: Points, wrenches: np.ndarray, a: np.ndarray
    ) -> int:
        """a (N, nv) under efforts and wrenches at rows of q, v, tau, one by one."""
        head = self.new_head("forward", frames=points)

        def call(q: np.ndarray, v: np.ndarray, tau: np.ndarray, w: np.ndarray, a: np.ndarray) -> int:
            return dynamics.forward_many(head.address, self.work(), q, v, tau, w, a)

        return run_in_slices(call, [*data.values(), wrenches, a])

    def partial(
        self,
        q: np.ndarray,
        v: Any,
        tau: Any,
        a: np.ndarray,
        given: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        seeing, nv = self.seeing(wrenches or ()), self.nv
        tau = np.zeros(nv) if tau is None else tau
        # accelerations of coordinates that are not given are no input: whatever they hold must not count
        a = np.where(given, numbers(a, "a", nv), 0.0)
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, nv), tau=(tau, nv), a=(a, nv))
        data = {name: rows.take(name) for name in ("q", "v", "tau", "a")}
        as_given = {name: array.copy() if name in ("tau", "a") else array for name, array in data.items()}
        data["tau"], data["a"] = data["tau"].copy(), data["a"].copy()
        data["tau"][:, given] = 0.0
        head = seeing.new_head("mass", "balance", efforts=nv, frames=seeing.points(tuple(wrenches or ())))
        marks = given.astype(np.int64)

        def call(*arrays: np.ndarray) -> int:
            q, v, tau, a, w = arrays
            memory = np.empty(seeing.memory.matrices.size), seeing.work()
            return partial.partial_many(head.address, *memory, q, v, tau, marks, a, w)

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches)])
        if status:
            explain_status(status, as_given)
            self.warn_of_singular(data["a"], as_given, rows.shape)
            warn_of_unknown_efforts(data["tau"], data["a"], as_given, rows.shape)
            data["tau"][~np.isfinite(data["a"]).all(axis=1)] = np.nan
        shape = (*rows.shape, nv)
        return data["tau"].reshape(shape), data["a"].reshape(shape)
