"""A hydraulic platform: simulator, dynamics server, cylinders, TF, and rviz on request.

    ros2 launch flexdyn_ros platform.launch.py robot:=stewart_1t hydraulics:=external

With hydraulics:=fused (default) the cylinders are in the compiled steps of the simulator and the node
hydraulic_actuators is not started; with external they run in that node, in lockstep with the simulator.
"""

from launch.actions import DeclareLaunchArgument, GroupAction
from launch.conditions import IfCondition
from launch.substitutions import (
    AndSubstitution,
    EqualsSubstitution,
    LaunchConfiguration,
    NotSubstitution,
    PathJoinSubstitution,
)
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from flexdyn_ros.nodes.rviz import rviz_action, rviz_arguments
from launch import LaunchDescription

PACKAGE = "flexdyn_ros"


def argument(name, default, description, choices=None):
    return DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)


def generate_launch_description():
    value = LaunchConfiguration
    share = FindPackageShare(PACKAGE)
    log = ["--log-level", value("log_level")]
    robot = {"description_file": value("robot")}
    params = value("params_file")
    on_clock = {"use_sim_time": value("use_sim_time")}
    # a simulator that makes no clock may follow that of another one
    follows = AndSubstitution(NotSubstitution(value("use_clock")), value("use_sim_time"))
    clock = {
        "use_clock": ParameterValue(value("use_clock"), value_type=bool),
        "use_sim_time": ParameterValue(follows, value_type=bool),
    }
    frames = {"frame_prefix": ParameterValue(value("frame_prefix"), value_type=str)}
    is_external = EqualsSubstitution(value("hydraulics"), "external")

    def node(executable, *more, **options):
        return Node(
            package=PACKAGE,
            executable=executable,
            name=executable,
            output="screen",
            parameters=[params, robot, *more],
            ros_arguments=log,
            **options,
        )

    return LaunchDescription(
        [
            argument("robot", "stewart_1t", "name of a shipped platform, path, or package:// URI"),
            argument("namespace", "", "namespace of all nodes"),
            argument(
                "params_file",
                PathJoinSubstitution([share, "config", "platform.yaml"]),
                "parameters of all nodes",
            ),
            argument(
                "hydraulics", "fused", "where the cylinders are computed", ["fused", "external", "none"]
            ),
            argument("server", "true", "start the dynamics server", ["true", "false"]),
            *rviz_arguments(),
            argument("use_sim_time", "true", "nodes take their time from /clock", ["true", "false"]),
            argument(
                "use_clock",
                "true",
                "the simulator publishes /clock: of several robots one alone",
                ["true", "false"],
            ),
            argument("frame_prefix", "", "put before the names of the robot's frames, as in left/"),
            argument("log_level", "info", "debug, info, warn, error or fatal"),
            GroupAction(
                [
                    PushRosNamespace(value("namespace")),
                    node("simulator", {"hydraulics": value("hydraulics")}, clock, frames),
                    node("dynamics_server", on_clock, condition=IfCondition(value("server"))),
                    node("state_publisher", on_clock, frames),
                    node(
                        "hydraulic_actuators",
                        remappings=[("~/leg_state", "leg_states"), ("~/leg_force", "joint_commands")],
                        condition=IfCondition(is_external),
                    ),
                    rviz_action(use_sim_time=value("use_sim_time")),
                ]
            ),
        ]
    )
