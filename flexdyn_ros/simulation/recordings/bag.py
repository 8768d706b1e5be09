"""Recordings as rosbag2, Foxglove and PlotJuggler open them: MCAP with the definitions of the messages.

Needs no ROS. What was written stays readable when the process dies: data go to the file in whole chunks, and
`records` reads as far as there are any.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from flexdyn_ros.errors import needs
from flexdyn_ros.simulation.recordings.reading import LARGEST_CHUNK, MOST_BYTES, records
from flexdyn_ros.simulation.recordings.recorded_types import definition, types

__all__ = ["LARGEST_CHUNK", "MOST_BYTES", "Bag", "records"]

_QOS = """- history: keep_last
  depth: {depth}
  reliability: {reliability}
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
        with needs("mcap", "record"):
            from flexdyn_ros.simulation.recordings.chunk_writer import ChunkWriter
        types()
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._interval, self._flushed = flush_interval, time.monotonic()
        self._file = Path(path).open("wb")  # noqa: SIM115  closed by close()
        self._writer = ChunkWriter(self._file, profile="ros2", library="flexdyn_ros", chunk_size=chunk_size)

    def channel(
        self, topic: str, kind: str, *, latched: bool = False, depth: int = 10, reliable: bool = True
    ) -> int:
        """Number of the channel of a topic, made at its first use.

        Parameters
        ----------
        topic : str
            With its leading slash.
        kind : str
            Type of the messages, as in "sensor_msgs/msg/JointState".
        latched : bool
            Whether players are to publish it for subscribers that come later.
        depth, reliable : int, bool
            Of the publisher: how many messages it keeps, and whether it sends what was lost again.
        """
        if topic not in self._channels:
            text, fingerprint = definition(kind)
            if kind not in self._schemas:
                self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", text.encode())
            qos = _QOS.format(
                depth=depth,
                reliability="reliable" if reliable else "best_effort",
                durability="transient_local" if latched else "volatile",
            )
            self._channels[topic] = self._writer.register_channel(
                topic,
                "cdr",
                self._schemas[kind],
                {"offered_qos_profiles": qos, "topic_type_hash": fingerprint},
            )
        return self._channels[topic]

    def write(self, channel: int, data: bytes, stamp: int, sequence: int = 0) -> None:
        """Append a serialised message of a time [ns]."""
        self._writer.add_message(channel, data, stamp, sequence)
        now = time.monotonic()
        if now - self._flushed > self._interval:
            self.flush()
            self._flushed = now

    def flush(self) -> None:
        """Hand all messages to the system. Raises OSError if they cannot be written."""
        self._writer.flush()

    def note(self, name: str, content: Mapping[str, str]) -> None:
        """Append a metadata record: named texts about the recording."""
        self._writer.add_metadata(name, content)

    def close(self) -> None:
        """Write the index and close the file; again does nothing."""
        if not self._file.closed:
            self._writer.finish()
            self._file.close()
            self._writer.close()

    def abandon(self) -> None:
        """Close the file as it is, after writing failed: without an index, readable as far as it goes; of a
        closed one does nothing."""
        if not self._file.closed:
            # what is still in buffers has no place to go
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)
            self._file.close()
            self._writer.close()

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.abandon()
