"""A robot with oil, platform or not: simulator, dynamics server, cylinders, TF, and rviz on request.

    ros2 launch flexdyn_ros platform.launch.py robot:=boom hydraulics:=external

With hydraulics:=fused (default) the cylinders are in the compiled steps of the simulator and the node
hydraulic_actuators is not started; with external they run in that node, in lockstep with the simulator.
"""

from launch.actions import GroupAction
from launch.conditions import IfCondition
from launch.substitutions import (
    EqualsSubstitution,
    LaunchConfiguration,
)
from launch_ros.actions import Node, PushRosNamespace

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
    on_clock = {"use_sim_time": value("use_sim_time")}
    arguments, clock, frames = clock_and_frames()
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
            *node_arguments("platform.yaml", robot="stewart_1t"),
            argument(
                "hydraulics",
                "fused",
                "Where the cylinders are computed: in the simulator, by hydraulic_actuators, or nowhere.",
                ["fused", "external", "none"],
            ),
            argument("server", "true", "Start the dynamics server.", ["true", "false"]),
            *rviz_arguments(),
            *arguments,
            GroupAction(
                [
                    PushRosNamespace(value("namespace")),
                    # what may fail comes first: it would leave those behind that run already
                    rviz_action(use_sim_time=value("use_sim_time")),
                    node("simulator", {"hydraulics": value("hydraulics")}, clock, frames),
                    node("dynamics_server", on_clock, condition=IfCondition(value("server"))),
                    node("state_publisher", on_clock, frames),
                    node(
                        "hydraulic_actuators",
                        remappings=[("~/leg_state", "leg_states"), ("~/leg_force", "joint_commands")],
                        condition=IfCondition(is_external),
                    ),
                ]
            ),
        ]
    )
