"""`flexdyn expand`: the description that rviz and other tools can show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexdyn_ros.cli.terminal import Config, Rigid, RobotName, Settings, Xacro, load_robot, write_text
from flexdyn_ros.expanding import expand as expanded_of


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
    """Write the expanded URDF: bending links cut into segments on virtual joints, no inertia, no
    `<flexdyn>`."""
    text = expanded_of(load_robot(robot, config, settings, rigid, xacro)).urdf
    write_text(text, output)
