"""Computed-torque control."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.control.reference import reference_of
from flexdyn_ros.robot.analysis.sampled_feedback import gains
from flexdyn_ros.robot.verbs import Robot


def asked_acceleration(w: Any, zeta: Any, error: object, rate: Any, a: np.ndarray) -> Any:
    """a_d + w^2 (q_d - q) + 2 zeta w (v_d - v), of errors of position and rate."""
    return a + w * w * error + 2.0 * zeta * w * rate


def computed_torque(
    robot: Robot, target: object, frequency: Any, damping_ratio: object = 1.0
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """tau = ID(q, v, a_d + w^2 (q_d - q) + 2 zeta w (v_d - v)) (Luh, Walker & Paul 1980).

    With the exact model every coordinate's error obeys e'' + 2 zeta w e' + w^2 e = 0.

    Parameters
    ----------
    robot : Robot
        The model; may differ from the robot that is controlled. nu = nv.
    target : (nq,) array, or callable t -> q, (q, v) or (q, v, a)
    frequency, damping_ratio : (nv,) arrays or one number for all
        w [rad/s], zeta [-].

    Returns
    -------
    law : callable (t, q, v) -> (nv,) array
        Coordinates without an actuator are left free, and their effort is zero.

    Raises
    ------
    DimensionError
        For arrays of the wrong length.
    """
    w, zeta = gains(robot, frequency, "frequency"), gains(robot, damping_ratio, "damping_ratio")
    reference = reference_of(robot, target)
    unactuated = "given" if all(c.actuated for c in robot.coordinates) else "free"

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_d, v_d, a_d = reference(t)
        a = asked_acceleration(w, zeta, robot.difference(q, q_d), v_d - v, a_d)
        return robot.inverse_dynamics(q, v, a, unactuated=unactuated)

    return law
