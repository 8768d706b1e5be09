"""Parameters of several nodes: where the robot comes from, the life cycle, tolerances of goals; and those of
the server."""

from __future__ import annotations

from flexdyn_ros.control.goal_watch import STOPPED
from flexdyn_ros.description.language.vocabulary import boolean, element, integer, number, text, words
from flexdyn_ros.nodes.ros.declaration import family

_OF_GOALS = "of ~/follow_joint_trajectory: "
#: names and defaults are those of joint_trajectory_controller (ros2_controllers)
CONSTRAINTS = family(
    "constraints",
    ("goal_time", "s", f"{_OF_GOALS}how late a goal may be; 0: no limit", 0.0),
    (
        "stopped_velocity_tolerance",
        "rad/s, m/s",
        f"{_OF_GOALS}velocity below which a joint has arrived; 0: any",
        STOPPED,
    ),
    ("NAME.trajectory", "rad, m", f"{_OF_GOALS}how far joint NAME may be from its path; 0: any", 0.0),
    (
        "NAME.goal",
        "rad, m",
        f"{_OF_GOALS}how far joint NAME may be from its goal; 0: 0.05, at most 5 % of its range",
        0.0,
    ),
)


@element("robot", "Where the robot of a node comes from.")
class RobotParameters:
    robot_description: str = text(
        "URDF text of the robot; empty: description_file, else the latched topic", default=""
    )
    description_file: str = text(
        "path, package:// URI or shipped name of the robot; empty: the latched topic", default=""
    )
    description_timeout: float = number(
        "s",
        "how long to wait for a description on the latched topic robot_description",
        within=(0.0, 3600.0),
        default=10.0,
    )
    xacro_arguments: tuple[str, ...] = words(
        "arguments of a xacro file as name:=value; with description_file only", default=()
    )
    config_files: tuple[str, ...] = words("YAML files with flexdyn settings, later ones win", default=())
    options: tuple[str, ...] = words(
        "settings as path=value, e.g. formulation.flexible=false; win over files", default=()
    )


@element("lifecycle", "What every node has.")
class LifecycleParameters:
    autostart: bool = boolean("configure and activate at start, without a lifecycle manager", default=True)
    end_unless_started: bool = boolean(
        "end with exit code 1 where autostart cannot configure or activate the node, as under `flexdyn up`",
        default=False,
    )


@element("dynamics_server", "Parameters of `dynamics_server`.")
class DynamicsServerParameters(RobotParameters, LifecycleParameters):
    robots: tuple[str, ...] = words(
        "names of several robots, each with robot_description, ... of its own below NAME. ; empty: one",
        default=(),
    )
    publish_description: bool = boolean(
        "publish the user's own description, latched, on robot_description (of the first robot)",
        default=False,
    )
    max_samples: int = integer(
        "largest number of samples in one request", within=(1, 100_000_000), default=100000
    )
    max_seconds: float = number(
        "s",
        "largest work on one request, in processor time; a request that would take more is refused",
        within=(0.001, 86400.0),
        default=60.0,
    )
    max_waiting: int = integer(
        "largest number of requests that are worked on in turn; more are refused",
        within=(1, 10000),
        default=64,
    )
    max_waiting_samples: int = integer(
        "largest number of samples of all these requests together", within=(1, 100_000_000), default=200000
    )
    max_simulations: int = integer(
        "largest number of goals of the action ~/simulate that wait; more are refused",
        within=(1, 1000),
        default=8,
    )
