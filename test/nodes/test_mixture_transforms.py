"""Transforms of a running simulator show a robot with a joint of each type and each element as it is."""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from jointed_robots import WORDS, urdf_type  # noqa: E402
from models import joint, link, robot_text  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState  # noqa: E402
from flexdyn_ros.nodes import matrix_from_pose, numbers_of  # noqa: E402

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BODY = (0.03, 0.002, -0.001, 0.04, 0.003, 0.05)
ELEMENTS = """<flexdyn><gravity>1 -2 -9</gravity>
<spring name="spring" base="boom@0.5" end="planar" end_xyz="0 0 0.1" stiffness="300" damping="5"/>
<damper name="damper" base="world" base_xyz="0 0 2" end="floating" end_xyz="0 0.3 0.1" damping="4"/>
<torsion_spring name="torsion" base="universal" end="helical" axis="0 1 0" stiffness="5" damping="0.2"/>
<cylinder name="cylinder" base="cylindrical" base_xyz="0 0 0.2" end="boom@tip"
  minimum_length="0.1" stroke="9">
<barrel mass="0.4" com="0.1" inertia="0.01"/><rod mass="0.3" com="-0.1" inertia="0.01"/></cylinder></flexdyn>
<flexdyn reference="boom"><beam length="0.6" mass_per_length="1.4" EIy="90" EIz="70"/>
<modes bending_y="1" bending_z="1"/><damping ratio="0.1"/></flexdyn>"""
#: points that lines of elements begin and end at: their frames, and where they are in these
PINS = {
    ("spring/base", "spring/end"): (("boom@0.5", (0, 0, 0)), ("planar", (0, 0, 0.1))),
    ("damper/base", "damper/end"): ((None, (0, 0, 2)), ("floating", (0, 0.3, 0.1))),
    ("cylinder/barrel", "cylinder/rod"): (("cylindrical", (0, 0, 0.2)), ("boom@tip", (0, 0, 0))),
}


def mixture():
    """A flexible boom, and a body on a joint of each type on the column beside it."""
    parts = [link("base", 0), link("boom", 0)]
    parts += [joint("hinge", "continuous", "base", "boom", (0, 0, 1), axis=(0, 1, 0))]
    for i, kind in enumerate([*WORDS, "floating"]):
        axis = (0.2, 0.1, 1) if kind == "planar" else None
        parts += [link(kind, 0.9, (0.1, 0.08, -0.05), BODY)]
        parts += [
            joint(
                f"J{i}", urdf_type(kind), "base", kind, (0, 0.4 * i + 0.4, 0.5), (0.3, -0.2, 0.1), axis=axis
            )
        ]
        if kind in WORDS:
            parts += [f'<flexdyn reference="J{i}"><joint_type {WORDS[kind]}>{kind}</joint_type></flexdyn>']
    return robot_text("mixture", *parts, ELEMENTS)


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """The robot, a state of the running simulator in which every coordinate has moved, and poses by TF."""
    folder = tmp_path_factory.mktemp("mixture")
    file = folder / "mixture.urdf"
    file.write_text(mixture())
    robot, space = flexdyn_ros.load(file), ["-r", "__ns:=/mix", "-p", f"description_file:={file}"]
    slow = [*space, "-p", "real_time_factor:=0.2"]
    with (
        Client("mixture_client") as client,
        NodeProcess("state_publisher", *space, log=folder / "publisher.txt") as publisher,
        NodeProcess("simulator", *slow, log=folder / "simulator.txt") as simulator,
    ):
        publisher.wait_for_text("ready")
        simulator.wait_for_text("ready")
        client.listen(TFMessage, "/tf")
        client.listen(TFMessage, "/tf_static", LATCHED)
        client.listen(DynamicsState, "/mix/simulator/state")

        def same_instant():
            if not {"/tf", "/tf_static", "/mix/simulator/state"} <= set(client.last):
                return False
            state = client.last["/mix/simulator/state"]
            q = numbers_of(state.positions)
            has_moved = np.abs(q - robot.neutral()).min() > 1e-4
            return has_moved and client.last["/tf"].transforms[0].header.stamp == state.header.stamp

        client.until(same_instant, "no transforms of a state")
        q = numbers_of(client.last["/mix/simulator/state"].positions)
        messages = [m for topic in ("/tf", "/tf_static") for m in client.last[topic].transforms]
    return robot, q, poses(messages)


def poses(messages):
    """Poses of all frames in the world, along the chains of transforms."""
    waiting, found = {m.child_frame_id: m for m in messages}, {"world": np.eye(4)}
    while waiting:
        ready = [m for m in waiting.values() if m.header.frame_id in found]
        assert ready, sorted(waiting)
        for m in ready:
            own = type("Pose", (), {"position": m.transform.translation, "orientation": m.transform.rotation})
            found[m.child_frame_id] = found[m.header.frame_id] @ matrix_from_pose(own)
            del waiting[m.child_frame_id]
    return found


@pytest.mark.parametrize("name", [*WORDS, "floating", "boom", "boom/tip"])
def test_links_are_where_the_robot_has_them(moved, name):
    robot, q, shown = moved
    np.testing.assert_allclose(shown[name], robot.frames(q, name), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("pieces", [*PINS])
def test_elements_stand_between_their_points(moved, pieces):
    robot, q, shown = moved
    first, second = (np.eye(4) if name is None else robot.frames(q, name) for name, _ in PINS[pieces])
    a, b = (T[:3, :3] @ p + T[:3, 3] for T, (_, p) in zip((first, second), PINS[pieces], strict=True))
    np.testing.assert_allclose(shown[pieces[0]][:3, 3], a, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(shown[pieces[1]][:3, 3], b, rtol=0.0, atol=1e-9)
    along = (b - a) / np.linalg.norm(b - a)
    for name in pieces:
        np.testing.assert_allclose(shown[name][:3, 0], along, rtol=0.0, atol=1e-9)
