"""How fast a robot's joint-level forces are, and what follows.

The automatic method, default stops, bounds of speed.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.dynamics.protocol import Robot

__all__ = ["fastest_rate", "speed_bounds", "stops_at"]

#: default stop: the effort limit is reached this far beyond the limit [rad or m] ...
STOP_DEPTH = {"rad": 0.01, "m": 0.002}
#: ... and no softer than this natural frequency of the inertia it carries [rad/s], critically damped
STOP_FREQUENCY = 2.0 * np.pi * 25.0
#: a simulation has diverged when its kinetic energy exceeds its scale by this factor
DIVERGENCE = 1e12


def _joint_forces(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and steepest damping (nv,) of the robot's own forces on single coordinates."""
    joints = {joint.name: joint for joint in robot.description.joints}
    stiffness, damping = np.zeros(robot.nv), np.zeros(robot.nv)
    for c in robot.coordinates:
        joint = joints.get(c.name)
        if joint is None:
            continue
        damping[c.v_index] = joint.damping
        dry = joint.dry_friction
        smoothing = 1e-3 if dry is None else dry.smoothing_velocity
        static = joint.friction if dry is None or dry.static is None else dry.static
        damping[c.v_index] += max(joint.friction, static) / smoothing
        if joint.spring is not None:
            stiffness[c.v_index] = joint.spring.stiffness
    return stiffness, damping


def fastest_rate(robot: Robot, q: np.ndarray, stiffness: np.ndarray, damping: np.ndarray) -> float:
    """Largest rate [1/s] of the joint-level forces at q.

    Those of the robot, and the gains given (nv,) besides.

    The larger of the largest eigenvalue of M^-1 D and the root of that of M^-1 K.
    """
    own_stiffness, own_damping = _joint_forces(robot, q)
    K, D = own_stiffness + stiffness, own_damping + damping
    if not (K.any() or D.any()):
        return 0.0
    inverse = _inverse(robot.mass_matrix(q))
    return max(_largest(inverse, D), float(np.sqrt(_largest(inverse, K))))


def _largest(inverse: np.ndarray, diagonal: np.ndarray) -> float:
    root = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(root[:, None] * inverse * root)[-1]) if diagonal.any() else 0.0


def _inverse(M: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(M)


def stops_at(
    robot: Robot, q: np.ndarray, dt: float, stiffness: np.ndarray | None, damping: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (nv,) of the joint stops at q, with defaults where None is given.

    Default stiffness: the effort limit at STOP_DEPTH beyond the limit, at least STOP_FREQUENCY of the inertia
    M_ii; never more than M_ii / dt^2. Default damping: critical.
    """
    inertia = np.diagonal(robot.mass_matrix(q))
    if stiffness is None:
        stiffness = inertia * STOP_FREQUENCY**2
        for c in robot.coordinates:
            if np.isfinite(c.effort_limit):
                i = c.v_index
                stiffness[i] = max(stiffness[i], c.effort_limit / STOP_DEPTH.get(c.unit, 0.01))
    stiffness = np.minimum(stiffness, inertia / dt**2)
    return stiffness, 2.0 * np.sqrt(stiffness * inertia) if damping is None else damping


def speed_bounds(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Speeds (nv,) at which the kinetic energy of a coordinate alone is DIVERGENCE times the scale.

    The scale is the largest of 1 J, the kinetic energy at (q, v), and the weight times 1 m.
    """
    scale = max(1.0, float(robot.energy(q, v).kinetic), robot.mass * float(np.linalg.norm(robot.gravity)))
    inertia = np.maximum(np.diagonal(robot.mass_matrix(q)), 1e-12)
    return np.sqrt(2.0 * DIVERGENCE * scale / inertia)
