"""Columns of MCAP recordings: states, joint states, IMUs, deflections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.files.simulated import columns_of
from flexdyn_ros.simulation.recordings.bag import records
from flexdyn_ros.simulation.recordings.recorded_types import DEFLECTIONS, JOINT_STATES, types
from flexdyn_ros.simulation.trajectory import HELD, Trajectory

IMU = "sensor_msgs/msg/Imu"
#: types of messages by how their topics end
_KINDS = {"joint_states": JOINT_STATES, "imu": IMU, "imu/data": IMU, "deflections": DEFLECTIONS}
_PARTS = {"position": "", "velocity": ".velocity", "effort": ".effort"}

Samples = dict[str, list[tuple[float, float]]]


def recorded_columns(path: Path, most_bytes: int) -> dict[str, np.ndarray]:
    """Columns of a recording, at the times of its states, else of its joint states; others by lines between
    samples. Topics end in /state, /joint_states, /imu, /imu/data (columns TOPIC.angular_velocity.x, ...) or
    /deflections (columns LINK@STATION.strain).

    Raises
    ------
    StateError
        If the file is no recording, damaged, too large, or holds none of these.
    """
    samples: Samples = defaultdict(list)
    states = False
    for topic, record in records(path, most_bytes=most_bytes):
        states = states or topic.endswith("/state")
        kind = next((own for ending, own in _KINDS.items() if topic.endswith(f"/{ending}")), None)
        if kind and not (states and kind == JOINT_STATES):
            for name, value, stamp in _numbers(topic, kind, _message(path, kind, record.data)):
                samples[name].append((stamp, value))
    if states:
        trajectory = Trajectory.load(path, most_bytes=most_bytes)
        t, columns = trajectory.t, {**columns_of(trajectory), HELD: trajectory[HELD]}
    else:
        longest = max((len(rows) for name, rows in samples.items() if "/" not in name), default=0)
        if not longest:
            raise StateError(f"{path} holds no topic that ends in /state or /joint_states")
        t = next(np.array(rows)[:, 0] for rows in samples.values() if len(rows) == longest)
        columns = {}
    for name, rows in samples.items():
        if name not in columns:
            own, values = np.array(rows).T
            columns[name] = np.interp(t, own, values, left=np.nan, right=np.nan)
    return {"time": t - t[0] if not states else t, **columns}


def _message(path: Path, kind: str, data: bytes) -> Any:
    try:
        return types().deserialize_cdr(data, kind)
    except Exception as error:  # noqa: BLE001  the decoder trusts its bytes, and runs into anything
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        raise StateError(f"{path} holds a message that is no {kind}: {cause}") from None


def _numbers(topic: str, kind: str, message: Any) -> Iterator[tuple[str, float, float]]:
    """(column, value, stamp [s]) of one message."""
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    if kind == JOINT_STATES:
        for part, ending in _PARTS.items():
            values = getattr(message, part)
            if len(values) == len(message.name):
                for name, value in zip(message.name, values, strict=True):
                    yield f"{name}{ending}", float(value), stamp
    elif kind == IMU:
        for part in ("angular_velocity", "linear_acceleration"):
            for axis in "xyz":
                yield f"{topic}.{part}.{axis}", float(getattr(getattr(message, part), axis)), stamp
    else:
        for link in message.links:
            for station, value in zip(link.stations, link.strains, strict=False):
                yield f"{link.link}@{station:g}.strain", float(value), stamp
