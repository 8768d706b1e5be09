"""States of rest: Newton's method with a line search on the configuration manifold, for robots of any
family."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexdyn_ros.dynamics.results import Equilibrium
from flexdyn_ros.errors import ConvergenceError

__all__ = ["Statics", "find_equilibrium"]

#: residual to aim at, and the largest one that is accepted, relative to the largest effort that has to be
balanced AIM, TOLERANCE = 1e-14, 1e-11 #: one step turns or moves no coordinate by more than this [rad, m]
LARGEST_STEP = 0.5 MOST_ITERATIONS = 200


class Statics(NamedTuple):
    """The robot at rest, as functions of q (nq,).

    load(q): efforts (nv,) that it takes to stay there; stiffness(q): their derivative (nv, nv) by a tangent
    step; mass(q): mass matrix; move(q, dq): q moved by a tangent step.
    """

    load: Callable[[np.ndarray], np.ndarray]
    stiffness: Callable[[np.ndarray], np.ndarray]
    mass: Callable[[np.ndarray], np.ndarray]
    move: Callable[[np.ndarray, np.ndarray], np.ndarray]


def find_equilibrium(statics: Statics, q: np.ndarray, tau: np.ndarray, held: np.ndarray) -> Equilibrium:
    """The state of rest near q under efforts tau (nv,); coordinates marked in held (nv,) stay and get their
    efforts.

    Newton steps with exact stiffness, shortened until the residual r, in the norm sqrt(r^T M^-1 r), falls;
    where the stiffness is singular, a step along the acceleration that the robot would have.

    Raises
    ------
    ConvergenceError
        If there is none near: the residual that is left, and the iterations done.
    """
    free = np.flatnonzero(~held)
    scale = max(np.abs(statics.load(q)).max(initial=0.0), np.abs(tau).max(initial=0.0))
    if not free.size:
        return _result(statics, q, tau, held, free, 0)
    best = np.inf
    for iteration in range(MOST_ITERATIONS):
        r = (statics.load(q) - tau)[free]
        best = min(best, float(np.abs(r).max()))
        scale = max(scale, np.abs(statics.load(q)).max())
        if np.abs(r).max() <= AIM * scale:
            return _result(statics, q, tau, held, free, iteration)
        moved = _step(statics, q, tau, free, r)
        if moved is None:
            if np.abs(r).max() <= TOLERANCE * scale:
                return _result(statics, q, tau, held, free, iteration)
            break
        q = moved
    raise ConvergenceError(
        f"no equilibrium found near the start: the best residual is {best:.3g} of efforts up to {scale:.3g}; "
        "hold coordinates that nothing supports, or start nearer",
        best,
        iteration + 1,
    )


def _step(statics: Statics, q: np.ndarray, tau: np.ndarray, free: np.ndarray, r: np.ndarray) -> np.ndarray |
None:
    """q after one step that lowers the residual; None if there is no such step."""
    W = np.linalg.inv(statics.mass(q)[np.ix_(free, free)])
    K = statics.stiffness(q)[np.ix_(free, free)]
    newton = -np.linalg.lstsq(K, r, rcond=1e-12)[0]
    merit = r @ W @ r
    for direction in (newton, -W @ (K.T @ (W @ r)), -W @ r):
        size = np.abs(direction).max()
        if size < 1e-15:
            continue
        length = min(1.0, LARGEST_STEP / size) if direction is newton else LARGEST_STEP / size
        for _ in range(40):
            dq = np.zeros(len(tau))
            dq[free] = length * direction
            trial = statics.move(q, dq)
            s = (statics.load(trial) - tau)[free]
            if s @ W @ s <= (1.0 - 1e-4 * min(length, 1.0)) * merit:
                return trial
            length *= 0.5
    return None


def _result(statics, q, tau, held, free, iterations) -> Equilibrium:
    """What is found: held coordinates get the efforts that they take."""
    load = statics.load(q)
    tau = np.where(held, load, tau)
    residual = float(np.abs(load - tau).max(initial=0.0))
    return Equilibrium(q, tau, residual, _is_stable(statics, q, free), iterations)


def _is_stable(statics: Statics, q: np.ndarray, free: np.ndarray) -> bool:
    """No direction in which the potential falls: smallest eigenvalue of the Hessian not below zero (to
    rounding)."""
    if not free.size:
        return True
    pick = np.ix_(free, free)
    H, M = statics.stiffness(q)[pick], statics.mass(q)[pick]
    scaling = 1.0 / np.sqrt(np.diag(M))
    eigenvalues = np.linalg.eigvalsh(0.5 * (H + H.T) * np.outer(scaling, scaling))
    return bool(eigenvalues[0] >= -1e-9 * max(1.0, np.abs(eigenvalues).max()))
