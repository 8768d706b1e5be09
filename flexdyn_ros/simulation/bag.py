"""Recordings as rosbag2, Foxglove and PlotJuggler open them: MCAP with the definitions of the messages.

Needs no ROS. What was written stays readable when the process dies: data go to the file in whole chunks, and
`records` reads as far as there are any.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from flexdyn_ros.errors import MissingExtraError, StateError
from flexdyn_ros.simulation.recorded_types import definition, types

__all__ = ["Bag", "records"]

_QOS = """- history: {history}
  depth: {depth}
  reliability: reliable
  durability: {durability}
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: automatic
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
"""


class Bag:
    """An MCAP file that is being written; a context manager.

    Parameters
    ----------
    path : path
    chunk_size : int
        Bytes that are gathered before they are compressed and go to the file.
    flush_interval : float
        At the latest so long after a message it is in the file [s, of the wall clock].

    Raises
    ------
    MissingExtraError
        If mcap or rosbags is not installed.
    """

    def __init__(
        self, path: str | PathLike, *, chunk_size: int = 1 << 20, flush_interval: float = 1.0
    ) -> None:
        try:
            from mcap.writer import Writer
        except ImportError:
            raise MissingExtraError("mcap", "record") from None
        types()
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._interval, self._flushed = flush_interval, time.monotonic()
        self._file = Path(path).open("wb")  # noqa: SIM115  closed by close()
        self._writer = Writer(self._file, chunk_size=chunk_size)
        self._writer.start(profile="ros2", library="flexdyn_ros")

    def channel(self, topic: str, kind: str, *, latched: bool = False) -> int:
        """Number of the channel of a topic, made at its first use.

        Parameters
        ----------
        topic : str
            With its leading slash.
        kind : str
            Type of the messages, as in "sensor_msgs/msg/JointState".
        latched : bool
            Whether players are to publish it for subscribers that come later.
        """
        if topic not in self._channels:
            text, fingerprint = definition(kind)
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.register_schema(
                    name=kind, encoding="ros2msg", data=text.encode()
                )
            durability = "transient_local" if latched else "volatile"
            qos = _QOS.format(history="keep_last", depth=1 if latched else 10, durability=durability)
            self._channels[topic] = self._writer.register_channel(
                topic,
                "cdr",
                self._schemas[kind],
                metadata={"offered_qos_profiles": qos, "topic_type_hash": fingerprint},
            )
        return self._channels[topic]

    def write(self, channel: int, data: bytes, stamp: int, sequence: int = 0) -> None:
        """Append a serialised message of a time [ns]."""
        self._writer.add_message(channel, stamp, data, stamp, sequence)
        now = time.monotonic()
        if now - self._flushed > self._interval:
            self._writer.flush()
            self._flushed = now

    def note(self, name: str, content: Mapping[str, str]) -> None:
        """Append a metadata record: named texts about the recording."""
        self._writer.add_metadata(name, dict(content))

    def close(self) -> None:
        """Write the index and close the file; again does nothing."""
        if not self._file.closed:
            self._writer.finish()
            self._file.close()

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def records(path: str | PathLike) -> Iterator[tuple[str, Any]]:
    """What is in an MCAP file, in the order of writing: ("topic", message record) and ("", metadata record).

    Ends without complaint where a file ends that was not closed.

    Raises
    ------
    StateError
        If the file is no MCAP file.
    MissingExtraError
        If mcap is not installed.
    """
    try:
        from mcap import exceptions
        from mcap.records import Channel, Message, Metadata
        from mcap.stream_reader import StreamReader
    except ImportError:
        raise MissingExtraError("mcap", "record") from None
    topics: dict[int, str] = {}
    with Path(path).open("rb") as file:
        try:
            for record in StreamReader(file).records:
                if isinstance(record, Channel):
                    topics[record.id] = record.topic
                elif isinstance(record, Message):
                    yield topics[record.channel_id], record
                elif isinstance(record, Metadata):
                    yield "", record
        except exceptions.InvalidMagic:
            raise StateError(f"{path} is no MCAP file") from None
        except (exceptions.EndOfFile, exceptions.RecordLengthLimitExceeded, EOFError):
            return
