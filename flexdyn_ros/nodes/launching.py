"""What launch files that bring up a whole robot have in common: clock and frames.

`launch` is imported where it is used: launch files are the only ones that run where it is installed.
"""

from __future__ import annotations

from typing import Any


def argument(name: str, default: Any, description: str, choices: list[str] | None = None) -> Any:
    """A launch argument."""
    from launch.actions import DeclareLaunchArgument

    return DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)


def clock_and_frames() -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
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
