"""Topics of all nodes: the type and queue of each, and the tables of the pages that document them.

Queues of ROS 2 belong to the topic, not to the publisher: where several publish, what one sends pushes out
what another sent before. rclpy's default is 10, for requests as well, and what comes beyond is lost without a
word.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, NamedTuple

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

RELIABLE = QoSProfile(depth=10)
#: what is outdated by the next one
LAST = QoSProfile(depth=1)
#: transforms, which several nodes publish
TRANSFORMS = QoSProfile(depth=100)
#: states at high rate: any publisher satisfies it, the newest counts
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: commands at high rate, which several may send, each for joints of its own: any publisher satisfies it
COMMANDS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
#: requests to a service: many clients may ask at once
REQUESTS = QoSProfile(depth=1000)
#: what is published once and kept for whoever comes later
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
#: messages of a program that ends after them
ONE_SHOT = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Topic(NamedTuple):
    """A topic of a node: "in" or "out", its name with {} for a part of the robot, its type, its queue."""

    direction: str
    name: str
    kind: str
    queue: QoSProfile = RELIABLE

    @property
    def message_type(self) -> Any:
        """The class of its messages."""
        package, name = self.kind.split("/")
        return getattr(import_module(f"{package}.msg"), name)


_DIAGNOSTICS = Topic("out", "/diagnostics", "diagnostic_msgs/DiagnosticArray", LAST)
_DESCRIPTION = Topic("out", "robot_description", "std_msgs/String", LATCHED)
_JOINT_COMMANDS = Topic("out", "joint_commands", "sensor_msgs/JointState")
_JOINT_TRAJECTORY = Topic("in", "~/joint_trajectory", "trajectory_msgs/JointTrajectory")
_CONTROLLER_STATE = Topic("out", "~/controller_state", "trajectory_msgs/JointTrajectory")
_JOINT_CONTROLLER = (
    Topic("in", "joint_states", "sensor_msgs/JointState", NEWEST),
    _JOINT_TRAJECTORY,
    _JOINT_COMMANDS,
    _CONTROLLER_STATE,
    Topic("out", "~/followed_trajectory", "trajectory_msgs/JointTrajectory", LATCHED),
    _DIAGNOSTICS,
)
TOPICS: dict[str, tuple[Topic, ...]] = {
    "dynamics_server": (_DESCRIPTION, _DIAGNOSTICS),
    "simulator": (
        Topic("out", "joint_states", "sensor_msgs/JointState"),
        Topic("out", "~/state", "flexdyn_interfaces/DynamicsState"),
        Topic("out", "~/element_states", "flexdyn_interfaces/ElementStates"),
        Topic("out", "~/energy", "flexdyn_interfaces/Energy"),
        Topic("out", "deflections", "flexdyn_interfaces/LinkDeflections"),
        Topic("out", "~/wrench/{}", "geometry_msgs/WrenchStamped"),
        _DESCRIPTION,
        Topic("out", "expanded/robot_description", "std_msgs/String", LATCHED),
        Topic("out", "/clock", "rosgraph_msgs/Clock", LAST),
        Topic("out", "odom", "nav_msgs/Odometry"),
        Topic("out", "/tf", "tf2_msgs/TFMessage", TRANSFORMS),
        Topic("out", "~/wheels", "flexdyn_interfaces/WheelStates"),
        Topic("out", "~/wheels/{}/wrench", "geometry_msgs/WrenchStamped"),
        Topic("out", "~/platform_pose", "geometry_msgs/PoseStamped"),
        Topic("out", "leg_states", "sensor_msgs/JointState"),
        Topic("out", "~/hydraulic_state", "flexdyn_interfaces/HydraulicState"),
        _DIAGNOSTICS,
        Topic("in", "joint_commands", "sensor_msgs/JointState", COMMANDS),
        Topic("in", "~/commands", "std_msgs/Float64MultiArray", COMMANDS),
        _JOINT_TRAJECTORY,
        Topic("in", "~/external_wrench", "geometry_msgs/WrenchStamped", COMMANDS),
        Topic("in", "~/speed_command", "std_msgs/Float64", COMMANDS),
        Topic("in", "~/pressure_commands", "std_msgs/Float64MultiArray", COMMANDS),
        Topic("in", "~/platform_trajectory", "trajectory_msgs/MultiDOFJointTrajectory", COMMANDS),
        Topic("in", "~/hydraulic_command", "flexdyn_interfaces/HydraulicCommand", COMMANDS),
        Topic("in", "hydraulic_actuators/hydraulic_state", "flexdyn_interfaces/HydraulicState", COMMANDS),
        Topic("in", "hydraulic_actuators/element_states", "flexdyn_interfaces/ElementStates", COMMANDS),
    ),
    "hydraulic_actuators": (
        Topic("in", "~/leg_state", "sensor_msgs/JointState", NEWEST),
        Topic("in", "~/command", "flexdyn_interfaces/HydraulicCommand", NEWEST),
        Topic("out", "~/leg_force", "sensor_msgs/JointState", LAST),
        Topic("out", "~/hydraulic_state", "flexdyn_interfaces/HydraulicState", LAST),
        Topic("out", "~/element_states", "flexdyn_interfaces/ElementStates", LAST),
        _DIAGNOSTICS,
    ),
    "state_publisher": (
        Topic("in", "joint_states", "sensor_msgs/JointState", NEWEST),
        Topic("in", "deflections", "flexdyn_interfaces/LinkDeflections", NEWEST),
        Topic("in", "odom", "nav_msgs/Odometry", NEWEST),
        Topic("in", "leg_states", "sensor_msgs/JointState", NEWEST),
        Topic("in", "simulator/hydraulic_state", "flexdyn_interfaces/HydraulicState", NEWEST),
        Topic("in", "hydraulic_actuators/hydraulic_state", "flexdyn_interfaces/HydraulicState", NEWEST),
        Topic("out", "/tf", "tf2_msgs/TFMessage", TRANSFORMS),
        Topic("out", "/tf_static", "tf2_msgs/TFMessage", LATCHED),
        Topic("out", "deformation_markers", "visualization_msgs/MarkerArray"),
    ),
    "pd_controller": _JOINT_CONTROLLER,
    "computed_torque": _JOINT_CONTROLLER,
    "input_shaper": _JOINT_CONTROLLER,
    "platform_controller": (
        Topic("in", "leg_states", "sensor_msgs/JointState", NEWEST),
        Topic("in", "~/platform_trajectory", "trajectory_msgs/MultiDOFJointTrajectory"),
        _JOINT_COMMANDS,
        Topic("out", "simulator/hydraulic_command", "flexdyn_interfaces/HydraulicCommand"),
        _CONTROLLER_STATE,
        Topic("out", "~/followed_trajectory", "trajectory_msgs/MultiDOFJointTrajectory", LATCHED),
        _DIAGNOSTICS,
    ),
    "soft_arm_controller": (
        Topic("in", "simulator/state", "flexdyn_interfaces/DynamicsState", NEWEST),
        Topic("in", "~/tip_trajectory", "trajectory_msgs/MultiDOFJointTrajectory"),
        _JOINT_TRAJECTORY,
        Topic("out", "simulator/pressure_commands", "std_msgs/Float64MultiArray"),
        _JOINT_COMMANDS,
        _CONTROLLER_STATE,
        _DIAGNOSTICS,
    ),
}


def topic_of(node: str, direction: str, name: str) -> Topic:
    """The topic of a kind of node; KeyError if it has none of that name and direction."""
    for topic in TOPICS[node]:
        if (topic.direction, topic.name) == (direction, name):
            return topic
    raise KeyError(f"{node} has no topic {name} ({direction})")


def filled(page: str) -> str:
    """A page whose tables below `<!-- topics of NODE -->` hold the topics of that node, in their order; the
    last cell of a row, what the topic is for, is the page's own."""

    def table(found: re.Match[str]) -> str:
        told = {row.split(" | ")[0]: row.split(" | ")[-1] for row in found[3].splitlines()}
        rows = [_row(topic) for topic in TOPICS[found[2]]]
        return found[1] + "".join(f"{row} | {told.get(row.split(' | ')[0], '|')}\n" for row in rows)

    head = r"<!-- topics of (\w+) -->\n\n\| topic \| type \| QoS \| what \|\n\|---\|---\|---\|---\|\n"
    return re.sub(rf"({head})((?:\|.*\n)*)", table, page)


def _row(topic: Topic) -> str:
    queue = topic.queue
    is_lossy = queue.reliability == ReliabilityPolicy.BEST_EFFORT
    word = "transient local" if queue.durability == DurabilityPolicy.TRANSIENT_LOCAL else "reliable"
    qos = f"{'best effort' if is_lossy else word} {queue.depth}"
    return f"| {topic.direction} `{topic.name.format('NAME')}` | {topic.kind} | {qos}"


if __name__ == "__main__":
    import sys
    from pathlib import Path

    from flexdyn_ros.writing import write_text

    for path in sys.argv[1:]:
        write_text(path, filled(Path(path).read_text()))
