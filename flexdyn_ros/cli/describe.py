"""`flexdyn expand`, `from-dh` and `schema`: descriptions of robots, and the reference of their elements."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flexdyn_ros.bridges import read_table
from flexdyn_ros.cli.terminal import Config, Rigid, RobotName, Settings, Xacro, load_robot, write_text
from flexdyn_ros.description import schema_table, schema_xsd
from flexdyn_ros.expanding import expand as expanded_of
from flexdyn_ros.families.registry import families


def expand(
    robot: RobotName,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="file to write; stdout if omitted")
    ] = None,
    config: Config = None,
    settings: Settings = None,
    xacro: Xacro = None,
    rigid: Rigid = False,
) -> None:
    """Write the expanded URDF: flexible links divided into segments on virtual joints, without inertia."""
    text = expanded_of(load_robot(robot, config, settings, rigid, xacro)).urdf
    write_text(text, output)


class Convention(StrEnum):
    """Where the frames of a table lie."""

    standard = "standard"
    modified = "modified"


def from_dh(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="a .csv or .yaml file", dir_okay=False)],
    convention: Annotated[
        Convention | None,
        typer.Option("--convention", help="needed unless the file says it; modified is Craig's"),
    ] = None,
    degrees: Annotated[
        bool, typer.Option("--degrees", help="angles and their limits are in degrees")
    ] = False,
    name: Annotated[
        str | None, typer.Option("--name", help="of the robot", show_default="the file's")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="file; default: stdout")] = None,
) -> None:
    """Turn a table of Denavit-Hartenberg parameters, standard or modified, into URDF."""
    read = read_table(table, convention=convention, degrees=True if degrees else None, name=name)
    write_text(read.to_urdf(), output)


def schema(
    xsd: Annotated[bool, typer.Option("--xsd", help="XML Schema for editors")] = False,
    table: Annotated[bool, typer.Option("--table", help="reference page in Markdown (default)")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="file to write; stdout if omitted")
    ] = None,
) -> None:
    """Print the reference of all `<flexdyn>` elements, with units and defaults."""
    if xsd and table:
        raise typer.BadParameter("choose --xsd or --table", param_hint="--xsd/--table")
    families()  # those of other packages add elements
    write_text(schema_xsd() if xsd else schema_table(), output)
