"""The simulator alone.

ros2 launch flexdyn_ros simulator.launch.py robot:=canadarm2 real_time_factor:=0.0
"""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
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
                default_value=PathJoinSubstitution([share, "config", "simulator.yaml"]),
                description="parameters of the simulator",
            ),
            DeclareLaunchArgument(
                "real_time_factor",
                default_value="1.0",
                description="simulated seconds per second of wall time; 0.0: as fast as possible",
            ),
            DeclareLaunchArgument(
                "start_paused",
                default_value="false",
                description="wait for ~/resume or ~/step",
                choices=["true", "false"],
            ),
            DeclareLaunchArgument(
                "use_clock",
                default_value="true",
                description="publish /clock: of several robots one alone",
                choices=["true", "false"],
            ),
            DeclareLaunchArgument(
                "frame_prefix",
                default_value="",
                description="put before the names of the robot's frames, as in left/",
            ),
            DeclareLaunchArgument(
                "log_level", default_value="info", description="debug, info, warn, error or fatal"
            ),
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
