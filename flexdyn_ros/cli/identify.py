"""`flexdyn identify`: from measurements to a description with other numbers."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexdyn_ros.cli import terminal
from flexdyn_ros.wording import percent

if TYPE_CHECKING:
    from flexdyn_ros.identification import Identified, Measurement
    from flexdyn_ros.robot.verbs import Robot

#: columns of what is printed, and of names in its tables
COLUMNS, NAME = 80, 34
METHODS = ("auto", "linear", "output")


def identify(
    robot: terminal.RobotName,
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DATA...", help="measurements: .csv, .npz, .mat, recordings"),
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option("--parameters", metavar="GLOBS", help="what to fit: names, patterns, commas between"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="the description with the numbers found")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="DIR", help="folder for report.md, table.csv and pictures"),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="what can be identified: base parameters; needs no data")
    ] = False,
    method: Annotated[
        str, typer.Option("--method", help="linear: from efforts; output: by simulation; auto")
    ] = "auto",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="NAMES", help="of all columns of the files in order; '' leaves out"
        ),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", metavar="FILE=NAME", help="rename a column; repeatable")
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option("--unit", metavar="NAME=UNIT", help="deg, mm, ...; repeatable")
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option("--factor", metavar="NAME=NUMBER", help="motor constants, signs; repeatable"),
    ] = None,
    topic: terminal.Topics = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="FROM:TO", help="only samples of these times [s]; either may be left out"
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option("--rows", metavar="FIRST:LAST", help="only these samples, from 0, the last left out"),
    ] = None,
    held: Annotated[
        bool | None,
        typer.Option(
            "--held/--not-held",
            help="whether each effort was held until the next sample; default what the files say",
        ),
    ] = None,
    start: Annotated[
        list[str] | None, typer.Option("--start", metavar="NAME=NUMBER", help="where to start; repeatable")
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option("--bound", metavar="NAME=LEAST:MOST", help="of a number, or a sum; repeatable"),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option("--prior", metavar="NAME=VALUE:DEVIATION", help="known before the fit; repeatable"),
    ] = None,
    modes: Annotated[
        Path | None, typer.Option("--modes", help="output: table of measured frequencies, CSV")
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option("--cutoff", help="linear: of the zero-phase filter [Hz]")
    ] = None,
    stribeck: Annotated[
        str | None,
        typer.Option("--stribeck", metavar="JOINTS", help="linear: fit Stribeck friction; names, patterns"),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option("--offset", metavar="EFFORTS", help="linear: fit constant parts of efforts"),
    ] = None,
    asymmetric: Annotated[
        str | None,
        typer.Option("--asymmetric", metavar="JOINTS", help="linear: friction that depends on the direction"),
    ] = None,
    starts: Annotated[int, typer.Option("--starts", min=1, help="output: fits from so many starts")] = 1,
    cross_validate: Annotated[
        bool, typer.Option("--cross-validate", help="linear: hold each file out in turn")
    ] = False,
    config: terminal.Config = None,
    settings: terminal.Settings = None,
    xacro: terminal.Xacro = None,
    rigid: terminal.Rigid = False,
    as_json: terminal.Json = False,
) -> None:
    """Identify parameters of a robot from measurements; nothing is written without -o or --report."""
    import warnings

    from flexdyn_ros.errors import FlexdynWarning
    from flexdyn_ros.identification import ModalTable, fit_linear

    if method not in METHODS:
        raise typer.BadParameter(f"{method!r} is none of {', '.join(METHODS)}", param_hint="--method")
    loaded = terminal.load_robot(robot, config, settings, rigid, xacro)
    patterns = _words(parameters)
    known = {"bounds": _pairs(bound, "--bound"), "priors": _pairs(prior, "--prior")}
    options: dict[str, Any] = {
        "parameters": patterns, "cutoff": cutoff, "stribeck": _words(stribeck) or (),
        "offsets": _words(offset) or (), "asymmetric": _words(asymmetric) or (), **known,
    }  # fmt: skip
    if explain:
        _explain(loaded, patterns, as_json)
        return
    if not data and modes is None:
        raise typer.BadParameter("missing: files with measurements, --modes, or --explain", param_hint="DATA")
    if output is not None:
        terminal.check_output(output, "-o")
    if report is not None:
        terminal.check_output(report, "--report", is_folder=True)
    measured = [_read(path, columns, column, unit, factor, held, topic) for path in data or ()]
    measured = [_cut(one, time, rows) for one in measured]
    linear = method == "linear" or (method == "auto" and modes is None and _is_linear(loaded, patterns))
    if not linear and patterns is None:
        raise typer.BadParameter("needed for a fit by simulation", param_hint="--parameters")
    with warnings.catch_warnings():
        # they are in the result
        warnings.simplefilter("ignore", FlexdynWarning)
        if linear:
            found = fit_linear(loaded, measured, **options)
        else:
            table = () if modes is None else ModalTable.read(modes)
            found = _output(
                loaded, measured, patterns or [], _numbers(start, "--start"), table, starts, known
            )
    held_out = _held_out(loaded, measured, options) if cross_validate and linear else []
    diff = found.write_urdf(output) if output is not None else ""
    written = [output] if output is not None else []
    if report is not None:
        written.append(found.report(report, _command(robot)))
    if as_json:
        terminal.print_json(_summary(found, held_out))
    else:
        _show(found, held_out, diff)
    for text in found.warnings:
        terminal.warn(text)
    for path in written:
        terminal.messages.print(f"wrote {path}")


# ---- what is asked for ----


def _words(text: str | None) -> list[str] | None:
    """Words between commas."""
    return [word.strip() for word in text.split(",")] if text else None


def _read(
    path: Path,
    columns: str | None,
    column: list[str] | None,
    unit: list[str] | None,
    factor: list[str] | None,
    held: bool | None,
    topic: list[str] | None,
) -> Measurement:
    from flexdyn_ros.identification import Measurement
    from flexdyn_ros.simulation.recordings.reading import is_recording

    names: Any = _texts(column, "--column")
    if columns is not None:
        names = [word.strip().strip("'\"") for word in columns.split(",")]
    return Measurement.read(
        path,
        names=names or None,
        units=_texts(unit, "--unit"),
        factors=_numbers(factor, "--factor"),
        topics=topic if topic and is_recording(path) else (),
        held=held,
    )


def _texts(pairs: list[str] | None, option: str) -> dict[str, str]:
    """NAME=TEXT pairs."""
    found = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=option)
        found[name] = text
    return found


def _numbers(pairs: list[str] | None, option: str) -> dict[str, float]:
    """NAME=NUMBER pairs."""
    found = {}
    for name, text in _texts(pairs, option).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise typer.BadParameter(f"{name}={text} is not NAME=NUMBER", param_hint=option) from None
    return found


def _pairs(pairs: list[str] | None, option: str) -> dict[str, tuple[float, float]]:
    """NAME=NUMBER:NUMBER pairs."""
    return {name: _range(text, option, float) for name, text in _texts(pairs, option).items()}


def _range(text: str, option: str, kind: Any, ends: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """Two numbers with a colon between; `ends` stand for those that are left out."""
    first, colon, last = text.partition(":")
    try:
        if not colon or (ends is None and not (first and last)):
            raise ValueError
        low, high = ends or (None, None)
        return kind(first) if first else low, kind(last) if last else high
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}, expected two numbers with ':' between", param_hint=option
        ) from None


def _cut(measurement: Measurement, time: str | None, rows: str | None) -> Measurement:
    """The samples that were asked for."""
    from math import inf

    if rows is not None:
        measurement = measurement.rows(*_range(rows, "--rows", int, (0, None)))
    if time is not None:
        measurement = measurement.between(*_range(time, "--time", float, (-inf, inf)))
    return measurement


def _is_linear(robot: Robot, patterns: list[str] | None) -> bool:
    """Whether all that is asked for are numbers that efforts are linear in, of a robot that does not bend."""
    from fnmatch import fnmatchcase

    from flexdyn_ros.identification.linear.models import linear_model

    if robot.bends:
        return False
    known = [p.name for p in linear_model(robot).parameters]
    return patterns is None or all(any(fnmatchcase(n, p) for n in known) for p in patterns)


def _output(
    robot: Robot,
    data: list[Measurement],
    patterns: list[str],
    start: dict[str, float],
    modes: Any,
    starts: int,
    known: dict[str, Any],
) -> Identified:
    from flexdyn_ros.identification import fit_output

    def tell(text: str) -> None:
        terminal.messages.print(text)

    options: dict[str, Any] = {"modes": modes, "starts": starts, "progress": tell, **known}
    return fit_output(robot, data, patterns, start or None, **options)


def _held_out(robot: Robot, data: list[Measurement], options: dict[str, Any]) -> list[Any]:
    import warnings

    from flexdyn_ros.errors import FlexdynWarning
    from flexdyn_ros.identification import cross_validation

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexdynWarning)
        return list(cross_validation(robot, data, **options))


def _command(robot: str) -> str:
    named = Path(sys.argv[0]).name == "flexdyn"
    return shlex.join(["flexdyn", *(sys.argv[1:] if named else ("identify", robot))])


# ---- what is shown ----


def _explain(robot: Robot, patterns: list[str] | None, as_json: bool) -> None:
    """Print the base parameters."""
    from flexdyn_ros.identification import base_parameters

    base = base_parameters(robot, parameters=patterns)
    if as_json:
        terminal.print_json({
            "rank": base.rank, "condition": base.condition, "parameters": [p.name for p in base.parameters],
            "base": list(base.names), "matrix": base.matrix, "without_effect": list(base.without_effect),
        })  # fmt: skip
        return
    count = len(base.parameters)
    terminal.say(f"{robot.name}: {base.rank} base parameters of {count} parameters")
    terminal.say(f"condition number at random states {base.condition:.3g}\n")
    for number, (name, unit) in enumerate(zip(base.names, base.units, strict=True), 1):
        terminal.say(_folded(f"{number:3d}  {name} [{unit}]", 7))
    if base.without_effect:
        terminal.say("\n" + _folded("without effect: " + ", ".join(base.without_effect), 2))


def _show(found: Identified, held_out: list[Any], diff: str) -> None:
    """Numbers, residuals and changes, in lines of 80 columns."""
    terminal.say(f"{found.robot.name}: {len(found.table)} numbers from {len(found.samples.t)} samples\n")
    terminal.say(f"{'parameter':{NAME}} {'value':>11} {'deviation':>10} {'before':>11}  unit")
    for row in found.table.itertuples():
        name = row.parameter if len(row.parameter) <= NAME else row.parameter[: NAME - 3] + "..."
        numbers = f"{row.value:11.5g} {row.standard_deviation:10.2g} {row.start:11.5g}"
        terminal.say(f"{name:{NAME}} {numbers}  {row.unit}")
    if found.rms:
        terminal.say(f"\n{'residual of':{NAME}} {'rms':>11} {'left over':>10} {'white':>5}")
    for (name, rms), unit in zip(found.rms.items(), found.samples.units, strict=True):
        white = "yes" if found.whiteness[name].is_white else "no"
        left = percent(found.left_over[name])
        terminal.say(f"{name[:NAME]:{NAME}} {rms:11.4g} {left:>10} {white:>5}  {unit}")
    for one in held_out:
        told = ", ".join(f"{name.removesuffix('.effort')} {rms:.4g}" for name, rms in one.rms.items())
        terminal.say("\n" + _folded(f"held out: {Path(one.name).name}: {told}", 2))
    if diff:
        terminal.say("\n" + diff, end="")


def _folded(text: str, indent: int) -> str:
    return fill(text, COLUMNS, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _summary(found: Identified, held_out: list[Any]) -> dict[str, Any]:
    return {
        "table": found.table.to_dict("records"), "values": dict(found.values),
        "deviations": dict(found.deviations), "rms": found.rms, "left_over": found.left_over,
        "white": {name: test.is_white for name, test in found.whiteness.items()},
        "held_out": [{"name": one.name, "rms": one.rms} for one in held_out],
        "warnings": list(found.warnings),
    }  # fmt: skip
