"""`flexdyn compile`: a robot's equations as C, as an FMU, or compiled for this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from flexdyn_ros.cli.terminal import Config, RobotName, Settings, load_robot, messages
from flexdyn_ros.errors import UnknownNameError

TARGETS = ("c", "fmu", "native")


def _listed(text: str | None) -> tuple[str, ...]:
    """Names of a list with commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def compile(
    robot: RobotName,
    target: Annotated[str, typer.Option("--target", metavar="c|fmu|native", help="what to make")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="folder (c) or file (fmu)", show_default="NAME_c, NAME.fmu"),
    ] = None,
    verbs: Annotated[
        str | None, typer.Option("--verbs", metavar="LIST", help="c: functions, with commas between them")
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option("--parameters", metavar="GLOBS", help="parameters that can be set, such as '*/mass'"),
    ] = None,
    fmi: Annotated[
        str, typer.Option("--fmi", metavar="2.0|3.0", help="fmu: version of the standard")
    ] = "3.0",
    scalar: Annotated[
        str, typer.Option("--scalar", metavar="double|float", help="c: type of numbers")
    ] = "double",
    cylinders: Annotated[
        bool, typer.Option("--cylinders", help="fmu: a platform with its cylinders, driven by valves")
    ] = False,
    config: Config = None,
    settings: Settings = None,
) -> None:
    """Write the equations of motion for another target: C99 source, an FMU for co-simulation and model
    exchange, or a library for this machine in the cache."""
    UnknownNameError.check("target", target, TARGETS)
    loaded = load_robot(robot, config, settings, False)
    from flexdyn_ros import export

    if target == "native":
        export.specialized(loaded)
        messages.print(f"{escape(loaded.name)} is compiled for this machine", highlight=False)
        return
    options: dict[str, Any] = {"parameters": _listed(parameters)}
    if target == "c":
        if verbs is not None:
            options["verbs"] = _listed(verbs)
        made = export.c(loaded, output or Path(f"{loaded.name}_c"), scalar=scalar, **options)
    else:
        path = output or Path(f"{loaded.name}.fmu")
        made = [export.fmu(loaded, path, fmi=fmi, cylinders=cylinders, **options)]
    for path in made:
        messages.print(f"wrote {escape(str(path))}", highlight=False)
