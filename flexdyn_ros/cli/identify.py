"""`flexdyn identify`: from measurements to a description with other numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flexdyn_ros.cli.terminal import Config, Json, Rigid, RobotName, Settings, load_robot, print_json

if TYPE_CHECKING:
    from flexdyn_ros.robot.verbs import Robot

__all__ = ["identify"]

#: columns of what is printed
COLUMNS = 80


def identify(
    robot: RobotName,
    explain: Annotated[
        bool, typer.Option("--explain", help="what can be identified: base parameters; needs no data")
    ] = False,
    parameters: Annotated[
        str | None,
        typer.Option("--parameters", metavar="GLOBS", help="parameters by name, with commas between them"),
    ] = None,
    config: Config = None,
    settings: Settings = None,
    rigid: Rigid = False,
    as_json: Json = False,
) -> None:
    """Identify parameters of a robot from measurements."""
    loaded = load_robot(robot, config, settings, rigid)
    patterns = [word.strip() for word in parameters.split(",")] if parameters else None
    if explain:
        _explain(loaded, patterns, as_json)
        return
    raise typer.BadParameter("missing: files with measurements, or --explain", param_hint="DATA")


def _explain(robot: Robot, patterns: list[str] | None, as_json: bool) -> None:
    """Print the base parameters."""
    from flexdyn_ros.identification import base_parameters

    base = base_parameters(robot, parameters=patterns)
    if as_json:
        print_json({
            "rank": base.rank, "condition": base.condition, "parameters": [p.name for p in base.parameters],
            "base": list(base.names), "matrix": base.matrix, "without_effect": list(base.without_effect),
        })  # fmt: skip
        return
    from textwrap import fill

    count = len(base.parameters)
    print(f"{robot.name}: {base.rank} base parameters of {count} parameters")
    print(f"condition number at random states {base.condition:.3g}\n")
    for number, (name, unit) in enumerate(zip(base.names, base.units, strict=True), 1):
        print(
            fill(f"{number:3d}  {name} [{unit}]", COLUMNS, subsequent_indent=" " * 7, break_long_words=False)
        )
    if base.without_effect:
        text = "without effect: " + ", ".join(base.without_effect)
        print("\n" + fill(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False))
