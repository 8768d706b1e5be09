"""Coordinates whose motion is prescribed during a simulation: base/x of robots on wheels, joints of trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.robot.arguments import finite_number
from flexdyn_ros.robot.verbs import Robot

#: rate [1/s] at which what rounding and tolerances leave of a joint's error decays (Baumgarte 1972)
DECAY = 50.0


class Drive:
    """The prescribed coordinate of a robot: its indices in q and v, and its motion t -> (x, v, a)."""

    def __init__(self, q_index: int, v_index: int, function: Callable[[float], Any]) -> None:
        self.q_index, self.v_index, self._function = q_index, v_index, function

    def at(self, t: float) -> tuple[float, float, float]:
        """Position, velocity and acceleration at t [m, per s]; errors if they are no numbers."""
        return _motion_at(self._function, t, "prescribed")

    def mean_acceleration(self, t: float, h: float) -> float:
        """What brings the velocity to that of the end of a step."""
        return (self.at(t + h)[1] - self.at(t)[1]) / h


class ImposedMotion:
    """Joints of a tree that move as prescribed, by the efforts that this takes at every evaluation.

    motions: name of a coordinate -> callable t -> (x, v, a). Errors against x and v decay at the rate DECAY.
    """

    def __init__(self, robot: Robot, motions: Mapping[str, Callable[[float], Any]]) -> None:
        self._robot: Any = robot
        by_name = {c.name: c for c in robot.coordinates}
        self.names, self._functions = tuple(motions), tuple(motions.values())
        self.q_index = np.array([by_name[name].q_index for name in self.names])
        self.v_index = np.array([by_name[name].v_index for name in self.names])

    def at(self, t: float) -> np.ndarray:
        """Positions, velocities and accelerations (3, k) at t; errors if they are no numbers."""
        pairs = zip(self.names, self._functions, strict=True)
        return np.array([_motion_at(f, t, f"prescribed[{name!r}]") for name, f in pairs]).T

    def efforts(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        wrenches: Mapping[str, object] | None,
        base: Drive | None,
    ) -> np.ndarray:
        """Efforts (nu,): tau, and those of the joints that let them follow at the state while the base is
        driven."""
        x, speed, a = self.at(t)
        a = a + 2.0 * DECAY * (speed - v[self.v_index]) + DECAY**2 * (x - q[self.q_index])
        free = tau.copy()
        free[self.v_index] = 0.0
        given = dict(zip(self.names, a.tolist(), strict=True))
        if base is not None:
            given[self._robot.v_names[base.v_index]] = base.at(t)[2]
        free[self.v_index] = self._robot.functions.efforts_for(q, v, free, wrenches, given, self.v_index)
        return free


def _motion_at(function: Callable[[float], Any], t: float, what: str) -> tuple[float, float, float]:
    answer = function(t)
    try:
        x, v, a = answer
    except (TypeError, ValueError):
        raise DimensionError(f"{what} at t = {t:g} s is {answer!r}, expected (x, v, a)") from None
    if all(isinstance(number, float) and isfinite(number) for number in (x, v, a)):
        return float(x), float(v), float(a)
    return (
        finite_number(x, f"{what} x at t = {t:g} s"),
        finite_number(v, f"{what} v at t = {t:g} s"),
        finite_number(a, f"{what} a at t = {t:g} s"),
    )


def imposed_of(robot: Robot, prescribed: Any) -> tuple[Callable[[float], Any] | None, ImposedMotion | None]:
    """What `prescribed` says of the coordinate that the description prescribes, and of joints.

    Raises
    ------
    StateError, UnknownNameError, UnsupportedError
    """
    if not isinstance(prescribed, Mapping):
        return prescribed, None
    motion = robot.motion
    joints = {c.name: c for c in robot.coordinates if c.kind in ("joint", "motor") and c.q_index >= 0}
    driven = [c.name for c in robot.coordinates if c.prescribed]
    if motion is None or not motion.drives_coordinates or not (joints or driven):
        raise UnsupportedError(
            f"robot {robot.name!r}: prescribed takes names for trees with compiled steps only"
        )
    base, motions = None, {}
    for name, function in prescribed.items():
        if not callable(function):
            raise StateError(f"prescribed[{name!r}] is {function!r}, expected a callable t -> (x, v, a)")
        if name in driven:
            base = function
        elif name in joints:
            motions[name] = function
        else:
            raise UnknownNameError("joint to prescribe", name, (*driven, *joints))
    return base, ImposedMotion(robot, motions) if motions else None


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
    """q, v at t0 unless the description says otherwise: neutral and at rest, but for what is prescribed."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    if drive is not None:
        q[drive.q_index], v[drive.v_index], _ = drive.at(t0)
        return q, v
    described = robot.description.drive
    for c in robot.coordinates:
        if c.prescribed and described is not None:
            v[c.v_index] = described.speed or 0.0
            q[c.q_index] = (described.start or 0.0) + v[c.v_index] * t0
    return q, v


def _profile(robot: Robot) -> Callable[[float], Any] | None:
    """A natural cubic spline through the description's points (t, x), straight on beyond its ends; None where
    there are none."""
    drive = robot.description.drive
    if drive is None or drive.type != "profile":
        return None
    from scipy.interpolate import CubicSpline

    times, places = np.array(drive.points).T
    spline = CubicSpline(times, places, bc_type="natural")
    rate, bend = spline.derivative(1), spline.derivative(2)

    def motion(t: float) -> tuple[float, float, float]:
        inside = min(max(t, times[0]), times[-1])
        v = float(rate(inside))
        return float(spline(inside)) + v * (t - inside), v, float(bend(inside)) if t == inside else 0.0

    return motion
