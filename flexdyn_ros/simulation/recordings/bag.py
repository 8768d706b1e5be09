"""Recordings as rosbag2, Foxglove and PlotJuggler open them: MCAP with the definitions of the messages.

Needs no ROS. What was written stays readable when the process dies: data go to the file in whole chunks, and
`records` reads as far as there are any.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import IO, Any

from flexdyn_ros.errors import StateError, needs
from flexdyn_ros.simulation.recordings.recorded_types import definition, types

__all__ = ["MOST_BYTES", "Bag", "records"]

#: what a recording may hold unless its reader allows more; what a record or an unpacked chunk may
MOST_BYTES = 1 << 31
LARGEST_CHUNK = 1 << 26
#: of a record that is kept, beside its data
OVERHEAD = 100

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


def records(path: str | PathLike, *, most_bytes: int = MOST_BYTES) -> Iterator[tuple[str, Any]]:
    """What is in an MCAP file, in the order of writing: ("topic", message record) and ("", metadata record).

    Ends without complaint where a file ends that was not closed. Chunks are unpacked one after the other,
    each within a limit, whatever the file says of its size.

    Parameters
    ----------
    path : path
    most_bytes : int
        Bytes of all messages and notes together.

    Raises
    ------
    StateError
        If the file is no MCAP file, is damaged, or holds more than is accepted.
    MissingExtraError
        If mcap is not installed.
    """
    with needs("mcap", "record"):
        from mcap import exceptions
        from mcap.records import Channel, Chunk, Message, Metadata
        from mcap.stream_reader import StreamReader, breakup_chunk
    topics: dict[int, str] = {}
    left = most_bytes
    with Path(path).open("rb") as file:
        source: Any = _Pieces(file, Path(path).stat().st_size)
        found = StreamReader(source, emit_chunks=True, record_size_limit=None).records
        try:
            for outer in found:
                parts = breakup_chunk(_unpacked(outer)) if isinstance(outer, Chunk) else (outer,)
                for record in parts:
                    if isinstance(record, Channel):
                        topics[record.id] = record.topic
                        left -= OVERHEAD + len(record.topic)
                    elif isinstance(record, Message):
                        left -= OVERHEAD + len(record.data)
                    elif isinstance(record, Metadata):
                        left -= OVERHEAD + sum(map(len, (*record.metadata, *record.metadata.values())))
                    if left < 0:
                        raise StateError(f"{path} holds more than {most_bytes} bytes")
                    if isinstance(record, Message):
                        yield topics[record.channel_id], record
                    elif isinstance(record, Metadata):
                        yield "", record
        except exceptions.InvalidMagic:
            raise StateError(f"{path} is no MCAP file") from None
        except (exceptions.EndOfFile, EOFError):
            return
        except StateError:
            raise
        except (_Unreadable, exceptions.McapError, struct.error, KeyError, ValueError, RuntimeError) as error:
            raise StateError(f"{path} is damaged: {type(error).__name__}: {str(error)[:200]}") from None


class _Unreadable(Exception):
    """A record or chunk that cannot, or shall not, be read."""


class _Pieces:
    """A file of which nothing is read that is larger than a record may be, or longer than the file: the
    sizes in it are read before what they speak of."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, count: int) -> bytes:
        if count > self._left:
            # what follows was never written
            self._file.seek(0, 2)
            return b""
        if count > LARGEST_CHUNK:
            raise _Unreadable(f"a record of {count} bytes, at most {LARGEST_CHUNK} are accepted")
        self._left -= count
        return self._file.read(count)


def _unpacked(chunk: Any) -> Any:
    """The chunk without compression; what is in it may be as large as it says, and no larger than the
    limit."""
    if chunk.uncompressed_size > LARGEST_CHUNK:
        size = chunk.uncompressed_size
        raise _Unreadable(f"a chunk of {size} bytes unpacked, at most {LARGEST_CHUNK} are accepted")
    if chunk.compression == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor(max_window_size=LARGEST_CHUNK).stream_reader(chunk.data)
        try:
            data = reader.read(chunk.uncompressed_size + 1)
        except zstandard.ZstdError as error:
            raise _Unreadable(str(error)) from None
    elif chunk.compression == "lz4":
        lz4: Any = import_module("lz4.frame")
        data = lz4.LZ4FrameDecompressor().decompress(chunk.data, chunk.uncompressed_size + 1)
    else:
        return chunk
    if len(data) != chunk.uncompressed_size:
        raise _Unreadable(f"a chunk does not unpack to the {chunk.uncompressed_size} bytes that it promises")
    return replace(chunk, compression="", data=data)
