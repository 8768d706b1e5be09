"""Everything for one robot: dynamics server, simulator, TF, and rviz on request.

    ros2 launch flexdyn_ros bringup.launch.py robot:=canadarm2 rviz:=true

`robot` is the name of a shipped robot, a path or a package:// URI.
"""

import shlex
import sys

from launch.actions import GroupAction
from launch.conditions import IfCondition
from launch.substitutions import (
    Command,
    LaunchConfiguration,
    NotSubstitution,
)
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue

from flexdyn_ros.nodes.launching import (
    argument,
    clock_and_frames,
    node_arguments,
    rviz_action,
    rviz_arguments,
)
from launch import LaunchDescription

PACKAGE = "flexdyn_ros"


def generate_launch_description():
    value = LaunchConfiguration
    log = ["--log-level", value("log_level")]
    robot = {
        "description_file": value("robot"),
        "xacro_arguments": value("xacro_arguments"),
    }
    params = value("params_file")
    # beside robot_state_publisher ours makes the markers alone
    own_tf = {"publish_tf": ParameterValue(NotSubstitution(value("robot_state_publisher")), value_type=bool)}
    # by the interpreter that runs this: colcon puts the command `flexdyn` where no PATH leads; what it warns
    # of is no reason to fail
    flexdyn = [shlex.quote(sys.executable), " -m flexdyn_ros.cli.main"]
    expand = Command(
        [*flexdyn, " expand ", value("robot"), ' --xacro "', value("xacro_arguments"), '"'], on_stderr="warn"
    )
    expanded = ParameterValue(expand, value_type=str)
    arguments, clock, frames = clock_and_frames()
    return LaunchDescription(
        [
            *node_arguments("bringup.yaml"),
            argument("server", "true", "Start the dynamics server.", ["true", "false"]),
            argument("simulator", "true", "Start the simulator.", ["true", "false"]),
            argument(
                "robot_state_publisher",
                "false",
                "Publish TF by robot_state_publisher, of expanded/robot_description.",
                ["true", "false"],
                needs=["robot_state_publisher"],
            ),
            *rviz_arguments(),
            *arguments,
            GroupAction(
                [
                    PushRosNamespace(value("namespace")),
                    # what may fail comes first: it would leave those behind that run already
                    rviz_action(use_sim_time=value("use_sim_time")),
                    Node(
                        package="robot_state_publisher",
                        executable="robot_state_publisher",
                        name="robot_state_publisher",
                        output="screen",
                        parameters=[
                            {"use_sim_time": value("use_sim_time"), "robot_description": expanded},
                            frames,
                        ],
                        remappings=[("robot_description", "robot_state_publisher/robot_description")],
                        ros_arguments=log,
                        condition=IfCondition(value("robot_state_publisher")),
                    ),
                    Node(
                        package=PACKAGE,
                        executable="simulator",
                        name="simulator",
                        output="screen",
                        parameters=[params, robot, clock, frames],
                        ros_arguments=log,
                        condition=IfCondition(value("simulator")),
                    ),
                    Node(
                        package=PACKAGE,
                        executable="dynamics_server",
                        name="dynamics_server",
                        output="screen",
                        parameters=[params, robot, {"use_sim_time": value("use_sim_time")}],
                        ros_arguments=log,
                        condition=IfCondition(value("server")),
                    ),
                    Node(
                        package=PACKAGE,
                        executable="state_publisher",
                        name="state_publisher",
                        output="screen",
                        parameters=[params, robot, {"use_sim_time": value("use_sim_time")}, own_tf, frames],
                        ros_arguments=log,
                    ),
                ]
            ),
        ]
    )
