"""Messages as ROS 2 writes them (CDR, little endian) that differ in their numbers only.

A recording of a minute holds a hundred thousand messages of the same robot: same names, same lengths, other
numbers. `Layout` writes the constant bytes once and notes where the numbers are, so that all messages are
made, or read, by a few array operations. Layout of types: OMG DDS-XTypes 1.3, section 7.4.3 (PLAIN_CDR).

A node publishes such a message many times a second: `PatchedMessage` keeps one in memory and hands out arrays
to write its numbers to. Names of a hundred joints, or the corners of a mesh, would otherwise become objects,
and those bytes, at every publication.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flexdyn_ros.errors import needs

#: representation header: plain CDR, little endian
HEADER = b"\x00\x01\x00\x00"


class Stamp(NamedTuple):
    """Time of a message, the fields of builtin_interfaces/Time."""

    sec: int
    nanosec: int


class _Slot(NamedTuple):
    """Where numbers are: first byte, how many, how many of them in an entry, and their type."""

    offset: int
    size: int
    width: int
    kind: np.dtype

    @property
    def bytes(self) -> slice:
        return slice(self.offset, self.offset + self.size * self.kind.itemsize)


class Layout:
    """The constant bytes of one kind of message, built field by field, and its slots for numbers.

    Attributes
    ----------
    slots : dict
        Where numbers are, by name.
    times : list of int
        First bytes of the stamps.
    """

    def __init__(self) -> None:
        self._bytes = bytearray(HEADER)
        self.slots: dict[str, _Slot] = {}
        self.times: list[int] = []
        # padding may hold anything, and so may the options behind the representation
        self._loose = [(2, 4)]

    # ---- building ----

    def header(self, frame: str) -> Layout:
        """std_msgs/Header; its time is one of the slots of the stamp."""
        self.times.append(self._align(4))
        self._bytes += bytes(8)
        return self.text(frame)

    def text(self, value: str) -> Layout:
        """A string."""
        data = value.encode() + b"\0"
        self.count(len(data))
        self._bytes += data
        return self

    def texts(self, values: Iterable[str]) -> Layout:
        """A sequence of strings."""
        listed = tuple(values)
        self.count(len(listed))
        for value in listed:
            self.text(value)
        return self

    def count(self, value: int) -> Layout:
        """The length of a sequence, a uint32."""
        self._align(4)
        self._bytes += struct.pack("<I", value)
        return self

    def doubles(
        self, name: str, count: int, *, width: int = 1, sequence: bool = True, kind: str = "<f8"
    ) -> Layout:
        """Slot for float64: a sequence of `count` entries of `width` numbers, or without a length before;
        for other numbers the name of their dtype."""
        if sequence:
            self.count(count)
        dtype = np.dtype(kind)
        offset = self._align(dtype.itemsize) if count else len(self._bytes)
        self.slots[name] = _Slot(offset, count * width, width, dtype)
        self._bytes += bytes(dtype.itemsize * count * width)
        return self

    def constants(self, values: ArrayLike, *, sequence: bool = True, kind: str = "<f8") -> Layout:
        """Numbers (k,) that do not change, a sequence or without a length before."""
        numbers = np.asarray(values, dtype=kind)
        if sequence:
            self.count(len(numbers))
        if len(numbers):
            self._align(numbers.itemsize)
            self._bytes += numbers.tobytes()
        return self

    def _align(self, size: int) -> int:
        """Pad to a multiple of `size`, counted from behind the representation header."""
        start = len(self._bytes)
        self._bytes += bytes(-(start - len(HEADER)) % size)
        self._loose.append((start, len(self._bytes)))
        return len(self._bytes)

    # ---- numbers in and out ----

    def __len__(self) -> int:
        return len(self._bytes)

    def __bytes__(self) -> bytes:
        """The message whose numbers are all 0."""
        return bytes(self._bytes)

    def messages(self, stamps: np.ndarray, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """Messages (n, bytes) for stamps (n,) [ns] and, per slot, numbers (n, ...)."""
        n = len(stamps)
        rows = np.tile(np.frombuffer(bytes(self), np.uint8), (n, 1))
        time = np.stack((stamps // 10**9, stamps % 10**9), axis=-1).astype("<u4").view(np.uint8)
        for place in self.times:
            rows[:, place : place + 8] = time
        for name, slot in self.slots.items():
            if slot.size:
                values = np.ascontiguousarray(numbers[name], dtype=slot.kind).reshape(n, slot.size)
                rows[:, slot.bytes] = values.view(np.uint8)
        return rows

    @cached_property
    def _fixed(self) -> tuple[np.ndarray, np.ndarray]:
        """Bytes that are the same in all messages: where, and what."""
        fixed = np.ones(len(self), dtype=bool)
        numbers = [(slot.bytes.start, slot.bytes.stop) for slot in self.slots.values()]
        times = [(place, place + 8) for place in self.times]
        for start, stop in (*numbers, *times, *self._loose):
            fixed[start:stop] = False
        places = np.flatnonzero(fixed)
        return places, np.frombuffer(bytes(self), np.uint8)[places]

    def fits(self, rows: np.ndarray) -> bool:
        """Whether messages (..., bytes) differ from this layout, which is complete, in their numbers only."""
        if rows.shape[-1] != len(self):
            return False
        places, constant = self._fixed
        return bool((rows.take(places, axis=-1) == constant).all())

    def stamps(self, rows: np.ndarray) -> np.ndarray:
        """Stamps (n,) [ns] of messages (n, bytes)."""
        place = self.times[0]
        time = np.ascontiguousarray(rows[:, place : place + 8]).view("<u4").astype(np.int64)
        return time[:, 0] * 10**9 + time[:, 1]

    def numbers(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Numbers (n, count) of a slot."""
        slot = self.slots[name]
        if not slot.size:
            return np.zeros((len(rows), 0))
        return np.ascontiguousarray(rows[:, slot.bytes]).view(slot.kind).astype(np.float64)


class PatchedMessage:
    """One message of a layout, to write numbers to.

    Attributes
    ----------
    data : (bytes,) array of uint8
        The message; its fields are aligned in memory as they are in it.
    numbers : dict of arrays
        Its numbers by the names of the slots: (count,), or (count, width) of entries with several numbers.
    """

    def __init__(self, layout: Layout) -> None:
        data = np.frombuffer(bytes(layout), np.uint8)
        room = np.zeros(len(data) + 16, np.uint8)
        start = -(room.ctypes.data + len(HEADER)) % 8
        self.data = room[start : start + len(data)]
        self.data[:] = data
        self.numbers: dict[str, np.ndarray] = {}
        for name, slot in layout.slots.items():
            numbers = self.data[slot.bytes].view(slot.kind)
            self.numbers[name] = numbers if slot.width == 1 else numbers.reshape(-1, slot.width)
        self._layout, self._words = layout, self._all("<u4")
        at = (np.array(layout.times, dtype=np.intp)[:, None] - len(HEADER)) // 4 + np.arange(2)
        # a slice is written faster than an array of indices
        self._stamps: Any = slice(at[0, 0], at[0, 0] + 2) if len(at) == 1 else at

    def together(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """All float64 of a message, to write to, and where among them those of its k slots of `size` numbers
        each are (k, size): one assignment instead of k."""
        slots = self._layout.slots.values()
        first = np.array([slot.offset - len(HEADER) for slot in slots], dtype=np.intp)[:, None] // 8
        return self._all("<f8"), first + np.arange(size)

    def stamped(self, stamp: Stamp) -> bytes:
        """The message as it is, with a stamp in all its headers."""
        self._words[self._stamps] = stamp.sec, stamp.nanosec
        return self.data.tobytes()

    def _all(self, kind: str) -> np.ndarray:
        """The fields as if all of them were numbers of one kind."""
        fields = self.data[len(HEADER) :]
        return fields[: len(fields) // np.dtype(kind).itemsize * np.dtype(kind).itemsize].view(kind)


def first_stamp(data: bytes) -> Stamp:
    """Time of a message that begins with a header."""
    return Stamp(*struct.unpack_from("<iI", data, len(HEADER)))


# Definitions of the messages that recordings hold: ours from their files, the standard ones from rosbags.

STATE = "flexdyn_interfaces/msg/DynamicsState"
DEFLECTIONS = "flexdyn_interfaces/msg/LinkDeflections"
ELEMENT_STATES = "flexdyn_interfaces/msg/ElementStates"
ENERGY = "flexdyn_interfaces/msg/Energy"
HYDRAULICS = "flexdyn_interfaces/msg/HydraulicState"
JOINT_STATES = "sensor_msgs/msg/JointState"
ODOMETRY = "nav_msgs/msg/Odometry"
TEXT = "std_msgs/msg/String"


@lru_cache(maxsize=1)
def types() -> Any:
    """Type store of rosbags with the standard messages of ROS 2 Jazzy and ours.

    Raises
    ------
    MissingExtraError
        If rosbags is not installed.
    """
    with needs("rosbags", "record"):
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    # a link to flexdyn_interfaces/msg, installed as files: recordings say what is in them without ROS too
    ours: dict[str, Any] = {}
    for file in (files(__package__) / "messages").iterdir():
        ours |= get_types_from_msg(file.read_text("utf-8"), f"flexdyn_interfaces/msg/{file.name[:-4]}")
    store.register(ours)
    return store


def definition(name: str) -> tuple[str, str]:
    """Text of a message type with all types in it, and the hash that ROS 2 gives it.

    Parameters
    ----------
    name : str
        As in "sensor_msgs/msg/JointState".
    """
    store = types()
    text, _ = store.generate_msgdef(name, ros_version=2)
    return text, store.hash_rihs01(name)
