"""Coordinates whose motion is prescribed while a simulation runs: base/x of robots on wheels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.dynamics.arguments import finite_number
from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.errors import DimensionError, UnsupportedError

__all__ = ["Drive", "drive_of", "initial_motion"]


class Drive:
    """The prescribed coordinate of a robot: its indices in q and v, and its motion t -> (x, v, a)."""

    def __init__(self, q_index: int, v_index: int, function: Callable[[float], Any]) -> None:
        self.q_index, self.v_index, self._function = q_index, v_index, function

    def at(self, t: float) -> tuple[float, float, float]:
        """Position, velocity and acceleration at t [m, per s]; errors if they are no numbers."""
        answer = self._function(t)
        try:
            x, v, a = answer
        except (TypeError, ValueError):
            raise DimensionError(f"prescribed at t = {t:g} s is {answer!r}, expected (x, v, a)") from None
        return (
            finite_number(x, f"prescribed x at t = {t:g} s"),
            finite_number(v, f"prescribed v at t = {t:g} s"),
            finite_number(a, f"prescribed a at t = {t:g} s"),
        )

    def mean_acceleration(self, t: float, h: float) -> float:
        """What brings the velocity to that of the end of a step."""
        return (self.at(t + h)[1] - self.at(t)[1]) / h


def drive_of(robot: Robot, prescribed: Callable[[float], Any] | None) -> Drive | None:
    """The motion that `prescribed` or the description's profile gives; None where the speed is constant.

    Raises
    ------
    UnsupportedError
        If the robot has no prescribed coordinate.
    """
    driven = [c for c in robot.coordinates if c.prescribed]
    if not driven:
        if prescribed is not None:
            raise UnsupportedError(f"robot {robot.name!r} has no coordinate with a prescribed motion")
        return None
    function = prescribed or _profile(robot)
    return None if function is None else Drive(driven[0].q_index, driven[0].v_index, function)


def initial_motion(robot: Robot, drive: Drive | None, t0: float) -> tuple[np.ndarray, np.ndarray]:
    """q, v at t0 if nothing else is said: neutral and at rest, but for what is prescribed."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    if drive is not None:
        q[drive.q_index], v[drive.v_index], _ = drive.at(t0)
        return q, v
    said = robot.description.drive
    for c in robot.coordinates:
        if c.prescribed and said is not None:
            v[c.v_index] = said.speed or 0.0
            q[c.q_index] = (said.start or 0.0) + v[c.v_index] * t0
    return q, v


def _profile(robot: Robot) -> Callable[[float], Any] | None:
    """A natural cubic spline through the description's points (t, x), straight on beyond its ends; None where
    there are none."""
    said = robot.description.drive
    if said is None or said.type != "profile":
        return None
    from scipy.interpolate import CubicSpline

    times, places = np.array(said.points).T
    spline = CubicSpline(times, places, bc_type="natural")
    rate, bend = spline.derivative(1), spline.derivative(2)

    def motion(t: float) -> tuple[float, float, float]:
        inside = min(max(t, times[0]), times[-1])
        v = float(rate(inside))
        return float(spline(inside)) + v * (t - inside), v, float(bend(inside)) if t == inside else 0.0

    return motion
