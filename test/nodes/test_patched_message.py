"""Messages written once and filled as bytes are the messages that ROS would write."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from builtin_interfaces.msg import Time  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import deflection_message, dynamics_state  # noqa: E402
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters  # noqa: E402
from flexdyn_ros.nodes.simulator.extras import DeflectionMessage  # noqa: E402
from flexdyn_ros.nodes.simulator.recorder import _nanoseconds  # noqa: E402
from flexdyn_ros.nodes.state_publisher.deformation_mesh import (  # noqa: E402
    DeflectionReader,
    DeformationMesh,
)
from flexdyn_ros.nodes.state_publisher.scenery import new_marker  # noqa: E402
from flexdyn_ros.simulation.recordings.cdr import PatchedMessage  # noqa: E402
from flexdyn_ros.simulation.recordings.topics import joint_layout, state_layout  # noqa: E402


def assert_same(made, expected):
    """The same message in as many bytes; those between fields are nobody's."""
    assert deserialize_message(made, type(expected)) == expected
    # Fast CDR pads behind empty sequences, which the standard does not
    assert len(made) == len(serialize_message(expected)) or not getattr(expected, "name", True)


STAMPS = (Time(sec=0, nanosec=0), Time(sec=1_700_000_000, nanosec=999_999_999))


@pytest.mark.parametrize(
    "names", [(), ("a",), ("one", "another/tx", "\u00e4"), [f"joint_{i}" for i in range(50)]]
)
@pytest.mark.parametrize("stamp", STAMPS)
def test_joint_states(names, stamp):
    made, rng = PatchedMessage(joint_layout(names)), np.random.default_rng(0)
    for _ in range(2):
        rows = rng.normal(size=(3, len(names)))
        for field, row in zip(made.numbers.values(), rows, strict=True):
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
    made = PatchedMessage(state_layout(robot.name, robot.q_names, robot.v_names, robot.effort_names))
    arrays = {key: rng.normal(size=n) for key, n in sizes.items()}
    for field, values in zip(made.numbers.values(), arrays.values(), strict=True):
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


def test_meshes_have_the_fields_of_markers():
    """Those behind the numbers too."""
    robot, settings = flexdyn_ros.load("canadarm2"), StatePublisherParameters(frame_prefix="a/")
    bent = deflection_message(robot, robot.deflections(robot.random(np.random.default_rng(3))))
    stamp, links = DeflectionReader().read(bytes(serialize_message(bent)))
    made = DeformationMesh(robot.description).message(stamp, links, settings)
    expected = MarkerArray()
    for number, marker in enumerate(deserialize_message(made, MarkerArray).markers):
        frame, black = f"a/{links[number].frame}", (0.0, 0.0, 0.0, 1.0)
        own = new_marker(marker.ns, number, Marker.TRIANGLE_LIST, frame, black)
        own.scale.x = own.scale.y = own.scale.z = 1.0
        own.points, own.colors = marker.points, marker.colors
        expected.markers.append(own)
    assert [marker.ns for marker in expected.markers] == [f"deformation/{link.link}" for link in links]
    assert_same(made, expected)
