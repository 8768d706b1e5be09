"""Parameters of several nodes: where the robot comes from, the life cycle, tolerances of goals; and those of
the server, the state publisher and the cylinders."""

from __future__ import annotations

from typing import ClassVar

from flexdyn_ros.control.goal_watch import STOPPED
from flexdyn_ros.description.language.vocabulary import boolean, choice, element, integer, number, text, words
from flexdyn_ros.nodes.ros.declaration import ParameterGroup, family

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
SPEEDS = family(
    "supplies",
    ("NAME.speed", "rad/s", "of the pump of supply NAME, 0: it stands still; default as described", None),
    live=True,
)
LEAKAGES = family(
    "cylinders",
    ("NAME.leakage", "m3/(s Pa)", "from cylinder NAME to the tank; default as described", None),
    live=True,
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


@element("hydraulic_actuators", "Parameters of `hydraulic_actuators`.")
class HydraulicActuatorsParameters(RobotParameters, LifecycleParameters):
    families: ClassVar[tuple[ParameterGroup, ...]] = (SPEEDS, LEAKAGES)
    rate_hz: float = number(
        "Hz",
        "rate of the ticks; in lockstep that of the leg states: one over the step of the simulator, or its "
        "lockstep_rate_hz",
        within=(1.0, 20000.0),
        default=1000.0,
    )
    cylinders: tuple[str, ...] = words(
        "cylinders that this node computes, as external_cylinders of the simulator; empty: all", default=()
    )
    lockstep: bool = boolean(
        "tick once per leg state, by exactly one period, and answer repeated ones with the same force, as "
        "the simulator's parameter of this name asks for; false: tick by the node's clock",
        default=True,
    )
    command_timeout: float = number(
        "s", "age at which a command is stale", within=(1e-3, 3600.0), default=0.1
    )
    state_timeout: float = number(
        "s", "age at which a leg state is stale", within=(1e-3, 3600.0), default=0.02
    )
    max_velocity: float = number(
        "m/s", "leg states with faster cylinders are refused", within=(1e-3, 100.0), default=2.0
    )
    on_stale_command: str = choice(
        "close lower",
        "what valves do without fresh commands: close, or open by lower_opening",
        default="close",
    )
    lower_opening: float = number(
        "-", "valve opening that lowers the load", within=(-1.0, 0.0), default=-0.05
    )
    p_initial: float = number(
        "Pa",
        "absolute pressure of both chambers at start and reset; 0: in equilibrium with the present force",
        within=(0.0, 1e9),
        default=0.0,
    )


@element("state_publisher", "Parameters of `state_publisher`.")
class StatePublisherParameters(RobotParameters, LifecycleParameters):
    magnification: float = number(
        "-", "of the deflections in deformation_markers", within=(0.0, 1e6), live=True, default=1.0
    )
    colour: str = choice(
        "strain displacement moment velocity",
        "what colours deformation_markers show; displacement and velocity against the undeformed link",
        live=True,
        default="strain",
    )
    colour_limit: float = number(
        "-, m, N m, m/s",
        "value of the last colour; 0: the largest value lately",
        within=(0.0, 1e12),
        live=True,
        default=0.0,
    )
    ghost: bool = boolean("show undeformed links, transparent", live=True, default=True)
    legend: bool = boolean("show a bar of the colours with the values at its ends", live=True, default=True)
    trace_duration: float = number(
        "s", "how long the path of the tip stays visible; 0: no trace", within=(0.0, 3600.0), default=5.0
    )
    trace_frame: str = text(
        "link whose path is shown; empty: the link after the most joints, of platforms none", default=""
    )
    marker_frequency: float = number(
        "Hz", "greatest rate of deformation_markers", within=(0.1, 1000.0), default=30.0
    )
    publish_frequency: float = number("Hz", "greatest rate of /tf", within=(0.1, 1000.0), default=30.0)
    publish_tf: bool = boolean(
        "publish /tf and /tf_static of the joints; false beside robot_state_publisher", default=True
    )
    publish_base_tf: bool = boolean(
        "publish /tf_static world -> root link, of a base that moves world -> odom", default=True
    )
    frame_prefix: str = text("put before every frame name of the robot", default="")
