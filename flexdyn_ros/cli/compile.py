"""`flexdyn compile`: a robot's equations as C, as an FMU, or compiled for this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flexdyn_ros.cli.terminal import Config, Rigid, RobotName, Settings, Xacro, load_robot, messages
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.escaping import file_name
from flexdyn_ros.robot.verbs import Robot

TARGETS = ("c", "fmu", "native", "ros2_control")
#: targets that take an option; those that are not named here are for all
_TAKEN_BY = {
    "output": ("c", "fmu", "ros2_control"),
    "verbs": ("c",),
    "parameters": ("c", "fmu"),
    "fmi": ("fmu",),
    "scalar": ("c",),
    "cylinders": ("fmu", "ros2_control"),
}


def _listed(text: str, option: str) -> tuple[str, ...]:
    """Names of a list with commas, at least one."""
    names = tuple(word for name in text.split(",") if (word := name.strip()))
    if not names:
        raise typer.BadParameter(f"{text!r} names nothing; expected names, with commas between them",
                                 param_hint=option)  # fmt: skip
    return names


def compile(
    robot: RobotName,
    target: Annotated[
        str, typer.Option("--target", metavar="c|fmu|native|ros2_control", help="what to make")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="c, ros2_control: folder; fmu: file",
            show_default="NAME_c, NAME_hardware, NAME.fmu",
        ),
    ] = None,
    verbs: Annotated[
        str | None, typer.Option("--verbs", metavar="LIST", help="c: functions, with commas between them")
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(
            "--parameters", metavar="GLOBS", help="c, fmu: parameters that can be set, such as '*/mass'"
        ),
    ] = None,
    fmi: Annotated[
        str | None,
        typer.Option("--fmi", metavar="2.0|3.0", help="fmu: version of the standard", show_default="3.0"),
    ] = None,
    scalar: Annotated[
        str | None,
        typer.Option("--scalar", metavar="double|float", help="c: type of numbers", show_default="double"),
    ] = None,
    cylinders: Annotated[
        bool,
        typer.Option("--cylinders", help="fmu, ros2_control: cylinders with their oil, driven by valves"),
    ] = False,
    config: Config = None,
    settings: Settings = None,
    xacro: Xacro = None,
    rigid: Rigid = False,
) -> None:
    """Write the equations of motion for another target: C99 source, an FMU for co-simulation and model
    exchange, a package of hardware for ros2_control, or a library for this machine in the cache."""
    UnknownNameError.check("target", target, TARGETS)
    given = {
        "output": output, "verbs": verbs, "parameters": parameters, "fmi": fmi, "scalar": scalar,
        "cylinders": cylinders or None,
    }  # fmt: skip
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _refuse_those_of_others(options, target)
    for name in {"verbs", "parameters"} & options.keys():
        options[name] = _listed(options[name], f"--{name}")
    for path in _made(load_robot(robot, config, settings, rigid, xacro), target, options):
        messages.print(f"wrote {path}")


def _refuse_those_of_others(options: dict[str, object], target: str) -> None:
    """BadParameter for an option that the target does not take."""
    for name in options:
        takes = _TAKEN_BY[name]
        if target not in takes:
            raise typer.BadParameter(
                f"is an option of target {', '.join(takes)}; target {target} takes no --{name}",
                param_hint=f"--{name}",
            )


def _made(robot: Robot, target: str, options: dict[str, Any]) -> list[Path]:
    """The files of a target, none of a library in the cache."""
    if target == "native":
        from flexdyn_ros.export.native.robots import compiled_robot

        compiled_robot(robot)
        messages.print(f"{robot.name} is compiled for this machine")
        return []
    from flexdyn_ros import export

    output = options.pop("output", None)
    # beside the one who asks, whatever a description is called
    name = file_name(robot.name)
    if target == "c":
        return export.c(robot, output or Path(f"{name}_c"), **options)
    if target == "ros2_control":
        return export.ros2_control(robot, output or Path(f"{name}_hardware"), **options)
    return [export.fmu(robot, output or Path(f"{name}.fmu"), **options)]
