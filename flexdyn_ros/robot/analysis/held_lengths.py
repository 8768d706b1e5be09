"""States of rest in which elements keep their lengths, as cylinders on shut valves do.

Forces f along the lines are unknown with the free coordinates q:

    r = load(q) - tau - J(q) f = 0,    c = l(q) - l0 = 0,    J = (dl/dq)^T

(Lagrange multipliers; docs/theory/elements.md). Newton's method solves [K -J; J^T 0] (dq; df) = -(r; c),
where K is the stiffness under the forces f, whose lines of action turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.robot.analysis.equilibrium import LARGEST_STEP, MOST_ITERATIONS, TOLERANCE
from flexdyn_ros.robot.results import Equilibrium

#: largest error of a length [m]
LENGTH = 1e-11


class HeldStatics(NamedTuple):
    """The robot at rest, as functions of q (nq,).

    load(q): efforts (nv,) that it takes to stay there, less what is not held; stiffness(q, f): their
    derivative (nv, nv) by a tangent step, forces (k,) along the lines included; lengths(q): (k,) [m];
    lines(q): their derivatives (nv, k); move(q, dq): q moved by a tangent step.
    """

    load: Callable[[np.ndarray], np.ndarray]
    stiffness: Callable[[np.ndarray, np.ndarray], np.ndarray]
    lengths: Callable[[np.ndarray], np.ndarray]
    lines: Callable[[np.ndarray], np.ndarray]
    move: Callable[[np.ndarray, np.ndarray], np.ndarray]


def rest_at_lengths(
    statics: HeldStatics, q: np.ndarray, tau: np.ndarray, held: np.ndarray
) -> tuple[Equilibrium, np.ndarray]:
    """The state of rest near q under efforts tau (nv,), and the forces (k,) that keep the lengths of q;
    coordinates marked in held (nv,) stay.

    Raises
    ------
    ConvergenceError
        If none is found: the smallest residual seen, and the iterations done.
    """
    free = np.flatnonzero(~held)
    goal = statics.lengths(q)
    force = np.linalg.lstsq(statics.lines(q)[free], (statics.load(q) - tau)[free], rcond=1e-12)[0]
    best = np.inf
    for done in range(MOST_ITERATIONS):
        load, J = statics.load(q), statics.lines(q)
        left, gap = load - tau - J @ force, statics.lengths(q) - goal
        scale = max(float(np.abs(x).max(initial=0.0)) for x in (load, tau, J * force))
        size = float(np.abs(left[free]).max(initial=0.0))
        best = min(best, size)
        K = statics.stiffness(q, force)[np.ix_(free, free)]
        if size <= TOLERANCE * scale and np.abs(gap).max(initial=0.0) <= LENGTH:
            efforts = np.where(held, load - J @ force, tau)
            return Equilibrium(q, efforts, size, _is_stable(K, J[free]), done), force
        k = len(force)
        # lines as large as the stiffness, else those of stiff beams would be cut off as rounding
        large = max(float(np.abs(K).max(initial=0.0)), 1.0)
        A = np.block([[K, -large * J[free]], [large * J[free].T, np.zeros((k, k))]])
        step = -np.linalg.lstsq(A, np.concatenate([left[free], large * gap]), rcond=1e-13)[0]
        step[len(free) :] *= large
        largest = float(np.abs(step[: len(free)]).max(initial=0.0))
        share = min(1.0, LARGEST_STEP / largest) if largest > 0.0 else 1.0
        dq = np.zeros(len(tau))
        dq[free] = share * step[: len(free)]
        q, force = statics.move(q, dq), force + share * step[len(free) :]
    raise ConvergenceError(
        f"no equilibrium found near the start with these lengths: the best residual is {best:.3g} N m or N; "
        "hold coordinates that nothing supports, or start nearer",
        best,
        MOST_ITERATIONS,
    )


def _is_stable(K: np.ndarray, J: np.ndarray) -> bool:
    """Whether the potential falls along no motion that keeps the lengths, to rounding."""
    values, rows = np.linalg.svd(J.T)[1:] if J.size else (np.zeros(0), np.eye(len(K)))
    rank = int((values > 1e-10 * values.max(initial=0.0)).sum())
    N = rows[rank:].T
    if not N.size:
        return True
    eigenvalues = np.linalg.eigvalsh(0.5 * N.T @ (K + K.T) @ N)
    return bool(eigenvalues[0] >= -1e-12 * np.abs(eigenvalues).max() - 1e-9)
