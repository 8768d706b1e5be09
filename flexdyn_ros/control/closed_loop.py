"""Vibration of a robot whose joints are held by proportional-derivative feedback."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.robot.analysis.sampled_feedback import gains, joint_inertia
from flexdyn_ros.robot.verbs import Robot

__all__ = ["Vibration", "closed_loop_modes", "joint_inertia"]

#: poles nearer to the real axis than this, relative to their size, do not oscillate
FLAT = 1e-6


class Vibration(NamedTuple):
    """Oscillating modes (m,), ascending: undamped frequency [Hz] and damping ratio [-]."""

    frequency: np.ndarray
    damping_ratio: np.ndarray


def closed_loop_modes(
    robot: Robot, q: np.ndarray, stiffness: object, damping: object, tau: np.ndarray | None = None
) -> Vibration:
    """Oscillating modes about q at rest under tau = tau0 - P dq - D v, from the exact linearisation.

    Parameters
    ----------
    q : (nq,) array
    stiffness, damping : (nv,) arrays or one number for all
        P, D as of `pd`; coordinates without an actuator have none.
    tau : (nu,) array, optional
        Efforts that hold the robot at q.
    """
    actuated = np.array([c.actuated for c in robot.coordinates], dtype=float)
    P, D = gains(robot, stiffness, "stiffness") * actuated, gains(robot, damping, "damping") * actuated
    A, B = robot.linearize(q, np.zeros(robot.nv), tau)
    poles = np.linalg.eigvals(A - B @ np.hstack((np.diag(P), np.diag(D))))
    poles = poles[poles.imag > FLAT * np.abs(poles)]
    poles = poles[np.argsort(np.abs(poles))]
    size = np.abs(poles)
    return Vibration(size / (2.0 * np.pi), -poles.real / size)
