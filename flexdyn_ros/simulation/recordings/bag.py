"""Recordings as rosbag2, Foxglove and PlotJuggler open them: MCAP with the definitions of the messages.

Needs no ROS. What was written stays readable when the process dies: data go to the file in whole chunks, and
`records` reads as far as there are any.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from flexdyn_ros.errors import StateError, needs
from flexdyn_ros.simulation.recordings.cdr import definition, types
from flexdyn_ros.simulation.recordings.reading import LARGEST_CHUNK, METADATA, MOST_BYTES, records
from flexdyn_ros.writing import write_text

__all__ = ["LARGEST_CHUNK", "MOST_BYTES", "Bag", "Part", "Topic", "metadata_of", "records"]


class Topic(NamedTuple):
    """Number of the channel in all files, name, type, YAML of the quality of service, hash of the type."""

    channel: int
    name: str
    kind: str
    qos: str
    fingerprint: str


@dataclass(slots=True)
class Part:
    """A file: times [ns] of its first, its earliest and its latest message, number of messages."""

    name: str
    begin: int = 0
    earliest: int = 0
    latest: int = 0
    messages: int = 0

    def add(self, stamp: int) -> None:
        """Take in a message."""
        if not self.messages:
            self.begin = self.earliest = self.latest = stamp
        self.earliest, self.latest = min(self.earliest, stamp), max(self.latest, stamp)
        self.messages += 1

    def facts(self) -> dict[str, object]:
        """Times and number, as of a file and of the whole."""
        return {
            "starting_time": {"nanoseconds_since_epoch": self.earliest},
            "duration": {"nanoseconds": self.latest - self.earliest},
            "message_count": self.messages,
        }


def metadata_of(parts: Sequence[Part], topics: Sequence[Topic], counts: Mapping[int, int]) -> str:
    """The text of metadata.yaml; counts: messages by channel."""
    import yaml

    filled = [part for part in parts if part.messages] or [Part("")]
    whole = Part(
        "",
        earliest=min(part.earliest for part in filled),
        latest=max(part.latest for part in filled),
        messages=sum(part.messages for part in filled),
    )
    listed = [
        {
            "topic_metadata": {
                "name": topic.name,
                "type": topic.kind,
                "serialization_format": "cdr",
                "offered_qos_profiles": yaml.safe_load(topic.qos),
                "type_description_hash": topic.fingerprint,
            },
            "message_count": counts.get(topic.channel, 0),
        }
        for topic in topics
    ]
    content = {
        "version": 9,
        "storage_identifier": "mcap",
        **whole.facts(),
        "topics_with_message_count": listed,
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [part.name for part in parts],
        "files": [{"path": part.name, **part.facts()} for part in parts],
        "custom_data": None,
        "ros_distro": "jazzy",
    }
    return yaml.safe_dump({"rosbag2_bagfile_information": content}, sort_keys=False)


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
    """An MCAP file that is being written, or a folder of them as of rosbag2; a context manager.

    The index of a file is in memory until it ends, about 1 kB for each chunk: recordings that go on for hours
    are split.

    Parameters
    ----------
    path : path
        A file; of a split recording a new folder (without the suffix .mcap), whose files NAME_0.mcap,
        NAME_1.mcap, ... `metadata.yaml` lists once it is closed.
    chunk_size : int
        Bytes that are gathered before they are compressed and go to the file.
    flush_interval : float
        At the latest so long after a message it is in the file [s, of the wall clock].
    split_size : int
        Size of a file at which the next one begins [bytes]; 0: no split by size.
    split_duration : float
        Time of messages in a file after which the next one begins [s]; 0: no split by time.

    Raises
    ------
    OSError
        If the file cannot be written, or the folder is there already.
    StateError
        If a size or time is negative or not finite.
    MissingExtraError
        If mcap or rosbags is not installed.
    """

    def __init__(
        self,
        path: str | PathLike,
        *,
        chunk_size: int = 1 << 20,
        flush_interval: float = 1.0,
        split_size: int = 0,
        split_duration: float = 0.0,
    ) -> None:
        with needs("mcap", "record"):
            import mcap.writer  # noqa: F401
        types()
        self._topics: dict[str, Topic] = {}
        self._chunk_size, self._split_size, self._split_duration = chunk_size, split_size, split_duration
        self._interval, self._flushed = flush_interval, time.monotonic()
        self._folder: Path | None = None
        if not (0 <= split_size < inf and 0.0 <= split_duration < inf):
            raise StateError(f"split_size {split_size}, split_duration {split_duration}; expected 0 or more")
        if split_size or split_duration:
            place = Path(path)
            self._folder = place.with_suffix("") if place.suffix == ".mcap" else place
            self._folder.mkdir()
        self._parts: list[Part] = []
        self._counts: Counter[int] = Counter()
        self._begin(Path(path))

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
        if topic not in self._topics:
            qos = _QOS.format(
                depth=depth,
                reliability="reliable" if reliable else "best_effort",
                durability="transient_local" if latched else "volatile",
            )
            self._topics[topic] = Topic(len(self._topics) + 1, topic, kind, qos, definition(kind)[1])
            self._register(self._topics[topic])
        return self._topics[topic].channel

    def write(self, channel: int, data: bytes, stamp: int, sequence: int = 0) -> None:
        """Append a serialised message of a time [ns]."""
        if self._folder is not None:
            if self._is_full(stamp):
                self._end()
                self._begin(self._folder)
            self._parts[-1].add(stamp)
            self._counts[channel] += 1
        self._writer.add_message(channel, stamp, data, stamp, sequence)
        now = time.monotonic()
        if now - self._flushed > self._interval:
            self.flush()
            self._flushed = now

    def flush(self) -> None:
        """Hand all messages to the system. Raises OSError if they cannot be written."""
        self._writer.flush()

    def note(self, name: str, content: Mapping[str, str]) -> None:
        """Append a metadata record: named texts about the recording."""
        self._writer.add_metadata(name, dict(content))

    def close(self) -> None:
        """Write the index and close the file; again does nothing."""
        if not self._file.closed:
            self._end()
            if self._folder is not None:
                text = metadata_of(self._parts, tuple(self._topics.values()), self._counts)
                write_text(self._folder / METADATA, text)

    def abandon(self) -> None:
        """Close the file as it is, after writing failed: without an index, readable as far as it goes; of a
        closed one does nothing."""
        if not self._file.closed:
            # what is still in buffers has no place to go
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)
            self._file.close()

    def _begin(self, place: Path) -> None:
        """Begin a file with the topics so far: the next one of a split recording, else that at the place."""
        from mcap.writer import IndexType, Writer

        if self._folder is not None:
            place = self._folder / f"{self._folder.name}_{len(self._parts)}.mcap"
        self._parts.append(Part(place.name))
        self._schemas: dict[str, int] = {}
        self._file = place.open("wb")
        # without an index of attachments, of which there are none
        indices = IndexType.CHUNK | IndexType.MESSAGE | IndexType.METADATA
        self._writer = Writer(self._file, chunk_size=self._chunk_size, index_types=indices)
        self._writer.start(profile="ros2", library="flexdyn_ros")
        for topic in self._topics.values():
            self._register(topic)

    def _end(self) -> None:
        self._writer.finish()
        self._file.close()

    def _register(self, topic: Topic) -> None:
        """Make a topic known to the present file; it has the same number in all."""
        if topic.kind not in self._schemas:
            text, _ = definition(topic.kind)
            self._schemas[topic.kind] = self._writer.register_schema(topic.kind, "ros2msg", text.encode())
        facts = {"offered_qos_profiles": topic.qos, "topic_type_hash": topic.fingerprint}
        self._writer.register_channel(topic.name, "cdr", self._schemas[topic.kind], facts)

    def _is_full(self, stamp: int) -> bool:
        """Whether a message of a time [ns] belongs to the next file."""
        part = self._parts[-1]
        is_late = bool(self._split_duration) and abs(stamp - part.begin) >= self._split_duration * 1e9
        is_large = bool(self._split_size) and self._file.tell() >= self._split_size
        return bool(part.messages) and (is_late or is_large)

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.abandon()
