"""Arguments of launch files: those that need packages, clock and frames; rviz, and what shows a robot in it.

`launch` is imported where it is used: launch files are the only ones that run where it is installed.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from flexdyn_ros.description.urdf.sources import own_share
from flexdyn_ros.errors import DescriptionError, FlexdynError
from flexdyn_ros.families.registry import family_of
from flexdyn_ros.loading import load
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.writing import write_text


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


def node_arguments(file: str, of: str = "all nodes", robot: str = "seven_joint_arm") -> list[object]:
    """Arguments `robot`, `xacro_arguments`, `namespace`, `params_file` and `log_level`.

    Parameters
    ----------
    file : str
        Name of the default parameter file in share/flexdyn_ros/config.
    of : str
        Nodes that the launch file starts, as the help text names them.
    robot : str
        Name of the default robot.
    """
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.substitutions import FindPackageShare

    parameters = PathJoinSubstitution([FindPackageShare("flexdyn_ros"), "config", file])
    source = "Robot: name of a shipped one, path or package:// URI of a URDF or xacro file."
    return [
        argument("robot", robot, source),
        argument(
            "xacro_arguments", "['']", "Arguments of a xacro file, as \"['length:=0.8', 'side:=left']\"."
        ),
        argument("namespace", "", f"Namespace of {of}."),
        argument("params_file", parameters, f"YAML file with the parameters of {of}."),
        argument("log_level", "info", f"Log level of {of}: debug, info, warn, error or fatal."),
    ]


def clock_argument(does: str = "The simulator publishes /clock") -> Any:
    """Argument `use_clock`."""
    return argument("use_clock", "true", f"{does}; of several robots only one may.", ["true", "false"])


def prefix_argument() -> Any:
    """Argument `frame_prefix`."""
    return argument("frame_prefix", "", "Prefix of the names of the robot's frames, as left/.")


def clock_and_frames() -> tuple[list[object], dict[str, object], dict[str, object]]:
    """Arguments `use_sim_time`, `use_clock` and `frame_prefix`; what the two first mean as parameters of the
    simulator, and the third as one of all nodes that name frames."""
    from launch.substitutions import AndSubstitution, LaunchConfiguration, NotSubstitution
    from launch_ros.parameter_descriptions import ParameterValue

    takes = "Nodes take their time from /clock, except for a simulator that publishes it."
    arguments = [
        argument("use_sim_time", "true", takes, ["true", "false"]),
        clock_argument(),
        prefix_argument(),
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


#: rviz shows 45 degrees from top to bottom: a sphere fills its window from 1 / sin(22.5 degrees) radii
FULL = 2.6
#: distance of a fitted view, and the largest of a view that is kept, in radii of the robot
FITTED, LARGEST = 5.0, 8.0


def rviz_configuration(robot: Robot) -> Path:
    """The file rviz/NAME.rviz that shows robots of this family; where its view does not hold this one, or is
    far from it, a copy with another view, which goes when this process ends.

    Raises
    ------
    DescriptionError
        If it was not installed.
    """
    name = f"{family_of(robot.description).rviz(robot.description)}.rviz"
    for share in own_share():
        if (share / "rviz" / name).is_file():
            return _fitted(share / "rviz" / name, robot)
    raise DescriptionError("no rviz configuration", value=name, expected="the files of rviz/, installed")


def _fitted(file: Path, robot: Robot) -> Path:
    """The file, or a copy that looks at the middle of the origins of all frames of the neutral robot."""
    try:
        points = robot.frames(robot.neutral())[:, :3, 3]
    except FlexdynError:
        return file
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = float(np.linalg.norm(points - middle, axis=1).max())
    text = file.read_text()
    view = yaml.safe_load(text)["Visualization Manager"]["Views"]["Current"]
    focus = np.array([view["Focal Point"][axis] for axis in "XYZ"])
    needed = FULL * (radius + float(np.linalg.norm(focus - middle)))
    if radius == 0.0 or needed <= view["Distance"] <= LARGEST * radius:
        return file
    head, views = text.split("  Views:\n")
    for key, value in (("Distance", FITTED * radius), *zip("XYZ", middle.tolist(), strict=True)):
        views = re.sub(rf"(?m)^( +{key}:) .*$", rf"\1 {value:.6g}", views, count=1)
    folder = tempfile.mkdtemp(prefix="flexdyn_rviz_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder) / file.name
    write_text(copy, f"{head}  Views:\n{views}")
    return copy


def rviz_arguments() -> list[object]:
    """`rviz` and `rviz_config_file`."""
    file = "Configuration of rviz2; empty: that for robots of this type in share/flexdyn_ros/rviz."
    return [
        argument("rviz", "false", "Start rviz2.", ["true", "false"], needs=["rviz2"]),
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
    path = file.perform(context) or str(rviz_configuration(load(source, xacro=arguments or None)))
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
