"""A study as a frozen record: read from YAML or a mapping, and every word of it checked before anything
runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import yaml

from flexdyn_ros.errors import DescriptionError, UnknownNameError
from flexdyn_ros.studies.distributions import LISTED, Distribution, distribution_of

#: kinds of designs, each with the keys that it takes beside `kind`
DESIGNS = {
    "grid": (),
    "sobol": ("samples", "seed", "indices"),
    "latin_hypercube": ("samples", "seed"),
    "random": ("samples", "seed"),
    "list": ("points",),
    "optuna": ("samples", "seed", "batch", "sampler"),
}
KEYS = (
    "study", "title", "robot", "config", "options", "experiment", "arguments", "design", "parameters",
    "correlations", "objectives", "feasible", "plots", "time_limit", "trajectories",
)  # fmt: skip
SAMPLERS = ("tpe", "nsga2", "random")
PLOTS = ("line", "heat_map", "contour", "parallel", "pareto", "scatter")
#: time that a point may take unless the study says another [s]
TIME_LIMIT = 300.0
MOST_POINTS = 10_000_000


#: what a file of YAML holds; paths and factors of a value
Tree = dict[str, Any]
Sets = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Parameter:
    """One parameter: its distribution, its unit, and what its value sets.

    sets: (path, factor) pairs; the path gets value times factor, element by element where the factor is a
    tuple; the value itself where it is None.
    """

    name: str
    spread: Distribution
    unit: str = ""
    sets: Sets = ()


@dataclass(frozen=True)
class Study:
    """A study that was read; see docs/studies.md for what each key means.

    outside: what it means that a result is beyond its bounds of `feasible`, where the study says it.
    given: the mapping that it was read from; lines: those of its keys in its file. folder: names of files are
    relative to it.
    """

    name: str
    title: str
    robot: str | None
    experiment: str
    design: Tree
    parameters: tuple[Parameter, ...]
    config: tuple[str, ...] = ()
    options: Tree = field(default_factory=dict)
    arguments: Tree = field(default_factory=dict)
    correlations: tuple[tuple[str, str, float], ...] = ()
    objectives: Mapping[str, str] = field(default_factory=dict)
    feasible: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    outside: Mapping[str, str] = field(default_factory=dict)
    plots: tuple[Tree, ...] = ()
    time_limit: float = TIME_LIMIT
    trajectories: bool = False
    folder: str = ""
    file: str | None = None
    given: Tree = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.parameters)

    def as_text(self) -> str:
        """The study as YAML, names of files absolute: what `study.yaml` of its folder holds."""
        told = dict(self.given)
        if self.robot is not None:
            told["robot"] = self.robot
        if self.config:
            told["config"] = list(self.config)
        return yaml.safe_dump(told, sort_keys=False, allow_unicode=True)

    def failing(self, message: str, element: str, **more: Any) -> DescriptionError:
        """The error of a mistake in this study."""
        place = _Place(self.file, self.lines)
        return DescriptionError(message, **(place.at(element) | more))


def read_study(source: Any) -> Study:
    """A study from the path of a YAML file, or from a mapping of the same keys.

    Raises
    ------
    DescriptionError
        If a key, a value, a distribution or a design is wrong: file, line, what was given, what was expected.
    """
    if isinstance(source, Study):
        return source
    if isinstance(source, Mapping):
        return _Reader(dict(source), None).study()
    if not isinstance(source, str | PathLike):
        raise DescriptionError("not a study", value=type(source).__name__, expected="a path or a mapping")
    path = Path(fspath(source))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DescriptionError(f"cannot be read: {reason}", file=str(path), expected="a YAML file") from None
    try:
        tree = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise DescriptionError(
            f"not well-formed YAML: {getattr(error, 'problem', None) or error}", file=str(path),
            line=None if mark is None else mark.line + 1, expected="well-formed YAML",
        ) from None  # fmt: skip
    if not isinstance(tree, dict):
        raise DescriptionError("not a study", file=str(path), value=type(tree).__name__, expected="keys")
    return _Reader(tree, str(path), _lines(text)).study()


def _lines(text: str) -> dict[str, int]:
    """Lines of the keys of the first two levels, by `key` and `key/inner`."""
    found: dict[str, int] = {}
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in getattr(node, "value", ()):
        found[key.value] = key.start_mark.line + 1
        if isinstance(value, yaml.MappingNode):
            found |= {f"{key.value}/{inner.value}": inner.start_mark.line + 1 for inner, _ in value.value}
    return found


class _Place:
    """Where a message points."""

    def __init__(self, file: str | None, lines: Mapping[str, int]) -> None:
        self.file, self.lines = file or "<study>", lines

    def at(self, element: str) -> Tree:
        line = self.lines.get(element, self.lines.get(element.split("/")[0]))
        return {"file": self.file, "line": line, "element": element}


class _Reader:
    """The tree of a study on its way to the record."""

    def __init__(self, tree: Tree, file: str | None, lines: Mapping[str, int] | None = None) -> None:
        self.tree, self.file = tree, file
        self.folder = Path(file).resolve().parent if file else Path.cwd()
        self.lines = lines or {}
        self.place = _Place(file, self.lines)

    def fail(self, message: str, element: str, value: Any = None, expected: str | None = None) -> None:
        raise DescriptionError(message, value=value, expected=expected, **self.place.at(element))

    def study(self) -> Study:
        for key in self.tree:
            if key not in KEYS:
                near = str(UnknownNameError("key", str(key), KEYS))
                self.fail(f"unknown key '{key}' ({near})", str(key), expected="one of " + ", ".join(KEYS))
        for key in ("study", "experiment", "design"):
            if key not in self.tree:
                self.fail(f"the key '{key}' is missing", key, expected=", ".join(KEYS))
        name = self.text("study")
        if not re.fullmatch(r"\w[\w.-]{0,99}", name):
            expected = "letters, digits, _ . -, a letter, digit or _ first, 100 at most"
            self.fail("the name of a study names its folder", "study", name, expected)
        limit = self.tree.get("time_limit", TIME_LIMIT)
        if not _is_number(limit) or not limit > 0.0:
            self.fail("a time limit is a positive number of seconds", "time_limit", limit, "> 0")
        design = self.design()
        parameters = self.parameters(design)
        known = {p.name for p in parameters}
        config = self.tree.get("config") or []
        study = Study(
            name=name,
            title=str(self.tree.get("title", name.replace("_", " "))),
            robot=self.robot(),
            experiment=self.text("experiment"),
            design=design,
            parameters=parameters,
            config=tuple(self.file_named(str(x)) for x in (config if isinstance(config, list) else [config])),
            options=self.mapping("options"),
            arguments=self.mapping("arguments"),
            correlations=self.correlations(design, known),
            objectives=self.objectives(design),
            feasible=self.feasible(),
            outside={
                name: str(bounds["label"])
                for name, bounds in self.mapping("feasible").items()
                if "label" in bounds
            },
            plots=self.plots(),
            time_limit=float(limit),
            trajectories=bool(self.tree.get("trajectories", False)),
            folder=str(self.folder),
            file=self.file,
            given=self.tree,
            lines=self.lines,
        )
        for p in study.parameters:
            if p.name in study.arguments:
                self.fail("is an argument of a fixed value, too", f"parameters/{p.name}")
        return study

    def text(self, key: str) -> str:
        value = self.tree[key]
        if not isinstance(value, str) or not value.strip():
            self.fail(f"'{key}' is not a text", key, value, "a text")
        return str(value).strip()

    def mapping(self, key: str) -> Tree:
        value = self.tree.get(key) or {}
        if not isinstance(value, Mapping):
            self.fail(f"'{key}' is not a mapping", key, value, "names and values")
        return {str(name): inner for name, inner in value.items()}

    def robot(self) -> str | None:
        if self.tree.get("robot") is None:
            return None
        return self.file_named(self.text("robot"))

    def file_named(self, name: str) -> str:
        """A file beside the study, else the name as it is (of a shipped robot, a package)."""
        beside = self.folder / name
        return str(beside) if beside.is_file() else name

    def design(self) -> Tree:
        design = self.mapping("design")
        kind = design.get("kind")
        if kind not in DESIGNS:
            self.fail(f"there is no design '{kind}'", "design/kind", kind, "one of " + ", ".join(DESIGNS))
        for key in design:
            if key != "kind" and key not in DESIGNS[str(kind)]:
                keys = ", ".join(DESIGNS[str(kind)]) or "nothing more"
                self.fail(f"a design of kind {kind} has no '{key}'", f"design/{key}", design[key], keys)
        if "samples" in DESIGNS[str(kind)]:
            self.whole(design, "samples", None, 1, MOST_POINTS)
            self.whole(design, "seed", 0, 0, 2**32 - 1)
        if kind == "optuna":
            self.whole(design, "batch", 8, 1, 10_000)
            if design.setdefault("sampler", "tpe") not in SAMPLERS:
                self.fail("unknown sampler", "design/sampler", design["sampler"], " or ".join(SAMPLERS))
        if kind == "list":
            points = design.get("points")
            if not isinstance(points, list) or not points or not all(isinstance(p, Mapping) for p in points):
                self.fail("a list has points", "design/points", points, "a list of {name: value}")
        return design

    def whole(self, tree: Tree, key: str, default: int | None, low: int, high: int) -> None:
        value = tree.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fail(f"'{key}' is not a whole number", f"design/{key}", value, f"{low} to {high}")
        tree[key] = value

    def parameters(self, design: Tree) -> tuple[Parameter, ...]:
        given = self.mapping("parameters")
        kind = design["kind"]
        if kind == "list":
            return self.listed(given, design["points"])
        if not given:
            self.fail("a study varies something", "parameters", expected="names and distributions")
        found = tuple(self.parameter(name, value) for name, value in given.items())
        for p in found:
            if kind == "grid" and p.spread.kind not in LISTED:
                self.fail(
                    f"a grid has no {p.spread.kind}", f"parameters/{p.name}", expected=" or ".join(LISTED)
                )
        return found

    def listed(self, given: Tree, points: list[Mapping[str, object]]) -> tuple[Parameter, ...]:
        """Parameters of a list: names are those of the points; what they set may be said apart."""
        names = list(points[0])
        for n, point in enumerate(points):
            if list(point) != names:
                self.fail(f"point {n} of the list has other names", "design/points", dict(point), str(names))
        for name in given:
            if name not in names:
                self.fail("no point of the list gives it", f"parameters/{name}")
        return tuple(
            self.parameter(str(name), {**dict(given.get(name) or {}), "grid": [p[name] for p in points]})
            for name in names
        )

    def parameter(self, name: str, value: Any) -> Parameter:
        element = f"parameters/{name}"
        unit = ""
        sets: Sets = ((name, None),)
        if isinstance(value, Mapping):
            value = dict(value)
            unit = str(value.pop("unit", ""))
            sets = self.sets(value.pop("sets", None), name, element)
        return Parameter(name, distribution_of(value, self.place.at(element)), unit, sets)

    def sets(self, given: Any, name: str, element: str) -> Sets:
        if given is None:
            return ((name, None),)
        if isinstance(given, list) and given and all(isinstance(x, str) for x in given):
            return tuple((path, None) for path in given)
        if not isinstance(given, Mapping) or not given:
            self.fail("'sets' names paths", element, given, "a list of paths, or {path: factor}")
        found = []
        for path, factor in given.items():
            numbers = factor if isinstance(factor, list) else [factor]
            if not all(_is_number(x) for x in numbers):
                self.fail("a factor is a number, or a list of them", element, factor, "{path: factor}")
            found.append(
                (str(path), tuple(map(float, factor)) if isinstance(factor, list) else float(factor))
            )
        return tuple(found)

    def correlations(self, design: Tree, known: set[str]) -> tuple[tuple[str, str, float], ...]:
        given = self.tree.get("correlations") or []
        found = []
        independent = design.get("indices") or design["kind"] not in ("random", "latin_hypercube", "sobol")
        if given and independent:
            self.fail(
                "this design has no correlations", "correlations", expected="random, latin_hypercube, sobol"
            )
        for entry in given:
            if not isinstance(entry, list) or len(entry) != 3 or not _is_number(entry[2]):
                self.fail("not a correlation", "correlations", entry, "[name, name, number]")
            a, b, r = entry
            for name in (a, b):
                if name not in known:
                    self.fail(str(UnknownNameError("parameter", str(name), known)), "correlations", entry)
            if not -1.0 < r < 1.0 or a == b:
                self.fail("a correlation is of two parameters", "correlations", entry, "-1 < number < 1")
            found.append((a, b, float(r)))
        return tuple(found)

    def objectives(self, design: Tree) -> dict[str, str]:
        given = self.mapping("objectives")
        for name, word in given.items():
            if word not in ("minimize", "maximize"):
                self.fail("an objective is minimized or maximized", f"objectives/{name}", word,
                          "minimize or maximize")  # fmt: skip
        if design["kind"] == "optuna" and not given:
            self.fail("an optimisation has objectives", "objectives", expected="{result: minimize}")
        return given

    def feasible(self) -> dict[str, tuple[float, float]]:
        found = {}
        for name, bounds in self.mapping("feasible").items():
            numbers = {k: x for k, x in bounds.items() if k != "label"} if isinstance(bounds, Mapping) else {}
            if not numbers or set(numbers) - {"least", "most"} or not all(map(_is_number, numbers.values())):
                self.fail(
                    "not bounds of a result", f"feasible/{name}", bounds,
                    "{least: number, most: number, label: what lies outside}",
                )  # fmt: skip
            found[name] = (float(bounds.get("least", -float("inf"))), float(bounds.get("most", float("inf"))))
        return found

    def plots(self) -> tuple[Tree, ...]:
        given = self.tree.get("plots") or []
        for entry in given if isinstance(given, list) else [given]:
            if not isinstance(entry, Mapping) or entry.get("kind") not in PLOTS:
                self.fail("not a plot", "plots", entry, "{kind: " + " | ".join(PLOTS) + ", ...}")
            file = entry.get("file", "picture.png")
            if not isinstance(file, str) or not re.fullmatch(r"\w[\w. +-]{0,199}", file):
                self.fail("the file of a plot lies in the folder pictures", "plots", file, "a name, as a.png")
        return tuple(given)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
