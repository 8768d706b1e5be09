"""Forward kinematics of a platform, judged: a pose of the right assembly, or none.

See docs/theory/platform.md, "Forward kinematics". Newton's method can converge, to the last digit, on a pose
that lies beyond a singularity; the sign of the Jacobian's determinant shows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.families.stewart.margins import homogeneous

#: largest error of a length that is accepted [m]
ACCEPTED_RESIDUAL = 1e-9

_REASONS = (
    "the lengths are not met",
    "the pose is of another assembly: the Jacobian's determinant changed its sign",
    "the pose is near a singularity",
    "the pose is farther from the start than max_distance",
)


def refusals(
    J: np.ndarray,
    residual: np.ndarray,
    distance: np.ndarray,
    *,
    reach: float,
    home_sign: float,
    least: float,
    farthest: float,
) -> np.ndarray:
    """Why each of n poses is refused: 0 not at all, else the number of a reason from 1 on.

    J (n, 6, 6) leg Jacobians, residual (n,) [m], distance (n,) from the start [m]; least: smallest singular
    value that is accepted; farthest: largest distance [m].
    """
    met = residual <= ACCEPTED_RESIDUAL
    Jh = homogeneous(np.where(np.isfinite(J), J, 0.0), reach)
    # the comparisons are written so that NaN refuses
    same = np.linalg.det(Jh) * home_sign > 0.0
    regular = np.linalg.svd(Jh, compute_uv=False)[:, -1] >= least
    near = distance <= farthest
    reasons = np.zeros(len(residual), dtype=np.int64)
    for number, good in reversed(list(enumerate((met, same, regular, near), 1))):
        reasons[~good] = number
    return reasons


def complain(reasons: np.ndarray, residual: np.ndarray, iterations: np.ndarray) -> None:
    """ConvergenceError for the first pose that is refused."""
    bad = np.flatnonzero(reasons)
    if not bad.size:
        return
    i = int(bad[0])
    where = "" if reasons.size == 1 else f" (sample {i}; {bad.size} of {reasons.size} are refused)"
    error = f"the largest error of a length is {residual[i]:.3g} m"
    text = f"no pose found{where}: {_REASONS[reasons[i] - 1]}; {error}"
    raise ConvergenceError(text, float(residual[i]), int(iterations[i]))


def turn_between(
    difference: Callable[..., np.ndarray], q0: np.ndarray, q1: np.ndarray, reach: float
) -> np.ndarray:
    """Distance (n,) of poses: the larger of the way of the origin and of the turn times the platform's size
    [m]."""
    d = difference(q0, q1)
    return np.maximum(np.linalg.norm(d[..., 3:], axis=-1), reach * np.linalg.norm(d[..., :3], axis=-1))
