"""Simulator, dynamics server and state publisher with an arm that bends, each a process of its own."""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from lxml import etree  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import ExternalWrench, LinkDeflections  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
START = {"elbow_pitch": -0.4, "boom_1/bending_z/1": -0.05}


@pytest.fixture(scope="module")
def client():
    with Client("bending_client") as client:
        yield client


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    """Canadarm2 falling, paused at its start."""
    folder = tmp_path_factory.mktemp("simulator")
    # names with slashes are for files: a rule of the command line takes them for those of a node
    initial = "\n".join(f"        {name}: {q}" for name, q in START.items())
    file = folder / "start.yaml"
    file.write_text(f"/**:\n  ros__parameters:\n    initial:\n      positions:\n{initial}\n")
    arguments = ["-r", "__ns:=/arm", "-p", "description_file:=canadarm2", "-p", "start_paused:=true"]
    log = folder / "simulator.txt"
    with NodeProcess("simulator", *arguments, "--params-file", str(file), log=log) as node:
        node.wait_for_text("ready")
        yield node


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("canadarm2")


def step_and_hear(client, topic):
    """A step, and what was published of it; again where nobody knew this listener yet."""
    seen = {}

    def step():
        seen["state"] = client.call(srv.Step, "/arm/simulator/step", steps=1).state

    def heard():
        return topic in client.last and client.last[topic].header.stamp == seen["state"].header.stamp

    client.repeat(step, heard, f"nothing of this step on {topic}", every=5.0)
    return seen["state"], client.last[topic]


def initial_state(robot):
    q = robot.neutral()
    for name, value in START.items():
        q[robot.index(name)] = value
    return q


def test_steps_of_the_node_are_those_of_the_library(simulator, client, robot):
    assert client.call(Trigger, "/arm/simulator/reset").success
    answer = client.call(srv.Step, "/arm/simulator/step", steps=100)
    assert answer.success, answer.message
    alone = flexdyn_ros.simulate(robot, 0.1, initial_state(robot), dt=1e-3, limits="spring")
    np.testing.assert_allclose(numbers_of(answer.state.positions), alone.q[-1], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(numbers_of(answer.state.velocities), alone.v[-1], rtol=0.0, atol=1e-12)


def test_joint_states_are_those_of_the_expanded_description(simulator, client, robot):
    client.listen(String, "/arm/expanded/robot_description", LATCHED)
    client.listen(JointState, "/arm/joint_states")
    client.until(lambda: "/arm/expanded/robot_description" in client.last, "no expanded description")
    root = etree.fromstring(client.last["/arm/expanded/robot_description"].data.encode())
    assert not root.findall(".//inertial")
    assert not root.findall("flexdyn")
    moving = {joint.get("name") for joint in root.findall("joint") if joint.get("type") != "fixed"}
    state, message = step_and_hear(client, "/arm/joint_states")
    assert set(message.name) == moving
    assert "boom_1/tip/rz" in moving
    expanded = flexdyn_ros.expand(robot)
    q = numbers_of(state.positions)
    np.testing.assert_allclose(numbers_of(message.position), expanded.joint_positions(q), atol=1e-12)
    assert len(message.name) == len(message.velocity) == len(message.effort)


def test_deflections_are_published_with_strains_and_moments(simulator, client, robot):
    client.listen(LinkDeflections, "/arm/deflections")
    state, message = step_and_hear(client, "/arm/deflections")
    bent = robot.deflections(numbers_of(state.positions))
    assert [link.link for link in message.links] == ["boom_1", "boom_2"]
    for link in message.links:
        assert (link.frame_id, link.length) == (f"{link.link}/beam", 7.11)
        expected = bent[link.link]
        tip = link.displacements[-1]
        np.testing.assert_allclose((tip.x, tip.y, tip.z), expected.displacement[-1], atol=1e-15)
        # without a section they are not known, 0 in messages
        np.testing.assert_allclose(numbers_of(link.strains), np.nan_to_num(expected.strain), atol=1e-15)
        np.testing.assert_allclose([m.y for m in link.moments], expected.moment[:, 1], rtol=1e-12)
        assert max(abs(m.y) for m in link.moments) > 1.0


def test_wrenches_act_at_sections_and_payloads_are_taken(simulator, client, robot):
    wrench = ExternalWrench(frame="boom_1@0.45")
    wrench.wrench.force.z = 400.0
    assert client.call(srv.ApplyWrench, "/arm/simulator/apply_wrench", wrench=wrench).success
    state = client.call(srv.Step, "/arm/simulator/step", steps=1).state
    q, v = numbers_of(state.positions), numbers_of(state.velocities)
    assert client.call(srv.SetPayload, "/arm/simulator/set_payload", frame="tool0", mass=500.0).success
    answer = client.call(srv.Step, "/arm/simulator/step", steps=1)
    heavy = robot.with_payload("tool0", 500.0)
    pulled = flexdyn_ros.simulate(
        heavy, 1e-3, q, v, dt=1e-3, limits="spring", wrenches={"boom_1@0.45": [0, 0, 0, 0, 0, 400.0]}
    )
    np.testing.assert_allclose(numbers_of(answer.state.positions), pulled.q[-1], rtol=0.0, atol=1e-12)
    wrench.wrench.force.z = 0.0
    wrench.frame = "boom_1@7"
    refused = client.call(srv.ApplyWrench, "/arm/simulator/apply_wrench", wrench=wrench)
    assert not refused.success
    assert "boom_1@7" in refused.message
    assert client.call(srv.SetPayload, "/arm/simulator/set_payload", frame="tool0", mass=0.0).success
    assert client.call(Trigger, "/arm/simulator/reset").success


def test_the_state_publisher_shows_the_bent_arm(simulator, client, robot, tmp_path):
    arguments = ["-r", "__ns:=/arm", "-p", "description_file:=canadarm2", "-p", "magnification:=10.0"]
    with NodeProcess("state_publisher", *arguments, log=tmp_path / "state_publisher.txt") as node:
        node.wait_for_text("ready")
        client.listen(TFMessage, "/tf")
        client.listen(TFMessage, "/tf_static", LATCHED)
        client.listen(MarkerArray, "/arm/deformation_markers")
        seen = {}

        def step():
            seen["markers"] = None
            state = client.call(srv.Step, "/arm/simulator/step", steps=1).state
            seen["stamp"], seen["q"] = state.header.stamp, numbers_of(state.positions)

        def complete():
            if not {"/tf", "/tf_static", "/arm/deformation_markers"} <= set(client.last):
                return False
            # other messages of the topic hold what changes seldom
            markers = client.last["/arm/deformation_markers"].markers
            if markers[0].ns.startswith("deformation/") and markers[0].header.stamp == seen["stamp"]:
                seen["markers"] = markers
            moved = client.last["/tf"].transforms[0].header.stamp == seen["stamp"]
            return moved and seen["markers"] is not None

        # steps until both sides know each other
        client.repeat(step, complete, "no transforms or no markers")
        meshes = seen["markers"]
        assert [marker.header.frame_id for marker in meshes] == ["boom_1/beam", "boom_2/beam"]
        # twelve sides of two triangles between 21 stations, and two ends
        assert [len(marker.points) for marker in meshes] == [3 * (2 * 12 * 20 + 2 * 10)] * 2
        frames = {t.child_frame_id: t for name in ("/tf", "/tf_static") for t in client.last[name].transforms}
        assert frames["boom_1/tip"].header.frame_id.startswith("boom_1/tip/")
        # the chain of frames from the tool to the base is whole, and ends where the library says
        T, name = np.eye(4), "tool0"
        while name in frames:
            T = matrix(frames[name].transform) @ T
            name = frames[name].header.frame_id
        assert name == "world"
        np.testing.assert_allclose(T, robot.frames(seen["q"], "tool0"), atol=1e-9)


def test_deflections_and_modes_are_served(client, robot, tmp_path):
    arguments = ["-r", "__ns:=/bench", "-p", "description_file:=canadarm2"]
    with NodeProcess("dynamics_server", *arguments, log=tmp_path / "server.txt") as node:
        node.wait_for_text("ready")
        q = np.stack([robot.neutral(), initial_state(robot)])
        answer = client.call(
            srv.Deflections, "/bench/dynamics_server/deflections", samples=2, positions=q.ravel().tolist()
        )
        assert answer.success, answer.message
        tip = answer.deflections[1].links[0].displacements[-1]
        expected = robot.deflections(q)["boom_1"].displacement[1, -1]
        np.testing.assert_allclose((tip.x, tip.y, tip.z), expected, atol=1e-15)
        modes = client.call(
            srv.Modes, "/bench/dynamics_server/modes", samples=1, positions=q[0].tolist(), locked=["joints"]
        )
        assert modes.success, modes.message
        found = robot.modes(q[0], lock="joints").frequency
        np.testing.assert_allclose(numbers_of(modes.frequencies), found, rtol=1e-9)


def matrix(transform):
    x, y, z, w = (getattr(transform.rotation, axis) for axis in "xyzw")
    T = np.eye(4)
    T[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    t = transform.translation
    T[:3, 3] = t.x, t.y, t.z
    return T
