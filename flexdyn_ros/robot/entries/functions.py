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
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches, wrench_rows

__all__ = ["DynamicsEntries", "EntryFunctions", "Points"]

#: bodies (k,) and points in them, rows, as the kernels take the origins of frames
Points = tuple[np.ndarray, np.ndarray]
#: wrenches and pivots of entries that have none
_NOTHING = np.zeros((0, 0, 6)), np.zeros((0, 0))


class DynamicsEntries(DerivativeEntries):
    """A family whose entries have the C functions of inverse and forward dynamics too."""

    #: functions on lanes take wrenches
    loads_on_lanes = False
    #: inverse dynamics on lanes tells of each sample how near it is to a singular one
    tells_pivot = False

    # ---- rows of the verbs ----

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        # 0, which is singular, where it is not told
        pivot = np.zeros((rows.count, 1)) if self.tells_pivot else _NOTHING[1]
        status = self._dynamics("inverse_on_lanes", data, rows, wrenches, tau, pivot)
        self.refuse_efforts(status, data, pivot, tau, rows.shape)

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        if wrenches and self.origin is not None:
            # a C library knows none
            q, v, tau = (x.reshape(*rows.shape, x.shape[1]) for x in data.values())
            flat = flat_wrenches(rows, wrenches) or {}
            loads = {name: w.reshape(*rows.shape, 6) for name, w in flat.items()}
            a[...] = self.general.forward_dynamics(q, v, tau, loads).reshape(a.shape)
            return
        status = self._dynamics("forward_on_lanes", data, rows, wrenches, a, _NOTHING[1])
        if not status and self.checked:
            status = self._without_unbalanced(data, wrenches, rows.shape, a)
        if status:
            explain_status(status, data)
            self.warn_of_singular(a, data, rows.shape)

    def _dynamics(
        self,
        on_lanes: str,
        data: Mapping[str, np.ndarray],
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        out: np.ndarray,
        pivot: np.ndarray,
    ) -> int:
        """One of the dynamics over all rows: on lanes by the C function of that name, or one by one, with
        wrenches that those do not take and if interpreted; the status."""
        seeing, names = self.seeing(wrenches or ()), tuple(wrenches or ())
        of_rows = on_lanes.replace("on_lanes", "of_rows")
        if of_rows in self.table and not names:
            return self._of_rows(of_rows, [*data.values(), out], pivot)
        if not self.takes_lanes(on_lanes, wrenches):
            run = seeing.required_efforts if on_lanes == "inverse_on_lanes" else seeing.accelerations
            return run(data, seeing.points(names), wrench_rows(rows, wrenches), out)
        head, extra = seeing.on_lanes(on_lanes, names), 6 * len(names) + pivot.shape[1]
        beside = (wrench_rows(rows, wrenches), pivot) if extra else ()

        def call(*arrays: np.ndarray) -> int:
            none = _NOTHING[len(beside) :]
            return dynamics.many_on_lanes(head.address, seeing.work(PER_LANES, extra), *arrays, *none)

        return run_in_slices(call, [*data.values(), out, *beside])

    def _of_rows(self, name: str, arrays: list[np.ndarray], pivot: np.ndarray) -> int:
        """One of the dynamics by a function of a C library; pivots are not told, only whether there is a
        result."""
        head = self.head(name, lambda: self.new_head(lanes=name))

        def call(*rows: np.ndarray) -> int:
            return dynamics.many_of_rows(head.address, *rows)

        status = run_in_slices(call, arrays)
        if pivot.size:
            pivot[:, 0] = np.isfinite(arrays[-1]).all(axis=1)
        return status

    def takes_lanes(self, name: str, wrenches: Mapping[str, object] | None) -> bool:
        """Whether batches go on lanes, by the C function of that name."""
        fits = self.loads_on_lanes or not wrenches
        return fits and name in self.table and not numba.config.DISABLE_JIT

    def refuse_efforts(
        self,
        status: int,
        data: Mapping[str, np.ndarray],
        pivot: np.ndarray,
        tau: np.ndarray,
        batch: tuple[int, ...],
    ) -> None:
        """Raise or warn where inverse dynamics at rows of q, v, a ended with a status, or has no answer."""
        if status:
            explain_status(status, data)
            warn_of_overflow(tau, data, "inverse dynamics", batch)

    def _without_unbalanced(
        self,
        data: Mapping[str, np.ndarray],
        wrenches: Mapping[str, object] | None,
        batch: tuple[int, ...],
        a: np.ndarray,
    ) -> int:
        """Make rows of accelerations NaN that do not balance the efforts; whether there are any."""
        q, v, tau = data.values()
        if self.nu != self.nv:
            tau = np.einsum("nij,nj->ni", self.robot.actuation_matrix(q), tau)
        loads = {name: np.asarray(w, dtype=float) for name, w in (wrenches or {}).items()}
        rows = {name: np.broadcast_to(w, (*batch, 6)).reshape(len(q), 6) for name, w in loads.items()}
        still = np.zeros_like(v)
        sizes = np.maximum(
            np.abs(tau).max(axis=1, initial=0.0),
            np.abs(self.robot.inverse_dynamics(q, v, still, rows)[:, : self.nv] - tau).max(
                axis=1, initial=0.0
            ),
        )
        left = np.abs(self.robot.inverse_dynamics(q, v, a, rows)[:, : self.nv] - tau).max(axis=1, initial=0.0)
        wrong = ~(left <= dynamics.UNBALANCED * sizes)
        a[wrong] = np.nan
        return int(wrong.any())

    def required_efforts(
        self, data: Mapping[str, np.ndarray], points: Points, wrenches: np.ndarray, tau: np.ndarray
    ) -> int:
        """Efforts tau (N, nu) under wrenches at rows of q, v, a, one by one."""
        own = np.empty((len(tau), self.nv))
        status = self.balances(data, points, wrenches, own)
        tau[:, : self.nv], tau[:, self.nv :] = own, 0.0
        return status

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


class EntryFunctions(DynamicsEntries, DirectFunctions):
    """A family all of whose verbs are entries over one address."""

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
