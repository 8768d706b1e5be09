"""Columns of recordings by types of messages: states, joint states, IMUs, deflections, cylinders."""

from __future__ import annotations

import warnings
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.budget import Budget
from flexdyn_ros.errors import FlexdynWarning, StateError
from flexdyn_ros.identification.files.columns import OF_LEGS, Table, columns_of
from flexdyn_ros.simulation.recordings.cdr import (
    DEFLECTIONS,
    HYDRAULICS,
    JOINT_STATES,
    STATE,
    Layout,
    types,
)
from flexdyn_ros.simulation.recordings.playback import choice_of_parts, effort_delay
from flexdyn_ros.simulation.recordings.reading import Message, Recording
from flexdyn_ros.simulation.recordings.topics import RUN_NOTE, joint_layout
from flexdyn_ros.simulation.trajectory import Trajectory

IMU = "sensor_msgs/msg/Imu"
_PARTS = {"position": "", "velocity": ".velocity", "effort": ".effort"}
_OPENING = ".valve_command"
#: a message, whose class is made when its type is known
Decoded = Any
#: bytes that are gone through to decode one of a message, one by one
_SLOW = 8
#: latest time of recording that fits into the numbers of times [ns]
_LATEST = (1 << 63) - 1
#: layouts of messages on one topic that are tried before a message is decoded by itself
_MOST_LAYOUTS = 8


class _Column(NamedTuple):
    """Values (k,), and numbers (k,) of the messages that they were in."""

    rows: np.ndarray
    values: np.ndarray


class _Samples(NamedTuple):
    """Stamps (n,) [ns] of the messages on a topic, what was in them, and the numbers of those whose time is
    before that of the message of the same joints before it."""

    stamps: np.ndarray
    columns: dict[str, _Column]
    breaks: list[int]


def recorded_columns(path: Path, most_bytes: int, topics: Sequence[str] = ()) -> Table:
    """Columns of a recording, at the times of its states, else of its joint states; others by lines between
    samples. Messages of `DynamicsState`, `JointState`, `Imu` (columns TOPIC.angular_velocity.x, ...),
    `LinkDeflections` (columns LINK@STATION.strain) and `HydraulicState` (pressures, strokes, openings that
    were held from each sample on) are read, whatever their topics are called. Joint and leg
    states beside states of the same namespace are those of the same robot, and are left out. Efforts that
    the node `simulator` recorded are means over the step that ended at their stamp: they are moved to its
    middle.

    Raises
    ------
    StateError
        If the file is no recording, damaged, too large, holds none of these, or a column on several topics.
    UnknownNameError
        If a topic that was chosen is not there.
    """
    found = Recording(path, most_bytes)
    read = {JOINT_STATES: _Joints, IMU: _Imu, DEFLECTIONS: _Deflections, HYDRAULICS: _Cylinders}
    gathered: dict[str, Any] = {}
    late = 0.0
    for record in found.read(lambda topic, kind: kind in read and (not topics or topic in topics)):
        if isinstance(record, Message):
            if record.topic not in gathered:
                gathered[record.topic] = read[record.kind](record.topic, path, found.budget)
            gathered[record.topic].take(record.data, record.log_time)
        elif record.name == RUN_NOTE:
            late = effort_delay(record.metadata)
    found.check(topics, STATE, *read)
    states = [key for key, kind in found.topics.items() if kind == STATE and (not topics or key in topics)]
    if not topics:
        above = [key.rpartition("/")[0].rpartition("/")[0] for key in states]
        own = {f"{namespace}/{name}" for namespace in above for name in ("joint_states", "leg_states")}
        gathered = {key: one for key, one in gathered.items() if key not in own}
    samples = {key: one.placed(_last_part(path, key, one.samples())) for key, one in gathered.items()}
    if states:
        trajectory = Trajectory.load(path, most_bytes=most_bytes, topics=states)
        _check_owners(path, {states[0]: columns_of(trajectory)}, samples)
        columns = columns_of(trajectory)
        for name in columns if late else ():
            if name.endswith(".effort"):
                columns[name] = np.interp(trajectory.t + late, trajectory.t, columns[name])
        return _without_repeats(_merged(trajectory.t, trajectory.t, columns, samples, trajectory.held))
    _check_owners(path, {}, samples)
    base = _base(found, samples)
    longest = max(base.columns.values(), key=lambda column: len(column.rows))
    stamps = np.sort(base.stamps[longest.rows]) / 1e9
    return _without_repeats(_merged(stamps - stamps[0], stamps, {}, samples, None))


def _check_owners(
    path: Path, first: Mapping[str, Mapping[str, Any]], samples: Mapping[str, _Samples]
) -> None:
    """Refuse columns that several topics have."""
    owners = {name: topic for topic, columns in first.items() for name in columns}
    for topic, one in samples.items():
        for name in one.columns:
            if name in owners:
                raise StateError(
                    f"{path}: column {name!r} is on {owners[name]} and on {topic}: choose, "
                    f"topics={topic!r} (--topic {topic})"
                )
            owners[name] = topic


def _base(found: Recording, samples: Mapping[str, _Samples]) -> _Samples:
    """The topic whose times are those of the measurement: the joint states with most samples, else any."""
    filled = [topic for topic, one in samples.items() if one.columns]
    chosen = [topic for topic in filled if found.topics[topic] == JOINT_STATES] or filled
    if not chosen:
        kinds = ", ".join((STATE, JOINT_STATES, IMU, DEFLECTIONS, HYDRAULICS))
        raise StateError(
            f"{found.path} holds no topic of a type that is read ({kinds}); it has " + found.listed()
        )
    return samples[max(chosen, key=lambda topic: len(samples[topic].stamps))]


def _last_part(path: Path, topic: str, samples: _Samples) -> _Samples:
    """Samples behind the last jump back of their times, as after the reset of a simulator."""
    chosen, told = choice_of_parts(f"{path}, {topic}", samples.stamps, None, samples.breaks)
    for text in told:
        warnings.warn(text, FlexdynWarning, stacklevel=6)
    columns = {}
    for name, (rows, values) in samples.columns.items():
        inside = (rows >= chosen.start) & (rows < chosen.stop)
        if inside.any():
            columns[name] = _Column(rows[inside] - chosen.start, values[inside])
    return _Samples(samples.stamps[chosen], columns, [])


def _merged(
    t: np.ndarray,
    stamps: np.ndarray,
    columns: Mapping[str, np.ndarray],
    samples: Mapping[str, _Samples],
    held: bool | None,
) -> Table:
    """All columns at times t, which are stamps [s] of the recording."""
    merged = dict(columns)
    for one in samples.values():
        for name, (rows, values) in one.columns.items():
            own = one.stamps[rows] / 1e9
            if np.any(np.diff(own) < 0.0):
                order = np.argsort(own, kind="stable")
                own, values = own[order], values[order]
            same = np.array_equal(own, stamps)
            merged[name] = values if same else np.interp(stamps, own, values, left=np.nan, right=np.nan)
    return Table(t, merged, held)


def _without_repeats(table: Table) -> Table:
    """Without samples that say again what the sample before them said at the same time, as the simulator does
    at the end of `~/step`."""
    t = table.t
    assert t is not None
    is_again = np.diff(t, prepend=-np.inf) == 0.0
    for values in table.columns.values():
        is_again[1:] &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    columns = {name: values[~is_again] for name, values in table.columns.items()} if is_again.any() else None
    return table if columns is None else table._replace(t=t[~is_again], columns=columns)


# ---- messages of one topic ----


class _Topic:
    """Messages of one topic, which become columns.

    A stamp of zero is none: then the time of recording counts, where all are so.
    """

    kind = ""

    def __init__(self, topic: str, path: Path, budget: Budget) -> None:
        self.topic, self._path, self._budget = topic, path, budget
        self._stamps: list[int] = []
        self._logged: list[int] = []
        self._columns: dict[str, tuple[array[int], array[float]]] = {}

    def take(self, data: bytes, log_time: int) -> None:
        """Decode a message, and keep what it says."""
        message = self._decoded(data)
        row = self._begin(message, log_time)
        for name, value in self._numbers(message):
            self._budget.keep(16)
            if name not in self._columns:
                self._budget.keep(len(name), entries=3)
                self._columns[name] = array("q"), array("d")
            rows, values = self._columns[name]
            rows.append(row)
            values.append(value)

    def samples(self) -> _Samples:
        """All that was taken."""
        stamps = np.array(self._stamps if any(self._stamps) else self._logged, dtype=np.int64)
        columns = {
            name: _Column(np.frombuffer(rows, np.int64), np.frombuffer(values))
            for name, (rows, values) in self._columns.items()
        }
        return _Samples(stamps, columns, (np.flatnonzero(np.diff(stamps) < 0) + 1).tolist())

    def placed(self, samples: _Samples) -> _Samples:
        """Samples of one part with the values that a measurement has at their times."""
        return samples

    def _begin(self, message: Decoded, log_time: int) -> int:
        """The number of a message."""
        stamp = message.header.stamp
        self._stamps.append(10**9 * stamp.sec + stamp.nanosec)
        self._logged.append(min(log_time, _LATEST))
        return len(self._stamps) - 1

    def _decoded(self, data: bytes) -> Decoded:
        self._budget.work(_SLOW * len(data), entries=1)
        try:
            return types().deserialize_cdr(data, self.kind)
        except Exception as error:  # noqa: BLE001  the decoder trusts its bytes, and runs into anything
            cause = f"{type(error).__name__}: {str(error)[:200]}"
            raise StateError(
                f"{self._path} holds a message on {self.topic} that is no {self.kind}: {cause}"
            ) from None

    def _numbers(self, message: Decoded) -> Iterator[tuple[str, float]]:
        """(column, value) of one message."""
        raise NotImplementedError


class _Imu(_Topic):
    """Angular velocities and accelerations."""

    kind = IMU

    def _numbers(self, message: Decoded) -> Iterator[tuple[str, float]]:
        for part in ("angular_velocity", "linear_acceleration"):
            for axis in "xyz":
                yield f"{self.topic}.{part}.{axis}", float(getattr(getattr(message, part), axis))


class _Deflections(_Topic):
    """Strains by link and station."""

    kind = DEFLECTIONS

    def _numbers(self, message: Decoded) -> Iterator[tuple[str, float]]:
        for link in message.links:
            for station, value in zip(link.stations, link.strains, strict=False):
                yield f"{link.link}@{station:g}.strain", float(value)


class _Cylinders(_Topic):
    """Pressures, strokes and openings by cylinder."""

    kind = HYDRAULICS

    def placed(self, samples: _Samples) -> _Samples:
        """With the openings that were held from each sample on: a message has those that led to it."""
        columns = dict(samples.columns)
        for name, (rows, values) in columns.items():
            if name.endswith(_OPENING):
                own = samples.stamps[rows]
                later = np.searchsorted(own, own, side="right")
                columns[name] = _Column(rows, values[np.minimum(later, own.size - 1)])
        return samples._replace(columns=columns)

    def _numbers(self, message: Decoded) -> Iterator[tuple[str, float]]:
        for part in (*OF_LEGS, _OPENING.removeprefix(".")):
            for name, value in zip(message.names, getattr(message, part), strict=False):
                yield f"{name}.{part}", float(value)


class _Same(NamedTuple):
    """Messages that differ in their numbers only: layout, names, which parts there are, numbers of the
    messages and their bytes."""

    layout: Layout
    names: tuple[str, ...]
    parts: tuple[str, ...]
    rows: list[int]
    data: list[bytes]


def _joined(one: _Column, other: _Column) -> _Column:
    """Values of both, in the order of their messages."""
    rows = np.concatenate((one.rows, other.rows))
    order = np.argsort(rows, kind="stable")
    return _Column(rows[order], np.concatenate((one.values, other.values))[order])


class _Joints(_Topic):
    """Joint states: those of the same joints are read all at once."""

    kind = JOINT_STATES

    def __init__(self, topic: str, path: Path, budget: Budget) -> None:
        super().__init__(topic, path, budget)
        self._alike: list[_Same] = []

    def take(self, data: bytes, log_time: int) -> None:
        row = np.frombuffer(data, np.uint8)
        for same in self._alike:
            if same.layout.fits(row):
                self._add(same, data, int(same.layout.stamps(row[None])[0]), log_time)
                return
        message = self._decoded(data)
        same = self._of(message)
        if same.layout.fits(row) and len(self._alike) < _MOST_LAYOUTS:
            self._alike.append(same)
            self._add(same, data, int(same.layout.stamps(row[None])[0]), log_time)
            return
        super().take(data, log_time)

    def samples(self) -> _Samples:
        stamps, columns, breaks = super().samples()
        if self._alike:
            # of several publishers each has its own order
            breaks = []
        for same in self._alike:
            rows = np.array(same.rows)
            breaks += rows[1:][np.diff(stamps[rows]) < 0].tolist()
            data = np.frombuffer(b"".join(same.data), np.uint8).reshape(len(rows), len(same.layout))
            self._budget.keep(2 * data.size)
            for part in same.parts:
                values = np.ascontiguousarray(same.layout.numbers(data, part).T)
                for name, own in zip(same.names, values, strict=True):
                    column = _Column(rows, own)
                    key = f"{name}{_PARTS[part]}"
                    columns[key] = _joined(columns[key], column) if key in columns else column
        return _Samples(stamps, columns, sorted(breaks))

    def _add(self, same: _Same, data: bytes, stamp: int, log_time: int) -> None:
        same.rows.append(len(self._stamps))
        same.data.append(data)
        self._stamps.append(stamp)
        self._logged.append(min(log_time, _LATEST))

    def _of(self, message: Decoded) -> _Same:
        """The layout of a message."""
        names = tuple(message.name)
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise StateError(f"{self._path}: a message on {self.topic} has the joint {twice!r} twice")
        layout = joint_layout(names, message.header.frame_id, [len(getattr(message, p)) for p in _PARTS])
        self._budget.keep(len(layout), entries=3 * len(names))
        parts = tuple(part for part in _PARTS if names and len(getattr(message, part)) == len(names))
        return _Same(layout, names, parts, [], [])

    def _numbers(self, message: Decoded) -> Iterator[tuple[str, float]]:
        for part, ending in _PARTS.items():
            values = getattr(message, part)
            if len(values) == len(message.name):
                for name, value in zip(message.name, values, strict=True):
                    yield f"{name}{ending}", float(value)
