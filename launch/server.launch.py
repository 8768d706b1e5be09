"""The dynamics server alone.

ros2 launch flexdyn_ros server.launch.py robot:=canadarm2
"""

from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from flexdyn_ros.nodes.launching import node_arguments, rviz_action, rviz_arguments
from launch import LaunchDescription


def generate_launch_description():
    value = LaunchConfiguration
    return LaunchDescription(
        [
            *node_arguments("dynamics_server.yaml", "the server"),
            *rviz_arguments(),
            rviz_action(),
            Node(
                package="flexdyn_ros",
                executable="dynamics_server",
                name="dynamics_server",
                namespace=value("namespace"),
                output="screen",
                parameters=[
                    value("params_file"),
                    {
                        "description_file": value("robot"),
                        "xacro_arguments": value("xacro_arguments"),
                    },
                ],
                ros_arguments=["--log-level", value("log_level")],
            ),
        ]
    )
