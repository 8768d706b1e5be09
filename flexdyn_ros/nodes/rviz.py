"""rviz: which of the shipped configurations shows a robot, and two arguments and one action of launch files.

`launch` is imported where it is used: launch files are the only ones that run where it is installed.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import yaml

from flexdyn_ros.description import RobotDescription, read
from flexdyn_ros.description.urdf.sources import own_share
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.registry import family_of
from flexdyn_ros.robot.verbs import Robot


def rviz_configuration(description: RobotDescription) -> Path:
    """The file rviz/NAME.rviz that shows robots of this family.

    Raises
    ------
    DescriptionError
        If it was not installed.
    """
    name = f"{family_of(description).rviz(description)}.rviz"
    for share in own_share():
        if (share / "rviz" / name).is_file():
            return share / "rviz" / name
    raise DescriptionError("no rviz configuration", value=name, expected="the files of rviz/, installed")


def rviz_arguments() -> list[object]:
    """`rviz` and `rviz_config_file`."""
    from flexdyn_ros.nodes.launching import argument

    file = "configuration of rviz; empty: that of the robot's family in share/flexdyn_ros/rviz"
    return [
        argument("rviz", "false", "start rviz", ["true", "false"], needs=["rviz2"]),
        argument("rviz_config_file", "", file),
    ]


def rviz_action(
    robot: str = "robot", *, use_sim_time: object = True, with_state_publisher: bool = False
) -> Any:
    """Start rviz if the argument `rviz` says so; a xacro file gets what the argument `xacro_arguments` lists,
    where the launch file declares it.

    Parameters
    ----------
    robot : str
        Name of the argument that holds the robot: a shipped name, a path or a package:// URI.
    use_sim_time : bool or substitution
    with_state_publisher : bool
        Start the state publisher as well, for launch files that do without it otherwise.
    """
    from launch.actions import OpaqueFunction
    from launch.substitutions import LaunchConfiguration

    chosen = [LaunchConfiguration(name) for name in ("rviz", "rviz_config_file", robot)]
    return OpaqueFunction(
        function=_start,
        args=[*chosen, use_sim_time, with_state_publisher],
        kwargs={"xacro": LaunchConfiguration("xacro_arguments", default="")},
    )


def _start(
    context: object,
    wanted: Any,
    file: Any,
    robot: Robot,
    use_sim_time: object,
    with_state_publisher: bool,
    xacro: Any = None,
) -> list[object]:
    """The nodes, now that the arguments have values."""
    if wanted.perform(context) != "true":
        return []
    from launch_ros.actions import Node

    source = robot.perform(context)
    entries = _xacro_entries("" if xacro is None else xacro.perform(context))
    arguments = {name: text for name, colon, text in (entry.partition(":=") for entry in entries) if colon}
    path = file.perform(context) or str(rviz_configuration(read(source, xacro=arguments or None)))
    clock = {"use_sim_time": use_sim_time}
    nodes = [
        Node(package="rviz2", executable="rviz2", name="rviz2", arguments=["-d", path], parameters=[clock])
    ]
    if with_state_publisher:
        nodes.append(
            Node(
                package="flexdyn_ros",
                executable="state_publisher",
                name="state_publisher",
                output="screen",
                parameters=[{"description_file": source, "xacro_arguments": entries or [""]}, clock],
            )
        )
    return nodes


def _xacro_entries(text: str) -> list[str]:
    """Entries name:=value of a launch argument: a list in YAML, or words as xacro has them."""
    found = yaml.safe_load(text)
    return [str(entry) for entry in found if entry] if isinstance(found, list) else shlex.split(found or "")
