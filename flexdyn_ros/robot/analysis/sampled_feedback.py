"""What sampling and delay do to joint feedback: the exact discrete closed loop of a linearised robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.robot.verbs import Robot

#: delays, in samples, for which feedback must be stable
DELAYS = (0.0, 0.5, 1.0)
#: of the rational function that stands for the exponential of a small matrix
ORDER = 8


def sampled_growth(
    robot: Robot,
    q: np.ndarray,
    stiffness: object,
    damping: object,
    period: float,
    delay: float = 0.0,
    tau: np.ndarray | None = None,
) -> float:
    """Growth rate [1/s] of the least stable motion about q under tau0 - P dq - D v, sampled and held;
    negative if all motion decays.

    Feedback that damps every mode in continuous time can excite them when sampled: velocity feedback needs
    damping x period below about twice the inertia that moves at once, which in a bending arm is little more
    than the hub of the link, and it pushes modes whose period is near that of the samples. Zero-order hold
    with a delay of up to a sample: Franklin, Powell & Workman, Digital Control of Dynamic Systems, chapter 4.

    Parameters
    ----------
    q : (nq,) array
    stiffness, damping : (nv,) arrays, one number for all, or matrices
        P, D as of `pd`; coordinates without an actuator have none. Or matrices (nu, nv), of actuators by
        coordinates, taken as they are.
    period, delay : float
        Between samples, and from a sample until its effort acts, at most a period [s].
    tau : (nu,) array, optional
        Efforts that hold the robot at q.

    Raises
    ------
    StateError
    """
    if not (np.isfinite(period) and period > 0.0 and 0.0 <= delay <= period):
        raise StateError(
            f"period is {period} s and delay {delay} s, expected 0 <= delay <= period, 0 < period"
        )
    K = np.hstack([_matrix(robot, gain, name) for gain, name in ((stiffness, "P"), (damping, "D"))])
    A, B, T = motions_about(robot, q, tau)
    K = K @ T
    old, old_input = _held(A, B, delay)
    rest, new_input = _held(A, B, period - delay)
    # states, and the effort that is still held from the sample before
    loop = np.block([[rest @ old - new_input @ K, rest @ old_input], [-K, np.zeros((len(K), B.shape[1]))]])
    return float(np.log(np.abs(np.linalg.eigvals(loop)).max()) / period)


def motions_about(
    robot: Robot, q: np.ndarray, tau: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x' = A x + B u of the motions that constraints leave about rest at q (nq,): A (2k, 2k), B (2k, nu), and
    (dq, dv) = T x, T (2nv, 2k)."""
    A, B = robot.linearize(q, np.zeros(robot.nv), tau)
    N = robot.functions.motions(q)
    T = np.kron(np.eye(2), N)
    return T.T @ A @ T, T.T @ B, T


def gains(robot: Robot, value: Any, name: str, size: int | None = None) -> np.ndarray:
    """Gains (size,), nv by default, from one number for all or from an array."""
    size = robot.nv if size is None else size
    if np.ndim(value) == 0:
        return np.full(size, float(value))
    array = numbers(value, name)
    if array.shape != (size,):
        raise DimensionError(f"{name} has shape {array.shape}, expected ({size},)")
    return array


def joint_inertia(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Effective inertia (nv,) of each actuated joint at q with the other joints free and nothing bending
    [kg m2, kg]; zero elsewhere."""
    return _effective_inertia(robot, q, [c.v_index for c in robot.coordinates if c.actuated])


def sudden_inertia(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Effective inertia (nv,) of each coordinate at q with all others free, modes of links included
    [kg m2, kg]: damping times sample period of sampled feedback must stay below about twice that of a
    joint."""
    return _effective_inertia(robot, q, list(range(robot.nv)))


def _effective_inertia(robot: Robot, q: np.ndarray, free: list[int]) -> np.ndarray:
    inertia = np.zeros(robot.nv)
    if robot.functions.is_constrained:
        # where nothing bends: all coordinates but those of passive joints are free
        if any(c.kind in MODAL for c in robot.coordinates) and len(free) < robot.nv:
            robot.functions.refuse("the inertia of joints of links that bend")
        felt = np.diagonal(robot.functions.inverse_inertia(q))[free]
        inertia[free] = np.divide(1.0, felt, out=np.zeros(len(free)), where=felt > 0.0)
        return inertia
    M = robot.mass_matrix(q)[np.ix_(free, free)]
    inertia[free] = 1.0 / np.diagonal(np.linalg.inv(M))
    return inertia


def _matrix(robot: Robot, gain: Any, name: str) -> np.ndarray:
    """Gains as a matrix (nu, nv)."""
    if np.ndim(gain) == 2:
        if np.shape(gain) != (robot.nu, robot.nv):
            raise DimensionError(f"{name} has shape {np.shape(gain)}, expected ({robot.nu}, {robot.nv})")
        return np.asarray(gain, dtype=np.float64)
    actuated = np.array([c.actuated for c in robot.coordinates], dtype=float)
    # efforts of cylinders and legs come behind those of the coordinates
    return np.eye(robot.nu, robot.nv) * (gains(robot, gain, name) * actuated)


def _held(A: np.ndarray, B: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Transition and input matrix of x' = A x + B u over a time in which u is held."""
    n, m = B.shape
    step = _exponential(np.block([[A, B], [np.zeros((m, n + m))]]) * time)
    return step[:n, :n], step[:n, n:]


def _exponential(X: np.ndarray) -> np.ndarray:
    """e^X of a matrix (n, n), by halving X until a Padé approximant has it to rounding, and squaring: Golub &
    Van Loan, Matrix Computations, algorithm 9.3.1. NaN where X is not finite.

    (`scipy.linalg.expm` does the same; importing it takes a quarter of the time in which a node starts.)
    """
    size = np.abs(X).sum(axis=0).max()
    if not np.isfinite(size):
        return np.full_like(X, np.nan)
    halvings = max(0, int(np.ceil(np.log2(max(size, 0.25)))) + 1)
    X = X / 2.0**halvings
    power = np.eye(len(X))
    above, below, factor = power, power, 1.0
    for k in range(1, ORDER + 1):
        factor *= (ORDER - k + 1) / ((2 * ORDER - k + 1) * k)
        power = X @ power
        above, below = above + factor * power, below + (-1) ** k * factor * power
    result = np.linalg.solve(below, above)
    for _ in range(halvings):
        result = result @ result
    return result
