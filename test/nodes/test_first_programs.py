"""What joint_state_publisher(_gui) 2.4.0 and teleop_twist_keyboard 2.3.2 ask for, without these programs."""

import math
import re
import xml.dom.minidom
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.expanding import expand

ROOT = Path(__file__).parents[2]
ROBOTS = sorted(file.name.partition(".")[0] for file in (ROOT / "urdf").iterdir())


def sliders(text):
    """{joint: (least, greatest, zero)} as `init_urdf` of joint_state_publisher reads a description; joints at
    which it warns that limits are not specified are None."""
    (robot,) = xml.dom.minidom.parseString(text).getElementsByTagName("robot")
    found = {}
    for child in robot.childNodes:
        if child.localName != "joint" or child.getAttribute("type") in ("fixed", "floating", "planar"):
            continue
        name = child.getAttribute("name")
        if child.getElementsByTagName("mimic"):
            continue
        low, high = -math.pi, math.pi
        if child.getAttribute("type") != "continuous":
            try:
                limit = child.getElementsByTagName("limit")[0]
                low, high = float(limit.getAttribute("lower")), float(limit.getAttribute("upper"))
            except (IndexError, ValueError):
                found[name] = None
                continue
        found[name] = low, high, 0.5 * (low + high) if low > 0.0 or high < 0.0 else 0.0
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_state_publisher_finds_sliders_in_the_descriptions_that_nodes_publish(name):
    robot = flexdyn_ros.load(name)
    shown = expand(robot)
    found = sliders(shown.urdf)
    assert None not in found.values()
    assert set(found) <= set(shown.joint_names)
    for joint, (low, high, zero) in found.items():
        assert -50.0 <= low < high <= 50.0, joint
        assert low <= zero <= high
    # the neutral robot is on the sliders, on wheels with its springs free
    q = robot.neutral()
    for wheel in robot.description.wheels[:1]:
        q[robot.q_names.index("base/z")] = wheel.suspension.free_length
    at = dict(zip(shown.joint_names, np.ravel(shown.joint_positions(q)), strict=True))
    assert all(low - 1e-9 <= at[joint] <= high + 1e-9 for joint, (low, high, _) in found.items())


@pytest.mark.ros
@pytest.mark.parametrize("stamped", [True, False])
def test_the_relay_of_the_page_passes_speeds_of_a_keyboard_to_the_drive(stamped):
    """As the page has it for TwistStamped, and changed for Twist as it says."""
    rclpy = pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces.msg")
    from geometry_msgs.msg import Twist, TwistStamped
    from rclpy.qos import DurabilityPolicy

    from flexdyn_ros.nodes.topics import topic_of

    page = (ROOT / "docs/how-to/nav2.md").read_text()
    (program,) = (x for x in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if "class Relay" in x)
    program, _, spinning = program.partition("\n\nrclpy.init()")
    assert spinning.strip() == "rclpy.spin(Relay())"
    if not stamped:
        program = program.replace("TwistStamped", "Twist").replace(
            "message.twist.linear.x", "message.linear.x"
        )
    names = {}
    exec(program, names)
    rclpy.init()
    try:
        relay = names["Relay"]()
        wanted = topic_of("simulator", "in", "~/speed_command")
        assert relay.out.topic_name == wanted.name.replace("~", "/simulator")
        assert relay.out.msg_type is wanted.message_type
        assert relay.out.qos_profile.durability == DurabilityPolicy.VOLATILE
        (heard,) = (x for x in relay.subscriptions if x.topic_name == "/cmd_vel")
        assert heard.msg_type is (TwistStamped if stamped else Twist)
        sent = []
        relay.out.publish = sent.append
        # keys i and comma at the program's first speed
        for speed in (0.5, -0.5):
            twist = Twist()
            twist.linear.x = speed
            heard.callback(TwistStamped(twist=twist) if stamped else twist)
        assert [message.data for message in sent] == [0.5, -0.5]
        relay.destroy_node()
    finally:
        rclpy.try_shutdown()
