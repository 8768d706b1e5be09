"""One controller, beside a robot that publishes its state and takes its commands.

ros2 launch flexdyn_ros controllers.launch.py controller:=input_shaper robot:=canadarm2
"""

from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration
from launch_ros.actions import Node

from flexdyn_ros.nodes.launching import argument, node_arguments, rviz_action, rviz_arguments
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
            argument("controller", "pd_controller", "Controller to start.", list(CONTROLLERS)),
            *node_arguments("joint_controllers.yaml", "the controller"),
            argument("use_sim_time", "true", "The controller takes its time from /clock.", ["true", "false"]),
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
