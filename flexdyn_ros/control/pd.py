"""Proportional-derivative control with gravity compensation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.control.reference import gains, reference_of
from flexdyn_ros.dynamics.protocol import Robot

__all__ = ["pd"]


def pd(
    robot: Robot, target: Any, stiffness: Any, damping: Any, *, gravity: bool = True
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """tau = P (q_d - q) + D (v_d - v) + g(q_d), by coordinate (Takegaki & Arimoto 1981).

    Parameters
    ----------
    robot : Robot
        One whose efforts are its coordinates' (nu = nv).
    target : (nq,) array, or callable t -> q, (q, v) or (q, v, a)
    stiffness, damping : (nv,) arrays or one number for all
        P [N m/rad, N/m], D [N m s/rad, N s/m].
    gravity : bool
        Add the efforts that hold the target against gravity and springs.

    Returns
    -------
    law : callable (t, q, v) -> (nv,) array
        Zero on coordinates that have no actuator.

    Raises
    ------
    DimensionError
        For arrays of the wrong length.
    """
    P, D = gains(robot, stiffness, "stiffness"), gains(robot, damping, "damping")
    reference = reference_of(robot, target)
    actuated = np.array([c.actuated for c in robot.coordinates], dtype=bool)
    rest = np.zeros(robot.nv)

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_d, v_d, _ = reference(t)
        tau = P * robot.difference(q, q_d) + D * (v_d - v)
        if gravity:
            tau += robot.inverse_dynamics(q_d, rest, rest)
        return np.where(actuated, tau, 0.0)

    return law
