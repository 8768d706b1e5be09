"""Functions of the verbs over a family's entries (numerics/verbs): compiled functions in a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from flexdyn_ros.numerics.compiling.teaching import is_interpreted
from flexdyn_ros.numerics.numbers.memory import PER_LANES, PER_TANGENTS
from flexdyn_ros.numerics.verbs import derivatives, dynamics, observers, partial
from flexdyn_ros.robot.analysis.partial import warn_of_unknown_efforts
from flexdyn_ros.robot.arguments import (
    Rows,
    check_out,
    explain_status,
    flat_wrenches,
    numbers,
    rows_with_wrenches,
    warn_of_overflow,
    wrench_rows,
)
from flexdyn_ros.robot.entries.heads import Head, Heads
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.threads import run_in_slices, shared_property

if TYPE_CHECKING:
    from flexdyn_ros.robot.entries.taped import Taped

#: bodies (k,) and points in them, rows, as the kernels take the origins of frames
Points = tuple[np.ndarray, np.ndarray]
#: wrenches and pivots of entries that have none
_NOTHING = np.zeros((0, 0, 6)), np.zeros((0, 0))
_empty, _zeros = np.empty, np.zeros


class EntryFunctions(FamilyFunctions):
    """A family whose verbs are entries over one address, that of its packed numbers, by the functions of its
    table."""

    #: names of C functions that are all there is to a verb: single states go straight to them
    observed: frozenset[str] = frozenset(("bias_terms", "energy", "momenta", "frames", "jacobian", "moved"))
    #: inverse dynamics on lanes tells of each sample how near it is to a singular one
    tells_pivot = False

    @shared_property
    def heads(self) -> Heads:
        """What entries take of this robot."""
        return Heads(self)

    def seeing(self, names: Iterable[Any]) -> Self:
        """These functions, or those of a robot like it for which `names` are frames too."""
        return self

    @abstractmethod
    def points(self, names: Sequence[str]) -> Points:
        """Bodies (k,) and points in them, rows, as the kernels take the origins of frames."""

    @abstractmethod
    def placements(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and placements in them, rows, as the kernels take frames."""

    # ---- what looks at a state ----

    def look(
        self, head: Head, rows: Rows, out: np.ndarray | None = None, names: tuple[str, ...] = ("q", "v")
    ) -> np.ndarray:
        """Results (count, results) at rows of q and, where the function takes it, v; written to `out`
        (count, ...) if it is there."""
        shape = rows.count, head.results
        result = np.empty(shape) if out is None else out.reshape(shape)
        data = {name: rows.take(name) for name in names}
        speed = data.get("v", np.empty((rows.count, 0)))

        def call(q: np.ndarray, v: np.ndarray, out: np.ndarray) -> int:
            # what the head sees may be more than what this robot does
            functions = head.functions
            work = functions.work(PER_TANGENTS) if head.on_tangents else functions.work()
            return observers.observe_many(head.address, work, q, v, out)

        status = run_in_slices(call, [data["q"], speed, result])
        if status:
            explain_status(status, data)
            warn_of_overflow(result, data, "the result", rows.shape)
        return result

    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        self.look(self.heads.looking("mass"), rows, M, ("q",))

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        return self.look(self.heads.looking("bias_terms"), rows).reshape(rows.count, 5, self.nv)

    def energy_rows(self, rows: Rows) -> np.ndarray:
        return self.look(self.heads.looking("energy"), rows)

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        return self.look(self.heads.looking("momenta"), rows)

    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        self.look(self.heads.poses_of(tuple(names)), rows, poses, ("q",))

    def place_frames(self, rows: Rows, bodies: np.ndarray, placements: np.ndarray, poses: np.ndarray) -> None:
        """Poses (count, k, 4, 4) in the world of frames given by bodies and placements."""
        self.look(self.heads.posing((bodies, placements)), rows, poses, ("q",))

    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        self.jacobians_rows(rows, (frame,), J)

    def jacobians_rows(self, rows: Rows, names: Sequence[str], J: np.ndarray) -> None:
        self.look(self.heads.jacobians_of(tuple(names)), rows, J, ("q",))

    def jacobian_rates_rows(self, rows: Rows, names: Sequence[str]) -> np.ndarray:
        return self.look(self.heads.rates_of(tuple(names)), rows).reshape(rows.count, len(names), 6)

    def bias_forces_rows(self, rows: Rows, h: np.ndarray) -> None:
        if "bias" in self.observed:
            self.look(self.heads.looking("bias"), rows, h)
        else:
            self.inverse_dynamics_rows(rows, None, h)

    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """B (..., nv, nu): the identity, or by a function of the table."""
        if "actuation" not in self.observed:
            return super().actuation_matrix(q, out=out)
        rows = Rows({"q": (q, self.nq)})
        B = check_out(out, (*rows.shape, self.nv, self.nu), rows)
        self.look(self.heads.looking("actuation"), rows, B, ("q",))
        return B

    # ---- derivatives ----

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
        self, rows: Rows, points: Points, wrenches: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, nv, nv) of the balance of forces by q and by v at rows of q, v, a and, where
        the balance needs it, tau; wrenches (count, k, 6) at points."""
        data = {name: rows.take(name) for name in rows.names if name in ("q", "v", "a", "tau")}
        tau = data.get("tau", _empty((rows.count, 0)))
        slopes = _empty((rows.count, self.nv, 2 * self.nv))
        head = self.heads.new("slopes", efforts=tau.shape[1], frames=points)

        def call(*arrays: np.ndarray) -> int:
            return derivatives.slopes_many(head.address, self.work(PER_TANGENTS), *arrays)

        status = run_in_slices(call, [data["q"], data["v"], data["a"], tau, wrenches, slopes])
        explain_status(status, data)
        warn_of_overflow(slopes, data, "a derivative of the forces", rows.shape)
        return slopes[:, :, : self.nv].copy(), slopes[:, :, self.nv :].copy()

    def linearizations(
        self, rows: Rows, points: Points, wrenches: np.ndarray
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

    def _linearize(self, left: np.ndarray, points: Points, arrays: list[np.ndarray]) -> int:
        """Linearize the rows `left` of q, v, tau, a, wrenches, A, B by tangents; the status."""
        head = self.heads.new("mass", "balance", "slopes", efforts=self.nu, frames=points)
        is_all = left.size == arrays[0].shape[0]
        chosen = arrays if is_all else [array[left] for array in arrays]

        def call(*rows: np.ndarray) -> int:
            memory = _empty(self.heads.memory.matrices.size), self.work(PER_TANGENTS)
            return derivatives.linearize_many(head.address, *memory, *rows)

        status = run_in_slices(call, chosen)
        if not is_all:
            for array, found in zip(arrays, chosen, strict=True):
                array[left] = found
        return status and status % 8 + 8 * int(left[status // 8])

    @shared_property
    def taped(self) -> Taped:
        """For `linearize` of many states."""
        from flexdyn_ros.robot.entries.taped import Taped  # few linearize many states

        return Taped(self, self.heads.linearizing)

    def by_efforts(self, B: np.ndarray, q: np.ndarray) -> np.ndarray:
        """B by efforts from B by forces along the velocities."""
        return B if self.effort_names == self.v_names else B @ self.robot.actuation_matrix(q)

    # ---- dynamics ----

    def takes_given(self, given: np.ndarray) -> bool:
        """Whether the entry of `partial` takes these accelerations, marked in (nv,)."""
        return True

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
        if wrenches and self.prescribed.any():
            # the recursion takes no effort on a prescribed coordinate, and wrenches have one there
            q, v, tau = data.values()
            a[...] = self.partial(q, v, tau, _zeros(v.shape), self.prescribed, flat_wrenches(rows, wrenches))[
                1
            ]
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
        """One of the dynamics over all rows: on lanes by the C function of that name, or one by one where
        there is none, of a single state and if interpreted; the status."""
        seeing, names = self.seeing(wrenches or ()), tuple(wrenches or ())
        of_rows = on_lanes.replace("on_lanes", "of_rows")
        if of_rows in self.table and not names:
            return self._of_rows(of_rows, [*data.values(), out], pivot)
        is_single = rows.count == 1 and not (names or pivot.shape[1])
        if is_single or not self.takes_lanes(on_lanes):
            run = seeing.required_efforts if on_lanes == "inverse_on_lanes" else seeing.accelerations
            return run(data, seeing.points(names), wrench_rows(rows, wrenches), out)
        head, extra = seeing.heads.on_lanes(on_lanes, names), 6 * len(names) + pivot.shape[1]
        beside = (wrench_rows(rows, wrenches), pivot) if extra else ()

        def call(*arrays: np.ndarray) -> int:
            none = _NOTHING[len(beside) :]
            return dynamics.many_on_lanes(head.address, seeing.work(PER_LANES, extra), *arrays, *none)

        return run_in_slices(call, [*data.values(), out, *beside])

    def _of_rows(self, name: str, arrays: list[np.ndarray], pivot: np.ndarray) -> int:
        """One of the dynamics by a function of a C library; pivots are not told, only whether there is a
        result."""
        head = self.heads.kept(name, lambda: self.heads.new(lanes=name))

        def call(*rows: np.ndarray) -> int:
            return dynamics.many_of_rows(head.address, *rows)

        status = run_in_slices(call, arrays)
        if pivot.size:
            pivot[:, 0] = np.isfinite(arrays[-1]).all(axis=1)
        return status

    def takes_lanes(self, name: str) -> bool:
        """Whether batches go on lanes, by the C function of that name."""
        return name in self.table and not is_interpreted()

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
        head = self.heads.new("balance", frames=points)

        def call(q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray, tau: np.ndarray) -> int:
            return dynamics.balance_many(head.address, self.work(), q, v, a, tau[:, :0], w, tau)

        return run_in_slices(call, [*data.values(), wrenches, tau])

    def accelerations(
        self, data: Mapping[str, np.ndarray], points: Points, wrenches: np.ndarray, a: np.ndarray
    ) -> int:
        """a (N, nv) under efforts and wrenches at rows of q, v, tau, one by one."""
        head = self.heads.new("forward", frames=points)

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
        if not self.takes_given(given):
            return super().partial(q, v, tau, a, given, wrenches)
        seeing, nv = self.seeing(wrenches or ()), self.nv
        if tau is None:
            tau = np.zeros(nv)
        elif self.effort_names != self.v_names:
            tau = np.einsum("...ij,...j->...i", self.actuation_matrix(q), numbers(tau, "tau", self.nu))
        # accelerations of coordinates that are not given are no input: whatever they hold must not count
        a = np.where(given, numbers(a, "a", nv), 0.0)
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, nv), tau=(tau, nv), a=(a, nv))
        as_given = {name: rows.take(name) for name in ("q", "v", "tau", "a")}
        data = as_given | {name: as_given[name].copy() for name in ("tau", "a")}
        data["tau"][:, given] = 0.0
        head = seeing.heads.partial(tuple(wrenches or ()))
        marks = given.astype(np.int64)

        def call(*arrays: np.ndarray) -> int:
            q, v, tau, a, w = arrays
            memory = np.empty(seeing.heads.memory.matrices.size), seeing.work()
            return partial.partial_many(head.address, *memory, q, v, tau, marks, a, w)

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches)])
        if status:
            explain_status(status, as_given)
            self.warn_of_singular(data["a"], as_given, rows.shape)
            warn_of_unknown_efforts(data["tau"], data["a"], as_given, rows.shape)
            data["tau"][~np.isfinite(data["a"]).all(axis=1)] = np.nan
        shape = (*rows.shape, nv)
        return data["tau"].reshape(shape), data["a"].reshape(shape)
