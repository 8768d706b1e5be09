"""What rosbag2 0.29 (C++) recorded of our nodes is played back into them.

test/reference/rosbag2 has a run of `two_link` with pd_controller and state_publisher, as MCAP and as SQLite,
and one of `stewart_1t` whose cylinders are in a process of their own.
"""

import importlib
import json
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
highlevel = pytest.importorskip("rosbags.highlevel")

from node_process import Client, NodeProcess  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import HydraulicCommand  # noqa: E402
from flexdyn_ros import Trajectory  # noqa: E402
from flexdyn_ros.cli import app  # noqa: E402
from flexdyn_ros.nodes import seconds_of  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer  # noqa: E402
from flexdyn_ros.simulation.recordings.cdr import types  # noqa: E402

FOLDER = Path(__file__).parents[1] / "reference/rosbag2"
MCAP, SQLITE = FOLDER / "two_link_mcap", FOLDER / "two_link_sqlite3"
BOTH = pytest.mark.parametrize("bag", [MCAP, SQLITE], ids=["mcap", "sqlite3"])
GIVEN = ("-p", "description_file:=two_link")


def played(bag):
    """(topic, message) in the order of recording, as ROS reads them."""
    with highlevel.AnyReader([bag], default_typestore=types()) as reader:
        for connection, _, raw in reader.messages():
            package, _, name = connection.msgtype.split("/")
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
            yield connection.topic, deserialize_message(bytes(raw), kind)


def recorded(bag, topic):
    return [message for name, message in played(bag) if name == topic]


def of(messages, *fields):
    return {field: np.array([getattr(message, field) for message in messages]) for field in fields}


@pytest.fixture(scope="module")
def client():
    with Client("player") as client:
        yield client


def test_both_storages_hold_the_same_samples():
    """SQLite files of rosbag2 carry no definitions of messages."""
    fields = ("position", "velocity", "effort")
    mcap, sqlite = (of(recorded(bag, "/joint_states"), *fields) for bag in (MCAP, SQLITE))
    assert all(np.array_equal(mcap[name], sqlite[name]) for name in fields)
    assert len(mcap["position"]) == 202
    runs = [Trajectory.load(bag) for bag in (MCAP, SQLITE)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].tau, runs[1].tau)
    assert np.ptp(runs[0].q[:, 0]) > 1.5


def play_joint_states(client, bag, out, stamps_of, before=lambda topic, message: None):
    """Answers of a node on topic `out`, state by state: none is sent before the last one is answered."""
    answers = []
    for topic, message in played(bag):
        before(topic, message)
        if topic != "/joint_states":
            continue

        def is_answered(stamp=message.header.stamp):
            return out in client.last and stamp in stamps_of(client.last[out])

        said = f"an answer to the state of {seconds_of(message.header.stamp)}"
        # states that come within a period of publishing are left out: the next time comes soon
        client.insist(JointState, topic, message, is_answered, said, every=0.05)
        answers.append(client.last[out])
    return answers


def test_the_controller_answers_as_it_did(client, tmp_path):
    def send_trajectory(topic, message):
        if topic == "/pd_controller/joint_trajectory":
            # taken before the next state, though of another topic; a node may come to know it late, and
            # the same trajectory again means the same where no state comes between
            for _ in range(3):
                client.publish(JointTrajectory, topic, message)
                time.sleep(0.4)

    with NodeProcess("pd_controller", *GIVEN, log=tmp_path / "pd.txt") as node:
        node.wait_for_text("ready")
        client.listen(JointState, "/joint_commands")
        answers = play_joint_states(
            client, MCAP, "/joint_commands", lambda m: [m.header.stamp], send_trajectory
        )
    before = {seconds_of(m.header.stamp): m.effort for m in recorded(MCAP, "/joint_commands")}
    now = {seconds_of(m.header.stamp): m.effort for m in answers}
    assert len(before) == 201
    assert set(before) <= set(now)
    np.testing.assert_allclose([now[t] for t in before], list(before.values()), rtol=0, atol=1e-12)


def test_the_cylinders_push_as_they_did(client, tmp_path):
    """In lockstep they go by the times of leg states: the same openings and strokes give the same forces."""
    bag = FOLDER / "stewart_1t_mcap"
    force, enable = "/hydraulic_actuators/leg_force", "/hydraulic_actuators/enable"
    states = recorded(bag, "/leg_states")
    (opening,) = recorded(bag, "/hydraulic_actuators/command")
    given = ("-p", "description_file:=stewart_1t")
    now = {}
    with NodeProcess("hydraulic_actuators", *given, log=tmp_path / "cylinders.txt") as node:
        node.wait_for_text("ready")
        client.listen(JointState, force)
        client.insist(
            HydraulicCommand,
            "/hydraulic_actuators/command",
            opening,
            lambda: "; 0 commands" not in client.call(SetBool, enable, data=True).message,
            "the command is taken",
        )
        for message in states:
            stamp = message.header.stamp
            client.insist(
                JointState,
                "/hydraulic_actuators/leg_state",
                message,
                lambda stamp=stamp: force in client.last and client.last[force].header.stamp == stamp,
                f"an answer to the legs of {seconds_of(stamp)}",
            )
            now[seconds_of(stamp)] = client.last[force].effort
    before = {seconds_of(m.header.stamp): m.effort for m in recorded(bag, "/joint_commands")}
    assert np.ptp(list(before.values()), axis=0).min() > 100.0
    assert set(before) <= set(now)
    np.testing.assert_allclose([now[t] for t in before], list(before.values()), rtol=1e-12)


def transforms(messages):
    """Numbers of transforms by child frame and time."""
    return {
        (one.child_frame_id, seconds_of(one.header.stamp)): (
            *(getattr(one.transform.translation, axis) for axis in "xyz"),
            *(getattr(one.transform.rotation, axis) for axis in "xyzw"),
        )
        for message in messages
        for one in message.transforms
    }


def test_the_state_publisher_places_frames_as_it_did(client, tmp_path):
    with NodeProcess(
        "state_publisher", *GIVEN, "-p", "publish_frequency:=1000.0", log=tmp_path / "publisher.txt"
    ) as node:
        node.wait_for_text("ready")
        client.listen(TFMessage, "/tf")
        answers = play_joint_states(client, MCAP, "/tf", lambda m: [one.header.stamp for one in m.transforms])
    before, now = transforms(recorded(MCAP, "/tf")), transforms(answers)
    assert len(before) == 200
    assert {key: now.get(key) for key in before} == before


@BOTH
def test_the_simulator_takes_every_command_as_it_is(bag):
    robot = flexdyn_ros.load("two_link")
    buffer, q = CommandBuffer(robot), robot.neutral()
    commands = recorded(bag, "/joint_commands")
    for message in commands:
        t = seconds_of(message.header.stamp)
        assert buffer.take_joint_state(message, t, t)
        assert buffer.setpoint(t, t, q).effort.tolist() == list(message.effort)
    assert (buffer.accepted, buffer.rejected) == (len(commands), 0)


def test_parameters_are_identified_alike_from_both_storages(tmp_path):
    """And from what our own writer makes of the same samples."""
    own = tmp_path / "own.mcap"
    Trajectory.load(MCAP, flexdyn_ros.load("two_link")).to_bag(own)
    tables = []
    for bag in (MCAP, SQLITE, own):
        words = ["identify", "two_link", str(bag), "--topic", "/joint_states", "--json"]
        answer = CliRunner().invoke(app, words)
        assert answer.exit_code == 0, answer.output
        tables.append({row["parameter"]: row["value"] for row in json.loads(answer.stdout)["table"]})
    assert tables[0] == tables[1] == tables[2]
    # 50 Hz, and efforts that change between the samples
    assert tables[0]["lower/mx"] == pytest.approx(1.0, abs=0.02)
