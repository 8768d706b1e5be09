"""Configurations of rviz name displays and properties that rviz has, and topics that the nodes publish."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import flexdyn_ros
from flexdyn_ros.description import read
from flexdyn_ros.families.registry import family_of
from flexdyn_ros.nodes.launching import rviz_configuration
from flexdyn_ros.view.drawing.shown_robot import ShownRobot

sys.path.insert(0, str(Path(__file__).parent))

from launch_recorder import ROOT

FILES = sorted((ROOT / "rviz").glob("*.rviz"))
#: a robot of each family, in the order of the files' names
ROBOTS = {
    "continuum": "soft_arm_3",
    "flexible": "canadarm2",
    "mobile": "mobile_arm",
    "platform": "stewart_1t",
    "tree": "seven_joint_arm",
}
#: properties of displays: github.com/ros2/rviz, branches jazzy and rolling, the constructors in
#: rviz_default_plugins/src/rviz_default_plugins/displays; classes: plugins_description.xml there
EVERY = {"Class", "Name", "Enabled", "Value"}
DISPLAYS = {
    "Grid": {
        "Alpha", "Cell Size", "Color", "Line Style", "Normal Cell Count", "Offset", "Plane",
        "Plane Cell Count", "Reference Frame",
    },
    "RobotModel": {
        "Alpha", "Collision Enabled", "Description File", "Description Source", "Description Topic",
        "Mass Properties", "TF Prefix", "Update Interval", "Visual Enabled",
    },
    "TF": {
        "Frame Timeout", "Frames", "Marker Scale", "Show Arrows", "Show Axes", "Show Names", "Tree",
        "Update Interval",
    },
    "MarkerArray": {"Namespaces", "Topic"},
    "Effort": {
        "Alpha", "History Length", "Joints", "Robot Description", "Scale", "TF Prefix", "Topic", "Width",
    },
    "Wrench": {
        "Accept NaN Values", "Alpha", "Arrow Width", "Force Arrow Scale", "Force Color", "History Length",
        "Topic", "Torque Arrow Scale", "Torque Color",
    },
    "Odometry": {
        "Angle Tolerance", "Covariance", "Keep", "Position Tolerance", "Shape", "Topic",
    },
    "Pose": {
        "Alpha", "Axes Length", "Axes Radius", "Color", "Head Length", "Head Radius", "Shaft Length",
        "Shaft Radius", "Shape", "Topic",
    },
}  # fmt: skip
TYPES = {
    "RobotModel": "std_msgs/msg/String",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Effort": "sensor_msgs/msg/JointState",
    "Wrench": "geometry_msgs/msg/WrenchStamped",
    "Odometry": "nav_msgs/msg/Odometry",
    "Pose": "geometry_msgs/msg/PoseStamped",
}
#: rviz_common/src/rviz_common/properties/qos_profile_property.cpp, and the depth of the message filter
QOS = {"Depth", "Durability Policy", "Filter size", "History Policy", "Reliability Policy", "Value"}
PANELS = {"rviz_common/Displays", "rviz_common/Views", "rviz_common/Time"}
TOOLS = {"Interact", "MoveCamera", "Select", "FocusCamera", "Measure"}


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request):
    return request.param


def manager(file):
    return yaml.safe_load(file.read_text())["Visualization Manager"]


def kind(display):
    package, _, name = display["Class"].partition("/")
    assert package == "rviz_default_plugins"
    return name


def test_there_is_a_file_for_every_family():
    assert [file.stem for file in FILES] == list(ROBOTS)
    for family, name in ROBOTS.items():
        description = read(name)
        assert family_of(description).rviz(description) == family
        assert rviz_configuration(flexdyn_ros.load(name)) == ROOT / "rviz" / f"{family}.rviz"
    rigid = read("canadarm2", options={"formulation.flexible": False})
    assert family_of(rigid).rviz(rigid) == "tree"


@pytest.mark.parametrize("name", sorted(file.name.partition(".")[0] for file in (ROOT / "urdf").iterdir()))
def test_the_view_holds_the_robot_and_is_not_far_from_it(name):
    """By the projection of rviz's orbit camera: 45 degrees from top to bottom, wider than high."""
    robot = flexdyn_ros.load(name)
    file = rviz_configuration(robot)
    view = manager(file)["Views"]["Current"]
    yaw, pitch = view["Yaw"], view["Pitch"]
    back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    eye = np.array([view["Focal Point"][axis] for axis in "XYZ"]) + view["Distance"] * back
    low, high = ShownRobot(robot).bounds(robot.neutral())
    corners = np.array([np.where(bits, high, low) for bits in np.ndindex(2, 2, 2)]) - eye
    depth = -corners @ back
    assert depth.min() > view["Near Clip Distance"]
    across, up = (corners @ axis / depth / np.tan(np.pi / 8.0) for axis in (right, np.cross(back, right)))
    assert np.abs(across).max() < 1.0
    assert np.abs(up).max() < 1.0
    assert max(np.ptp(across), np.ptp(up)) > 0.3
    # all but the view is that of the file
    shipped = yaml.safe_load((ROOT / "rviz" / file.name).read_text())
    fitted = yaml.safe_load(file.read_text())
    for content in (shipped, fitted):
        for key in ("Distance", "Focal Point"):
            content["Visualization Manager"]["Views"]["Current"].pop(key)
    assert fitted == shipped


def test_displays_and_properties_are_known(file):
    content = yaml.safe_load(file.read_text())
    assert {panel["Class"] for panel in content["Panels"]} <= PANELS
    # without it the panels take most of the window
    assert re.fullmatch("[0-9a-f]{200,}", content["Window Geometry"]["QMainWindow State"])
    displays = content["Visualization Manager"]["Displays"]
    for display in displays:
        assert set(display) <= DISPLAYS[kind(display)] | EVERY, display["Name"]
        for field in ("Topic", "Description Topic"):
            assert set(display.get(field, ())) <= QOS
    assert {tool["Class"] for tool in content["Visualization Manager"]["Tools"]} <= {
        f"rviz_default_plugins/{name}" for name in TOOLS
    }
    assert content["Visualization Manager"]["Views"]["Current"]["Class"] == "rviz_default_plugins/Orbit"
    assert {"Grid", "RobotModel", "TF"} <= {kind(display) for display in displays}
    assert "MarkerArray" in {kind(display) for display in displays} or file.stem == "tree"


def test_fixed_frames_are_those_that_stand_still(file):
    base = flexdyn_ros.load(ROBOTS[file.stem]).description.base.type
    assert manager(file)["Global Options"]["Fixed Frame"] == ("world" if base == "fixed" else "odom")


@pytest.mark.ros
def test_topics_are_published_with_these_types_and_fitting_quality(file):
    """Against the nodes themselves, in this process."""
    rclpy = pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces.srv")
    from rclpy.parameter import Parameter
    from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

    from flexdyn_ros.nodes import Simulator
    from flexdyn_ros.nodes.state_publisher.node import StatePublisher

    context = rclpy.Context()
    rclpy.init(context=context)
    robot = Parameter("description_file", value=ROBOTS[file.stem])
    # the reaction of the ground is computed when it is asked for
    wrench = [Parameter("wrench_joints", value=["base"])] if file.stem in ("tree", "flexible") else []
    publisher = StatePublisher(context=context, autostart=False, parameter_overrides=[robot])
    given = [robot, *wrench, Parameter("use_clock", value=False)]
    simulator = Simulator(context=context, autostart=False, parameter_overrides=given)
    try:
        for node in (simulator, publisher):
            node.trigger_configure()
        offered = {p.topic_name: p for node in (simulator, publisher) for p in node.publishers}
        for display in manager(file)["Displays"]:
            topic = display.get("Description Topic", display.get("Topic"))
            if topic is None:
                continue
            found = offered["/" + topic["Value"]]
            kind_of_message = found.msg_type.__module__.split(".")[0] + "/msg/" + found.msg_type.__name__
            assert kind_of_message == TYPES[kind(display)], display["Name"]
            if topic["Reliability Policy"] == "Reliable":
                assert found.qos_profile.reliability == ReliabilityPolicy.RELIABLE
            if topic["Durability Policy"] == "Transient Local":
                assert found.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            if kind(display) == "Effort":
                assert "/" + display["Robot Description"] in offered
    finally:
        for node in (simulator, publisher):
            node.stop()
            node.destroy_node()
        context.try_shutdown()
