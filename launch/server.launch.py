"""The dynamics server alone.

ros2 launch flexdyn_ros server.launch.py robot:=canadarm2
"""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from flexdyn_ros.nodes.launching import rviz_action, rviz_arguments
from launch import LaunchDescription


def generate_launch_description():
    value = LaunchConfiguration
    share = FindPackageShare("flexdyn_ros")
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "robot",
                default_value="seven_joint_arm",
                description="name of a shipped robot, path, or package:// URI of a URDF or xacro file",
            ),
            DeclareLaunchArgument(
                "xacro_arguments",
                default_value="['']",
                description="arguments of a xacro file, as \"['length:=0.8']\"",
            ),
            DeclareLaunchArgument("namespace", default_value="", description="namespace of the node"),
            DeclareLaunchArgument(
                "params_file",
                default_value=PathJoinSubstitution([share, "config", "dynamics_server.yaml"]),
                description="parameters of the server",
            ),
            DeclareLaunchArgument(
                "log_level", default_value="info", description="debug, info, warn, error or fatal"
            ),
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
