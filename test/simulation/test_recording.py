"""Recordings: other tools open them, the same numbers come back, a crash leaves what was written."""

import gc
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import yaml
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros import Trajectory
from flexdyn_ros.errors import DimensionError, StateError
from flexdyn_ros.simulation import Bag, recorded_robot, records
from flexdyn_ros.simulation.recordings.cdr import JOINT_STATES, STATE, TEXT, definition

pytest.importorskip("mcap")
highlevel = pytest.importorskip("rosbags.highlevel")

ROOT = Path(__file__).parents[2]
EXACT = ("q", "v", "tau", "work", "dissipated", "saturated")


def messages(path):
    """{topic: [(stamp, message)]} as rosbags reads them."""
    found = {}
    with highlevel.AnyReader([path]) as reader:
        for connection, stamp, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            found.setdefault(connection.topic, []).append((stamp, message))
    return found


def crossing(t, q, v):
    return t - 0.05


@pytest.fixture(scope="module")
def run():
    robot = double_pendulum('<limit lower="-9" upper="9" effort="0.2" velocity="9"/>', "revolute")
    return flexdyn_ros.simulate(robot, 0.2, [0.1, 1.0], control=[0.3, -0.1], saturate=True, events=crossing)


@pytest.fixture(scope="module")
def bag(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("bag") / "run.mcap"
    run.to_bag(path)
    return path


def test_reading_back_gives_the_same_numbers(run, bag):
    back = Trajectory.load(bag, run.robot)
    for name in EXACT:
        assert np.array_equal(getattr(back, name), getattr(run, name)), name
    assert np.array_equal(back.energy, run.energy)
    # stamps of ROS are whole nanoseconds
    np.testing.assert_allclose(back.t, run.t, rtol=0, atol=0.51e-9)
    for name in ("status", "message", "method", "dt", "q_names", "q_units", "v_units", "effort_units"):
        assert getattr(back, name) == getattr(run, name), name
    assert [(e.time, e.name) for e in back.events] == [(e.time, e.name) for e in run.events]
    assert run.saturated.any()


def test_the_robot_is_in_the_recording(tmp_path):
    """With what was set beside its description."""
    path = tmp_path / "moon.mcap"
    moon = flexdyn_ros.load(double_pendulum().description.text, options={"gravity": [0, 0, -1.62]})
    flexdyn_ros.simulate(moon, 0.002).to_bag(path)
    robot = recorded_robot(path)
    assert robot.q_names == moon.q_names
    assert robot.gravity[2] == -1.62


def test_of_several_robots_that_beside_the_chosen_topic_is_loaded(tmp_path):
    texts = {"a": double_pendulum(), "a/arm": tumbler(), "b": flexdyn_ros.load("two_link")}
    with Bag(tmp_path / "two.mcap") as bag:
        for name, robot in texts.items():
            text = robot.description.text.encode() + b"\0"
            told = b"\x00\x01\x00\x00" + len(text).to_bytes(4, "little") + text
            bag.write(bag.channel(f"/{name}/robot_description", TEXT), told, 0)
    for name, robot in texts.items():
        found = recorded_robot(tmp_path / "two.mcap", topics=[f"/{name}/state"])
        assert found.q_names == robot.q_names
    with pytest.raises(StateError, match=r"several robots: .*; choose a topic"):
        recorded_robot(tmp_path / "two.mcap")


def test_rosbags_reads_what_was_simulated(run, bag):
    found = messages(bag)
    assert set(found) == {
        "/simulator/state", "/simulator/energy", "/joint_states", "/robot_description",
        "/expanded/robot_description",
    }  # fmt: skip
    stamp, state = found["/simulator/state"][-1]
    assert state.position_names == list(run.q_names)
    assert np.array_equal(state.positions, run.q[-1])
    assert state.header.stamp.sec * 10**9 + state.header.stamp.nanosec == stamp == 200_000_000
    _, joints = found["/joint_states"][7]
    assert joints.name == ["shoulder", "elbow"]
    assert np.array_equal(joints.velocity, run.v[7])
    assert np.array_equal(joints.effort, run.tau[7])
    _, energy = found["/simulator/energy"][3]
    assert energy.total == run.energy.total[3]
    assert len(found["/joint_states"]) == len(run)


def test_the_mcap_library_decodes_it_too(run, bag):
    reader = pytest.importorskip("mcap_ros2.reader")
    states = [m.ros_msg.velocities for m in reader.read_ros2_messages(str(bag), topics=["/simulator/state"])]
    assert np.array_equal(states, run.v)


def test_every_message_is_decoded_by_the_definitions_in_the_file(bag):
    """As Foxglove and PlotJuggler read it, which know no package of ours; the robot to show comes with it."""
    reader = pytest.importorskip("mcap_ros2.reader")
    from mcap.reader import make_reader

    decoded = [(m.channel.topic, m.ros_msg) for m in reader.read_ros2_messages(str(bag))]
    with bag.open("rb") as file:
        summary = make_reader(file).get_summary()
        undecoded = sum(1 for _ in make_reader(file).iter_messages())
    assert len(decoded) == undecoded == summary.statistics.message_count
    assert all(schema.encoding == "ros2msg" and schema.data for schema in summary.schemas.values())
    shown = next(message.data for topic, message in decoded if topic == "/expanded/robot_description")
    assert shown.startswith("<robot")


def test_players_learn_what_is_latched(bag):
    from mcap.reader import make_reader

    with bag.open("rb") as file:
        summary = make_reader(file).get_summary()
    profile = {c.topic: c.metadata["offered_qos_profiles"] for c in summary.channels.values()}
    assert "transient_local" in profile["/robot_description"]
    assert "volatile" in profile["/joint_states"]


def test_accelerations_are_those_of_the_motion(run, bag):
    a = np.array([state.accelerations for _, state in messages(bag)["/simulator/state"]])
    expected = run.robot.forward_dynamics(run.q, run.v, run.tau)
    # central differences of 1 ms, accelerations of 10 rad/s2 that change within 0.1 s
    np.testing.assert_allclose(a[1:-1], expected[1:-1], rtol=0, atol=0.05)


def test_a_base_that_moves_has_odometry(tmp_path):
    free = flexdyn_ros.simulate(tumbler(), 0.02, v0=np.linspace(0.5, 1.0, 7))
    free.to_bag(tmp_path / "free.mcap")
    _, odom = messages(tmp_path / "free.mcap")["/odom"][-1]
    T = free.frames(free.robot.description.root)[-1]
    V = free.robot.jacobian(free.q[-1], free.robot.description.root) @ free.v[-1]
    p, w = odom.pose.pose.position, odom.twist.twist.angular
    np.testing.assert_allclose([p.x, p.y, p.z], T[:3, 3], rtol=0, atol=1e-15)
    np.testing.assert_allclose([w.x, w.y, w.z], T[:3, :3].T @ V[:3], rtol=0, atol=1e-12)


def test_deflections_are_recorded_at_their_own_rate(tmp_path):
    robot = flexdyn_ros.load("canadarm2")
    v = np.linspace(-0.02, 0.02, robot.nv)
    bent = flexdyn_ros.simulate(robot, 0.1, v0=v, dt=0.005)
    bent.to_bag(tmp_path / "bent.mcap", deflection_rate_hz=20.0)
    found = messages(tmp_path / "bent.mcap")["/deflections"]
    assert [stamp for stamp, _ in found] == [0, 50_000_000, 100_000_000]
    for stamp, message in found:
        expected = robot.deflections(bent.q[round(stamp / 5e6)])
        for link in message.links:
            assert link.frame_id == f"{link.link}/beam"
            assert link.length == pytest.approx(7.11, abs=1e-12)
            d = np.array([(u.x, u.y, u.z) for u in link.displacements])
            assert np.array_equal(d, expected[link.link].displacement)
            m = np.array([(u.x, u.y, u.z) for u in link.moments])
            assert np.array_equal(m, expected[link.link].moment)
            assert np.array_equal(link.axial_forces, expected[link.link].axial_force)


@pytest.mark.parametrize(
    "file", sorted((ROOT / "flexdyn_interfaces" / "msg").glob("*.msg")), ids=lambda x: x.stem
)
def test_definitions_are_those_of_the_interface_package(file):
    text, _ = definition(f"flexdyn_interfaces/msg/{file.stem}")
    own = [re.sub(r"#.*", "", line).split() for line in file.read_text().splitlines()]
    fields = text.partition("\n===")[0].replace("flexdyn_interfaces/", "")
    found = [line.split() for line in fields.splitlines()]
    assert [x for x in found if x] == [x for x in own if x]


def test_hashes_of_types_are_those_of_ros():
    """The hash in the wheels of ROS 2 kilted for sensor_msgs/msg/JointState."""
    text, fingerprint = definition(JOINT_STATES)
    assert "MSG: std_msgs/Header" in text
    assert fingerprint == "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"


def test_wrong_files_are_refused(tmp_path, run, bag):
    (tmp_path / "text.mcap").write_text("no recording at all")
    with pytest.raises(StateError, match="no MCAP file"):
        Trajectory.load(tmp_path / "text.mcap")
    with Bag(tmp_path / "empty.mcap"):
        pass
    with pytest.raises(StateError, match="holds no states"):
        Trajectory.load(tmp_path / "empty.mcap")
    with pytest.raises(DimensionError, match="tumbler"):
        Trajectory.load(bag, tumbler())
    early = flexdyn_ros.simulate(double_pendulum(), 0.01, t0=-1.0)
    with pytest.raises(StateError, match="before 0 s"):
        early.to_bag(tmp_path / "early.mcap")


def test_a_split_recording_is_one_of_rosbag2(run, tmp_path):
    """By time: rosbags and we read its files as one, each begins where the one before ended."""
    run.to_bag(tmp_path / "run.mcap")
    run.to_bag(tmp_path / "split.mcap", split_duration=0.05)
    folder = tmp_path / "split"
    listed = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert listed["relative_file_paths"] == [f"split_{i}.mcap" for i in range(5)]
    assert [part["starting_time"]["nanoseconds_since_epoch"] for part in listed["files"]] == [
        0, 50_000_000, 100_000_000, 150_000_000, 200_000_000
    ]  # fmt: skip
    assert listed["duration"] == {"nanoseconds": 200_000_000}
    found, expected = messages(folder), messages(tmp_path / "run.mcap")
    counts = {x["topic_metadata"]["name"]: x["message_count"] for x in listed["topics_with_message_count"]}
    assert counts == {topic: len(expected[topic]) for topic in expected}
    for topic in expected:
        assert [stamp for stamp, _ in found[topic]] == [stamp for stamp, _ in expected[topic]]
    back = Trajectory.load(folder, run.robot)
    for name in EXACT:
        assert np.array_equal(getattr(back, name), getattr(run, name)), name
    assert (back.status, back.message) == (run.status, run.message)
    assert recorded_robot(folder).q_names == run.q_names


def test_files_of_a_split_recording_stay_near_their_size(tmp_path):
    with Bag(tmp_path / "run", chunk_size=1 << 10, split_size=1 << 14) as bag:
        channel = bag.channel("/noise", JOINT_STATES)
        for i in range(500):
            bag.write(channel, np.random.default_rng(i).bytes(500), i)
    sizes = [file.stat().st_size for file in (tmp_path / "run").glob("run_*.mcap")]
    assert len(sizes) > 10
    # a chunk more, definitions, and the index
    assert max(sizes) < 1.6 * (1 << 14)
    assert [record.log_time for topic, record in records(tmp_path / "run") if topic] == list(range(500))


def test_a_folder_that_is_there_is_not_written_into(run, tmp_path):
    run.to_bag(tmp_path / "run", split_duration=1.0)
    with pytest.raises(FileExistsError):
        run.to_bag(tmp_path / "run.mcap", split_duration=1.0)


def test_memory_does_not_grow_with_a_split_recording(tmp_path):
    data = bytes(500)
    with Bag(tmp_path / "long", chunk_size=1 << 12, split_duration=1.0) as bag:
        channels = [bag.channel(f"/topic_{i}", JOINT_STATES) for i in range(8)]

        def grown(start, stop):
            """Bytes that these messages, a thousand in a file, leave in memory."""
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            for i in range(start, stop):
                bag.write(channels[i % 8], data, i * 10**6)
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - before

        tracemalloc.start()
        try:
            grown(0, 1001)
            few, many = grown(1001, 2001), grown(2001, 5001)
        finally:
            tracemalloc.stop()
    # a line of metadata.yaml for each of 2 files more; that of 260 chunks would take 120 kB
    assert many - few < 10_000
    assert sum(topic != "" for topic, _ in records(tmp_path / "long")) == 5001


CRASH = """
import sys, time
import numpy as np
from flexdyn_ros.simulation.recordings.bag import Bag
from flexdyn_ros.simulation.recordings.cdr import STATE
from flexdyn_ros.simulation.recordings.topics import state_layout
names = ("a", "b")
layout = state_layout("crashing", names, names, names)
bag = Bag(sys.argv[1], chunk_size=1 << 12, flush_interval=0.05, split_duration=float(sys.argv[2]))
channel = bag.channel("/simulator/state", STATE)
for i in range(1_000_000):
    stamp = np.array([i * 10**6])
    x = {"q": np.full((1, 2), i), "v": np.ones((1, 2)), "a": np.zeros((1, 2)), "tau": np.zeros((1, 2))}
    bag.write(channel, layout.messages(stamp, x)[0].tobytes(), int(stamp[0]))
    print(i, flush=True)
    time.sleep(1e-3)
"""


@pytest.mark.parametrize(("name", "split"), [("crash.mcap", 0.0), ("crash", 0.15)])
def test_a_crash_leaves_a_readable_recording(name, split, tmp_path):
    path = tmp_path / name
    with subprocess.Popen(
        [sys.executable, "-c", CRASH, str(path), str(split)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        deadline = time.monotonic() + 60.0
        written = 0
        while written < 400:
            assert time.monotonic() < deadline
            written = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    back = Trajectory.load(path)
    assert back.status == -1
    # all but what the last chunk of 4 kB, or of 50 ms, may have held
    assert len(back) > written - 150
    assert np.array_equal(back.q[:, 0], np.arange(len(back)))
    assert np.array_equal(back.t, np.arange(len(back)) / 1e3)


def test_states_of_other_recorders_are_read(tmp_path):
    """Any topic that ends in /state, written by another library, without energies and notes."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    from flexdyn_ros.simulation.recordings.cdr import types

    store = types()
    T = store.types
    with Writer(tmp_path / "other", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/lab/sim/state", STATE, typestore=store)
        for i in range(5):
            header = T["std_msgs/msg/Header"](T["builtin_interfaces/msg/Time"](i, 500), "world")
            x = np.array([0.1 * i])
            state = T[STATE](header, "other", ["a"], x, ["a"], 2 * x, 3 * x, ["a"], 4 * x)
            writer.write(connection, i, store.serialize_cdr(state, STATE))
    back = Trajectory.load(next((tmp_path / "other").glob("*.mcap")))
    assert back.robot_name == "other"
    np.testing.assert_array_equal(back["a", "effort"], 0.4 * np.arange(5))
    np.testing.assert_array_equal(back.t, np.arange(5) + 5e-7)
    assert back.energy is None


def test_a_minute_at_a_kilohertz_loses_no_sample(tmp_path):
    robot = double_pendulum()
    t = np.arange(60_001) * 1e-3
    slow = flexdyn_ros.simulate(robot, 60.0, [0.3, 0.1])
    assert len(slow) == t.size
    began = time.process_time()
    slow.to_bag(tmp_path / "minute.mcap")
    seconds = time.process_time() - began
    stamps = {topic: [] for topic in ("/simulator/state", "/joint_states", "/simulator/energy")}
    for topic, record in records(tmp_path / "minute.mcap"):
        if topic in stamps:
            stamps[topic].append(record.log_time)
    expected = (np.arange(60_001) * 10**6).tolist()
    assert all(found == expected for found in stamps.values())
    assert np.array_equal(Trajectory.load(tmp_path / "minute.mcap").q, slow.q)
    # in real time it would have had a minute
    assert seconds < 30.0
