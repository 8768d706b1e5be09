"""The recorder of the simulator: what was published is in the file, whether the node ends or dies."""

import gc
import resource
import signal
import threading
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("mcap")

from decoding import decoded_alone, moving_joints  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from pendulums import double_pendulum  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from soft_arms import chain  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from flexdyn_interfaces.srv import Step  # noqa: E402
from flexdyn_ros import Trajectory  # noqa: E402
from flexdyn_ros.errors import FlexdynWarning  # noqa: E402
from flexdyn_ros.nodes import ParameterError  # noqa: E402
from flexdyn_ros.nodes.simulator.recorder import Recorder  # noqa: E402
from flexdyn_ros.nodes.topics import RELIABLE  # noqa: E402
from flexdyn_ros.simulation import (  # noqa: E402
    Bag,
    recorded_robot,
    records,
)


def simulator(tmp_path, path, *parameters):
    (tmp_path / "pendulum.urdf").write_text(double_pendulum().description.text)
    given = {"description_file": tmp_path / "pendulum.urdf", "record_file": path}
    given |= dict(parameters)
    arguments = [text for name, value in given.items() for text in ("-p", f"{name}:={value}")]
    return NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt")


def record(tmp_path, seconds, number, *parameters):
    """Path of a recording of a node that got a signal after some seconds, and its exit code."""
    path = tmp_path / "folder" / "run.mcap"
    with simulator(tmp_path, path, *parameters) as node:
        node.wait_for_text("ready")
        time.sleep(seconds)
        return path, node.end(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_is_published_is_recorded(number, tmp_path):
    path, code = record(tmp_path, 2.5 if number == signal.SIGINT else 4.0, number)
    assert code == (0 if number == signal.SIGINT else -number)
    robot = recorded_robot(path)
    run = Trajectory.load(path, robot)
    assert run.q_names == ("shoulder", "elbow")
    # 100 Hz of simulated time once it runs, none left out; a machine that is busy runs it slower, a killed
    # node loses a second
    np.testing.assert_allclose(np.diff(run.t)[2:], 0.01, rtol=0, atol=1.1e-9)
    assert len(run) > 100
    # one that ended in order says so; a killed one has no end
    end = (
        (0, "recorded until the node ended") if number == signal.SIGINT else (-1, "recording without an end")
    )
    assert (run.status, run.message) == end
    topics = {topic for topic, _ in records(path)}
    assert {"/joint_states", "/simulator/state", "/simulator/energy", "/robot_description"} <= topics
    assert "/clock" not in topics


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("flexible_two_link", {"/deflections"}),
        ("mobile_arm", {"/odom", "/tf", "/simulator/wheels"}),
        ("stewart_1t", {"/leg_states", "/simulator/platform_pose", "/simulator/hydraulic_state"}),
    ],
)
def test_a_recording_of_the_node_is_decoded_by_what_is_in_it(name, topics, tmp_path):
    path = tmp_path / "run.mcap"
    given = ("-p", f"description_file:={name}", "-p", f"record_file:={path}")
    with NodeProcess("simulator", *given, log=tmp_path / "simulator.txt") as node:
        node.wait_for_text("ready")
        time.sleep(0.8)
        assert node.end(signal.SIGINT) == 0
    found = decoded_alone(path)
    assert set(found["topics"]) >= topics | {"/simulator/state", "/joint_states"}
    assert moving_joints(found["urdf"]) == set(found["joints"])


def test_a_reset_begins_a_part_of_its_own(tmp_path):
    path = tmp_path / "run.mcap"
    with Client("reset_client") as client, simulator(tmp_path, path, ("start_paused", "true")) as node:
        node.wait_for_text("ready")
        assert client.call(Step, "/simulator/step", steps=500).success
        assert client.call(Trigger, "/simulator/reset").success
        assert client.call(Step, "/simulator/step", steps=200).success
        assert node.end(signal.SIGINT) == 0
    with pytest.warns(
        FlexdynWarning, match=r"times jump back, as after a reset: 2 parts \(0 \.\. 0\.5 s, 0 \.\."
    ):
        last = Trajectory.load(path)
    first = Trajectory.load(path, part=0)
    assert (first.t[0], last.t[0]) == (0.0, 0.0)
    assert np.all(np.diff(first.t) >= 0.0)
    assert np.all(np.diff(last.t) >= 0.0)
    assert (first.t[-1], last.t[-1]) == (0.5, 0.2)
    assert "2 parts" in last.warnings[0]
    assert last.energy is not None


def test_pressures_that_lag_are_recorded_and_read_with_their_part(tmp_path):
    pressure = '<pressure area="1e-4" time_constant="0.02" maximum="4e5"/>'
    text = chain(1, 'preset="bai2022" length="0.15"', "0 0 9.81")
    (tmp_path / "arm.urdf").write_text(text.replace('length="0.15"/>', f'length="0.15">{pressure}</section>'))
    path, topic = tmp_path / "run.mcap", "/simulator/step"
    settings = ("start_paused", "true"), ("description_file", tmp_path / "arm.urdf"), ("use_clock", "true")
    with Client("pressure_client") as client, simulator(tmp_path, path, *settings) as node:
        node.wait_for_text("ready")
        for force in (10.0, 5.0):
            assert client.call(Step, topic, steps=60, efforts=[force, 0.0, 0.0]).success
            assert client.call(Trigger, "/simulator/reset").success
        assert node.end(signal.SIGINT) == 0
    for part, force in enumerate((10.0, 5.0)):
        run = Trajectory.load(path, part=part)
        assert run.state_units == ("Pa",) * 3
        assert run.t[-1] == 0.06
        expected = 101325.0 + 1e4 * force * (1.0 - np.exp(-run.t / 0.02))
        np.testing.assert_allclose(run["section_1/pressure_1"], expected, rtol=1e-9)


def test_a_simulation_that_stopped_ends_its_recording_with_the_cause(tmp_path):
    recorder = Recorder(str(tmp_path / "run.mcap"), double_pendulum(), method="rk4", step=0.001)
    recorder.close("the state is no longer finite")
    recorder.close()
    notes = {record.name: record.metadata for topic, record in records(tmp_path / "run.mcap") if not topic}
    note = notes["flexdyn_run"]
    assert (note["message"], note["method"]) == ("the state is no longer finite", "rk4")
    assert note["numbers"].startswith("[-1, 0.001, ")


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with simulator(tmp_path, tmp_path / "file" / "run.mcap") as node:
        node.wait_for_text("parameter record_file")
        assert node.end(signal.SIGINT) == 0


def test_a_device_that_takes_nothing_is_refused():
    with pytest.raises(ParameterError, match=r"parameter record_file: /dev/full: \[Errno 28\]"):
        Recorder("/dev/full", double_pendulum())


def test_a_recording_that_fails_is_told_once_and_stays_readable(tmp_path, monkeypatch):
    told = []
    recorder = Recorder(str(tmp_path / "run.mcap"), double_pendulum(), told.append)
    publisher = SimpleNamespace(
        topic_name="/joint_states",
        msg_type=JointState,
        qos_profile=RELIABLE,
        is_activated=True,
        publish=lambda message: None,
    )
    recorder.recording(lambda *_: publisher)("joint_states")
    for _ in range(5):
        publisher.publish(JointState(name=["shoulder"], position=[1.0], velocity=[0.0], effort=[0.0]))
    deadline = time.monotonic() + 30.0
    while recorder.written < 5:
        assert time.monotonic() < deadline
    recorder._bag.flush()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Bag, "write", fail)
    while not told:
        publisher.publish(JointState())
        assert time.monotonic() < deadline
    for _ in range(1000):
        publisher.publish(JointState())
    recorder.close()
    assert len(told) == 1
    assert "No space left on device" in recorder.failure
    # at most the order to end
    assert recorder._queue.qsize() <= 1
    assert [topic for topic, _ in records(tmp_path / "run.mcap")].count("/joint_states") == 5


@pytest.mark.slow
def test_a_full_disk_is_told_within_two_seconds_and_by_the_exit_code(tmp_path):
    path = tmp_path / "run.mcap"
    with Client("recorder_client") as client, simulator(tmp_path, path) as node:
        node.wait_for_text("ready")
        client.listen(DiagnosticArray, "/diagnostics")
        client.until(lambda: path.stat().st_size > 30_000, "nothing is written")
        # a limit in the middle of a chunk; to the writer it is a disk that is full
        size = path.stat().st_size + 100
        resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (size, size))
        begin = time.monotonic()

        def status():
            found = client.last["/diagnostics"].status if "/diagnostics" in client.last else []
            return next((s for s in found if s.name == "simulator: recording"), None)

        client.until(lambda: status() is not None and status().level == b"\x02", "no error", 30.0)
        assert time.monotonic() - begin < 3.0, "two seconds, and one for a busy machine"
        assert "run.mcap ended: [Errno" in status().message
        written = path.stat().st_size
        assert written <= size
        # the simulation goes on, and the file is left alone
        assert not client.call(Step, "/simulator/step", steps=0).success
        assert client.call(Step, "/simulator/step", steps=10).success
        assert node.end(signal.SIGINT) == 1
    assert path.stat().st_size == written
    assert len(Trajectory.load(path, recorded_robot(path))) > 20


def test_what_waits_to_be_written_is_bounded(tmp_path, monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr("flexdyn_ros.nodes.simulator.recorder.MOST_WAITING", 10_000)
    write = Bag.write

    def slowly(self, *item):
        if threading.current_thread().name == "recorder":
            gate.wait()
        write(self, *item)

    monkeypatch.setattr(Bag, "write", slowly)
    recorder = Recorder(str(tmp_path / "run.mcap"), double_pendulum())
    publisher = SimpleNamespace(
        topic_name="/joint_states",
        msg_type=JointState,
        qos_profile=RELIABLE,
        is_activated=True,
        publish=lambda message: None,
    )
    recorder.recording(lambda *_: publisher)("joint_states")
    message = JointState(name=["shoulder"], position=[0.0] * 100, velocity=[0.0] * 100, effort=[0.0] * 100)
    for _ in range(100):
        publisher.publish(message)
    assert recorder._put - recorder._taken < 20_000
    gate.set()
    recorder.close()
    assert recorder.lost > 80
    assert recorder.written == 100 - recorder.lost
    assert not recorder.failure


def test_memory_does_not_grow_with_what_is_recorded_in_split_files(tmp_path, monkeypatch):
    monkeypatch.setattr("flexdyn_ros.nodes.simulator.recorder.CHUNK", 1 << 12)
    recorder = Recorder(str(tmp_path / "long"), double_pendulum(), split_size=20_000)
    publisher = SimpleNamespace(
        topic_name="/joint_states",
        msg_type=JointState,
        qos_profile=RELIABLE,
        is_activated=True,
        publish=lambda message: None,
    )
    recorder.recording(lambda *_: publisher)("joint_states")
    message = bytes(500)

    def held():
        """Bytes that the recorder and what it writes with hold; threads of other nodes do not count."""
        gc.collect()
        own = [tracemalloc.Filter(True, "*/flexdyn_ros/*"), tracemalloc.Filter(True, "*/mcap/*")]
        return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(own).traces)

    def held_after(count):
        """The least that is held while these many messages are written, in five parts: chunks come and go."""
        found = []
        for _ in range(5):
            total = recorder.written + count // 5
            for _ in range(count // 5):
                publisher.publish(message)
            deadline = time.monotonic() + 60.0
            while recorder.written < total:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            found.append(held())
        return min(found)

    tracemalloc.start()
    try:
        few, many = held_after(1000), held_after(9000)
    finally:
        tracemalloc.stop()
    recorder.close()
    assert not recorder.failure
    assert recorder.lost == 0
    # 1120 chunks are written between the two; one number kept of each would be more
    assert many - few < 4_000


@pytest.mark.slow
def test_a_minute_at_a_kilohertz_loses_no_sample(tmp_path):
    path, _ = record(tmp_path, 66.0, signal.SIGINT, ("publish_rate_hz", 1000.0))
    stamps = [m.log_time for topic, m in records(path) if topic == "/simulator/state"]
    assert len(stamps) > 55_000
    np.testing.assert_array_equal(np.diff(stamps)[2:], 10**6)


def test_a_clock_on_a_topic_of_its_own_is_not_recorded(tmp_path):
    recorder = Recorder(str(tmp_path / "clock.mcap"), double_pendulum())
    published = []
    publisher = SimpleNamespace(
        topic_name="/arm/clock", msg_type=Clock, is_activated=True, publish=published.append
    )
    made = recorder.recording(lambda *_: publisher)("/clock")
    made.publish(Clock())
    recorder.close()
    assert len(published) == 1
    assert not recorder.failure
    assert not [topic for topic, _ in records(tmp_path / "clock.mcap") if "clock" in topic]


def test_a_recording_tells_the_quality_of_service_of_its_publishers(tmp_path):
    from mcap.reader import make_reader

    recorder = Recorder(str(tmp_path / "qos.mcap"), double_pendulum())
    lossy = QoSProfile(depth=3, reliability=ReliabilityPolicy.BEST_EFFORT)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    for topic, qos in (("/plain", QoSProfile(depth=100)), ("/lossy", lossy), ("/latched", latched)):
        publisher = SimpleNamespace(
            topic_name=topic,
            msg_type=JointState,
            qos_profile=qos,
            is_activated=True,
            publish=lambda message: None,
        )
        made = recorder.recording(lambda *_, publisher=publisher: publisher)(topic)
        made.publish(JointState())
    recorder.close()
    with (tmp_path / "qos.mcap").open("rb") as file:
        channels = make_reader(file).get_summary().channels.values()
    found = {c.topic: yaml.safe_load(c.metadata["offered_qos_profiles"])[0] for c in channels}
    known = {
        topic: tuple(qos[key] for key in ("depth", "reliability", "durability"))
        for topic, qos in found.items()
    }
    assert known["/plain"] == (100, "reliable", "volatile")
    assert known["/lossy"] == (3, "best_effort", "volatile")
    assert known["/latched"] == (1, "reliable", "transient_local")
