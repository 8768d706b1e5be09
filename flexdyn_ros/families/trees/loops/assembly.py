"""Closed poses of a robot with loops: the nearest to a start in the metric of its mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.loops.geometry import Geometry

#: Gauss-Newton steps: largest [rad], largest [m], residual at which they end; rounds of both kinds of steps
_STEP, _NEAR, _ROUNDS, _ITERATIONS = 0.3, 1e-2, 200, 100
#: smallest step, residual of a closed pose, relative cut of singular values
_CLOSE, CLOSED, _CUT = 1e-13, 1e-9, 1e-11
#: step of the second kind that cannot converge [rad, m]
_FAR = 3.0
#: further starts: how many, how far [rad or m]
_STARTS, _SPREAD = 8, 0.3


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
        L = np.linalg.cholesky(scaled)
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
