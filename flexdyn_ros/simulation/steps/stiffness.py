"""How fast a robot's joint-level forces are, and what follows.

The automatic method, default stops, bounds of speed, masses that a step can bear.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.verbs import Robot

#: default absolute tolerance of runs with error control, of what a coordinate displaces or turns [m, rad]: at
#: most, a share of rtol (so that fast modes of small amplitude keep their energy as the rest does), and at
#: least, above rounding
ATOL, ATOL_OF_RTOL, LEAST_ATOL = 1e-9, 1e-3, 1e-13
#: what a unit of a mode does to a tip that is held [m, rad]: at most rounding
HELD = 1e-9
#: default stop: the effort limit is reached this far beyond the limit [rad or m] ...
STOP_DEPTH = {"rad": 0.01, "m": 0.002}
#: ... and no softer than this natural frequency of the inertia it carries [rad/s], critically damped
STOP_FREQUENCY = 2.0 * np.pi * 25.0
#: a simulation has diverged when its kinetic energy exceeds its scale by this factor
DIVERGENCE = 1e12


def fastest_rate(
    robot: Robot, motion: Motion, q: np.ndarray, stiffness: np.ndarray, damping: np.ndarray
) -> float:
    """Largest rate [1/s] of the forces on single coordinates at q.

    Those of the robot, and the gains given (nu,) besides.

    The larger of the largest eigenvalue of M^-1 D and the root of that of M^-1 K.
    """
    B = robot.actuation_matrix(q)
    K = np.diag(motion.stiffness) + (B * stiffness) @ B.T
    D = np.diag(motion.damping) + (B * damping) @ B.T
    if not (K.any() or D.any()):
        return 0.0
    inverse = _inverse(robot.mass_matrix(q))
    return max(_largest(inverse, D), float(np.sqrt(_largest(inverse, K))))


def _largest(inverse: np.ndarray, slopes: np.ndarray) -> float:
    """Largest eigenvalue of M^-1 S, S symmetric and not negative."""
    if not slopes.any():
        return 0.0
    values, vectors = np.linalg.eigh(slopes)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return float(np.linalg.eigvalsh(root.T @ inverse @ root)[-1])


def _inertia(robot: Robot, motion: Motion, q: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Inertia (nu,) that each effort meets: M_ii of its coordinate, or 1 / (B' M^-1 B)_ii of its leg or
    cylinder, and of all in closed mechanisms; 0 where that cannot move anything."""
    closed = robot.functions.is_constrained
    if motion.drives_coordinates and not closed:
        return np.diagonal(M)
    B, inverse = robot.actuation_matrix(q), robot.functions.inverse_inertia(q) if closed else _inverse(M)
    return reciprocal(np.einsum("ij,ij->j", B, inverse @ B))


def reciprocal(x: np.ndarray) -> np.ndarray:
    """1 / x, 0 where x is 0."""
    return np.divide(1.0, x, out=np.zeros_like(x), where=x != 0.0)


def _inverse(M: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(M)


def stops_at(
    robot: Robot,
    motion: Motion,
    q: np.ndarray,
    M: np.ndarray,
    dt: float,
    stiffness: np.ndarray | None,
    damping: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (nu,) of the stops at q with mass matrix M, with defaults where None is given.

    Default stiffness: the effort limit at STOP_DEPTH beyond the limit, at least STOP_FREQUENCY of the inertia
    M_ii; never more than M_ii / dt^2. Default damping: critical.
    """
    inertia = _inertia(robot, motion, q, M)
    if stiffness is None:
        depth = np.full(robot.nu, STOP_DEPTH["m"])
        if motion.drives_coordinates:
            depth[:] = [STOP_DEPTH.get(c.unit, STOP_DEPTH["rad"]) for c in robot.coordinates]
        limit = np.where(np.isfinite(motion.effort_limit), motion.effort_limit, 0.0)
        stiffness = np.maximum(inertia * STOP_FREQUENCY**2, limit / depth)
    stiffness = np.minimum(stiffness, inertia / dt**2)
    return stiffness, 2.0 * np.sqrt(stiffness * inertia) if damping is None else damping


def speed_bounds(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Speeds (nv,) at which the kinetic energy of a coordinate alone is DIVERGENCE times the scale."""
    alone = np.array([robot.energy(q, e).kinetic for e in np.eye(robot.nv)])
    return np.sqrt(DIVERGENCE * energy_scale(robot, q, v) / np.maximum(alone, 0.5e-12))


def energy_scale(robot: Robot, q: np.ndarray, v: np.ndarray) -> float:
    """The largest of 1 J, the kinetic energy at q, v, and the weight times 1 m [J]."""
    # by a velocity of size 1, whose energy is a number where that of v may be none
    size = float(np.abs(v).max(initial=0.0)) or 1.0
    of_one = float(robot.energy(q, v / size).kinetic)
    with np.errstate(over="ignore"):
        kinetic = float(np.square(np.float64(size)) * of_one)
    return max(1.0, kinetic, robot.mass * float(np.linalg.norm(robot.gravity)))


def default_atol(rtol: float) -> float:
    """Absolute tolerance [m, rad] that goes with a relative one: 1e-9 with 1e-6 and above."""
    return max(LEAST_ATOL, min(ATOL, ATOL_OF_RTOL * rtol))


def allowed_errors(robot: Robot, q: np.ndarray, atol: float | None, rtol: float = 1e-6) -> np.ndarray:
    """What an error of positions and speeds (2 nv,) may be apart from the relative tolerance.

    atol, or that which goes with rtol by default, of the displacement that a coordinate makes; of speeds that
    times the coordinate's own rate at q.
    """
    sizes = default_atol(rtol) / displacements(robot) if atol is None else np.full(robot.nv, atol)
    return np.concatenate([sizes, sizes * own_rates(robot, q)])


def displacements(robot: Robot) -> np.ndarray:
    """Largest displacement or turn [m, rad] (nv,) that a unit of each coordinate makes: 1, but for the modes
    of flexible links, which count by what they do to the tip unless it is held."""
    sizes = np.ones(robot.nv)
    by_q = {c.q_index: c.v_index for c in robot.coordinates if c.q_index >= 0}
    for tip in robot.tips:
        reach = np.maximum(np.abs(tip.displacement), np.abs(tip.rotation)).max(axis=1)
        sizes[[by_q[int(i)] for i in tip.q]] = np.where(reach > HELD, reach, 1.0)
    return sizes


def highest_rate(robot: Robot, q: np.ndarray) -> float:
    """Rate [1/s] of the fastest undamped vibration at q of the springs that a tree names: of its links and
    joints; 0 where there are none."""
    motion = robot.motion
    if motion is None or not motion.drives_coordinates:
        return 0.0
    K = np.diag(motion.stiffness)
    for v, stiffness, _ in motion.modal:
        K[np.ix_(v, v)] += stiffness
    return float(np.sqrt(_largest(_inverse(robot.mass_matrix(q)), K)))


def own_rates(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Rate [1/s] (nv,) at which each coordinate would oscillate at q with all others free, and at least 1/s.

    w^2 = K_ii (M^-1)_ii: an error of the coordinate becomes one of its speed w times as large.
    """
    rates = np.ones(robot.nv)
    motion = robot.motion
    if motion is None:
        return rates
    stiffness = np.zeros(robot.nv)
    for v, K, _ in motion.modal:
        stiffness[v] = np.diagonal(K)
    if motion.drives_coordinates:
        stiffness = np.maximum(stiffness, motion.stiffness)
    if not stiffness.any():
        return rates
    flexibility = np.diagonal(_inverse(robot.mass_matrix(q)))
    return np.maximum(rates, np.sqrt(np.maximum(stiffness * flexibility, 0.0)))


#: added are h^2 K / 8 and h D / 2: with nothing else to move, h w = sqrt(8) and h d = 2, which the classical
#: Runge-Kutta method bears (2.83 and 2.78)
OF_STIFFNESS, OF_DAMPING = 0.125, 0.5
#: h w up to which a mode is left alone
FOLLOWED = 2.0


def scaled_masses(motion: Motion, M: np.ndarray, dt: float) -> np.ndarray:
    """Masses (nv,) to add to the diagonal of M (nv, nv) for steps of dt [s]; 0 where steps can follow.

    A coordinate's rate w is that with all others free, w^2 = K_ii (M^-1)_ii; damping counts as h w / 4 does.
    Where K couples the modes of a link, K_ii is replaced by the element d_i of a diagonal that bounds K, and
    the fastest rate of what is scaled stays below sqrt(8) / h: w^2 = x' K x / x' (M + h^2 diag(d) / 8) x.
    """
    added = np.zeros(len(M))
    inverse = np.diagonal(np.linalg.inv(M))
    for v, K, D in motion.modal:
        needed = OF_STIFFNESS * dt**2 * bound(K) + OF_DAMPING * dt * bound(D)
        added[v] = np.where(needed * inverse[v] > OF_STIFFNESS * FOLLOWED**2, needed, 0.0)
    return added


def bound(S: np.ndarray) -> np.ndarray:
    """d (m,) such that diag(d) - S has no negative eigenvalue; S (m, m) is symmetric and has none either.

    The diagonal of S where S is diagonal; else that times the sums of the rows of |S_ij| / sqrt(S_ii S_jj).
    """
    diagonal = np.maximum(np.diagonal(S), 0.0)
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return diagonal * np.abs(S / np.outer(root, root)).sum(axis=1)
