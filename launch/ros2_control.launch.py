"""The simulator driven by ros2_control: topic-based hardware on joint_commands and joint_states.

    ros2 launch flexdyn_ros ros2_control.launch.py

Needs controller_manager, joint_state_topic_hardware_interface and joint_trajectory_controller.
"""

from launch.substitutions import Command, FindExecutable, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from flexdyn_ros.nodes.launching import argument, rviz_action, rviz_arguments
from launch import LaunchDescription

#: packages that are no dependencies of the library
NEEDED = [
    "xacro",
    "controller_manager",
    "joint_trajectory_controller",
    "joint_state_topic_hardware_interface",
]


def generate_launch_description():
    value = LaunchConfiguration
    share = FindPackageShare("flexdyn_ros")
    words = [FindExecutable(name="xacro"), " ", value("description_file"), " ", value("xacro_arguments")]
    description = {"robot_description": ParameterValue(Command(words), value_type=str)}
    return LaunchDescription(
        [
            argument(
                "description_file",
                PathJoinSubstitution([share, "urdf", "seven_joint_arm_ros2_control.urdf.xacro"]),
                "URDF or xacro file with a <ros2_control> block.",
            ),
            argument("xacro_arguments", "", 'Arguments of the xacro file, as "length:=0.8 side:=left".'),
            argument(
                "controllers_file",
                PathJoinSubstitution([share, "config", "controllers.yaml"]),
                "YAML file with the parameters of controller_manager and its controllers.",
                needs=NEEDED,
            ),
            *rviz_arguments(),
            rviz_action("description_file", use_sim_time=False, with_state_publisher=True),
            Node(
                package="flexdyn_ros",
                executable="simulator",
                name="simulator",
                output="screen",
                parameters=[
                    description,
                    # the arm stays where it is until a controller is active; NaN is for joints without one
                    {
                        "use_clock": False,
                        "command_interface": "position",
                        "before_first_command": "hold",
                        "nan_in_commands": "skip",
                    },
                ],
            ),
            Node(
                package="controller_manager",
                executable="ros2_control_node",
                output="screen",
                parameters=[value("controllers_file")],
            ),
            Node(
                package="controller_manager",
                executable="spawner",
                arguments=["arm_controller", "--param-file", value("controllers_file")],
            ),
        ]
    )
