"""Messages written once and filled as bytes are the messages that ROS would write."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from builtin_interfaces.msg import Time  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState  # noqa: E402
from flexdyn_ros.nodes.interfaces.deflections import deflection_message  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import dynamics_state  # noqa: E402
from flexdyn_ros.nodes.ros.patched_message import PatchedMessage  # noqa: E402
from flexdyn_ros.nodes.simulator.extras.deflections import DeflectionMessage  # noqa: E402
from flexdyn_ros.nodes.simulator.recorder import _nanoseconds  # noqa: E402
from flexdyn_ros.nodes.simulator.telemetry import joint_state_message, state_message  # noqa: E402


def assert_same(made, expected):
    """The same message in as many bytes; those between fields are nobody's."""
    assert deserialize_message(made, type(expected)) == expected
    assert len(made) == len(serialize_message(expected))


STAMPS = (Time(sec=0, nanosec=0), Time(sec=1_700_000_000, nanosec=999_999_999))


@pytest.mark.parametrize(
    "names", [(), ("a",), ("one", "another/tx", "\u00e4"), [f"joint_{i}" for i in range(50)]]
)
@pytest.mark.parametrize("stamp", STAMPS)
def test_joint_states(names, stamp):
    made, rng = joint_state_message(names), np.random.default_rng(0)
    for _ in range(2):
        rows = rng.normal(size=(3, len(names)))
        for field, row in zip(made.numbers, rows, strict=True):
            field[:] = row
        x, xd, tau = rows.tolist()
        expected = JointState(name=list(names), position=x, velocity=xd, effort=tau)
        expected.header.stamp = stamp
        assert_same(made.stamped(stamp), expected)
        assert _nanoseconds(made.stamped(stamp)) == _nanoseconds(expected)


@pytest.mark.parametrize("name", ["canadarm2", "stewart_1t", "soft_arm_3"])
def test_states(name):
    robot, rng = flexdyn_ros.load(name), np.random.default_rng(1)
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nu}
    made = state_message(dynamics_state(robot, Time(), {key: np.zeros(n) for key, n in sizes.items()}))
    arrays = {key: rng.normal(size=n) for key, n in sizes.items()}
    for field, values in zip(made.numbers, arrays.values(), strict=True):
        field[:] = values
    expected = dynamics_state(robot, STAMPS[1], arrays)
    assert_same(made.stamped(STAMPS[1]), expected)


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "soft_arm_3"])
def test_deflections(name):
    robot, rng = flexdyn_ros.load(name), np.random.default_rng(2)
    made = DeflectionMessage(robot)
    for stamp in STAMPS:
        bent = robot.deflections(robot.random(rng))
        expected = deflection_message(robot, bent)
        expected.header.stamp, expected.header.frame_id = stamp, robot.description.root
        assert_same(made.filled(stamp, bent), expected)


def test_fields_that_are_no_numbers_are_refused():
    message = DynamicsState()
    with pytest.raises(AssertionError, match="position_names"):
        PatchedMessage(message, [message.header], [(message, "position_names", 3)])
