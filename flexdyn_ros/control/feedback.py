"""Proportional-derivative control with gravity compensation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.control.actuator_space import ActuatorSpace
from flexdyn_ros.control.reference import reference_of
from flexdyn_ros.control.static_shape import StaticShape
from flexdyn_ros.robot.analysis.sampled_feedback import gains
from flexdyn_ros.robot.verbs import Robot


def pulling_effort(P: np.ndarray, D: np.ndarray, error: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """P (q_d - q) + D (v_d - v), of errors of position and rate."""
    return P * error + D * rate


def pd(
    robot: Robot,
    target: object,
    stiffness: object,
    damping: object,
    *,
    gravity: bool = True,
    tip: str | None = None,
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """tau = P (q_d - q) + D (v_d - v) + g(q_d), by coordinate (Takegaki & Arimoto 1981).

    With closed loops g(q_d) are the least efforts of the actuators where the loops have moved the joints that
    have none; what q_d says of these is not looked at. For a robot that bends, g(q_d) are the efforts that
    hold it in the shape it takes at rest with its joints at q_d (De Luca & Siciliano 1993); elastic
    coordinates of the target are not looked at.

    Parameters
    ----------
    robot : Robot
    target : (nq,) array, or callable t -> q, (q, v) or (q, v, a)
    stiffness, damping : (nu,) arrays or one number for all
        P [N m/rad, N/m], D [N m s/rad, N s/m], of cylinders for their lengths.
    gravity : bool
        Add the efforts that hold the target against gravity and springs.
    tip : str, optional
        Name of a frame. The joints' targets are moved so that its origin, the robot at rest and bent by its
        weight, is where it would be without deflection.

    Returns
    -------
    law : callable (t, q, v) -> (nu,) array
        Zero on coordinates that have no actuator.

    Raises
    ------
    DimensionError
        For arrays of the wrong length.
    UnknownNameError
        If there is no frame `tip`.
    ConvergenceError
        By the law, where the loops do not close with the actuators at q_d.
    """
    P, D = gains(robot, stiffness, "stiffness", robot.nu), gains(robot, damping, "damping", robot.nu)
    reference, space = reference_of(robot, target), ActuatorSpace(robot)
    actuated = np.isin(np.arange(robot.nu), space.at)
    shape = StaticShape(robot)
    if tip is not None:
        robot.frames(robot.neutral(), tip)

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_d, v_d, _ = reference(t)
        if tip is not None:
            q_d = shape.aimed(q_d, tip)
        tau = pulling_effort(P, D, space.error(q, q_d), space.rates(q_d, v_d) - space.rates(q, v))
        if gravity:
            tau += shape(q_d)[1]
        return np.where(actuated, tau, 0.0)

    return law


def asked_acceleration(
    w: np.ndarray, zeta: np.ndarray, error: np.ndarray, rate: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """a_d + w^2 (q_d - q) + 2 zeta w (v_d - v), of errors of position and rate."""
    return a + w * w * error + 2.0 * zeta * w * rate


def computed_torque(
    robot: Robot, target: object, frequency: object, damping_ratio: object = 1.0
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """tau = ID(q, v, a_d + w^2 (q_d - q) + 2 zeta w (v_d - v)) (Luh, Walker & Paul 1980).

    With the exact model every coordinate's error obeys e'' + 2 zeta w e' + w^2 e = 0; with closed loops and
    cylinders that of every actuator, lengths included. Others follow, and their targets count only for the
    lengths and rates of cylinders that they imply.

    Parameters
    ----------
    robot : Robot
        The model; may differ from the robot that is controlled.
    target : (nq,) array, or callable t -> q, (q, v) or (q, v, a)
    frequency, damping_ratio : (nu,) arrays or one number for all
        w [rad/s], zeta [-].

    Returns
    -------
    law : callable (t, q, v) -> (nu,) array
        Coordinates without an actuator are left free, and their effort is zero.

    Raises
    ------
    DimensionError
        For arrays of the wrong length.
    """
    w, zeta = (
        gains(robot, frequency, "frequency", robot.nu),
        gains(robot, damping_ratio, "damping_ratio", robot.nu),
    )
    reference, space = reference_of(robot, target), ActuatorSpace(robot)
    by_actuators = robot.functions.is_constrained or robot.nu != robot.nv
    unactuated = "given" if all(c.actuated for c in robot.coordinates) else "free"

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        q_d, v_d, a_d = reference(t)
        if by_actuators:
            rate = space.rates(q_d, v_d) - space.rates(q, v)
            a_d = space.accelerations(q_d, v_d, a_d)
            return space.efforts(q, v, asked_acceleration(w, zeta, space.error(q, q_d), rate, a_d))
        a = asked_acceleration(w, zeta, robot.difference(q, q_d), v_d - v, a_d)
        return robot.inverse_dynamics(q, v, a, unactuated=unactuated)

    return law
