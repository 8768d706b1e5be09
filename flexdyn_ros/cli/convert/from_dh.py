"""`flexdyn from-dh`: a Denavit-Hartenberg table as URDF."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flexdyn_ros.bridges import read_table
from flexdyn_ros.cli.terminal import write_text


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
