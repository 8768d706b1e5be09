"""Closed poses of a robot with loops, what its loops leave, and states on them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import (
    ConvergenceError,
    DimensionError,
    FlexdynWarning,
    SingularityError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.families.trees.loops.assembly import (
    FAR,
    Assembled,
    close_from_near,
    close_loops,
    follow,
    nearest_of,
    pose_text,
    warn_of_branch,
)
from flexdyn_ros.families.trees.loops.dynamics import Constrained
from flexdyn_ros.families.trees.loops.geometry import Closure, Geometry
from flexdyn_ros.families.trees.loops.placing import placed_loops
from flexdyn_ros.multibody.constraints.loop import place_of_loop
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.verbs import Robot

#: how far loops may be open [m, rad] and opening [per s and unit of |v|] where forces are asked for
OPEN = 1e-6
#: share of singular values below which one is zero, of J M^-1/2 at the neutral pose
_RANK = 1e-9
#: share of what a coordinate yields without loops below which they hold it
_HELD = 1e-9
#: draws of `random` until one can be closed
_DRAWS = 50
#: kinds of coordinates that assembly moves: not those of links that deform, motors and hubs
_MOVED = ("joint", "base", "platform")
#: a pose changes by more than rounding
_ROUNDING = 1e-12


class LoopReport(NamedTuple):
    """A closed loop: its name, type and number of rows, and how many of these follow from the other rows of
    the robot at the neutral pose."""

    name: str
    type: str
    rows: int
    redundant: int


class Closing:
    """The loops of a robot as conditions on its poses and velocities.

    functions: `TreeFunctions` of the robot, `inner` those of the robot without its loops.
    """

    def __init__(self, functions: Any, inner: Any) -> None:
        self.functions, self.description = functions, functions.description
        self._inner = inner
        #: the robot without its loops
        self.open = Robot(inner)
        self.geometry = Geometry(self.open, placed_loops(self.description, functions.tree))
        stated: Any = next(iter(self.description.extras.get("assembly", ())), None)
        self._start = {} if stated is None else stated.values
        self._locked: tuple[str, ...] = () if stated is None else stated.lock
        #: largest change of a coordinate by `assemble` and `project` [rad, m], None for any
        self.maximum_change: float | None = None if stated is None else stated.maximum_change
        # legs drive platforms
        driven = [c.actuated or c.kind == "platform" for c in functions.coordinates]
        self._driven = np.array(driven, dtype=bool)

    def close(self) -> Assembled:
        """Close the loops at the neutral pose, and count their rows there."""
        found = self._close_at_start()
        self._count_rows(found.q)
        return found

    def moves(self, lock: Sequence[str], free: Sequence[str] = ()) -> np.ndarray:
        """Marks (nv,) what assembly may move."""
        f = self.functions
        moves = np.array([c.kind in _MOVED and not c.prescribed for c in f.coordinates], dtype=bool)
        for names, value in ((lock, False), (free, True)):
            for name in (names,) if isinstance(names, str) else names:
                UnknownNameError.check("coordinate", name, f.v_names)
                moves[f.v_names.index(name)] = value
        return moves

    def _close_at_start(self) -> Assembled:
        """The neutral pose; DescriptionError where there is none."""
        f, q0 = self.functions, self._inner.neutral()
        place = None
        if self._start or self._locked:
            (record,) = self.description.extras["assembly"]
            place = self.description.place(record, "assembly")
        places = self._start_places()
        for what, names, known in (("start", self._start, places), ("lock", self._locked, f.v_names)):
            for name in names:
                if name not in known:
                    place.fail(f"there is no coordinate '{name}'", what, name, ", ".join(known))  # type: ignore[union-attr]
        for name, value in self._start.items():
            if places[name] < 0:
                place.fail(f"'{name}' is a turn, without a number", "start", name, "another coordinate")  # type: ignore[union-attr]
            q0[places[name]] = value
        moves = self.moves(self._locked)
        found = close_from_near(self.geometry, q0, moves)
        home = self._at_home(found.q, places)
        if found.is_closed and np.abs(home - found.q).max() > _ROUNDING:
            found = close_from_near(self.geometry, home, moves)
        loop = self.geometry.loops[found.loop].record
        if not found.is_closed:
            place_of_loop(self.description, loop).fail(
                f"the loops cannot be closed: from every start, {found.residual:.6g} m (rad) of this loop "
                "are left",
                "type",
                loop.type,
                "frames that can meet, lengths that reach, or another <assembly start=...>",
            )
        if (wrong := self.geometry.wrong_root(found.q)) is not None:
            loop = self.geometry.loops[wrong[0]].record
            place_of_loop(self.description, loop).fail(
                f"the loops close only where {wrong[1]}",
                "axis" if loop.axis else "end_rpy",
                loop.axis or loop.end_rpy,
                "another direction, or another <assembly start=...>",
            )
        return found

    def _at_home(self, q: np.ndarray, places: Mapping[str, int]) -> np.ndarray:
        """q (nq,) with what stands on moving links at home there, but for what `<assembly start>` says."""
        home = self._inner.at_home(q).copy()
        free = {c.q_index for c in self.functions.coordinates if c.kind == "platform"}
        stated = [places[name] for name in self._start if places[name] in free]
        home[stated] = q[stated]
        return home

    def _start_places(self) -> dict[str, int]:
        """Index in q by the name of a coordinate, -1 for turns without a number.

        Positions of free bodies have names of their own in q; those of their quaternion are turns.
        """
        f = self.functions
        found = {c.name: c.q_index for c in f.coordinates}
        for i, name in enumerate(f.q_names):
            found.setdefault(name, -1 if name.rpartition("/")[2] in ("qx", "qy", "qz", "qw") else i)
        return found

    def _count_rows(self, q: np.ndarray) -> None:
        """Set rank, mobility and the reports of loops at the neutral pose."""
        J = self.geometry.at(q[None], np.zeros((1, self.functions.nv))).J[0]
        M = self.open.mass_matrix(q)
        size = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
        rows = J * size
        #: independent rows at the neutral pose
        self.rank = _rank(rows)
        #: motions that the loops leave there
        self.mobility = self.functions.nv - self.rank
        reports = []
        for i, loop in enumerate(self.geometry.loops):
            others = self.geometry.loop_of != i
            count = len(loop.rows)
            redundant = count - (self.rank - _rank(rows[others]))
            reports.append(LoopReport(loop.record.name, loop.record.type, count, redundant))
        #: the loops, in the order of the description
        self.loops = tuple(reports)

    def loop_residual(self, q: np.ndarray) -> np.ndarray:
        """phi (..., rows): how far each row of the loops is open at q (..., nq), in the axes of their base
        [m, rad].

        Raises
        ------
        DimensionError, StateError
        """
        rows = Rows({"q": (q, self.functions.nq)})
        found = self.at(rows).residual
        return found.reshape(*rows.shape, found.shape[1])

    def loop_jacobian(self, q: np.ndarray) -> np.ndarray:
        """J (..., rows, nv): the rates of `loop_residual` are J v.

        Raises
        ------
        DimensionError, StateError
        """
        rows = Rows({"q": (q, self.functions.nq)})
        found = self.at(rows).J
        return found.reshape(*rows.shape, *found.shape[1:])

    def at(self, rows: Rows) -> Closure:
        """The loops at rows of q and, if there, v; StateError for states that are none."""
        q = rows.take("q")
        v = rows.take("v") if "v" in rows.names else np.zeros((rows.count, self.functions.nv))
        self.functions.check({"q": q, "v": v})
        return self.geometry.at(q, v)

    def assemble(
        self, q0: np.ndarray | None = None, lock: Sequence[str] = (), free: Sequence[str] = ()
    ) -> np.ndarray:
        """The closed pose (nq,) that is nearest to q0 (nq,) in the metric of M(q0); default: the neutral one.

        Parameters
        ----------
        q0 : (nq,) array
        lock, free : names of coordinates
            That do not move, and that do although they are modes or motors, which are held otherwise.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        ConvergenceError
            If no closed pose is found from there; `.residual` is what is left.
        """
        if q0 is None:
            q0 = self.functions.neutral()
        rows = Rows({"q0": (q0, self.functions.nq)})
        if rows.shape:
            raise DimensionError(f"assemble takes single poses, got a batch of shape {rows.shape}")
        start = rows.take("q0")[0].copy()
        self.functions.check({"q": start[None]})
        found = self.closed(start, self.moves(lock, free))
        self._refuse_far(start, found)
        return found

    def closed(self, q0: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """The closed pose nearest to q0 (nq,), in its branch; ConvergenceError where there is none."""
        found = close_loops(self.geometry, q0, moves)
        gap = np.abs(self.geometry.to_assemble(q0)[0]).max(initial=0.0)
        if gap > FAR and any(loop.record.branch == "near" for loop in self.geometry.loops):
            found = self._in_branch(q0, moves, found)
        name = self.geometry.loops[found.loop].record.name
        if not found.is_closed:
            raise ConvergenceError(
                f"the loops cannot be closed from there: {found.residual:.3g} m (rad) of loop '{name}' are "
                "left; expected a nearer start",
                found.residual,
                found.iterations,
            )
        if (wrong := self.geometry.wrong_root(found.q)) is not None:
            name = self.geometry.loops[wrong[0]].record.name
            raise ConvergenceError(
                f"the pose that is found closes loop '{name}' where {wrong[1]}; expected a nearer start"
            )
        return found.q

    def _in_branch(self, q0: np.ndarray, moves: np.ndarray, other: Assembled) -> Assembled:
        """The closed pose in the branch of q0; `other` is what closes without regard to it."""
        names = self.functions.q_names
        followed = follow(self.geometry, q0, moves, ~self._driven, self.rank)
        if not followed.lost:
            return nearest_of(self.geometry, q0, moves, followed.q)
        if not other.is_closed:
            return other
        raise ConvergenceError(
            f"the loops close in another branch only: {followed.lost}. Start: {pose_text(names, q0)}. "
            f'Closed: {pose_text(names, other.q)}. Expected a nearer start, or branch="any" in <loop>',
            other.residual,
            other.iterations,
        )

    def _refuse_far(self, q0: np.ndarray, q: np.ndarray) -> None:
        """ConvergenceError where a coordinate changes by more than `maximum_change`."""
        if self.maximum_change is None:
            return
        change = np.abs(self.open.difference(q0, q))
        i = int(np.argmax(change))
        if change[i] > self.maximum_change:
            names = self.functions.q_names
            raise ConvergenceError(
                f"closing the loops changes '{self.functions.v_names[i]}' by {change[i]:.4g}, more than "
                f"maximum_change = {self.maximum_change:g}. Start: {pose_text(names, q0)}. Closed: "
                f"{pose_text(names, q)}. Expected a nearer start"
            )

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random pose that is closed: joints as of the open tree, free bodies from the neutral pose.

        It is within the limits of all joints, where one of the first draws is.
        """
        rng, moves = np.random.default_rng() if rng is None else rng, self.moves(())
        f, beyond = self.functions, None
        # positions and quaternions of free bodies have names of their own in q
        drawn = [i for i, name in enumerate(f.q_names) if name in f.v_names or name.startswith("base/")]
        for _ in range(_DRAWS):
            start, other = f.neutral(), self._inner.random(rng)
            start[drawn] = other[drawn]
            try:
                q = self.closed(start, moves)
                for layer in self._inner.layers:
                    q = layer.random(q, rng)
                q = self.closed(q, moves)
            except ConvergenceError:
                continue
            if self._is_within_limits(q):
                return q
            beyond = q if beyond is None else beyond
        if beyond is not None:
            return beyond
        raise ConvergenceError(f"none of {_DRAWS} random poses could be closed; use assemble(q0)")

    def _is_within_limits(self, q: np.ndarray) -> bool:
        numbered = [c for c in self.functions.coordinates if c.q_index >= 0]
        return all(c.lower <= q[c.q_index] <= c.upper for c in numbered)

    def project(
        self, q: np.ndarray, v: np.ndarray, lock: Sequence[str] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,) and v (nv,) on the loops: the nearest closed pose, then the change of v of least kinetic
        energy, which is that of a perfectly plastic closure. Positions and speeds of the coordinates named in
        `lock` stay.

        Raises
        ------
        DimensionError, UnknownNameError, ConvergenceError
        StateError
            If the loops do not allow the speeds of locked coordinates.

        Warns
        -----
        FlexdynWarning
            If q is far from the loops, and what is found may be in another branch than the neutral pose.
        """
        rows = Rows({"q": (q, self.functions.nq), "v": (v, self.functions.nv)})
        if rows.shape:
            raise DimensionError(f"project takes single states, got a batch of shape {rows.shape}")
        self.at(rows)
        start, v = rows.take("q")[0].copy(), rows.take("v")[0].copy()
        q = self.closed(start, self.moves(lock))
        self._refuse_far(start, q)
        follow = self.moves(()) & ~self._driven
        warn_of_branch(self.geometry, start, q, self.functions.neutral(), follow, self.rank)
        held = np.isin(self.functions.v_names, [lock] if isinstance(lock, str) else list(lock))
        J = self.geometry.at(q[None], v[None]).J
        M = np.where(held | held[:, None], np.eye(v.size), self.open.mass_matrix(q))
        factors = self.factors(M[None], np.where(held, 0.0, J))
        # M (v_new - v) = J' lam, J v_new = 0
        change, _ = factors.solve(np.zeros((1, v.size, 1)), -(J @ v[None, :, None]))
        v = v + change[0, :, 0]
        if held.any():
            self.refuse_open(self.geometry.at(q[None], v[None]), v[None], (), OPEN)
        return q, v

    def inverse_inertia(self, q: np.ndarray) -> np.ndarray:
        """M^-1 - M^-1 J' (J M^-1 J')^+ J M^-1 (nv, nv) at one q (nq,): 0 where loops hold a coordinate."""
        J = self.geometry.at(q[None], np.zeros((1, self.functions.nv))).J
        factors = self.factors(self.open.mass_matrix(q)[None], J)
        unit = np.eye(self.functions.nv)[None]
        alone = np.diagonal(factors.free(unit)[0])
        found = factors.solve(unit, np.zeros((1, *J.shape[1:])))[0][0]
        held = np.diagonal(found) < _HELD * alone
        found[held], found[:, held] = 0.0, 0.0
        return np.asarray(found)

    def factors(self, M: np.ndarray, J: np.ndarray) -> Constrained:
        """The factors of M and of the loops; SingularityError where M is not positive definite."""
        try:
            return Constrained(M, J)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(M)[:, 0].min())
            raise SingularityError(
                f"the mass matrix is not positive definite, smallest eigenvalue {smallest:.3g}; loops take a "
                "tree whose bodies have mass",
                smallest,
            ) from None

    def refuse_open(
        self, closure: Closure, v: np.ndarray, batch: tuple[int, ...], tolerance: float
    ) -> np.ndarray:
        """Marks (N,) the states off the loops; StateError for a single one."""
        gap, speed = np.abs(closure.residual), np.abs(closure.rate)
        allowed = tolerance * np.maximum(1.0, np.abs(v).max(axis=1, initial=0.0))
        found = (gap > tolerance).any(axis=1) | (speed > allowed[:, None]).any(axis=1)
        if not found.any():
            return np.asarray(found)
        n = int(np.argmax(found))
        is_gap = bool((gap[n] > tolerance).any())
        row = int(np.argmax(gap[n] if is_gap else speed[n]))
        name = self.geometry.loops[self.geometry.loop_of[row]].record.name
        text = (
            f"loop '{name}' is open by {gap[n, row]:.3g} m (rad), expected at most {tolerance:g}; "
            "assemble(q) closes it"
            if is_gap
            else f"loop '{name}' opens at {speed[n, row]:.3g} m/s (rad/s), expected at most {allowed[n]:.3g}"
            "; project(q, v) gives velocities that it can have"
        )
        if batch == ():
            raise StateError(text)
        warnings.warn(
            f"{int(found.sum())} of {len(found)} states are off the loops; their rows are NaN (sample {n}: "
            f"{text})",
            FlexdynWarning,
            6,
        )
        return np.asarray(found)

    def unsupported(self, what: str) -> UnsupportedError:
        """What to raise where something is not computed with loops."""
        names = ", ".join(f"'{loop.record.name}'" for loop in self.geometry.loops)
        return UnsupportedError(
            f"robot {self.description.name!r} has loops ({names}): {what} is not computed with loops yet"
        )


def _rank(rows: np.ndarray) -> int:
    """Rank of rows (m, nv)."""
    if not rows.size:
        return 0
    values = np.linalg.svd(rows, compute_uv=False)
    return int((values > _RANK * max(float(values.max()), 1e-300)).sum())
