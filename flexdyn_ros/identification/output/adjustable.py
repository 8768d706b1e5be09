"""What `fit_output` adjusts: parameters of a loaded robot, paths of the description, payloads, gains of
columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from math import inf
from typing import Any

import numpy as np

from flexdyn_ros.description.language.schema import begins_path
from flexdyn_ros.errors import DescriptionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.identification.linear.models import bodies_and_joints, linear_model, tensor_of, with_payloads
from flexdyn_ros.identification.output.channels import SENSOR, START, Sensor, sensors_of
from flexdyn_ros.loading import load
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.recordings.topics import options_of


def described(robot: Robot, path: str) -> float:
    """A number of the description that a path leads to.

    Raises
    ------
    StateError
        If there is none.
    """
    words = path.split(".")
    told = [o.new for o in robot.description.overrides if o.path == path]
    for value in (robot.description.record(words), robot.functions.implied(words), *reversed(told)):
        if isinstance(value, tuple) and len(set(value)) == 1:
            value = value[0]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    raise StateError(
        f"{path} is neither a parameter of {robot.name} nor a number of its description: give its `start`, "
        "if it is a path that the description leaves open"
    )


def unit_of(robot: Robot, path: str) -> str:
    """The unit that the schema gives a path; "SI" where it knows none."""
    *above, word = path.split(".")
    record = robot.description.record(above)
    about = getattr(type(record), "__element__", None)
    attributes = about.attributes if about is not None else ()
    return next((a.unit for a in attributes if a.name == word and a.unit), "SI")


#: robots that are kept
KEPT = 8
#: factor by which it is tried whether a number of a description can be changed
TRIED = 1.01
#: how columns end that sensors and motors have gains of
OF_COLUMNS = (".effort", ".strain", ".valve_command")
_OF_BEAM = re.compile(r"(.+)/(GJ|EIy|EIz|EA|mass_per_length)")
_OF_DAMPING = re.compile(r"(.+)/(?:damping_ratio|modal_damping)")
_PAYLOAD = re.compile(r"payload\.(.+)\.mass")
_UNITS = {
    "GJ": "N m2", "EIy": "N m2", "EIz": "N m2", "EA": "N", "mass_per_length": "kg/m", "ratio": "-",
    "mass": "kg", "factor": "-", "cutoff": "Hz", "inertia": "kg m2",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Adjustable:
    """The numbers of a robot that are fitted.

    Attributes
    ----------
    robot : Robot
        Before the fit.
    names : tuple of str
        As they were asked for, patterns resolved.
    start, lower, upper : (k,) arrays
    units : tuple of str
    own : frozenset of str
        Those that are numbers of its linear model.
    gains : frozenset of str
        Those of sensors and motors: COLUMN.factor and so on.
    held : mapping from name to number
        Gains that are not fitted.
    """

    robot: Robot
    names: tuple[str, ...]
    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    units: tuple[str, ...]
    own: frozenset[str]
    gains: frozenset[str]
    held: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def nothing(cls, robot: Robot, gains: Mapping[str, float]) -> Adjustable:
        """None, with gains of sensors and motors that are known."""
        none = np.zeros(0)
        return cls(robot, (), none, none, none, (), frozenset(), frozenset(), dict(gains))

    @classmethod
    def of(
        cls,
        robot: Robot,
        parameters: str | Sequence[str],
        columns: Iterable[str],
        start: Mapping[str, float] | None,
        bounds: Mapping[str, tuple[float, float]] | None,
    ) -> Adjustable:
        """Of names and patterns; see `fit_output`."""
        known = _parameters(robot)
        beams = _others(robot, known)
        wanted = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        names = tuple(dict.fromkeys(name for each in wanted for name in _resolved(each, known, beams)))
        known |= {n: beams[n] for n in names if n in beams and not _is_reloadable(robot, n)}
        if not names:
            raise StateError("parameters is empty, expected at least one name")
        for given in (*(start or {}), *(bounds or {})):
            UnknownNameError.check("parameter", given, names)
        held = tuple(sorted(set(columns)))
        gains = frozenset(n for n in names if n not in known and (m := SENSOR.fullmatch(n)) and m[1] in held)
        own = frozenset(n for n in names if n in known)
        _check_names(robot, [n for n in names if n not in gains], {**known, **beams}, held)
        values = [_value(robot, n, known, gains, start or {}) for n in names]
        limits = [(bounds or {}).get(n, _limits(n, known, gains)) for n in names]
        for name, value, (low, high) in zip(names, values, limits, strict=True):
            if not low <= value <= high:
                raise StateError(f"the start of {name} is {value:g}, expected from {low:g} to {high:g}")
        lower, upper = np.array(limits, dtype=float).T
        units = tuple(known[n].unit if n in known else _unit(robot, n) for n in names)
        found = cls(robot, names, np.array(values), lower, upper, units, own, gains)
        found.robot_with(found.start)
        return found

    @property
    def scale(self) -> np.ndarray:
        """How large a change of each is (k,)."""
        return np.where(
            self.start != 0.0, np.abs(self.start), np.where(np.isfinite(self.upper), self.upper, 0.1)
        )

    def robot_with(self, values: np.ndarray) -> Robot:
        """The robot with other values (k,)."""
        return self._robots(tuple(np.asarray(values, dtype=float).tolist()))

    @cached_property
    def _robots(self) -> Callable[[tuple[float, ...]], Robot]:
        """Robots by values: a fit asks for each again with other starts."""
        return lru_cache(KEPT)(self._made)

    @cached_property
    def _described(self) -> Callable[[tuple[tuple[str, float], ...]], Robot]:
        """Robots by numbers of their descriptions: making one takes most of the time of a short fit."""
        return lru_cache(KEPT)(lambda paths: _reloaded(self.robot, dict(paths)))

    def _made(self, values: tuple[float, ...]) -> Robot:
        told = dict(zip(self.names, values, strict=True))
        own = {name: told[name] for name in self.own}
        masses = {m[1]: told[n] for n in told if n not in self.own and (m := _PAYLOAD.fullmatch(n))}
        paths = {
            path_of(n): value
            for n, value in told.items()
            if n not in self.own and n not in self.gains and not _PAYLOAD.fullmatch(n)
        }
        robot = self._described(tuple(paths.items())) if paths else self.robot
        for frame, mass in masses.items():
            robot = _carrying(robot, frame, mass)
        return linear_model(robot).robot_with(own) if own else robot

    def sensors_with(self, values: np.ndarray) -> dict[str, Sensor]:
        """Sensors and motors of columns that have any."""
        told = dict(zip(self.names, np.asarray(values, dtype=float).tolist(), strict=True))
        return sensors_of({**self.held, **{name: told[name] for name in self.gains}})


def path_of(name: str) -> str:
    """The path of the description that a name stands for: LINK/EIz, LINK/damping_ratio, or itself."""
    beam, damping = _OF_BEAM.fullmatch(name), _OF_DAMPING.fullmatch(name)
    if beam:
        return f"links.{beam[1]}.beam.{beam[2]}"
    if damping:
        return f"links.{damping[1]}.damping.ratio"
    return name


def _parameters(robot: Robot) -> dict[str, Parameter]:
    return {p.name: p for p in bodies_and_joints(robot, linear_model(robot))}


def _others(robot: Robot, known: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Those of beams and modes among `robot.parameters`."""
    try:
        return {p.name: p for p in robot.parameters if p.name not in known}
    except UnsupportedError:
        return {}


def _is_reloadable(robot: Robot, name: str) -> bool:
    """Whether a number of a beam can be changed in the description, which chooses mode shapes anew. It cannot
    where the description has no place for it, <inertial> says otherwise, or `with_parameters` has changed
    it: it is then changed by `with_parameters`, with the shapes held."""
    path = path_of(name)
    if path == name or name in dict(robot.functions.changes):
        return False
    try:
        _reloaded(robot, {path: TRIED * described(robot, path)})
    except StateError:
        return False
    return True


def _resolved(pattern: str, *known: Mapping[str, Parameter]) -> tuple[str, ...]:
    """The names that a pattern fits in the first room where it fits any, else itself."""
    for names in known:
        if pattern in names:
            return (pattern,)
        if found := tuple(name for name in names if fnmatchcase(name, pattern)):
            return found
    return (pattern,)


def _check_names(
    robot: Robot, names: Iterable[str], known: Mapping[str, Parameter], columns: Iterable[str]
) -> None:
    """UnknownNameError for a name that is neither a parameter nor could be a path, or a gain of no column."""
    for name in names:
        gain = SENSOR.fullmatch(name)
        is_path = begins_path(name.partition(".")[0])
        if gain and (gain[1].endswith(OF_COLUMNS) or not is_path):
            raise UnknownNameError(f"column of {name}", gain[1], tuple(columns))
        of_beam = _OF_BEAM.fullmatch(name) or _OF_DAMPING.fullmatch(name)
        if "." not in name and not (of_beam and of_beam[1] in robot.description.flexible_links):
            UnknownNameError.check(f"parameter of {robot.name}", name, tuple(known))


def _limits(name: str, known: Mapping[str, Parameter], gains: Iterable[str]) -> tuple[float, float]:
    if name in known:
        return known[name].lower, inf
    if name in gains:
        return (-inf if name.endswith((".factor", ".offset")) else 0.0), inf
    # stiffness, damping, masses, lengths: what the description takes is not negative
    return (0.0, 0.999) if path_of(name).endswith(".ratio") else (0.0, inf)


def _unit(robot: Robot, name: str) -> str:
    path = path_of(name)
    return _UNITS.get(path.rpartition(".")[2]) or unit_of(robot, path)


# ---- values before the fit ----


def _value(
    robot: Robot, name: str, known: Mapping[str, Parameter], gains: Iterable[str], start: Mapping[str, float]
) -> float:
    """Where a number starts: what was told, else what the description says."""
    value: Any = start.get(name)
    if value is None and name in known:
        value = known[name].value
    elif value is None and name in gains:
        value = START.get(name.rpartition(".")[2])
    elif value is None and (payload := _PAYLOAD.fullmatch(name)):
        value = next((p.mass for p in robot.functions.payloads if p.frame == payload[1]), 0.0)
    elif value is None:
        value = described(robot, path_of(name))
    if not isinstance(value, int | float) or not np.isfinite(value):
        raise StateError(f"the start of {name} is {value!r}, expected a finite number")
    return float(value)


# ---- robots with other numbers ----


def _reloaded(robot: Robot, paths: Mapping[str, float]) -> Robot:
    """The robot, read again with other values of paths."""
    description, functions = robot.description, robot.functions
    options = {**options_of(robot), **paths}
    source = description.file or description.text
    try:
        new = load(source, options=options, name=robot.name)
    except DescriptionError as error:
        told = ", ".join(f"{path} = {value:g}" for path, value in paths.items())
        raise StateError(f"no robot has {told}: {error}") from None
    changes = dict(functions.changes)
    new = with_payloads(new, functions.payloads)
    return new.with_parameters(changes) if changes else new


def _carrying(robot: Robot, frame: str, mass: float) -> Robot:
    """The payload of a frame with another mass; its inertia grows with it."""
    before = next((p for p in robot.functions.payloads if p.frame == frame), None)
    if before is None or before.mass == 0.0:
        return robot.with_payload(frame, mass)
    return robot.with_payload(frame, mass, before.com, tensor_of(before.inertia) * (mass / before.mass))
