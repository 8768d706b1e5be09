"""What a call of `simulate` asks for, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any

import numpy as np

from flexdyn_ros.dynamics.arguments import by_name, numbers
from flexdyn_ros.dynamics.efforts import scattered_efforts
from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.simulation.contact import contact_watches
from flexdyn_ros.simulation.drive import Drive, drive_of, initial_motion
from flexdyn_ros.simulation.events import Watch, judge_start, limit_watch, watches
from flexdyn_ros.simulation.valves import ValveOpenings, command_mode

__all__ = ["ADAPTIVE", "CONTROLLED", "FIXED", "Plan", "make_plan"]

FIXED = ("semi_implicit_euler", "rk4", "scaled_rk4", "rosenbrock", "staggered")
ADAPTIVE = {"dop853": "DOP853", "bdf": "BDF", "radau": "Radau", "lsoda": "LSODA"}
#: methods with error control that are compiled, for robots that have compiled steps
CONTROLLED = ("dop853", "extrapolated")
_LIMITS = ("report", "spring", "stop")
_RECORDS = ("energy", "hydraulics")

Control = Callable[[float, np.ndarray, np.ndarray], Any]


@dataclass
class Plan:
    """Arguments of `simulate` after their checks; see there.

    control and wrenches are callables, or None where what `effort` and `loads` hold is constant. times
    (n,) are those of all steps [s], the last one shorter if the duration is no whole number of steps;
    stride of them make a sample. drive: prescribed motion that is not of constant speed. cylinders: how
    those of a platform are told what control says, "force" or "valve"; "direct": it acts on the rods.
    """

    robot: Robot
    times: np.ndarray
    dt: float
    stride: int
    q0: np.ndarray
    v0: np.ndarray
    method: str
    rtol: float
    atol: float
    effort: np.ndarray
    control: Control | None
    cylinders: str
    loads: Mapping[str, Any] | None
    wrenches: Callable[[float, np.ndarray, np.ndarray], Mapping[str, Any] | None] | None
    watches: list[Watch]
    drive: Drive | None
    limits: str
    saturate: bool
    record: tuple[str, ...]
    progress: bool | Callable[[float], object]

    @property
    def samples(self) -> np.ndarray:
        """Indices in `times` of the samples; the last time is always one."""
        last = self.times.size - 1
        chosen = np.arange(0, last + 1, self.stride)
        return chosen if chosen[-1] == last else np.append(chosen, last)

    def command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What `control` says at a state, checked (nu,)."""
        if self.control is None:
            return self.effort
        found = self.control(t, q.copy(), v.copy())
        return self.within_limits(_efforts(self.robot, found, f"control at t = {t:g} s"))

    def within_limits(self, command: np.ndarray) -> np.ndarray:
        """A command (nu,), clipped if it asks cylinders for forces; the stepper clips other efforts."""
        if not (self.saturate and self.cylinders == "force"):
            return command
        limits = self.robot.effort_limits  # type: ignore[attr-defined]
        return np.clip(command, -limits, limits)


def make_plan(
    robot: Robot,
    duration: float,
    q0: np.ndarray | None,
    v0: np.ndarray | None,
    *,
    t0: float,
    dt: float,
    method: str,
    rtol: float,
    atol: float,
    control: Any,
    wrenches: Any,
    prescribed: Any,
    events: Any,
    limits: str,
    saturate: bool,
    record_every: int,
    record: Sequence[str] | str,
    progress: bool | Callable[[float], object],
) -> Plan:
    """Check the arguments of `simulate`.

    Raises
    ------
    DimensionError, StateError, UnknownNameError, UnsupportedError
    """
    cylinders = command_mode(robot, method, control)
    control = control.openings if isinstance(control, ValveOpenings) else control
    drive = drive_of(robot, prescribed)
    still = initial_motion(robot, drive, float(t0))
    if method not in ("auto", *FIXED, *CONTROLLED, *ADAPTIVE):
        raise UnknownNameError("method", method, ("auto", *FIXED, *CONTROLLED, *ADAPTIVE))
    if limits not in _LIMITS:
        raise UnknownNameError("value of limits", limits, _LIMITS)
    if int(record_every) != record_every or record_every < 1:
        raise StateError(f"record_every is {record_every}, expected a whole number of steps, at least 1")
    names = (record,) if isinstance(record, str) else tuple(record)
    for name in names:
        if name not in _RECORDS:
            raise UnknownNameError("record", name, _RECORDS)
    if "hydraulics" in names and cylinders == "direct":
        raise UnsupportedError(
            f"robot '{robot.name}' has no cylinders to record with method {method}; "
            "a platform with hydraulics has, by auto or staggered"
        )
    all_watches = watches(events)
    if limits == "stop":
        watch = limit_watch(robot)
        all_watches += [watch] if watch else []
    all_watches += contact_watches(robot)
    held = None if control is None or callable(control) else _efforts(robot, control, "control")
    q = still[0] if q0 is None else _vector(q0, "q0", robot.nq)
    v = still[1] if v0 is None else _vector(v0, "v0", robot.nv)
    judge_start(robot, q)
    if v0 is not None:
        _refuse_other_speed(robot, v, still[1], float(t0))
    if drive is not None:
        q[drive.q_index], v[drive.v_index] = still[0][drive.q_index], still[1][drive.v_index]
    plan = Plan(
        robot=robot,
        times=_times(duration, t0, dt),
        dt=float(dt),
        stride=int(record_every),
        q0=robot.integrate(q, np.zeros(robot.nv), 0.0),
        v0=v,
        method=method,
        rtol=_positive(rtol, "rtol"),
        atol=_positive(atol, "atol"),
        effort=np.zeros(robot.nu) if held is None else held,
        control=control if callable(control) else None,
        cylinders=cylinders,
        loads=None
        if wrenches is None or callable(wrenches)
        else by_name(wrenches, "wrenches", "(6,) arrays"),
        wrenches=wrenches if callable(wrenches) else None,
        watches=all_watches,
        drive=drive,
        limits=limits,
        saturate=bool(saturate),
        record=names,
        progress=progress if callable(progress) else bool(progress),
    )
    plan.effort = plan.within_limits(plan.effort)
    return plan


def _refuse_other_speed(robot: Robot, v: np.ndarray, still: np.ndarray, t0: float) -> None:
    """StateError where a start v (nv,) contradicts the speed in `still` of what is prescribed at t0."""
    for c in robot.coordinates:
        given, said = float(v[c.v_index]), float(still[c.v_index])
        if c.prescribed and abs(given - said) > 1e-9 * max(1.0, abs(said)):
            raise StateError(
                f"v0 of '{c.name}' is {given:g}, but its motion is prescribed: expected {said:g} {c.unit}/s "
                f"at t = {t0:g} s, or v0=None, or another speed by prescribed= or <drive>"
            )


def _times(duration: float, t0: float, dt: float) -> np.ndarray:
    _positive(dt, "dt")
    if not (isfinite(duration) and duration >= 0.0):
        raise StateError(f"duration is {duration}, expected a number of seconds, at least 0")
    if not isfinite(t0):
        raise StateError(f"t0 is {t0}, expected a finite number")
    whole = round(duration / dt)
    # a last step that would be rounding of the others is none: they end a millionth of a step aside
    near = whole > 0 and abs(duration / dt - whole) <= 1e-6
    steps = whole if near else ceil(duration / dt)
    times = t0 + dt * np.arange(steps + 1)
    times[-1] = t0 + duration
    return times


def _positive(value: float, name: str) -> float:
    if not (isfinite(value) and value > 0.0):
        raise StateError(f"{name} is {value}, expected a positive number")
    return float(value)


def _efforts(robot: Robot, value: Any, name: str) -> np.ndarray:
    """tau (nu,) of what a control says: (nu,), (na,) in the order of the actuators, or a mapping of names."""
    if not isinstance(value, Mapping):
        array = numbers(value, name)
        if array.shape == (robot.nu,):
            return _vector(array, name, robot.nu)
        if array.shape != (len(robot.actuators),):
            raise DimensionError(
                f"{name} has shape {array.shape}, expected ({robot.nu},), as many as effort_names, "
                f"or ({len(robot.actuators)},), as many as actuators"
                if len(robot.actuators) != robot.nu
                else f"{name} has shape {array.shape}, expected ({robot.nu},)"
            )
        value = array
    places = {name: i for i, name in enumerate(robot.effort_names)}
    tau = scattered_efforts(value, robot.actuators, places, robot.nu, name)
    if tau.shape != (robot.nu,):
        raise DimensionError(f"{name} holds arrays, expected one number for each actuator")
    return tau


def _vector(value: Any, name: str, size: int) -> np.ndarray:
    array = numbers(value, name)
    if array.shape != (size,):
        raise DimensionError(f"{name} has shape {array.shape}, expected ({size},)")
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise StateError(f"{name}[{i}] is {array[i]}, expected a finite number")
    return array.copy()
