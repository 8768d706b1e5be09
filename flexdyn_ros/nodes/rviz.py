"""rviz in launch files: two arguments and one action, the same in all of them.

`launch` is imported where it is used: launch files are the only ones that run where it is installed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["rviz_action", "rviz_arguments"]


def rviz_arguments() -> list[Any]:
    """`rviz` and `rviz_config_file`."""
    from flexdyn_ros.nodes.launching import argument

    file = "configuration of rviz; empty: that of the robot's family in share/flexdyn_ros/rviz"
    return [
        argument("rviz", "false", "start rviz", ["true", "false"]),
        argument("rviz_config_file", "", file),
    ]


def rviz_action(robot: str = "robot", *, use_sim_time: Any = True, with_state_publisher: bool = False) -> Any:
    """Start rviz if the argument `rviz` says so.

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
    return OpaqueFunction(function=_start, args=[*chosen, use_sim_time, with_state_publisher])


def _start(
    context: Any, wanted: Any, file: Any, robot: Any, use_sim_time: Any, with_state_publisher: bool
) -> list[Any]:
    """The nodes, now that the arguments have values."""
    if wanted.perform(context) != "true":
        return []
    from launch_ros.actions import Node

    from flexdyn_ros.description import read
    from flexdyn_ros.description.rviz_configuration import rviz_configuration

    source = robot.perform(context)
    path = file.perform(context) or str(rviz_configuration(read(source)))
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
                parameters=[{"description_file": source}, clock],
            )
        )
    return nodes
