"""Arguments of launch files: those that need packages, clock and frames.

`launch` is imported where it is used: launch files are the only ones that run where it is installed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any


def argument(
    name: str,
    default: object,
    description: str,
    choices: list[str] | None = None,
    needs: Sequence[str] = (),
    unless: str = "false",
) -> Any:
    """A launch argument.

    Arguments get their values before the first node starts. What a launch file cannot find later ends launch,
    and leaves the nodes behind that run already: so packages are looked for here.

    Parameters
    ----------
    needs : sequence of str
        Packages of ROS that must be installed, unless the argument has the value `unless`.
    """
    from launch.actions import DeclareLaunchArgument as Declaration

    class DeclareLaunchArgument(Declaration):
        def execute(self, context: Any) -> Any:
            found = super().execute(context)
            value = context.launch_configurations.get(name)
            if value != unless:
                check_packages(f"{name}:={value}" if choices else "this launch file", needs)
            return found

    make = DeclareLaunchArgument if needs else Declaration
    return make(name, default_value=default, description=description, choices=choices)


def check_packages(who: str, packages: Sequence[str]) -> None:
    """RuntimeError that says what to install where packages of ROS are missing."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    missing = []
    for package in packages:
        try:
            get_package_prefix(package)
        except (PackageNotFoundError, OSError):
            missing.append(package)
    if missing:
        distribution = os.environ.get("ROS_DISTRO") or "DISTRIBUTION"
        debian = " ".join(f"ros-{distribution}-{package.replace('_', '-')}" for package in missing)
        raise RuntimeError(f"{who} needs {', '.join(missing)}, not installed here: apt install {debian}")


def clock_and_frames() -> tuple[list[object], dict[str, object], dict[str, object]]:
    """Arguments `use_sim_time`, `use_clock` and `frame_prefix`; what the two first mean as parameters of the
    simulator, and the third as one of all nodes that name frames."""
    from launch.substitutions import AndSubstitution, LaunchConfiguration, NotSubstitution
    from launch_ros.parameter_descriptions import ParameterValue

    either = ["true", "false"]
    arguments = [
        argument(
            "use_sim_time",
            "true",
            "nodes take their time from /clock, but for the simulator that makes it",
            either,
        ),
        argument("use_clock", "true", "the simulator publishes /clock: of several robots one alone", either),
        argument("frame_prefix", "", "put before the names of the robot's frames, as in left/"),
    ]
    makes, takes = LaunchConfiguration("use_clock"), LaunchConfiguration("use_sim_time")
    # a simulator that makes no clock may follow that of another one
    follows = AndSubstitution(NotSubstitution(makes), takes)
    clock = {
        "use_clock": ParameterValue(makes, value_type=bool),
        "use_sim_time": ParameterValue(follows, value_type=bool),
    }
    frames = {"frame_prefix": ParameterValue(LaunchConfiguration("frame_prefix"), value_type=str)}
    return arguments, clock, frames
