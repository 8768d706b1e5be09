"""One controller, beside a robot that publishes its state and takes its commands.

ros2 launch flexdyn_ros controllers.launch.py controller:=input_shaper robot:=canadarm2
"""

from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from flexdyn_ros.nodes.launching import rviz_action, rviz_arguments
from launch import LaunchDescription

CONTROLLERS = (
    "pd_controller",
    "computed_torque",
    "input_shaper",
    "platform_controller",
    "soft_arm_controller",
)


def generate_launch_description():
    value = LaunchConfiguration
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "controller",
                default_value="pd_controller",
                description="which controller",
                choices=list(CONTROLLERS),
            ),
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
                default_value=PathJoinSubstitution(
                    [FindPackageShare("flexdyn_ros"), "config", "joint_controllers.yaml"]
                ),
                description="parameters of the controllers",
            ),
            DeclareLaunchArgument(
                "use_sim_time", default_value="true", description="take the time from /clock"
            ),
            DeclareLaunchArgument(
                "log_level", default_value="info", description="debug, info, warn, error or fatal"
            ),
            *rviz_arguments(),
            rviz_action(use_sim_time=value("use_sim_time")),
            *(
                Node(
                    package="flexdyn_ros",
                    executable=controller,
                    name=controller,
                    namespace=value("namespace"),
                    output="screen",
                    parameters=[
                        value("params_file"),
                        {
                            "description_file": value("robot"),
                            "xacro_arguments": value("xacro_arguments"),
                            "use_sim_time": value("use_sim_time"),
                        },
                    ],
                    ros_arguments=["--log-level", value("log_level")],
                    condition=IfCondition(EqualsSubstitution(value("controller"), controller)),
                )
                for controller in CONTROLLERS
            ),
        ]
    )
