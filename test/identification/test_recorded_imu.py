"""Messages of an IMU in a recording: what becomes of them, and what they may take."""

import numpy as np
import pytest

from flexdyn_ros.errors import StateError

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from flexdyn_ros.identification import Measurement
from flexdyn_ros.identification.files.recorded import recorded_columns
from flexdyn_ros.simulation import Bag, records
from flexdyn_ros.simulation.recordings.cdr import types

IMU = "sensor_msgs/msg/Imu"
PARTS = ("angular_velocity", "linear_acceleration")
N = 40


def write(path, values):
    """Values (n, 6) of an IMU, a hundred a second from 3 s on."""
    store = types()
    of = store.types
    empty = np.zeros(9)
    still = of["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    with Bag(path) as bag:
        channel = bag.channel("/imu", IMU)
        for k, row in enumerate(values):
            stamp = of["builtin_interfaces/msg/Time"](3, 10_000_000 * k)
            turn, push = (of["geometry_msgs/msg/Vector3"](*part) for part in row.reshape(2, 3).tolist())
            message = of[IMU](
                of["std_msgs/msg/Header"](stamp, "tool"), still, empty, turn, empty, push, empty
            )
            bag.write(channel, bytes(store.serialize_cdr(message, IMU)), 10_000_000 * k)
    return path


def least(reads):
    """The fewest bytes that a reader must be given."""
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        try:
            reads(middle)
            high = middle
        except StateError:
            low = middle
    return high


def test_turns_and_accelerations_of_an_imu_are_columns(tmp_path):
    values = np.random.default_rng(3).standard_normal((N, 6))
    found = Measurement.read(write(tmp_path / "a.mcap", values))
    names = [f"/imu.{part}.{axis}" for part in PARTS for axis in "xyz"]
    assert list(found.columns) == names
    np.testing.assert_array_equal(np.stack([found[name] for name in names], axis=1), values)
    np.testing.assert_allclose(found.t, 0.01 * np.arange(N), atol=1e-9)


def test_columns_of_a_recording_count_beside_its_messages(tmp_path):
    """Each value is kept with the number of its message."""
    path = write(tmp_path / "a.mcap", np.ones((N, 6)))
    messages = least(lambda most: list(records(path, most_bytes=most)))
    columns = least(lambda most: recorded_columns(path, most))
    table = recorded_columns(path, columns)
    values = sum(column.nbytes for column in table.columns.values())
    assert values == 8 * 6 * N
    assert messages + 2 * values <= columns < 2 * (messages + 2 * values)
