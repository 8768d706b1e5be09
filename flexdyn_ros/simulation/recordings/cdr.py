"""Messages as ROS 2 writes them (CDR, little endian) that differ in their numbers only.

A recording of a minute holds a hundred thousand messages of the same robot: same names, same lengths, other
numbers. `Layout` writes the constant bytes once and notes where the numbers are, so that all messages are
made, or read, by a few array operations. Layout of types: OMG DDS-XTypes 1.3, section 7.4.3 (PLAIN_CDR).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

__all__ = ["Layout"]

#: representation header: plain CDR, little endian
HEADER = b"\x00\x01\x00\x00"
STAMP = "stamp"


class _Slot(NamedTuple):
    """Where numbers are: first byte, number of float64."""

    offset: int
    size: int


class Layout:
    """The constant bytes of one kind of message, built field by field, and its slots for numbers."""

    def __init__(self) -> None:
        self._bytes = bytearray(HEADER)
        self._slots: dict[str, _Slot] = {}
        self._stamp: int | None = None
        # padding may hold anything, and so may the options behind the representation
        self._loose = [(2, 4)]

    # ---- building ----

    def header(self, frame: str) -> Layout:
        """std_msgs/Header; its time is the slot of the stamps."""
        self._stamp = self._align(4)
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

    def doubles(self, name: str, count: int, *, width: int = 1, sequence: bool = True) -> Layout:
        """Slot for float64: a sequence of `count` elements of `width` numbers, or without a length before."""
        if sequence:
            self.count(count)
        if count:
            self._slots[name] = _Slot(self._align(8), count * width)
            self._bytes += bytes(8 * count * width)
        else:
            self._slots[name] = _Slot(len(self._bytes), 0)
        return self

    def constants(self, values: np.ndarray, *, sequence: bool = True) -> Layout:
        """float64 (k,) that do not change, a sequence or without a length before."""
        if sequence:
            self.count(len(values))
        if len(values):
            self._align(8)
            self._bytes += np.asarray(values, dtype="<f8").tobytes()
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

    def messages(self, stamps: np.ndarray, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """Messages (n, bytes) for stamps (n,) [ns] and, per slot, numbers (n, ...)."""
        n = len(stamps)
        rows = np.tile(np.frombuffer(bytes(self._bytes), np.uint8), (n, 1))
        if self._stamp is not None:
            time = np.stack((stamps // 10**9, stamps % 10**9), axis=-1).astype("<u4")
            rows[:, self._stamp : self._stamp + 8] = time.view(np.uint8)
        for name, (offset, count) in self._slots.items():
            if count:
                values = np.ascontiguousarray(numbers[name], dtype="<f8").reshape(n, count)
                rows[:, offset : offset + 8 * count] = values.view(np.uint8)
        return rows

    @cached_property
    def _fixed(self) -> tuple[np.ndarray, np.ndarray]:
        """Bytes that are the same in all messages: where, and what."""
        fixed = np.ones(len(self), dtype=bool)
        numbers = [(slot.offset, slot.offset + 8 * slot.size) for slot in self._slots.values()]
        times = [] if self._stamp is None else [(self._stamp, self._stamp + 8)]
        for start, stop in (*numbers, *times, *self._loose):
            fixed[start:stop] = False
        places = np.flatnonzero(fixed)
        return places, np.frombuffer(bytes(self._bytes), np.uint8)[places]

    def fits(self, rows: np.ndarray) -> bool:
        """Whether messages (..., bytes) differ from this layout, which is complete, in their numbers only."""
        if rows.shape[-1] != len(self):
            return False
        places, constant = self._fixed
        return bool((rows.take(places, axis=-1) == constant).all())

    def view(self, message: np.ndarray, name: str) -> np.ndarray:
        """Numbers (count,) of a slot in the memory of one message, whose fields are aligned."""
        offset, count = self._slots[name]
        return message[offset : offset + 8 * count].view("<f8")

    def stamps(self, rows: np.ndarray) -> np.ndarray:
        """Stamps (n,) [ns] of messages (n, bytes)."""
        assert self._stamp is not None
        time = np.ascontiguousarray(rows[:, self._stamp : self._stamp + 8]).view("<u4").astype(np.int64)
        return time[:, 0] * 10**9 + time[:, 1]

    def numbers(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Numbers (n, count) of a slot."""
        offset, count = self._slots[name]
        if not count:
            return np.zeros((len(rows), 0))
        return np.ascontiguousarray(rows[:, offset : offset + 8 * count]).view("<f8").astype(np.float64)
