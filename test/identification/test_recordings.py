"""Recordings of others: messages by their types, one topic a column, folders and SQLite."""

import sqlite3
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros import Trajectory
from flexdyn_ros.errors import FlexdynWarning, StateError, UnknownNameError
from flexdyn_ros.identification import Measurement

pytest.importorskip("mcap")
pytest.importorskip("rosbags")
zstandard = pytest.importorskip("zstandard")

from flexdyn_ros.simulation import Bag, recorded_robot, records  # noqa: E402
from flexdyn_ros.simulation.recordings.cdr import DEFLECTIONS, JOINT_STATES, STATE, Layout, types  # noqa: E402
from flexdyn_ros.simulation.recordings.mcap_file import LARGEST_CHUNK  # noqa: E402
from flexdyn_ros.simulation.recordings.topics import state_layout  # noqa: E402

N = 50


def joint_states(names, scale=1.0, start=0.0, n=N):
    """Stamps [ns] and messages of joints that all move alike."""
    t = start + 0.01 * np.arange(n)
    layout = Layout().header("").texts(names)
    for part in ("position", "velocity", "effort"):
        layout.doubles(part, len(names))
    values = np.repeat(scale * np.sin(t)[:, None], len(names), axis=1)
    stamps = np.rint(1e9 * t).astype(np.int64)
    rows = layout.messages(stamps, {"position": values, "velocity": 2 * values, "effort": 3 * values})
    return stamps, [row.tobytes() for row in rows]


def write(path, *topics):
    """A recording of (topic, type, stamps, messages), each with a message in turn."""
    with Bag(path) as bag:
        rows = [
            (place, int(stamp), bag.channel(topic, kind), message)
            for topic, kind, stamps, messages in topics
            for place, (stamp, message) in enumerate(zip(stamps, messages, strict=True))
        ]
        for _, stamp, channel, message in sorted(rows, key=lambda row: row[0]):
            bag.write(channel, message, stamp)
    return path


def write_sqlite(path, *topics, pack=lambda data: data):
    """The same as rosbag2 keeps it in SQLite."""
    with sqlite3.connect(path) as base:
        base.execute(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, "
            "serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)"
        )
        base.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT "
            "NULL, data BLOB NOT NULL)"
        )
        for number, (topic, kind, stamps, messages) in enumerate(topics, 1):
            base.execute("INSERT INTO topics VALUES (?, ?, ?, 'cdr', '')", (number, topic, kind))
            rows = [(number, int(stamp), pack(data)) for stamp, data in zip(stamps, messages, strict=True)]
            base.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", rows)
    base.close()
    return path


def metadata(folder, *names):
    files = "\n".join(f"  - {name}" for name in names)
    (folder / "metadata.yaml").write_text(f"rosbag2_bagfile_information:\n  relative_file_paths:\n{files}\n")
    return folder


@pytest.fixture(scope="module")
def run():
    return flexdyn_ros.simulate(flexdyn_ros.load("two_link"), 0.1)


# ---- by their types ----


@pytest.mark.parametrize("topic", ["/joint_states", "/measured", "/arm/state", "/imu"])
def test_joint_states_are_read_whatever_their_topic_is_called(tmp_path, topic):
    found = Measurement.read(write(tmp_path / "a.mcap", (topic, JOINT_STATES, *joint_states(["swing"]))))
    np.testing.assert_array_equal(found["swing.velocity"], 2 * np.sin(0.01 * np.arange(N)))
    assert found.columns.keys() == {"swing", "swing.velocity", "swing.effort"}


def test_topics_of_other_types_are_left_alone(tmp_path, run):
    """Also where their names end as those of ours do."""
    strange = [b"\0\1\0\0nothing of ours"] * N
    stamps = np.arange(N)
    others = [
        (f"/other/{name}", "std_msgs/msg/String", stamps, strange)
        for name in ("state", "joint_states", "imu", "deflections", "energy")
    ]
    found = Measurement.read(
        write(tmp_path / "a.mcap", *others, ("/joint_states", JOINT_STATES, *joint_states(["swing"])))
    )
    assert len(found) == N
    with pytest.raises(StateError, match=r"holds no states.*/other/state \(std_msgs/msg/String\)"):
        Trajectory.load(tmp_path / "a.mcap")


def test_a_recording_without_anything_that_is_read_names_what_it_has(tmp_path):
    path = write(tmp_path / "a.mcap", ("/chatter", "std_msgs/msg/String", [0], [b"\0\1\0\0"]))
    with pytest.raises(
        StateError, match=r"no topic of a type that is read .*/chatter \(std_msgs/msg/String\)"
    ):
        Measurement.read(path)


# ---- one topic a column ----


def two_robots(path):
    return write(
        path,
        ("/cell_1/joint_states", JOINT_STATES, *joint_states(["swing"], 1.0)),
        ("/cell_2/joint_states", JOINT_STATES, *joint_states(["swing"], 0.3, 0.004)),
    )


def test_two_topics_with_the_same_column_are_refused_by_name(tmp_path):
    with pytest.raises(
        StateError, match="'swing' is on /cell_1/joint_states and on /cell_2/joint_states"
    ) as told:
        Measurement.read(two_robots(tmp_path / "a.mcap"))
    assert "--topic" in str(told.value)


@pytest.mark.parametrize(("topic", "scale"), [("/cell_1/joint_states", 1.0), ("/cell_2/joint_states", 0.3)])
def test_one_of_two_topics_can_be_chosen(tmp_path, topic, scale):
    for chosen in (topic, [topic]):
        found = Measurement.read(two_robots(tmp_path / "a.mcap"), topics=chosen)
        assert len(found) == N
        assert found["swing"][-1] / scale == pytest.approx(np.sin(0.49), abs=0.01)


def test_a_topic_that_is_not_there_is_told(tmp_path):
    path = two_robots(tmp_path / "a.mcap")
    with pytest.raises(UnknownNameError, match="did you mean /cell_1/joint_states"):
        Measurement.read(path, topics="/cell_1/joint_state")
    with pytest.raises(UnknownNameError, match="unknown topic"):
        Trajectory.load(path, topics="/cell")


def test_a_chosen_topic_of_another_type_is_told(tmp_path):
    path = write(tmp_path / "a.mcap", ("/chatter", "std_msgs/msg/String", [0], [b"\0\1\0\0"]))
    with pytest.raises(StateError, match="/chatter holds std_msgs/msg/String, expected"):
        Measurement.read(path, topics="/chatter")


def test_topics_with_different_columns_are_read_together(tmp_path):
    """As those of an arm and its gripper; what has fewer samples by lines between them."""
    path = write(
        tmp_path / "a.mcap",
        ("/arm/joint_states", JOINT_STATES, *joint_states(["swing"])),
        ("/gripper/joint_states", JOINT_STATES, *joint_states(["finger"], n=N // 2)),
    )
    found = Measurement.read(path)
    assert len(found) == N
    assert np.isfinite(found["finger"]).sum() == N // 2


def test_two_publishers_on_one_topic_keep_their_own_samples(tmp_path):
    path = write(
        tmp_path / "a.mcap",
        ("/joint_states", JOINT_STATES, *joint_states(["swing"])),
        ("/joint_states", JOINT_STATES, *joint_states(["finger"], start=0.005)),
    )
    path = write(
        tmp_path / "b.mcap",
        ("/joint_states", JOINT_STATES, *joint_states(["swing"], start=0.008)),
        ("/joint_states", JOINT_STATES, *joint_states(["finger"])),
    )
    # the older of two stamps comes last
    assert len(Measurement.read(path)) == N
    path = tmp_path / "a.mcap"
    found = Measurement.read(path)
    assert len(found) == N
    np.testing.assert_allclose(found["finger"][1:], found["swing"][1:], atol=1e-5)


def test_a_joint_that_is_twice_in_a_message_is_refused(tmp_path):
    path = write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, *joint_states(["swing", "swing"])))
    with pytest.raises(StateError, match="'swing' twice"):
        Measurement.read(path)


def test_a_joint_called_time_keeps_its_column(tmp_path):
    names = ["time", "swing"]
    found = Measurement.read(
        write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, *joint_states(names)))
    )
    np.testing.assert_allclose(found.t, 0.01 * np.arange(N), atol=1e-9)
    np.testing.assert_array_equal(found["time"], found["swing"])


def test_a_joint_called_time_keeps_its_column_in_files_of_simulations(tmp_path):
    text = flexdyn_ros.load("two_link").description.text.replace('"shoulder"', '"time"')
    run = flexdyn_ros.simulate(flexdyn_ros.load(text), 0.1, [0.5, 0.2])
    run.to_bag(tmp_path / "a.mcap")
    run.save(tmp_path / "a.npz")
    run.to_csv(tmp_path / "a.csv")
    header = (tmp_path / "a.csv").read_text().splitlines()[0].split(",")
    assert header[:2] == ["time", "time"]
    for name in ("a.mcap", "a.npz", "a.csv"):
        found = Measurement.read(tmp_path / name)
        np.testing.assert_allclose(found.t, run.t, atol=1e-9)
        np.testing.assert_array_equal(found["time"], run.q[:, 0])


def test_messages_without_stamps_get_the_times_of_recording(tmp_path):
    stamps, messages = joint_states(["swing"])
    unstamped = [data[:4] + bytes(8) + data[12:] for data in messages]
    found = Measurement.read(write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, stamps, unstamped)))
    np.testing.assert_allclose(found.t, 0.01 * np.arange(N), atol=1e-9)


def test_messages_of_a_machine_with_the_other_order_of_bytes_are_read(tmp_path):
    stamps, messages = joint_states(["swing", "twist"])
    kind = types()
    turned = [
        bytes(kind.serialize_cdr(kind.deserialize_cdr(data, JOINT_STATES), JOINT_STATES, little_endian=False))
        for data in messages
    ]
    assert turned[0] != messages[0]
    read = [
        Measurement.read(write(tmp_path / f"{i}.mcap", ("/joint_states", JOINT_STATES, stamps, those)))
        for i, those in enumerate((messages, turned, [*messages[:20], *turned[20:]]))
    ]
    for found in read[1:]:
        np.testing.assert_array_equal(found.t, read[0].t)
        np.testing.assert_array_equal(found["twist.velocity"], read[0]["twist.velocity"])


def test_a_recording_of_many_topics_names_some(tmp_path):
    path = write(
        tmp_path / "a.mcap", *((f"/t{i}", "std_msgs/msg/String", [0], [bytes(16)]) for i in range(10))
    )
    with pytest.raises(StateError, match=r"/t7 \(std_msgs/msg/String\) and 2 more"):
        Trajectory.load(path)


def test_times_of_recording_may_be_anything(tmp_path):
    """The largest that the file can hold, of messages without stamps."""
    _, messages = joint_states(["swing"])
    unstamped = [data[:4] + bytes(8) + data[12:] for data in messages]
    path = write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, [2**64 - 1] * N, unstamped))
    assert len(Measurement.read(path)) == N


# ---- states ----


def two_states(path, run):
    stamps = np.rint(run.t * 1e9).astype(np.int64)
    layout = state_layout(run.robot_name, run.q_names, run.v_names, run.effort_names)
    topics = []
    for name, scale in (("/cell_1/simulator/state", 1.0), ("/cell_2/simulator/state", 2.0)):
        numbers = {"q": scale * run.q, "v": scale * run.v, "a": run.v, "tau": run.tau}
        topics.append((name, STATE, stamps, [row.tobytes() for row in layout.messages(stamps, numbers)]))
    return write(path, *topics)


def test_states_on_two_topics_are_refused_by_name_unless_one_is_chosen(tmp_path, run):
    path = two_states(tmp_path / "a.mcap", run)
    for read in (Trajectory.load, Measurement.read):
        with pytest.raises(StateError, match="states on /cell_1/simulator/state and /cell_2/simulator/state"):
            read(path)
        read(path, topics="/cell_2/simulator/state")
    chosen = Trajectory.load(path, topics="/cell_2/simulator/state")
    np.testing.assert_array_equal(chosen.q, 2.0 * run.q)


def test_energies_belong_to_the_states_they_were_recorded_among(tmp_path, run):
    """Where not every part has some."""
    run.to_bag(tmp_path / "run.mcap")
    of_run = [record for topic, record in records(tmp_path / "run.mcap") if topic]
    with Bag(tmp_path / "a.mcap") as bag:
        for is_seen in (False, True, False):
            for record in of_run:
                if record.kind == STATE or (record.topic.endswith("/energy") and is_seen):
                    bag.write(bag.channel(record.topic, record.kind), record.data, record.log_time)
    parts = [Trajectory.load(tmp_path / "a.mcap", part=part) for part in range(3)]
    for part, is_seen in zip(parts, (False, True, False), strict=True):
        np.testing.assert_array_equal(part.q, run.q)
        assert (part.energy is not None) == is_seen
    np.testing.assert_array_equal(parts[1].energy, run.energy)


def test_times_that_jump_back_begin_a_part(tmp_path):
    stamps, messages = joint_states(["swing"])
    path = write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, [*stamps, *stamps[:20]],
                                       [*messages, *messages[:20]]))  # fmt: skip
    with pytest.warns(FlexdynWarning, match=r"times jump back, as after a reset: 2 parts"):
        found = Measurement.read(path)
    assert len(found) == 20


def test_deflections_whose_times_jump_back_begin_a_part(tmp_path):
    run = flexdyn_ros.simulate(flexdyn_ros.load("flexible_two_link"), 0.2)
    run.to_bag(tmp_path / "run.mcap")
    of_links = [
        record for topic, record in records(tmp_path / "run.mcap") if topic and record.kind == DEFLECTIONS
    ]
    with Bag(tmp_path / "a.mcap") as bag:
        for record in (*of_links, *of_links[2:]):
            bag.write(bag.channel(record.topic, record.kind), record.data, record.log_time)
    with pytest.warns(FlexdynWarning, match=r"times jump back, as after a reset: 2 parts"):
        found = Measurement.read(tmp_path / "a.mcap")
    assert len(found) == len(of_links) - 2 > 2


# ---- folders and SQLite ----


def test_a_folder_of_several_files_is_read_in_the_order_of_its_metadata(tmp_path):
    for number, start in ((1, 0.0), (2, 0.5), (10, 1.0)):
        topic = "/joint_states", JOINT_STATES, *joint_states(["swing"], start=start)
        write(tmp_path / f"log_{number}.mcap", topic)
    t = 0.01 * np.arange(3 * N)
    # without metadata by the numbers in their names
    np.testing.assert_allclose(Measurement.read(tmp_path).t, t, atol=1e-9)
    metadata(tmp_path, "log_1.mcap", "log_2.mcap", "log_10.mcap")
    np.testing.assert_allclose(Measurement.read(tmp_path)["swing"], np.sin(t), atol=1e-9)
    # names as older versions wrote them
    metadata(tmp_path, "bag/log_1.mcap", "bag/log_2.mcap")
    assert len(Measurement.read(tmp_path)) == 2 * N


@pytest.mark.parametrize("name", ["missing.mcap", "../outside.mcap", "/etc/passwd"])
def test_metadata_that_name_no_file_of_the_folder_are_refused(tmp_path, name):
    folder = tmp_path / "bag"
    folder.mkdir()
    write(tmp_path / "outside.mcap", ("/joint_states", JOINT_STATES, *joint_states(["swing"])))
    with pytest.raises(StateError, match=r"metadata\.yaml names .* which is no"):
        Measurement.read(metadata(folder, name))


@pytest.mark.parametrize("text", ["", "nothing", "rosbag2_bagfile_information: 5", "{", "a: &a [*a]"])
def test_metadata_that_name_nothing_are_refused(tmp_path, text):
    (tmp_path / "metadata.yaml").write_text(text)
    with pytest.raises(StateError, match=r"metadata\.yaml does not name"):
        Trajectory.load(tmp_path)


def test_a_folder_without_a_recording_says_what_was_expected(tmp_path):
    with pytest.raises(StateError, match=r"folder without a recording, expected metadata\.yaml"):
        Measurement.read(tmp_path)


PACKS = {"plain": lambda data: data, "zstd": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("pack", PACKS)
def test_sqlite_recordings_are_read(tmp_path, pack):
    topic = "/joint_states", JOINT_STATES, *joint_states(["swing", "twist"])
    path = write_sqlite(tmp_path / "a.db3", topic, pack=PACKS[pack])
    expected = Measurement.read(write(tmp_path / "a.mcap", topic))
    for place in (path, metadata(tmp_path, "a.db3")):
        found = Measurement.read(place)
        np.testing.assert_array_equal(found.t, expected.t)
        assert all(np.array_equal(found[name], expected[name]) for name in expected.columns)


def test_messages_of_mcap_that_were_compressed_one_by_one_are_read(tmp_path):
    stamps, messages = joint_states(["swing"])
    packed = [PACKS["zstd"](data) for data in messages]
    found = Measurement.read(write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, stamps, packed)))
    np.testing.assert_array_equal(found["swing"], np.sin(0.01 * np.arange(N)))


def test_trajectories_are_read_from_sqlite_and_folders(tmp_path, run):
    run.to_bag(tmp_path / "run.mcap")
    topics = {}
    for topic, record in records(tmp_path / "run.mcap"):
        if topic:
            topics.setdefault((topic, record.kind), []).append((record.log_time, record.data))
    rows = [(topic, kind, *zip(*messages, strict=True)) for (topic, kind), messages in topics.items()]
    write_sqlite(tmp_path / "run.db3", *rows)
    for path in (tmp_path / "run.db3", metadata(tmp_path, "run.db3"), metadata(tmp_path, "run.mcap")):
        back = Trajectory.load(path, recorded_robot(path))
        np.testing.assert_array_equal(back.q, run.q)
        np.testing.assert_array_equal(back.energy, run.energy)


@pytest.mark.parametrize("name", ["a.mcap", "a.db3"])
def test_files_that_were_compressed_as_a_whole_are_read(tmp_path, name):
    topic = "/joint_states", JOINT_STATES, *joint_states(["swing"])
    path = (write if name == "a.mcap" else write_sqlite)(tmp_path / name, topic)
    packed = tmp_path / f"{name}.zstd"
    packed.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    path.unlink()
    assert len(Measurement.read(metadata(tmp_path, packed.name))) == N
    packed.write_bytes(packed.read_bytes()[:40])
    with pytest.raises(StateError):
        Measurement.read(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0" + bytes(100), b"nothing", b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_what_is_no_sqlite_recording_is_refused(tmp_path, content):
    (tmp_path / "a.db3").write_bytes(content)
    for read in (Trajectory.load, Measurement.read, recorded_robot):
        with pytest.raises(StateError, match="is no sqlite recording of rosbag2"):
            read(tmp_path / "a.db3")


def test_a_view_in_place_of_a_table_is_refused(tmp_path):
    """It could count for ever."""
    with sqlite3.connect(tmp_path / "a.db3") as base:
        base.execute("CREATE TABLE topics(id, name, type, serialization_format)")
        base.execute(
            "CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT 1 AS id, x AS topic_id, x AS timestamp, x AS data FROM n"
        )
    base.close()
    with pytest.raises(StateError, match="no table 'messages'"):
        Measurement.read(tmp_path / "a.db3")


def test_a_column_that_sqlite_computes_is_within_the_limits(tmp_path):
    with sqlite3.connect(tmp_path / "a.db3") as base:
        base.execute("CREATE TABLE topics(id, name, type, serialization_format)")
        base.execute("INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr')")
        base.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, "
            "data AS (zeroblob(900000000)))"
        )
        base.execute("INSERT INTO messages(topic_id, timestamp) VALUES (1, 1)")
    base.close()
    with pytest.raises(StateError, match="sqlite recording"):
        Measurement.read(tmp_path / "a.db3")


def test_columns_that_sqlite_computes_for_long_are_refused(tmp_path):
    """Before the first row: they are sorted by a column without an order."""
    long = "id"
    for _ in range(3):
        long = f"max({', '.join([long] * 40)})"
    with sqlite3.connect(tmp_path / "a.db3") as base:
        base.execute("CREATE TABLE topics(id, name, type, serialization_format)")
        base.execute("CREATE TABLE messages(id, topic_id, timestamp)")
        base.executemany(
            "INSERT INTO messages(topic_id, timestamp) VALUES (1, ?)", [(i,) for i in range(5000)]
        )
        base.execute(f"ALTER TABLE messages ADD COLUMN data AS (CASE WHEN {long} < 0 THEN 0 ELSE x'00' END)")
    base.close()
    begin = time.process_time()
    with pytest.raises(StateError, match="unpacks to more than"):
        Measurement.read(tmp_path / "a.db3")
    assert time.process_time() - begin < 2.0


# ---- what small files may cost ----

MAGIC = b"\x89MCAP0\r\n"


def record(opcode, body):
    return bytes([opcode]) + struct.pack("<Q", len(body)) + body


def chunk(raw):
    data = zstandard.ZstdCompressor().compress(raw)
    head = struct.pack("<QQQI", 0, 0, len(raw), 0) + struct.pack("<I", 4) + b"zstd"
    return record(6, head + struct.pack("<Q", len(data)) + data)


def text(value):
    return struct.pack("<I", len(value)) + value


@pytest.mark.parametrize(
    "raw",
    [
        record(0x80, bytes(LARGEST_CHUNK - 20)),
        record(3, struct.pack("<H", 1) + text(b"x") + text(b"ros2msg") + text(bytes(LARGEST_CHUNK - 100))),
        record(0x80, b"") * 500_000,
        (record(3, struct.pack("<H", 1) + text(b"x") + text(b"ros2msg") + text(b""))) * 200_000,
    ],
    ids=["private", "schema", "many private", "many schemas"],
)
def test_records_that_are_not_kept_are_counted(tmp_path, monkeypatch, raw):
    path = tmp_path / "a.mcap"
    path.write_bytes(MAGIC + record(1, text(b"") + text(b"")) + chunk(raw) * 60)
    unpacked = []
    from flexdyn_ros.simulation.recordings import mcap_file

    inner = mcap_file._unpacked

    def counted(data, compression, size):
        unpacked.append(size)
        return inner(data, compression, size)

    monkeypatch.setattr(mcap_file, "_unpacked", counted)
    with pytest.raises(StateError, match="unpacks to more than"):
        list(records(path))
    assert sum(unpacked) < 1 << 29


def test_joint_states_of_many_joints_take_as_much_memory_as_they_are_long(tmp_path):
    import tracemalloc

    stamps, messages = joint_states([f"{i:x}" for i in range(1000)], n=400)
    path = write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, stamps, messages))
    Measurement.read(write(tmp_path / "b.mcap", ("/joint_states", JOINT_STATES, stamps[:2], messages[:2])))
    tracemalloc.start()
    found = Measurement.read(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.columns) == 3000
    assert most < 8 * sum(map(len, messages))


def test_names_that_change_with_each_message_are_counted(tmp_path):
    """No column of each name is made as long as the recording."""
    stamps = np.arange(2000) * 10**7
    messages = [joint_states([f"joint_{i}"], n=1)[1][0] for i in range(2000)]
    found = Measurement.read(write(tmp_path / "a.mcap", ("/joint_states", JOINT_STATES, stamps, messages)))
    assert len(found) == 1


# ---- on the command line ----


def test_the_command_chooses_topics(tmp_path):
    two_robots(tmp_path / "a.mcap")
    (tmp_path / "one.urdf").write_text(
        '<robot name="one"><link name="base"/><link name="bar"><inertial><origin xyz="0.25 0 0"/>'
        '<mass value="3"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.08" iyz="0" izz="0.08"/></inertial>'
        "</link>"
        '<joint name="swing" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>'
        "</joint></robot>"
    )
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", "identify", "one.urdf", "a.mcap"]

    def said(*more):
        return subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    refused = said()
    assert refused.returncode != 0
    assert "/cell_1/joint_states" in refused.stderr.replace("\n", "")
    chosen = said("--topic", "/cell_1/joint_states")
    assert "--topic" not in chosen.stderr
    assert "swing" in chosen.stdout + chosen.stderr
