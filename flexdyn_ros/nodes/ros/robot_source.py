"""How a node comes to its robot: text parameter, file parameter or latched topic, with settings on top."""

from __future__ import annotations

import time

import yaml
from rclpy.node import Node
from std_msgs.msg import String

import flexdyn_ros
from flexdyn_ros.description.urdf.sources import Origin
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.nodes.ros.robot_parameters import RobotParameters
from flexdyn_ros.nodes.topics import LATCHED
from flexdyn_ros.robot.verbs import Robot


def load_robot(node: Node, parameters: RobotParameters, name: str | None = None) -> Robot:
    """The robot that the parameters of a node ask for; waits for the latched topic if they name neither text
    nor file.

    A file that is named explicitly is taken before the topic: two nodes with files of their own in one
    namespace would otherwise get each other's robots.

    Raises
    ------
    FlexdynError, ParameterError
    """
    # what comes as text is data: it is never taken for the name of a file, and xacro in it is refused
    origin: Origin = "text"
    source = parameters.robot_description
    if not source and parameters.description_file:
        source, origin = parameters.description_file, "file"
    return flexdyn_ros.load(
        source or _from_topic(node, parameters),
        config=list(parameters.config_files) or None,
        options=parse_options(parameters.options) or None,
        name=name,
        origin=origin,
        xacro=parse_xacro(parameters.xacro_arguments) or None,
    )


def _from_topic(node: Node, parameters: RobotParameters) -> str:
    """Text of the latched topic robot_description, waited for without the executor, which waits for us."""
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    received: list[str] = []
    listener = Node(
        f"{node.get_name()}_description",
        context=node.context,
        namespace=node.get_namespace(),
        cli_args=["--ros-args", "-r", f"robot_description:={node.resolve_topic_name('robot_description')}"],
        use_global_arguments=False,
        start_parameter_services=False,
        enable_rosout=False,
    )
    listener.create_subscription(
        String, "robot_description", lambda message: received.append(message.data), LATCHED
    )
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(listener)
    deadline = time.monotonic() + parameters.description_timeout
    try:
        while not received and time.monotonic() < deadline and node.context.ok():
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.remove_node(listener)
        executor.shutdown()
        listener.destroy_node()
    if not received:
        topic = node.resolve_topic_name("robot_description")
        raise DescriptionError(
            "no robot: parameters robot_description and description_file are empty, and nothing came on "
            f"{topic} within {parameters.description_timeout:g} s",
            expected="one of the three",
        )
    return received[0]


def parse_xacro(entries: tuple[str, ...]) -> dict[str, str]:
    """Arguments of xacro from entries name:=value; ParameterError for another form.

    Empty entries say nothing: launch files cannot give an empty list.
    """
    arguments: dict[str, str] = {}
    for entry in filter(None, entries):
        name, colon, value = entry.partition(":=")
        if not colon or not name.strip():
            raise ParameterError(f"parameter xacro_arguments has entry {entry!r}, expected name:=value")
        arguments[name.strip()] = value
    return arguments


def parse_options(entries: tuple[str, ...]) -> dict[str, object]:
    """Settings from entries path=value, the value being YAML.

    Raises
    ------
    ParameterError
        If an entry has no "=" or its value is no YAML.
    """
    options: dict[str, object] = {}
    for entry in entries:
        path, equals, text = entry.partition("=")
        if not equals or not path.strip():
            raise ParameterError(f"parameter options has entry {entry!r}, expected path=value")
        try:
            options[path.strip()] = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ParameterError(f"parameter options has entry {entry!r}, whose value is no YAML") from None
    return options
