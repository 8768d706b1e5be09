"""What computes points: the experiment, the robots that it needs, and what becomes of its answer.

A parameter's path is one of: an argument of the experiment; `payload.FRAME.mass`, `.com` or `.inertia`, which
change a loaded robot; `urdf.joints.NAME.ELEMENT.ATTRIBUTE` (or `links`) of the URDF itself; else a path of
`load(options=...)`, for which the description is read again, unless they are `robot.parameters` that a loaded
robot takes (`parameters.py`). Robots are kept by the values that made them.
"""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from lxml import etree

from flexdyn_ros.errors import DescriptionError, FlexdynWarning, UnknownNameError
from flexdyn_ros.loading import load
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.studies.definition import Sets, Study
from flexdyn_ros.studies.experiments.registry import SHIPPED, arguments_of, function_of, results_of, units_of
from flexdyn_ros.studies.parameters import parameter_values, quick_paths
from flexdyn_ros.studies.result_names import check_said

#: robots that are kept loaded
KEPT_ROBOTS = 32
#: where between 0 and 1, of each parameter's distribution, loading and changing a robot are compared
TRIALS = (0.2, 0.7)
#: values by names of parameters, or by paths
Point = Mapping[str, Any]
_PAYLOAD = re.compile(r"payload\.(.+)\.(mass|com|inertia)")


class Bench:
    """One study, ready to compute any of its points.

    Raises
    ------
    FlexdynError
        If the experiment or the robot cannot be loaded, or a parameter's path leads nowhere.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.function = function_of(study.experiment, study.folder if study.file else "")
        self.named, self.takes_any = arguments_of(self.function)
        self.units, self.results = units_of(self.function), results_of(self.function)
        self._robots: OrderedDict[object, Robot] = OrderedDict()
        self.base = None if study.robot is None else self._loaded({}, {})
        for name in study.arguments:
            if name not in self.named and not self.takes_any:
                raise study.failing(
                    f"the experiment {study.experiment} has no such argument", f"arguments/{name}",
                    expected="one of " + ", ".join(self.named),
                )  # fmt: skip

    # ---- before a study runs ----

    def check(self, point: Point) -> None:
        """Refuse paths that lead nowhere, each for itself, by the values of one point; and names of results
        that the experiment does not say it has."""
        if self.results:
            # those of shipped experiments are all numbers
            check_said(self.study, self.results, all_said=self.study.experiment in SHIPPED)
        for p in self.study.parameters:
            for path, value in _settings(p.sets, point[p.name]):
                self._check_path(p.name, path, value)

    def _check_path(self, name: str, path: str, value: object) -> None:
        study, element = self.study, f"parameters/{name}"
        if path in self.named:
            return
        if self.base is None:
            if self.takes_any:
                return
            raise study.failing("the experiment has no such argument, and the study no robot", element,
                                value=path, expected="one of " + ", ".join(self.named))  # fmt: skip
        payload = _PAYLOAD.fullmatch(path)
        try:
            if payload:
                self.base.functions.check_carrier(payload[1])
                return
            if path.startswith("urdf."):
                edited(self._text(), {path: value})
                return
            load(study.robot, config=study.config or None, options={**study.options, path: _lists(value)})
        except DescriptionError as error:
            if error.file in ("options", "<urdf>") or path.startswith(("urdf.", "payload.")):
                arguments = ", ".join(self.named)
                raise study.failing(
                    f"'{path}' is neither an argument of {study.experiment} ({arguments}) nor a path of the "
                    f"description: {error.message}", element, value=error.value, expected=error.expected,
                ) from None  # fmt: skip
            # what does not fit with the values of other parameters is a matter of points
        except LookupError as error:
            raise study.failing(str(error), element, value=path) from None

    # ---- a point ----

    def compute(self, point: Point) -> dict[str, object]:
        """Results of a point, plain numbers, texts and nested lists, by name; `Trajectory`s as they are."""
        arguments = dict(self.study.arguments)
        options: dict[str, object] = {}
        urdf: dict[str, object] = {}
        payloads: dict[str, dict[str, object]] = {}
        for p in self.study.parameters:
            for path, value in _settings(p.sets, point[p.name]):
                payload = _PAYLOAD.fullmatch(path)
                if path in self.named or (self.takes_any and self.base is None):
                    arguments[path] = value
                elif payload:
                    payloads.setdefault(payload[1], {})[payload[2]] = value
                elif path.startswith("urdf."):
                    urdf[path] = value
                else:
                    options[path] = value
        robot = None if self.base is None else self._carrying(self._made(options, urdf), payloads)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", FlexdynWarning)
            answer = self.function(robot, **arguments)
        if not isinstance(answer, Mapping):
            raise TypeError(f"the experiment returned {type(answer).__name__}, expected a mapping of results")
        found = {str(name): _plain(str(name), value) for name, value in answer.items()}
        told = dict.fromkeys(str(w.message) for w in heard if issubclass(w.category, FlexdynWarning))
        return found | ({"warnings": "; ".join(told)} if told else {})

    def _made(self, options: Point, urdf: Mapping[str, object]) -> Robot:
        """A robot with these values: one that is loaded, changed where that gives the same."""
        given = {**options, **urdf}
        quick = {path: value for path, value in given.items() if path in self._quick}
        if quick:
            slow = [{p: x for p, x in part.items() if p not in quick} for part in (options, urdf)]
            robot = self._loaded(*slow)
            values = parameter_values(robot, quick)
            if values is not None:
                return robot.with_parameters(values)
        return self._loaded(options, urdf)

    @cached_property
    def _quick(self) -> frozenset[str]:
        """Paths whose values change a loaded robot."""
        if self.base is None:
            return frozenset()
        trials = [
            {
                path: value
                for p in self.study.parameters
                for path, value in _settings(p.sets, p.spread.at(share))
                if path not in self.named
            }
            for share in TRIALS
        ]

        def loaded(given: Point) -> Robot:
            urdf = {path: value for path, value in given.items() if path.startswith("urdf.")}
            return self._loaded({p: x for p, x in given.items() if p not in urdf}, urdf)

        return quick_paths(self.base, trials, loaded)

    def _loaded(self, options: Point, urdf: Mapping[str, object]) -> Robot:
        key = (tuple(options.items()), tuple(urdf.items()))
        robot = self._robots.get(key)
        if robot is None:
            study = self.study
            source = edited(self._text(), urdf) if urdf else study.robot
            told = {path: _lists(value) for path, value in options.items()}
            robot = load(source, config=study.config or None, options={**study.options, **told} or None)
            self._robots[key] = robot
            if len(self._robots) > KEPT_ROBOTS:
                self._robots.popitem(last=False)
        else:
            self._robots.move_to_end(key)
        return robot

    def _carrying(self, robot: Robot, payloads: Mapping[str, Point]) -> Robot:
        for frame, parts in payloads.items():
            given = {name: parts[name] for name in ("com", "inertia") if name in parts}
            if "inertia" in given and np.ndim(given["inertia"]) == 1:
                xx, xy, xz, yy, yz, zz = given["inertia"]
                given["inertia"] = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            robot = robot.with_payload(frame, parts.get("mass", 0.0), **given)
        return robot

    def _text(self) -> str:
        assert self.base is not None
        return self.base.description.text


def _settings(sets: Sets, value: Any) -> list[tuple[str, Any]]:
    """(path, value) pairs that one value of a parameter stands for."""
    found = []
    for path, factor in sets:
        if factor is None:
            found.append((path, value))
        elif isinstance(factor, tuple):
            found.append((path, tuple(x * value for x in factor)))
        else:
            found.append((path, factor * value))
    return found


def _lists(value: object) -> object:
    """Tuples, which are keys here, as the lists that descriptions take."""
    return [_lists(x) for x in value] if isinstance(value, tuple) else value


def _plain(name: str, value: object) -> object:
    """A result as Parquet takes it."""
    if isinstance(value, Trajectory | bool | str) or value is None:
        return value
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"the result {name!r} is no array of numbers")
        return array.astype(float).tolist()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"the result {name!r} is {type(value).__name__}, expected numbers, texts or arrays")


def edited(text: str, values: Point) -> str:
    """The text of a URDF with other values.

    Raises
    ------
    DescriptionError
        If the URDF has no such element or attribute. What it lacks is not added: it would need values beside.
    """
    content = text.encode() if isinstance(text, str) else text
    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    for path, value in values.items():
        _set(root, path, value)
    return etree.tostring(root, encoding="unicode")


def _set(root: Any, path: str, value: object) -> None:
    words = path.split(".")[1:]
    tag = {"links": "link", "joints": "joint"}.get(words[0] if words else "")
    if tag is None or len(words) < 4:
        _fail(path, "not a path of the URDF", "urdf.links.NAME.ELEMENT.ATTRIBUTE or urdf.joints...")
    names = [str(e.get("name")) for e in root.findall(tag)]
    count = next((n for n in range(len(words) - 2, 0, -1) if ".".join(words[1 : 1 + n]) in names), 0)
    if not count:
        _fail(path, str(UnknownNameError(str(tag), words[1], names)), f"the name of a {tag}")
    element = root.findall(tag)[names.index(".".join(words[1 : 1 + count]))]
    *inner, attribute = words[1 + count :]
    for word in inner:
        below = element.find(word)
        if below is None:
            _fail(
                path, f"<{element.tag}> has no <{word}>", "one of " + ", ".join(str(e.tag) for e in element)
            )
        element = below
    if attribute not in element.attrib:
        _fail(path, f"<{element.tag}> has no attribute '{attribute}'", "one of " + ", ".join(element.attrib))
    element.set(
        attribute, " ".join(map(_written, value)) if isinstance(value, list | tuple) else _written(value)
    )


def _written(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _fail(path: str, message: str, expected: str) -> None:
    raise DescriptionError(message, file="<urdf>", element=path, expected=expected)
