"""Closed poses of a robot with loops: the nearest to a start in the metric of its mass, and in its branch
(docs/theory/loops.md, "Assembly")."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, SingularityError
from flexdyn_ros.families.trees.loops.geometry import Geometry

#: Gauss-Newton steps: largest [rad], largest [m], residual at which they end; rounds of both kinds of steps
_STEP, _NEAR, _ROUNDS, _ITERATIONS = 0.3, 1e-2, 200, 100
#: smallest step, residual of a closed pose, relative cut of singular values
_CLOSE, CLOSED, _CUT = 1e-13, 1e-9, 1e-11
#: step of the second kind that cannot converge [rad, m]
_FAR = 3.0
#: further starts: how many, how far [rad or m]
_STARTS, _SPREAD = 8, 0.3

#: gap from which loops are closed little by little [m, rad], in how many parts
FAR, _PARTS = 0.1, 10
#: iterations of a part, steps at which the last and the others end, largest of a part [rad, m]; where rows
#: depend on each other, poses on the way meet them by least squares only
_PART_ITERATIONS, _PART_CLOSE, _ROUGH, _LARGEST = 40, 1e-12, 1e-4, 1.5
#: largest step of an iteration [rad, m]
_PART_STEP = 0.3
#: steps from the neutral pose to another
_MOST_STEPS = 400
#: share of the largest below which a diagonal entry of R is zero
_RANK = 1e-9


class Assembled(NamedTuple):
    """A pose (nq,), the largest residual there, the number of its loop, iterations, and whether it was found
    from a displaced start."""

    q: np.ndarray
    residual: float
    loop: int
    iterations: int
    displaced: bool

    @property
    def is_closed(self) -> bool:
        """Whether all loops are closed."""
        return self.residual <= CLOSED


class Metric:
    """M^-1 of the coordinates that assembly may move, factored: W W' = M^-1, zero elsewhere."""

    def __init__(self, M: np.ndarray, moves: np.ndarray) -> None:
        free = np.flatnonzero(moves)
        own = M[np.ix_(free, free)]
        size = np.sqrt(np.maximum(np.diag(own), 1e-300))
        # where nothing is heavy, a little mass: the pose matters, not which of massless links turns
        scaled = own / size[:, None] / size
        if free.size and np.linalg.eigvalsh(scaled)[0] < 1e-12:
            scaled = scaled + 1e-9 * np.eye(free.size)
        try:
            L = np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(scaled)[0])
            raise SingularityError("the mass matrix is not positive definite", smallest) from None
        self.W = np.zeros((len(M), free.size))
        self.W[free] = np.linalg.inv(L).T / size[:, None]

    def least(self, J: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """The x (nv,) of least x' M x with J x = gap, in the sense of least squares."""
        if not self.W.shape[1]:
            return np.zeros(len(self.W))
        return self.W @ (np.linalg.pinv(J @ self.W, rcond=_CUT) @ gap)


def _approach(geometry: Geometry, q: np.ndarray, metric: Metric, near: float) -> tuple[np.ndarray, int]:
    """q after Gauss-Newton steps of bounded size until no row is open by more than `near`, or no step is
    left; and how many."""
    for iteration in range(_ROUNDS):
        phi, J = geometry.to_assemble(q)
        if np.abs(phi).max(initial=0.0) < near:
            return q, iteration
        dx = metric.least(J, -phi)
        size = np.abs(dx).max(initial=0.0)
        if size < _CLOSE:
            return q, iteration
        q = geometry.robot.integrate(q, dx * min(1.0, _STEP / size), 1.0)
    return q, _ROUNDS


def close_loops(geometry: Geometry, q0: np.ndarray, moves: np.ndarray) -> Assembled:
    """The closed pose that is nearest to q0 (nq,) in the metric of M(q0); moves (nv,) marks what may move.

    First Gauss-Newton steps of bounded size until the loops are nearly closed, then

        x <- M^-1 J' (J M^-1 J')^+ (J x - phi),        q = q0 (+) x,

    whose fixed points are those of the constrained minimum of x' M x (those of Gauss-Newton are not).
    """
    robot = geometry.robot
    metric = Metric(robot.mass_matrix(q0), moves)
    q, iterations = _approach(geometry, q0, metric, _NEAR)
    x, closed = robot.difference(q0, q), False
    for _ in range(_ITERATIONS):
        phi, J = geometry.to_assemble(q)
        new = metric.least(J, J @ x - phi)
        step = np.abs(new - x).max(initial=0.0)
        if not np.isfinite(step) or step > _FAR:
            break
        x, q = new, robot.integrate(q0, new, 1.0)
        iterations += 1
        if step < _CLOSE:
            closed = True
            break
    if not closed:
        # the gap is larger than the curvature of the loops allows: any closed pose on the way there
        q, more = _approach(geometry, q0, metric, _CLOSE)
        iterations += more
    phi, _ = geometry.to_assemble(q)
    worst = int(np.argmax(np.abs(phi)))
    return Assembled(q, float(np.abs(phi[worst])), int(geometry.loop_of[worst]), iterations, False)


def close_from_near(geometry: Geometry, q0: np.ndarray, moves: np.ndarray) -> Assembled:
    """The closed pose from q0; where there is none, the nearest of those from displaced starts."""
    found = close_loops(geometry, q0, moves)
    if found.is_closed and geometry.wrong_root(found.q) is None:
        return found
    robot, rng = geometry.robot, np.random.default_rng(0)
    M, near = robot.mass_matrix(q0), []
    best = found
    for _ in range(_STARTS):
        start = robot.integrate(q0, rng.uniform(-_SPREAD, _SPREAD, robot.nv) * moves, 1.0)
        other = close_loops(geometry, start, moves)
        if other.is_closed and geometry.wrong_root(other.q) is None:
            # from the start itself, on: the nearest pose in this branch
            x = robot.difference(q0, other.q)
            near.append((float(x @ M @ x), other))
        elif not best.is_closed and other.residual < best.residual:
            best = other
    if near:
        return min(near, key=lambda pair: pair[0])[1]._replace(displaced=True)
    return best


class Followed(NamedTuple):
    """A pose (nq,) reached from the start, and why it is not in its branch, empty where it is."""

    q: np.ndarray
    lost: str


class Sides:
    """The sign of the determinant of the independent rows on the coordinates that follow: it changes where a
    singular pose is passed, on whose other side the mechanism is assembled in another way.

    J (m, nv): Jacobian at the start; follow: marks (nv,) of the coordinates that are neither held nor driven.
    Without a square part of full rank there are no sides.
    """

    def __init__(self, J: np.ndarray, rows: np.ndarray, follow: np.ndarray, rank: int) -> None:
        self._columns = np.flatnonzero(follow)
        self._rows = np.zeros(0, dtype=np.int64)
        own = np.flatnonzero(rows)
        if not own.size or self._columns.size > rank:
            return
        from scipy.linalg import qr  # takes longer to import than a mechanism to load, and few ask for sides

        _, R, order = qr(J[np.ix_(own, self._columns)].T, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        found = int((size > _RANK * size.max(initial=1e-300)).sum())
        if found == self._columns.size:
            self._rows = own[order[:found]]
        self._start = self.sign(J)

    def sign(self, J: np.ndarray) -> float:
        """1.0, -1.0 or, where there are no sides, 0.0."""
        if not self._rows.size:
            return 0.0
        return float(np.linalg.slogdet(J[np.ix_(self._rows, self._columns)])[0])

    def crossed(self, J: np.ndarray) -> bool:
        """Whether J (m, nv) is on the other side."""
        return bool(self._rows.size) and self.sign(J) != self._start


def follow(
    geometry: Geometry, q0: np.ndarray, moves: np.ndarray, dependent: np.ndarray, rank: int
) -> Followed:
    """Close the loops from q0 (nq,) in ten parts, phi(q(t)) = (1 - t) phi(q0), each by the iteration of
    `close_loops`.

    moves, dependent (nv,): marks of what may move, and of what no actuator drives; rank: of all rows.
    """
    gap, J = geometry.to_assemble(q0)
    sides = Sides(J, _rows_with_branches(geometry), moves & dependent, rank)
    q = q0
    for part in range(1, _PARTS + 1):
        target = (1.0 - part / _PARTS) * gap
        q, ended = _part(geometry, q, moves, target, rank)
        if not ended:
            return Followed(q, f"no pose leaves {1.0 - part / _PARTS:.0%} of the gap of the start")
        if sides.crossed(geometry.to_assemble(q)[1]):
            return Followed(q, "a singular pose lies between them")
    if (wrong := geometry.wrong_root(q)) is not None:
        return Followed(q, f"of loop '{geometry.loops[wrong[0]].record.name}' {wrong[1]}")
    return Followed(q, "")


def _rows_with_branches(geometry: Geometry) -> np.ndarray:
    """Marks (m,) the rows of loops whose branch counts."""
    return np.array([geometry.loops[i].record.branch == "near" for i in geometry.loop_of])


def warn_of_branch(
    geometry: Geometry, start: np.ndarray, q: np.ndarray, home: np.ndarray, follow: np.ndarray, rank: int
) -> None:
    """Warn where a pose q (nq,) that closes the loops from a start far from them is in another branch than
    the neutral pose `home`: where what drives the robot does not lead from there to q while the coordinates
    that `follow` (nv,) marks close the loops. Where these are not as many as the loops determine, only the
    other side of a singular pose is told."""
    near, robot = _rows_with_branches(geometry), geometry.robot
    if np.abs(geometry.to_assemble(start)[0]).max(initial=0.0) <= FAR or not near.any():
        return
    if follow.sum() == rank:
        change = np.where(follow, 0.0, robot.difference(home, q))
        steps = min(_MOST_STEPS, int(np.ceil(np.abs(change).max(initial=0.0) / _STEP)))
        there = home
        for _ in range(steps):
            there = close_loops(geometry, robot.integrate(there, change, 1.0 / steps), follow).q
        lost = not np.abs(robot.difference(there, q)).max(initial=0.0) < _NEAR
    else:
        lost = Sides(geometry.to_assemble(home)[1], near, follow, rank).crossed(geometry.to_assemble(q)[1])
    if lost:
        warnings.warn(
            "the loops were far open; the closed pose may be in another branch than the neutral one: "
            f"{pose_text(robot.functions.q_names, q)}. Expected a nearer start",
            FlexdynWarning,
            5,
        )


def _part(
    geometry: Geometry, start: np.ndarray, moves: np.ndarray, target: np.ndarray, rank: int
) -> tuple[np.ndarray, bool]:
    """The pose nearest to start (nq,) whose rows are open by target (m,), and whether the iteration ended."""
    robot = geometry.robot
    metric = Metric(robot.mass_matrix(start), moves)
    q, x = start, np.zeros(robot.nv)
    for _ in range(_PART_ITERATIONS):
        phi, J = geometry.to_assemble(q)
        new = _least(metric.W, J, J @ x - (phi - target), rank)
        step = float(np.abs(new - x).max(initial=0.0))
        # near a singular pose the step is far too long, in the right direction
        new = x + (new - x) * min(1.0, _PART_STEP / max(step, _PART_CLOSE))
        if not np.isfinite(step) or np.abs(new).max(initial=0.0) > _LARGEST:
            return q, False
        x, q = new, robot.integrate(start, new, 1.0)
        if step < (_ROUGH if target.any() else _PART_CLOSE):
            return q, True
    return _next(geometry, start, metric, target, rank)


def _next(
    geometry: Geometry, start: np.ndarray, metric: Metric, target: np.ndarray, rank: int
) -> tuple[np.ndarray, bool]:
    """A pose whose rows are open by target, by Gauss-Newton steps from start: where the loops curve more than
    the nearest one can be found by. And whether the steps ended."""
    q = start
    for _ in range(_PART_ITERATIONS):
        phi, J = geometry.to_assemble(q)
        dx = _least(metric.W, J, target - phi, rank)
        size = float(np.abs(dx).max(initial=0.0))
        if not np.isfinite(size):
            break
        q = geometry.robot.integrate(q, dx * min(1.0, _PART_STEP / max(size, _PART_CLOSE)), 1.0)
        if size < (_ROUGH if target.any() else _PART_CLOSE):
            return q, True
    return q, False


def _least(W: np.ndarray, J: np.ndarray, gap: np.ndarray, rank: int) -> np.ndarray:
    """The x (nv,) of least x' M x with J x = gap, W W' = M^-1, by the largest `rank` singular values of J W.

    Off the loops, rows that depend on each other on them differ a little, by which nothing may be moved.
    """
    if not W.shape[1]:
        return np.zeros(len(W))
    U, size, V = np.linalg.svd(J @ W, full_matrices=False)
    kept = size[:rank] > _RANK * max(float(size[0]), 1e-300)
    inverse = np.where(kept, 1.0 / np.where(kept, size[:rank], 1.0), 0.0)
    return np.asarray(W @ (V[:rank].T @ (inverse * (U[:, :rank].T @ gap))))


def nearest_of(geometry: Geometry, q0: np.ndarray, moves: np.ndarray, followed: np.ndarray) -> Assembled:
    """The pose nearest to q0 (nq,) in the metric of M(q0), from one (nq,) in its branch; that one, where the
    iteration leaves it."""
    robot = geometry.robot
    metric = Metric(robot.mass_matrix(q0), moves)
    x, q = robot.difference(q0, followed), followed
    first = x
    for _ in range(2 * _PART_ITERATIONS):
        phi, J = geometry.to_assemble(q)
        new = metric.least(J, J @ x - phi)
        step = float(np.abs(new - x).max(initial=0.0))
        if not np.isfinite(step) or np.abs(new - first).max(initial=0.0) > 0.5 * np.abs(first).max(
            initial=0.0
        ):
            q = followed
            break
        x, q = new, robot.integrate(q0, new, 1.0)
        if step < _PART_CLOSE:
            break
    phi, _ = geometry.to_assemble(q)
    if np.abs(phi).max(initial=0.0) > CLOSED:
        q, phi = followed, geometry.to_assemble(followed)[0]
    worst = int(np.argmax(np.abs(phi)))
    return Assembled(q, float(np.abs(phi[worst])), int(geometry.loop_of[worst]), 2 * _PART_ITERATIONS, False)


def pose_text(names: tuple[str, ...], q: np.ndarray) -> str:
    """A pose in a message."""
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(names, q, strict=True))
