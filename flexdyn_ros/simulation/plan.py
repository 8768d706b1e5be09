"""What a call of `simulate` asks for, checked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, isfinite
from types import SimpleNamespace
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, FlexdynWarning, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.robot.arguments import by_name, finite_number, numbers, scattered_efforts
from flexdyn_ros.robot.motion import complete_states
from flexdyn_ros.robot.results import Contacts
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Watch, limit_watch, watches
from flexdyn_ros.simulation.steps.clock import check_clock, onto_constraints, positive
from flexdyn_ros.simulation.steps.continuous import Continuous
from flexdyn_ros.simulation.steps.drive import Drive, ImposedMotion, drive_of, imposed_of, initial_motion
from flexdyn_ros.simulation.steps.fused_hydraulics import (
    VALVE_OF,
    Mode,
    ValveOpenings,
    command_mode,
    names_valves,
)
from flexdyn_ros.simulation.steps.stepper import METHODS as STEP_METHODS
from flexdyn_ros.simulation.steps.stepper import finite_vector

FIXED = tuple(STEP_METHODS)
ADAPTIVE = {"dop853": "DOP853", "bdf": "BDF", "radau": "Radau", "lsoda": "LSODA"}
#: methods with error control that are compiled, for robots that have compiled steps
CONTROLLED = ("dop853", "extrapolated", "adaptive_staggered")
METHODS = tuple(dict.fromkeys(("auto", *FIXED, *CONTROLLED, *ADAPTIVE)))
#: default step of fixed steps, and time between samples of runs with error control [s]
STEP = SAMPLE = 1e-3
_LIMITS = ("report", "spring", "stop")
_RECORDS = ("energy", "hydraulics")

Control = Callable[[float, np.ndarray, np.ndarray], object]


@dataclass
class Plan:
    """Arguments of `simulate` after their checks; see there.

    is_fixed: by fixed steps, or with error control. states0 (ns,) are those of elements at the start. control
    and wrenches are callables, or None where what `effort` and `loads` hold is constant; control is called at
    every evaluation if it `is_continuous`, else at every `hold`-th of the times. times (n,) are those of all
    fixed steps, or of the output of a run with error control [s], the last interval shorter if the duration
    is no whole number of them; stride of them make a sample. atol: None for the default. drive: prescribed
    motion that is not of constant speed; imposed: that of joints. cylinders: how those with hydraulics take
    what control gives, "force" or "valve"; "direct": it acts on the rods. mode: likewise, of the last answer
    of a control that may name valves at any time. opens: whether control gives openings alone. clipped:
    whether the last command asked cylinders for more than their limits.
    """

    robot: Robot
    times: np.ndarray
    dt: float
    stride: int
    q0: np.ndarray
    v0: np.ndarray
    states0: np.ndarray
    method: str
    is_fixed: bool
    hold: int
    rtol: float
    atol: float | None
    effort: np.ndarray
    control: Control | None
    is_continuous: bool
    cylinders: str
    mode: Mode
    opens: bool
    loads: Mapping[str, object] | None
    wrenches: Callable[[float, np.ndarray, np.ndarray], Mapping[str, object] | None] | None
    watches: list[Watch]
    drive: Drive | None
    imposed: ImposedMotion | None
    limits: str
    saturate: bool
    record: tuple[str, ...]
    progress: bool | Callable[[float], object]
    clipped: bool = False

    @property
    def samples(self) -> np.ndarray:
        """Indices in `times` of the samples; the last time is always one."""
        last = self.times.size - 1
        chosen = np.arange(0, last + 1, self.stride)
        return chosen if chosen[-1] == last else np.append(chosen, last)

    @property
    def holds_efforts(self) -> bool:
        """Whether the efforts of a sample act, in the mean, until the next one."""
        lags = self.robot.motion is not None and self.robot.motion.lag is not None
        given = self.drive is not None or self.imposed is not None
        if self.is_continuous or lags or given or self.cylinders != "direct":
            return self.is_fixed and self.stride == 1
        return self.control is None or self.stride == self.hold

    @property
    def moves_states(self) -> bool:
        """Whether cylinders act whose states are recorded."""
        return self.cylinders != "direct" and self.states0.size > 0

    @property
    def stepping(self) -> dict[str, Any]:
        """Options of the stepper: start, stops, clipping."""
        # cylinders have end stops and largest forces of their own
        acts_on_rods = self.cylinders == "direct"
        states = {"states0": self.states0} if self.states0.size else {}
        return states | {
            "q0": self.q0,
            "v0": self.v0,
            "t0": float(self.times[0]),
            "limits": "spring" if self.limits == "spring" and acts_on_rods else "report",
            "saturate": self.saturate and acts_on_rods,
        }

    def command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What `control` says at a state, checked (nu,)."""
        if self.control is None:
            return self.effort
        found = self.control(t, q.copy(), v.copy())
        if self.cylinders == "force":
            self.mode = _meaning(self.robot, found)
        name = f"control at t = {t:g} s"
        return self.within_limits(_efforts(self.robot, found, name, openings=self.opens))

    def within_limits(self, command: np.ndarray) -> np.ndarray:
        """A command (nu,), clipped if it asks cylinders for forces; the stepper clips other efforts."""
        self.clipped = False
        if not self.saturate or self.mode in ("valve", "direct"):
            return command
        limits = self.robot.effort_limits.copy()
        if not isinstance(self.mode, str):
            for name, one in zip(self.robot.hydraulics.names, self.mode, strict=True):
                limits[self.robot.effort_names.index(name)] *= np.inf if one == "valve" else 1.0
        self.clipped = bool((np.abs(command) > limits).any())
        return np.clip(command, -limits, limits)


def make_plan(asked: SimpleNamespace) -> Plan:
    """Check the arguments of `simulate`, each under its name.

    Raises
    ------
    DimensionError, StateError, UnknownNameError, UnsupportedError
    """
    robot, method, t0 = asked.robot, asked.method, finite_number(asked.t0, "t0")
    q0, v0, wrenches, every = asked.q0, asked.v0, asked.wrenches, asked.record_every
    cylinders = command_mode(robot, method, asked.control)
    if cylinders == "direct" and robot.hydraulics is not None and robot.element_states:
        warnings.warn(
            f"the oil of robot '{robot.name}' has no part in a run by method {method}: cylinders exert the "
            "forces that control asks for; method auto, staggered or rosenbrock moves it",
            FlexdynWarning,
            3,
        )
    opens = isinstance(asked.control, ValveOpenings)
    control = asked.control.openings if isinstance(asked.control, ValveOpenings) else asked.control
    is_continuous = isinstance(control, Continuous)
    if is_continuous:
        _refuse_continuous(robot, cylinders)
    of_base, imposed = imposed_of(robot, asked.prescribed)
    drive = drive_of(robot, of_base)
    still = initial_motion(robot, drive, t0)
    if imposed is not None:
        still[0][imposed.q_index], still[1][imposed.v_index], _ = imposed.at(t0)
    UnknownNameError.check("method", method, METHODS)
    is_fixed = method in FIXED or (method == "auto" and asked.dt is not None)
    step, hold = _grid(asked.dt, asked.sample, is_fixed)
    UnknownNameError.check("value of limits", asked.limits, _LIMITS)
    if not isfinite(every) or int(every) != every or every < 1:
        raise StateError(f"record_every is {every}, expected a whole number of steps, at least 1")
    names = (asked.record,) if isinstance(asked.record, str) else tuple(asked.record)
    for name in names:
        UnknownNameError.check("record", name, _RECORDS)
    if "hydraulics" in names and cylinders == "direct":
        raise UnsupportedError(
            f"robot '{robot.name}' has no cylinders to record with method {method}; "
            "a platform with hydraulics has, by auto or staggered"
        )
    all_watches = watches(asked.events)
    if asked.limits == "stop":
        watch = limit_watch(robot)
        all_watches += [watch] if watch else []
    all_watches += contact_watches(robot)
    held = None
    if control is not None and not callable(control):
        held = _efforts(robot, control, "control", openings=opens)
    q = still[0] if q0 is None else finite_vector(q0, "q0", robot.nq).copy()
    v = still[1] if v0 is None else finite_vector(v0, "v0", robot.nv).copy()
    if v0 is not None:
        _refuse_other_speed(robot, v, still[1], t0, imposed)
    if doubt := robot.functions.check_start(q):
        warnings.warn(doubt, FlexdynWarning, 3)
    for followed in (drive, imposed):
        if followed is not None:
            _refuse_other_place(robot, followed.q_index, q0, still[0], t0)
            q[followed.q_index], v[followed.v_index] = still[0][followed.q_index], still[1][followed.v_index]
    if robot.functions.is_constrained:
        stay = () if imposed is None else imposed.names
        q, v, _, moved = onto_constraints(robot, q, v, held=stay)
        if moved:
            warnings.warn(moved, FlexdynWarning, 3)
    rest = robot.rest_states(q, v)
    states0 = complete_states(robot.element_states, asked.states0, rest, "states0")
    if held is not None:
        _refuse_efforts_of_given_motion(robot, held, imposed)
    if imposed is not None:
        _refuse_imposed(robot, method, is_fixed, asked.saturate, asked.limits)
    plan = Plan(
        robot=robot,
        times=_times(asked.duration, t0, step),
        dt=step,
        stride=int(every) * hold,
        q0=robot.integrate(q, np.zeros(robot.nv), 0.0),
        v0=v,
        states0=states0,
        method=method,
        is_fixed=is_fixed,
        hold=hold,
        rtol=positive(asked.rtol, "rtol"),
        atol=None if asked.atol is None else positive(asked.atol, "atol"),
        effort=np.zeros(robot.nu) if held is None else held,
        control=control if callable(control) else None,
        is_continuous=is_continuous,
        cylinders=cylinders,
        mode=_meaning(robot, control) if cylinders == "valve" and isinstance(control, Mapping) else cylinders,
        opens=opens,
        loads=None
        if wrenches is None or callable(wrenches)
        else by_name(wrenches, "wrenches", "(6,) arrays"),
        wrenches=wrenches if callable(wrenches) else None,
        watches=all_watches,
        drive=drive,
        imposed=imposed,
        limits=asked.limits,
        saturate=bool(asked.saturate),
        record=names,
        progress=asked.progress if callable(asked.progress) else bool(asked.progress),
    )
    plan.effort = plan.within_limits(plan.effort)
    return plan


def _refuse_efforts_of_given_motion(robot: Robot, tau: np.ndarray, imposed: ImposedMotion | None) -> None:
    """StateError where a constant effort is not 0 although the motion is prescribed."""
    robot.refuse_given_effort(tau)
    for i in [] if imposed is None else np.atleast_1d(imposed.v_index).tolist():
        if tau[i] != 0.0:
            raise StateError(
                f"control of '{robot.v_names[i]}' is {tau[i]:g}, expected 0: its motion is prescribed, its "
                "effort follows"
            )


def _refuse_other_place(robot: Robot, indices: Any, q0: np.ndarray, still: np.ndarray, t0: float) -> None:
    """StateError where a start contradicts the place of a coordinate whose motion is prescribed."""
    for i in np.atleast_1d(indices).tolist():
        name = robot.q_names[i]
        if q0 is not None and abs(float(q0[i]) - still[i]) > 1e-6 * max(1.0, abs(float(still[i]))):
            raise StateError(
                f"q0 of '{name}' is {float(q0[i]):g}, but its motion is prescribed: expected {still[i]:g} at "
                f"t = {t0:g} s, or q0=None"
            )


def _refuse_imposed(robot: Robot, method: str, is_fixed: bool, saturate: bool, limits: str) -> None:
    """UnsupportedError where joints cannot follow a prescribed motion."""
    why = ""
    if is_fixed or method not in ("auto", *CONTROLLED):
        why = "the compiled methods with error control: no dt, method auto, dop853 or extrapolated"
    elif saturate:
        why = "efforts that are not clipped: saturate=False"
    elif limits == "spring":
        why = "no stops that push them off it: limits 'report' or 'stop'"
    elif robot.motion is not None and robot.motion.lag is not None:
        why = "actuators that do not lag behind their commands"
    if why:
        raise UnsupportedError(f"robot {robot.name!r}: motion prescribed for joints takes {why}")


def _refuse_other_speed(
    robot: Robot, v: np.ndarray, still: np.ndarray, t0: float, imposed: ImposedMotion | None
) -> None:
    """StateError where a start v (nv,) contradicts the speed in `still` of what is prescribed at t0."""
    for c in robot.coordinates:
        given, wanted = float(v[c.v_index]), float(still[c.v_index])
        follows = c.prescribed or (imposed is not None and c.name in imposed.names)
        if follows and abs(given - wanted) > 1e-9 * max(1.0, abs(wanted)):
            raise StateError(
                f"v0 of '{c.name}' is {given:g}, but its motion is prescribed: expected {wanted:g} "
                f"{c.unit}/s at t = {t0:g} s, or v0=None, or another speed by prescribed= or <drive>"
            )


def _grid(dt: float | None, sample: float | None, is_fixed: bool) -> tuple[float, int]:
    """Step of fixed steps and how many of them make `sample`; or the time between samples, and 1."""
    between = None if sample is None else positive(sample, "sample")
    step = None if dt is None else positive(dt, "dt")
    if not is_fixed:
        if step is not None and between is not None and step != between:
            raise StateError(
                f"dt is {dt} and sample is {sample}: a method with error control chooses its own steps; give "
                "sample only"
            )
        return between or step or SAMPLE, 1
    step = step or min(STEP, between or STEP)
    if between is None:
        return step, 1
    count = round(between / step)
    if count < 1 or abs(between / step - count) > 1e-6 * count:
        raise StateError(f"sample is {sample}, expected a whole number of steps dt = {step:g} s")
    return step, count


def _refuse_continuous(robot: Robot, cylinders: str) -> None:
    """UnsupportedError where a control that is called at every evaluation has no meaning."""
    motion = robot.motion
    if cylinders != "direct":
        raise UnsupportedError(
            f"the cylinders of platform '{robot.name}' hold their commands; give control without continuous()"
        )
    if motion is not None and motion.lag is not None:
        raise UnsupportedError(
            f"the actuators of robot '{robot.name}' lag behind commands that they hold; give control without "
            "continuous()"
        )


def _times(duration: float, t0: float, dt: float) -> np.ndarray:
    if not (isfinite(duration) and duration >= 0.0):
        raise StateError(f"duration is {duration}, expected a number of seconds, at least 0")
    check_clock(t0, duration, dt)
    whole = round(duration / dt)
    # a last step that would be rounding of the others is none: they end a millionth of a step aside
    near = whole > 0 and abs(duration / dt - whole) <= 1e-6
    steps = whole if near else ceil(duration / dt)
    times = t0 + dt * np.arange(steps + 1)
    times[-1] = t0 + duration
    return times


def _efforts(robot: Robot, value: object, name: str, *, openings: bool = False) -> np.ndarray:
    """tau (nu,) of what a control says: (nu,), (na,) in the order of the actuators, or a mapping of names;
    with `openings` of the valves (n,), in the order of the cylinders. Entries of cylinders are openings then,
    and where names are those of valves."""
    if openings and not isinstance(value, Mapping):
        value = dict(zip(robot.hydraulics.names, _openings(robot, value, name), strict=True))
    elif isinstance(value, Mapping) and names_valves(value):
        value = _by_cylinder(robot, value, name)
    if not isinstance(value, Mapping):
        array = numbers(value, name)
        if array.shape == (robot.nu,):
            return finite_vector(array, name, robot.nu).copy()
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


def _openings(robot: Robot, value: object, name: str) -> np.ndarray:
    """Openings (n,) of all valves."""
    array, n = numbers(value, name), len(robot.hydraulics.names)
    if array.shape != (n,):
        raise DimensionError(
            f"{name} has shape {array.shape}, expected ({n},), as many as cylinders with valves"
        )
    return array


def _meaning(robot: Robot, control: object) -> Mode:
    """How cylinders take what a control says: those that a mapping with valves does not name are shut."""
    if not (isinstance(control, Mapping) and names_valves(control)):
        return "force"
    names = robot.hydraulics.names
    if not any(name in control for name in names):
        return "valve"
    return tuple("force" if name in control else "valve" for name in names)


def _by_cylinder(robot: Robot, values: Mapping[str, object], name: str) -> dict[str, object]:
    """Values of a mapping that names valves by the names of efforts.

    Raises
    ------
    UnknownNameError
        For a valve that is not there.
    UnsupportedError
        Where a cylinder is told a force and the opening of its valve.
    """
    cylinders = () if robot.hydraulics is None else tuple(robot.hydraulics.names)
    valves = {f"{each}{VALVE_OF}": each for each in cylinders}
    told = [key for key in values if key in cylinders and f"{key}{VALVE_OF}" in values]
    if told:
        raise UnsupportedError(
            f"{name} tells '{told[0]}' a force, and its valve an opening: expected one of them"
        )
    for key in values:
        if str(key).endswith(VALVE_OF):
            UnknownNameError.check("valve", key, tuple(valves))
    return {valves.get(key, key): value for key, value in values.items()}


#: ground force below which a wheel counts as off the ground [N]; a cut one is exactly 0
SMALLEST_FORCE = 1e-9


def contact_watches(robot: Robot) -> list[Watch]:
    """One event per point of contact, NAME/contact, where its ground force passes zero; the end of the
    simulation where the description says so."""
    contacts = robot.functions.contacts
    if contacts is None:
        return []
    forces = _Forces(contacts)

    def watch(index: int, name: str) -> Watch:
        def force(t: float, q: np.ndarray, v: np.ndarray) -> float:
            return float(contacts.forces(q, v)[index]) - SMALLEST_FORCE

        def many(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return forces.of(q, v)[:, index] - SMALLEST_FORCE

        direction = -1.0 if contacts.ends else 0.0
        return Watch(force, lambda q: f"{name}/contact", contacts.ends, direction, many, contacts.lets_go)

    return [watch(i, name) for i, name in enumerate(contacts.names)]


class _Forces:
    """Ground forces of all contacts for rows of states; the watches of all of them ask for the same rows."""

    def __init__(self, contacts: Contacts) -> None:
        self._contacts = contacts
        self._rows: tuple[Any, Any] = (None, None)
        self._found = np.zeros((0, 0))

    def of(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(n, contacts) [N]."""
        if self._rows[0] is not q or self._rows[1] is not v:
            self._rows, self._found = (q, v), self._contacts.forces(q, v)
        return self._found
