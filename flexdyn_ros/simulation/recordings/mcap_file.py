"""Records of MCAP files, each counted before it is unpacked.

The file says of every record and chunk how long it is, and of a chunk how long it is unpacked: none of that
is believed. Layout: the MCAP specification, version 0 (https://mcap.dev/spec).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

from flexdyn_ros.budget import Budget
from flexdyn_ros.errors import StateError, needs

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA = 2, 3, 4, 5, 6, 12
#: what a record or an unpacked chunk may hold
LARGEST_CHUNK = 1 << 26
#: opcode and length; channel, sequence, times of recording and publication [ns]
_HEAD, _MESSAGE = struct.Struct("<BQ"), struct.Struct("<HIQQ")
#: how data begin that were compressed with zstd; messages begin with zero
_ZSTD = b"\x28\xb5\x2f\xfd"
#: encodings of definitions and of messages that ROS 2 writes
_ROS2 = ("ros2msg", "ros2idl")


class Message(NamedTuple):
    """A message as it was recorded: topic, type ("sensor_msgs/msg/JointState"), bytes, time of recording
    [ns]."""

    topic: str
    kind: str
    data: bytes
    log_time: int


class Note(NamedTuple):
    """A metadata record: texts by their names."""

    name: str
    metadata: dict[str, str]


Wants = Callable[[str, str], bool]


class _Unreadable(Exception):
    """A record or chunk that cannot, or shall not, be read."""


def mcap_records(
    path: Path, budget: Budget, wants: Wants, topics: dict[str, str]
) -> Iterator[Message | Note]:
    """Messages of the topics that are wanted, and notes, in the order of writing.

    Ends without complaint where a file ends that was not closed.

    Parameters
    ----------
    path : path
    budget : Budget
        What may be kept of the file, and gone through.
    wants : callable(topic, type) -> bool
    topics : dict
        Gets the type of each topic, as the file tells them.

    Raises
    ------
    StateError
        If the file is no MCAP file, is damaged, or holds more than is accepted.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise StateError(f"{path} is no MCAP file")
        channels = _Channels(budget, wants, topics)
        try:
            for opcode, body in _outer(file, path.stat().st_size, budget):
                inner = _in_chunk(body, budget) if opcode == CHUNK else ((opcode, memoryview(body)),)
                for kind, part in inner:
                    record = channels.read(kind, part)
                    if record is not None:
                        yield record
        except StateError:
            raise
        except (_Unreadable, struct.error, KeyError, ValueError, RuntimeError) as error:
            raise StateError(f"{path} is damaged: {type(error).__name__}: {str(error)[:200]}") from None


def unpacked(data: bytes | memoryview, compression: str, size: int | None = None) -> bytes:
    """Bytes without their compression: as many as were promised, at most those of a chunk.

    Raises
    ------
    StateError
        If they are more, or other, or not compressed so.
    """
    try:
        return _unpacked(data, compression, size)
    except _Unreadable as error:
        raise StateError(str(error)) from None


def kept(data: bytes, budget: Budget) -> bytes:
    """The bytes of a message that is kept, without compression of its own, as rosbag2 may give it."""
    if data.startswith(_ZSTD):
        data = unpacked(data, "zstd")
        budget.work(len(data))
    budget.keep(len(data), entries=1)
    return data


def _outer(file: IO[bytes], size: int, budget: Budget) -> Iterator[tuple[int, bytes]]:
    """Records of the file that are of use, chunks packed."""
    left = size - len(MAGIC)
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        opcode, length = _HEAD.unpack(head)
        left -= _HEAD.size
        if length > left or opcode == FOOTER:
            # what follows was never written, or is the summary of what has been read
            return
        left -= length
        budget.work(0, entries=1)
        if opcode not in (SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA):
            file.seek(length, 1)
            continue
        if length > LARGEST_CHUNK:
            raise _Unreadable(f"a record of {length} bytes, at most {LARGEST_CHUNK} are accepted")
        budget.work(length)
        yield opcode, file.read(length)


def _in_chunk(body: bytes, budget: Budget) -> Iterator[tuple[int, memoryview]]:
    """Records of a chunk."""
    _, _, size, _ = struct.unpack_from("<QQQI", body)
    compression, at = _text(body, 28)
    (packed,) = struct.unpack_from("<Q", body, at)
    if size > LARGEST_CHUNK:
        raise _Unreadable(f"a chunk of {size} bytes unpacked, at most {LARGEST_CHUNK} are accepted")
    budget.work(size)
    data = memoryview(_unpacked(memoryview(body)[at + 8 : at + 8 + packed], compression, size))
    at = 0
    while at < len(data):
        opcode, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if length > len(data) - at:
            raise _Unreadable(f"a record of {length} bytes in a chunk of {len(data)}")
        budget.work(0, entries=1)
        yield opcode, data[at : at + length]
        at += length


def _unpacked(data: bytes | memoryview, compression: str, size: int | None) -> bytes:
    most = LARGEST_CHUNK if size is None else size
    if compression == "zstd":
        with needs("zstandard", "record"):
            import zstandard
        reader: Any = zstandard.ZstdDecompressor(max_window_size=LARGEST_CHUNK).stream_reader(data)
        try:
            found = reader.read(most + 1)
        except zstandard.ZstdError as error:
            raise _Unreadable(str(error)) from None
    elif compression == "lz4":
        with needs("lz4", "record"):
            lz4: Any = import_module("lz4.frame")
        found = lz4.LZ4FrameDecompressor().decompress(bytes(data), most + 1)
    elif compression == "":
        found = bytes(data)
    else:
        raise _Unreadable(f"a chunk with the compression {compression[:40]!r}, expected zstd, lz4 or none")
    if len(found) > most or (size is not None and len(found) != size):
        raise _Unreadable(f"a chunk does not unpack to the {most} bytes that it promises")
    return bytes(found)


class _Channels:
    """Topics and types by the numbers that messages have them under."""

    def __init__(self, budget: Budget, wants: Wants, topics: dict[str, str]) -> None:
        self._budget, self._wants, self._topics = budget, wants, topics
        self._schemas: dict[int, tuple[str, str]] = {}
        self._channels: dict[int, tuple[str, str, bool]] = {}

    def read(self, opcode: int, body: memoryview) -> Message | Note | None:
        if opcode == MESSAGE:
            return self._message(body)
        if opcode == SCHEMA:
            (number,) = struct.unpack_from("<H", body)
            name, at = _text(body, 2)
            self._budget.keep(len(name), entries=1)
            self._schemas[number] = name, _text(body, at)[0]
        elif opcode == CHANNEL:
            self._channel(body)
        elif opcode == METADATA:
            name, at = _text(body, 0)
            texts = _texts(body, at, self._budget)
            return Note(name, texts)
        return None

    def _channel(self, body: memoryview) -> None:
        number, schema = struct.unpack_from("<HH", body)
        topic, at = _text(body, 4)
        encoding, _ = _text(body, at)
        kind, written = self._schemas.get(schema, ("", ""))
        if written not in _ROS2 or encoding != "cdr":
            kind = f"{kind or 'messages without a type'} as {encoding or 'it is'}"
        self._budget.keep(len(topic) + len(kind), entries=1)
        self._topics[topic] = kind
        self._channels[number] = topic, kind, self._wants(topic, kind)

    def _message(self, body: memoryview) -> Message | None:
        number, _, log_time, _ = _MESSAGE.unpack_from(body)
        topic, kind, is_wanted = self._channels[number]
        if not is_wanted:
            return None
        return Message(topic, kind, kept(bytes(body[_MESSAGE.size :]), self._budget), log_time)


def _text(body: bytes | memoryview, at: int) -> tuple[str, int]:
    """A text, and where what follows it begins."""
    (length,) = struct.unpack_from("<I", body, at)
    if length > len(body) - at - 4:
        raise _Unreadable(f"a text of {length} bytes in a record of {len(body)}")
    return str(body[at + 4 : at + 4 + length], "utf-8"), at + 4 + length


def _texts(body: memoryview, at: int, budget: Budget) -> dict[str, str]:
    """Texts by their names."""
    (length,) = struct.unpack_from("<I", body, at)
    end, at = at + 4 + length, at + 4
    budget.keep(len(body), entries=1)
    found = {}
    while at < end:
        name, at = _text(body, at)
        found[name], at = _text(body, at)
        budget.keep(0, entries=1)
    return found
