"""States of rest: Newton's method with a line search on the configuration manifold, for robots of any
family."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.robot.analysis.modes import eigenvectors
from flexdyn_ros.robot.results import Equilibrium

#: residual to aim at, and the largest one accepted, relative to the largest effort that has to be balanced
AIM, TOLERANCE = 1e-14, 1e-11
#: one step turns or moves no coordinate by more than this [rad, m]
LARGEST_STEP = 0.5
SMALLEST_STEP = 1e-15
MOST_ITERATIONS = 200


class Statics(NamedTuple):
    """The robot at rest, as functions of q (nq,).

    load(q): efforts (nv,) that it takes to stay there; stiffness(q): their derivative (nv, nv) by a tangent
    step; mass(q): mass matrix; move(q, dq): q moved by a tangent step.
    """

    load: Callable[[np.ndarray], np.ndarray]
    stiffness: Callable[[np.ndarray], np.ndarray]
    mass: Callable[[np.ndarray], np.ndarray]
    move: Callable[[np.ndarray, np.ndarray], np.ndarray]


def find_equilibrium(
    statics: Statics, q: np.ndarray, tau: np.ndarray, held: np.ndarray, *, scale: float = 0.0
) -> Equilibrium:
    """The state of rest near q under efforts tau (nv,); coordinates marked in held (nv,) stay and get theirs.

    Newton steps with exact stiffness, shortened until the residual r, in the norm sqrt(r^T M^-1 r), falls.
    Where no step lowers it, once more from the start, downhill: steps -|K|^-1 r, shortened until the slope
    along the step has not changed its sign, end at a minimum of the potential if there is one.
    scale: size of efforts that `load` has balanced already; residuals are judged beside it.

    Raises
    ------
    ConvergenceError
        If none is found: the smallest residual seen, and the iterations done.
    """
    problem = _Problem(statics, tau, np.flatnonzero(~held), scale)
    best, done = np.inf, 0
    for step in (_newton_step, _downhill_step):
        at: np.ndarray | None = q
        for _ in range(MOST_ITERATIONS):
            assert at is not None
            r = problem.residual(at)
            size = np.abs(r).max(initial=0.0)
            best = min(best, size)
            moved = step(problem, at, r) if size > AIM * problem.scale else None
            if moved is None and size <= TOLERANCE * problem.scale:
                return problem.result(at, held, done)
            done += 1
            if moved is None:
                break
            at = moved
    raise ConvergenceError(
        f"no equilibrium found near the start: the best residual is {best:.3g} of efforts up to "
        f"{problem.scale:.3g}; hold coordinates that nothing supports, or start nearer",
        best,
        done,
    )


class _Problem:
    """Residual and stiffness of the free coordinates; `scale` is the largest effort seen."""

    def __init__(self, statics: Statics, tau: np.ndarray, free: np.ndarray, scale: float) -> None:
        self.statics, self.tau, self.free = statics, tau, free
        self.block = np.ix_(free, free)
        self.scale = max(scale, float(np.abs(tau).max(initial=0.0)))

    def residual(self, q: np.ndarray) -> np.ndarray:
        """Efforts (free,) that are missing at q."""
        load = self.statics.load(q)
        self.scale = max(self.scale, float(np.abs(load).max(initial=0.0)))
        return (load - self.tau)[self.free]

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q after a tangent step of the free coordinates."""
        dq = np.zeros(len(self.tau))
        dq[self.free] = step
        return self.statics.move(q, dq)

    def stiffness(self, q: np.ndarray) -> np.ndarray:
        """d residual / dq."""
        return self.statics.stiffness(q)[self.block]

    def mass(self, q: np.ndarray) -> np.ndarray:
        """Mass matrix of the free coordinates, the measure of steps; the unit matrix where it is singular."""
        M = self.statics.mass(q)[self.block]
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            return np.eye(len(M))
        return M

    def result(self, q: np.ndarray, held: np.ndarray, iterations: int) -> Equilibrium:
        """What is found at q: held coordinates get the efforts that they take."""
        load = self.statics.load(q)
        tau = np.where(held, load, self.tau)
        residual = float(np.abs(load - tau).max(initial=0.0))
        return Equilibrium(q, tau, residual, self.is_stable(q), iterations)

    def is_stable(self, q: np.ndarray) -> bool:
        """No direction in which the potential falls: no eigenvalue of its Hessian below zero (to
        rounding).
        """
        if not self.free.size:
            return True
        eigenvalues = eigenvectors(self.stiffness(q), np.linalg.cholesky(self.mass(q)))[0]
        return bool(eigenvalues[0] >= -1e-12 * np.abs(eigenvalues).max() - 1e-9)


def _newton_step(problem: _Problem, q: np.ndarray, r: np.ndarray) -> np.ndarray | None:
    """q after a step that lowers the residual; None if there is none."""
    M = problem.mass(q)
    direction = -np.linalg.lstsq(problem.stiffness(q), r, rcond=1e-12)[0]
    size = np.abs(direction).max()
    if size < SMALLEST_STEP:
        return None
    merit = r @ np.linalg.solve(M, r)
    length = min(1.0, LARGEST_STEP / size)
    for _ in range(40):
        trial = problem.moved(q, length * direction)
        s = problem.residual(trial)
        if s @ np.linalg.solve(M, s) <= (1.0 - 1e-4 * length) * merit:
            return trial
        length *= 0.5
    return None


def _downhill_step(problem: _Problem, q: np.ndarray, r: np.ndarray) -> np.ndarray | None:
    """q after a step downhill: -|K|^-1 r in the eigenvectors of (K, M); None where that is no step at all."""
    eigenvalues, vectors = eigenvectors(problem.stiffness(q), np.linalg.cholesky(problem.mass(q)))
    size = np.abs(eigenvalues)
    floor = 1e-6 * size.max() + SMALLEST_STEP
    direction = -vectors @ ((vectors.T @ r) / np.maximum(size, floor))
    length = min(1.0, LARGEST_STEP / max(np.abs(direction).max(), SMALLEST_STEP))
    if length * np.abs(direction).max() < SMALLEST_STEP:
        return None
    for _ in range(40):
        trial = problem.moved(q, length * direction)
        # past the bottom of the valley the slope along the step is positive
        if problem.residual(trial) @ direction <= -0.5 * (r @ direction):
            return trial
        length *= 0.5
    return None
