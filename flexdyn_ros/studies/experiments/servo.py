"""Joint servos of experiments: proportional-derivative laws tuned to the inertia that each joint feels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.control import joint_inertia
from flexdyn_ros.robot.verbs import Robot


def servo_gains(
    robot: Robot, q: np.ndarray, frequency: float, damping_ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (nv,) of servos of that frequency [Hz] on the inertia of each joint at q."""
    inertia = joint_inertia(robot, q)
    w = 2.0 * np.pi * frequency
    return w * w * inertia, 2.0 * damping_ratio * w * inertia


def servo(
    robot: Robot, q: np.ndarray, tau: np.ndarray, frequency: float, damping_ratio: float
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """The law tau + P (q_d - q) - D v that holds the joints at q."""
    P, D = servo_gains(robot, q, frequency, damping_ratio)
    joints = np.flatnonzero(P)
    at = np.array([robot.coordinates[i].q_index for i in joints])
    target, stiffness, damping = q[at], P[joints], D[joints]
    held = np.zeros(robot.nu)
    held[joints] = np.asarray(tau)[joints]

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = held.copy()
        out[joints] += stiffness * (target - q[at]) - damping * v[joints]
        return out

    return law
