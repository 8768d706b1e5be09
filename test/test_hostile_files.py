"""Arrays, recordings, YAML and tables from outside: nothing is executed, sizes are checked before reading."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros import Trajectory
from flexdyn_ros.bridges import read_table
from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError, FlexdynError, StateError
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays
from flexdyn_ros.simulation import read_efforts, recorded_robot
from flexdyn_ros.simulation.recordings import bag

PENDULUM = (Path(__file__).parent / "description" / "pendulum.urdf").read_text()
#: of the processor
SECONDS = 2.0


class Command:
    """Unpickled, it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.marker}",)


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def header(description: str) -> bytes:
    """Bytes of a `.npy` whose header says what it likes."""
    text = description.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def promising(shape: str, kind: str = "'<f8'") -> bytes:
    return header(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}") + bytes(80)


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small archive of an array of 520 megabytes."""
    path = tmp_path_factory.mktemp("bomb") / "a.npz"
    size = 520 << 20
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("nodes.npy", "w", force_zip64=True) as member,
    ):
        member.write(header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({size // 8},), }}"))
        block = bytes(1 << 20)
        for _ in range(size >> 20):
            member.write(block)
    return path


# ---- arrays ----


def test_arrays_come_back_as_numpy_writes_them(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(12.0).reshape(3, 4),
        "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "c": np.array(["boom", "é"]),
        "d": np.array(5),
        "e": np.zeros((0, 3)),
        "f": np.array([True, False]),
        "g": np.array([], dtype=str),
        "h": np.array(""),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        found = read_arrays(tmp_path / "a.npz", most_bytes=10_000)
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert np.array_equal(found[name], array)
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)


HOSTILE_ARRAYS: dict[str, Callable[[Path], bytes | dict[str, bytes]]] = {
    "an object": lambda marker: npy(np.array([Command(marker)], dtype=object)),
    "a record": lambda marker: npy(np.zeros(2, dtype=[("x", "f8")])),
    "more than there is": lambda marker: promising("(1000000000000,)"),
    "an overflow": lambda marker: promising("(4611686018427387904, 4611686018427387904)"),
    "less than nothing": lambda marker: promising("(-5,)"),
    "less than there is": lambda marker: promising("(2,)"),
    "a long text": lambda marker: promising("(1,)", "'<U2000000000'"),
    "an expression": lambda marker: header(f"__import__('os').system('touch {marker.name}')"),
    "texts of no letters": lambda marker: promising("(2000000000,)", "'<U0'"),
    "bytes of no letters": lambda marker: promising("(2000, 1000000)", "'|S0'"),
    "sub-arrays": lambda marker: promising("(1,)", "('<f8', (1000000000,))"),
    "sub-arrays of nothing": lambda marker: promising("(2000000000,)", "('<f8', (0,))"),
    "records of nothing": lambda marker: promising("(2000000000,)", "[]"),
    "voids of nothing": lambda marker: promising("(2000000000,)", "'|V0'"),
    "rows of nothing": lambda marker: promising("(2000000000, 0)"),
    "columns of nothing": lambda marker: promising("(0, 2000000000)"),
    "hundreds of dimensions": lambda marker: promising(str((1,) * 33)),
    "an object by its header": lambda marker: promising("(1,)", "'|O'"),
    "no array": lambda marker: b"nothing",
    "nothing": lambda marker: b"",
    "deep brackets": lambda marker: b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000,
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_what_is_no_plain_array_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "marker"
    file = archive(tmp_path / "a.npz", nodes=HOSTILE_ARRAYS[name](marker))
    begin = time.process_time()
    with pytest.raises(ArrayFileError, match=r"nodes\.npy"):
        read_arrays(file, most_bytes=1 << 29)
    (tmp_path / "robot.urdf").write_text(with_modes("a.npz"))
    with pytest.raises(DescriptionError, match="imported modes cannot be read"):
        flexdyn_ros.load(tmp_path / "robot.urdf")
    with pytest.raises(StateError, match="no saved trajectory"):
        Trajectory.load(file)
    assert time.process_time() - begin < SECONDS
    assert not marker.exists()


def with_modes(file: str) -> str:
    begin = PENDULUM.index("<beam")
    end = PENDULUM.index("</flexdyn>", begin)
    return PENDULUM[:begin] + f'<modes file="{file}"/>' + PENDULUM[end:]


def test_an_archive_that_unpacks_to_much_more_is_refused_unread(bomb: Path, tmp_path: Path) -> None:
    assert bomb.stat().st_size < 5 << 20
    begin = time.process_time()
    with pytest.raises(ArrayFileError, match="unpacked, expected at most"):
        read_arrays(bomb, most_bytes=1 << 29)
    (tmp_path / "robot.urdf").write_text(with_modes(str(bomb)))
    with pytest.raises(DescriptionError, match="unpacked, expected at most"):
        flexdyn_ros.load(tmp_path / "robot.urdf")
    with pytest.raises(StateError, match="unpacked, expected at most"):
        Trajectory.load(bomb, most_bytes=1 << 28)
    assert time.process_time() - begin < SECONDS


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    """Both directories of the archive say that it is small."""
    file = archive(tmp_path / "a.npz", nodes=npy(np.zeros(100_000)))
    data = bytearray(file.read_bytes())
    true = struct.pack("<I", len(npy(np.zeros(100_000))))
    assert data.count(true) == 2
    file.write_bytes(bytes(data).replace(true, struct.pack("<I", 1000)))
    with pytest.raises(ArrayFileError):
        read_arrays(file, most_bytes=10_000)


@pytest.mark.parametrize("name", ["a pickle", "a folder of members", "the same member twice", "another file"])
def test_archives_of_something_else_are_refused(name: str, tmp_path: Path) -> None:
    file, marker = tmp_path / "a.npz", tmp_path / "marker"
    if name == "a pickle":
        file.write_bytes(pickle.dumps(Command(marker)))
    elif name == "a folder of members":
        archive(file, **{f"a{i}": npy(np.zeros(1)) for i in range(1000)})
    elif name == "the same member twice":
        with zipfile.ZipFile(file, "w") as both:
            both.writestr("nodes.npy", npy(np.zeros(1)))
            with pytest.warns(UserWarning, match="Duplicate"):
                both.writestr("nodes.npy", npy(np.ones(1)))
    else:
        with zipfile.ZipFile(file, "w") as both:
            both.writestr("../../nodes.txt", "text")
    with pytest.raises(ArrayFileError):
        read_arrays(file, most_bytes=10_000)
    with pytest.raises(StateError):
        Trajectory.load(file)
    assert not marker.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"q": np.zeros((5, 1))},
        {"t": np.array(3.0)},
        {"q_names": np.array(["a", "b", "c"])},
        {"numbers": np.zeros(2)},
        {"event_time": np.zeros(3)},
        {"t": np.array(["x"] * 11)},
        {"energy": np.zeros((7, 2))},
        {"v": None},
    ],
)
def test_a_trajectory_whose_arrays_do_not_fit_is_refused(change: dict, tmp_path: Path) -> None:
    run = short_run()
    run.save(tmp_path / "run.npz")
    content = dict(np.load(tmp_path / "run.npz")) | change
    np.savez(tmp_path / "bad.npz", **{key: value for key, value in content.items() if value is not None})
    with pytest.raises(StateError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "bad.npz")


def short_run(robot: object = None) -> Trajectory:
    """Eleven samples of something with two coordinates."""
    n = 11
    return Trajectory(
        t=np.linspace(0.0, 1.0, n), q=np.zeros((n, 2)), v=np.zeros((n, 2)), tau=np.zeros((n, 2)), energy=None,
        work=np.zeros(n), dissipated=np.zeros(n), saturated=np.zeros(n, dtype=bool), status=0, message="",
        method="rk4", dt=0.1, wall_time=0.0, events=(), robot_name="r", q_names=("a", "b"), v_names=("a",
        "b"), effort_names=("a", "b"), q_units=("rad", "rad"), v_units=("rad/s", "rad/s"),
        effort_units=("N m", "N m"), robot=robot,
    )  # fmt: skip


# ---- recordings ----


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    short_run().to_bag(tmp_path / "run.mcap")
    return tmp_path / "run.mcap"


def chunk(compression: str, size: int, data: bytes) -> bytes:
    """A chunk record that says it unpacks to `size` bytes."""
    name = compression.encode()
    body = struct.pack("<QQQI", 0, 0, size, 0) + struct.pack("<I", len(name)) + name
    body += struct.pack("<Q", len(data)) + data
    return b"\x06" + struct.pack("<Q", len(body)) + body


MAGIC = b"\x89MCAP0\r\n"
HEADER = b"\x01" + struct.pack("<QII", 8, 0, 0)


def zeros(compression: str, size: int) -> bytes:
    if compression == "zstd":
        zstandard = pytest.importorskip("zstandard")
        return zstandard.ZstdCompressor(level=3).compress(bytes(size))
    return pytest.importorskip("lz4.frame").compress(bytes(size))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("size_said", ["the size it has", "a small size"])
def test_a_chunk_that_unpacks_to_more_than_is_accepted_is_refused(
    compression: str, size_said: str, tmp_path: Path
) -> None:
    pytest.importorskip("mcap")
    size = 3 * bag.LARGEST_CHUNK
    said = size if size_said == "the size it has" else 1000
    file = tmp_path / "bomb.mcap"
    file.write_bytes(MAGIC + HEADER + chunk(compression, said, zeros(compression, size)))
    begin = time.process_time()
    with pytest.raises(StateError, match="unpack"):
        list(bag.records(file))
    assert time.process_time() - begin < SECONDS


def test_a_recording_that_holds_more_than_is_accepted_is_refused(recording: Path) -> None:
    assert len(list(bag.records(recording))) > 10
    with pytest.raises(StateError, match="holds more than 2000 bytes"):
        list(bag.records(recording, most_bytes=2000))
    with pytest.raises(StateError, match="holds more than 2000 bytes"):
        Trajectory.load(recording, most_bytes=2000)


@pytest.mark.parametrize(
    "data",
    [
        chunk("zstd", 10, b"nonsense"),
        chunk("lz4", 10, b"nonsense"),
        chunk("gzip", 10, b"nonsense"),
        chunk("", 31, b"\x05" + struct.pack("<QHIQQ", 22, 77, 0, 0, 0)),
        b"\x0c" + struct.pack("<QI", 12, 4) + b"\xff\xff\xff\xff" + bytes(4),
        b"\x04" + struct.pack("<QHH", 20, 1, 1) + struct.pack("<I", 3) + b"\xff\xff\xff" + bytes(9),
    ],
    ids=["no zstd", "no lz4", "another compression", "no channel", "no text in a note", "no text in a topic"],
)
def test_a_damaged_recording_is_refused(data: bytes, tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    file = tmp_path / "bad.mcap"
    file.write_bytes(MAGIC + HEADER + data)
    with pytest.raises(StateError, match="damaged"):
        list(bag.records(file))


@pytest.mark.parametrize("opcode", [0x05, 0x06, 0x0C, 0x7F])
def test_a_record_that_says_it_is_longer_than_the_file_is_the_end(opcode: int, tmp_path: Path) -> None:
    """As where a recording broke off; its size is not believed."""
    pytest.importorskip("mcap")
    file = tmp_path / "cut.mcap"
    for size in (1 << 20, 1 << 40, (1 << 63) - 1, (1 << 64) - 1):
        file.write_bytes(MAGIC + HEADER + bytes([opcode]) + struct.pack("<Q", size) + b"\xff" * 40)
        assert list(bag.records(file)) == []


def test_bytes_of_a_recording_may_be_anything(recording: Path, tmp_path: Path) -> None:
    """Each tenth byte or so is changed: it is read as it is, or refused."""
    data = recording.read_bytes()
    rng = np.random.default_rng(0)
    file = tmp_path / "other.mcap"
    for _ in range(150):
        changed = bytearray(data)
        for at in rng.integers(8, len(data), rng.integers(1, 4)):
            changed[at] = rng.integers(256)
        file.write_bytes(changed[: rng.integers(len(data) // 2, len(data) + 1)])
        try:
            flexdyn_ros.Trajectory.load(file)
        except FlexdynError:
            continue


def test_notes_of_a_recording_may_be_anything(tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    run = short_run()
    for name, content in (
        ("flexdyn_run", {"numbers": "[]"}),
        (
            "flexdyn_run",
            {"numbers": "[0, 1, 2]", "saturated": "[99]", "events": "[]", "message": "", "method": ""},
        ),
        (
            "flexdyn_run",
            {"numbers": "[0, 1, 2]", "saturated": "[]", "events": "[{}]", "message": "", "method": ""},
        ),
        ("flexdyn_run", {"numbers": "[" * 100_000}),
        ("flexdyn_robot", {"q_units": "5"}),
    ):
        file = tmp_path / "run.mcap"
        run.to_bag(file)
        append_note(file, name, content)
        with pytest.raises(StateError, match="a note that cannot be read"):
            flexdyn_ros.Trajectory.load(file)


def append_note(file: Path, name: str, content: dict[str, str]) -> None:
    """A later note wins; the file then ends without its index."""
    with bag.Bag(file.with_suffix(".more")) as other:
        other.note(name, content)
    end = file.read_bytes().rindex(b"\x0f" + struct.pack("<Q", 4))
    more = file.with_suffix(".more").read_bytes()[len(MAGIC) :]
    file.write_bytes(file.read_bytes()[:end] + more)


@pytest.mark.parametrize("attack", ["xacro", "a file", "options"])
def test_the_robot_of_a_recording_is_data(attack: str, tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    secret = tmp_path / "secret.npz"
    secret.write_bytes(b"")
    options: dict[str, object] = {}
    text = PENDULUM
    if attack == "xacro":
        text = text.replace('"boom"', '"${9**9**9}"')
    elif attack == "a file":
        text = with_modes(str(secret))
    else:
        text = with_modes("package://nowhere/x.npz")
        options = {"links.boom.modes": {"file": str(secret)}}
    file = tmp_path / "run.mcap"
    from flexdyn_ros.simulation.recordings.cdr import TEXT, Layout

    with bag.Bag(file) as out:
        channel = out.channel("/robot_description", TEXT, latched=True)
        out.write(channel, Layout().text(text).messages(np.zeros(1, dtype=np.int64), {})[0].tobytes(), 0)
        out.note("flexdyn_robot", {"options": json.dumps(options)})
    with pytest.raises(DescriptionError, match="unknown origin"):
        recorded_robot(file)


def test_the_viewer_opens_no_recording_larger_than_its_limit(bomb: Path) -> None:
    pytest.importorskip("viser")
    from flexdyn_ros.view.panels.run import UPLOAD, RunTab

    assert UPLOAD <= 1 << 28
    played: list[str] = []
    tab = SimpleNamespace(_viewer=SimpleNamespace(robot=None), _play=lambda run: played.append("played"))
    upload = SimpleNamespace(name="../../run.npz", content=bomb.read_bytes())
    with pytest.raises(FlexdynError, match="unpacked, expected at most"):
        RunTab.open(tab, upload)
    assert not played


# ---- YAML and tables ----


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: " + "x" * 1_000_001, "too large"),
        ("[" * 100_000, "too deep"),
        ("- " * 100_000, "too deep"),
        ("? " * 100_000, "too deep"),
        ("a: [" + "1," * 450_000 + "]", "too large"),
        ("a: &a [*a]", "too large or too deep"),
        ("flexdyn: !!python/object/apply:os.system ['touch MARKER']", "flexdyn"),
        ("flexdyn: {gravity: !!python/name:os.system }", "gravity"),
    ],
)
def test_yaml_is_bounded_and_makes_no_objects(content: str, words: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    file = tmp_path / "config.yaml"
    file.write_text(content.replace("MARKER", str(marker)))
    begin = time.process_time()
    with pytest.raises(DescriptionError, match=words):
        read(PENDULUM, config=file)
    assert time.process_time() - begin < SECONDS
    assert not marker.exists()


def with_table(file: str) -> str:
    begin = PENDULUM.index("<beam")
    end = PENDULUM.index("</beam>", begin)
    table = f'<table file="{file}" columns="station mass_per_length EIy EIz"/>'
    return PENDULUM[:begin] + f'<beam length="1.5">{table}' + PENDULUM[end:]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0 1 1 1\n" * 3_000_000, "too large"),
        ("0 1 1 1\n" + "0.5 1 1 1\n" * 60_000 + "1 1 1 1\n", "more than twice"),
        ("0 1 1 1\n" * 110_000, "at most 100000 rows"),
        ("x" * 1_000_000, "is not a number"),
        (f"0 {'9' * 100_000} 1 1\n1 1 1 1", "is not a number"),
    ],
)
def test_tables_are_bounded_and_checked_in_time(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_text(content)
    file = tmp_path / "robot.urdf"
    file.write_text(with_table("table.txt"))
    begin = time.process_time()
    with pytest.raises(DescriptionError, match=words) as caught:
        read(file)
    assert time.process_time() - begin < SECONDS
    assert len(str(caught.value)) < 2000


# ---- tables: efforts over time, Denavit-Hartenberg ----


def longer_than(path: Path, size: int) -> Path:
    """A file that says to be so long and holds next to nothing."""
    with path.open("wb") as file:
        file.truncate(size + 1)
    return path


def test_tables_that_are_too_long_are_refused_unread(tmp_path):
    robot = flexdyn_ros.load("seven_joint_arm")
    begin = time.process_time()
    with pytest.raises(StateError, match="at most"):
        read_efforts(longer_than(tmp_path / "efforts.csv", 1 << 34), robot)
    with pytest.raises(DescriptionError, match="too long"):
        read_table(longer_than(tmp_path / "table.csv", 1 << 34), convention="standard")
    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("column", ["joint", "type", "a", "mass"])
def test_aliases_that_multiply_do_not_become_text(tmp_path, column):
    """Ten lists of ten of the one before: ten thousand million words, if they were written out."""
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 10)]
    row = "{" + f"{column}: {{{', '.join(lines)}}}" + ", alpha: 0, d: 0, theta: 0}"
    path = tmp_path / "table.yaml"
    path.write_text(f"joints:\n  - {row}\n")
    begin = time.process_time()
    with pytest.raises(DescriptionError) as caught:
        read_table(path, convention="standard")
    assert len(str(caught.value)) < 5000
    assert time.process_time() - begin < SECONDS


def test_a_table_of_efforts_is_not_evaluated(tmp_path):
    robot, mark = flexdyn_ros.load("seven_joint_arm"), tmp_path / "mark"
    path = tmp_path / "efforts.csv"
    path.write_text(f"time,elbow_pitch\n0,__import__('pathlib').Path({str(mark)!r}).touch()\n")
    with pytest.raises(StateError, match="nothing is evaluated"):
        read_efforts(path, robot)
    assert not mark.exists()
