"""The simulator alone.

ros2 launch flexdyn_ros simulator.launch.py robot:=canadarm2 real_time_factor:=0.0
"""

from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from flexdyn_ros.nodes.launching import (
    argument,
    clock_argument,
    node_arguments,
    prefix_argument,
    rviz_action,
    rviz_arguments,
)
from launch import LaunchDescription


def generate_launch_description():
    value = LaunchConfiguration
    return LaunchDescription(
        [
            *node_arguments("simulator.yaml", "the simulator"),
            argument(
                "real_time_factor",
                "1.0",
                "Simulated seconds per second of wall time; 0.0: as fast as possible.",
            ),
            argument("start_paused", "false", "Wait for ~/resume or ~/step.", ["true", "false"]),
            clock_argument("Publish /clock"),
            prefix_argument(),
            *rviz_arguments(),
            rviz_action(with_state_publisher=True),
            Node(
                package="flexdyn_ros",
                executable="simulator",
                name="simulator",
                namespace=value("namespace"),
                output="screen",
                parameters=[
                    value("params_file"),
                    {
                        "description_file": value("robot"),
                        "xacro_arguments": value("xacro_arguments"),
                        "real_time_factor": ParameterValue(value("real_time_factor"), value_type=float),
                        "use_clock": ParameterValue(value("use_clock"), value_type=bool),
                        "frame_prefix": ParameterValue(value("frame_prefix"), value_type=str),
                        "start_paused": ParameterValue(value("start_paused"), value_type=bool),
                    },
                ],
                ros_arguments=["--log-level", value("log_level")],
            ),
        ]
    )
