"""The simulator moves an arm on a hexapod, and transforms show it with its legs."""

from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from node_process import Client, NodeProcess  # noqa: E402
from nodes.test_mixture_transforms import poses  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

ROOT = Path(__file__).parents[2]
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_servos_hold_it_and_transforms_show_it(tmp_path):
    robot = flexdyn_ros.load("hexapod_arm")
    space = ["-r", "__ns:=/hex", "-p", f"description_file:={ROOT / 'urdf/hexapod_arm.urdf.xacro'}"]
    with (
        Client("hexapod_client") as client,
        NodeProcess("state_publisher", *space, log=tmp_path / "publisher.txt") as publisher,
        NodeProcess("simulator", *space, log=tmp_path / "simulator.txt") as simulator,
    ):
        publisher.wait_for_text("ready")
        simulator.wait_for_text("ready")
        client.listen(TFMessage, "/tf")
        client.listen(TFMessage, "/tf_static", LATCHED)
        client.listen(DynamicsState, "/hex/simulator/state")
        client.listen(JointState, "/hex/joint_states")

        def same_instant():
            if not {"/tf", "/tf_static", "/hex/simulator/state", "/hex/joint_states"} <= set(client.last):
                return False
            state = client.last["/hex/simulator/state"]
            return client.last["/tf"].transforms[0].header.stamp == state.header.stamp

        client.until(same_instant, "no transforms of a state")
        q = numbers_of(client.last["/hex/simulator/state"].positions)
        shown = poses([m for topic in ("/tf", "/tf_static") for m in client.last[topic].transforms])
        named = client.last["/hex/joint_states"].name
    assert np.isfinite(q).all()
    assert {"shoulder_yaw", "leg_1_slide", "leg_6_u2", "platform/z"} <= {*named}
    for name in robot.frame_names:
        np.testing.assert_allclose(shown[name], robot.frames(q, name), rtol=0.0, atol=1e-9)
    platform = robot.frames(q, "platform")
    for leg in robot.description.platform.legs:
        rod, anchor = shown[leg.slider.replace("_slide", "_rod")], platform @ [*leg.anchor, 1.0]
        np.testing.assert_allclose(rod[:3, 3], anchor[:3], rtol=0.0, atol=1e-9)


def test_up_holds_joints_and_legs_by_servos(tmp_path):
    """No controller commands legs beside joints: the servos of the simulator hold both."""
    robot = flexdyn_ros.load("hexapod_arm")
    file = ROOT / "urdf/hexapod_arm.urdf.xacro"
    space = ["-r", "__ns:=/held", "-p", f"description_file:={file}", "-p", "before_first_command:=hold"]
    with (
        Client("held_client") as client,
        NodeProcess("simulator", *space, log=tmp_path / "simulator.txt") as simulator,
    ):
        simulator.wait_for_text("ready")
        client.listen(DynamicsState, "/held/simulator/state")

        def late():
            state = client.last.get("/held/simulator/state")
            return state is not None and state.header.stamp.sec >= 1

        client.until(late, "no state after a second")
        q = numbers_of(client.last["/held/simulator/state"].positions)
    assert np.abs(q - robot.neutral()).max() < 5e-3
    length = robot.cylinder_states(q, np.zeros(robot.nv)).length
    assert np.abs(length - 0.375).max() < 3e-3


def test_controllers_of_joints_name_the_legs(tmp_path):
    file = ROOT / "urdf/hexapod_arm.urdf.xacro"
    arguments = ["-r", "__ns:=/led", "-p", f"description_file:={file}"]
    with NodeProcess("pd_controller", *arguments, log=tmp_path / "pd.txt") as node:
        node.wait_for_text("is driven by leg_1")
