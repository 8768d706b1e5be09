"""Messages as bytes: written once by ROS, then only their stamps and numbers are exchanged.

Names of a hundred joints, or the corners of a mesh, would otherwise become objects, and those bytes, at every
publication. A message is serialised with marks where its numbers stand; each publication copies arrays over
the marks. That needs no knowledge of how the fields lie, which differs between versions of ROS.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from rclpy.serialization import serialize_message
from std_msgs.msg import ColorRGBA

#: marks that no message holds by chance: the n-th has n added
STAMP, NUMBER = 0x5EED0000, 3.5e30
#: bytes before the fields; fields are aligned from there on
HEADER = 4
#: entries of sequences that may change: type, first field, numbers in an entry and their kind
ENTRIES: dict[str, tuple[Any, str, int, str]] = {
    "geometry_msgs/Vector3": (Vector3, "x", 3, "<f8"),
    "geometry_msgs/Point": (Point, "x", 3, "<f8"),
    "std_msgs/ColorRGBA": (ColorRGBA, "r", 4, "<f4"),
}


def aligned(data: bytes) -> np.ndarray:
    """A copy of a serialised message to write to, whose fields are aligned in memory as they are in it."""
    room = np.zeros(len(data) + 16, np.uint8)
    start = -(room.ctypes.data + HEADER) % 8
    copy = room[start : start + len(data)]
    copy[:] = np.frombuffer(data, np.uint8)
    return copy


class PatchedMessage:
    """A message with stamps and numbers that change.

    Parameters
    ----------
    message : message
        As it will be published, but for its stamps and these fields.
    headers : sequence of std_msgs/Header
        Those in the message whose stamps change, in the order in which they are serialised.
    fields : sequence of (message, str, int)
        Message (itself or one inside), name of a field float64[], Vector3[], Point[], ColorRGBA[] or
        Transform, and its length.

    Attributes
    ----------
    numbers : list of arrays
        To be written to, one per field: (length,), or (length, width) of entries with several numbers.
    """

    def __init__(
        self, message: Any, headers: Sequence[Any], fields: Sequence[tuple[object, str, int]]
    ) -> None:
        marks = [NUMBER * (1 + n) for n in range(len(fields))]
        for n, header in enumerate(headers):
            header.stamp = Time(sec=STAMP + n)
        kinds = [_mark(*field, mark) for field, mark in zip(fields, marks, strict=True)]
        text = bytes(serialize_message(message))
        self._data = aligned(text)
        stamps = [_place(text, struct.pack("<i", STAMP + n)) for n in range(len(headers))]
        self._words = self._all("<u4")
        at = np.array(stamps, dtype=np.intp)[:, None] // 4 + np.arange(2)
        # a slice is written faster than an array of indices
        self._stamps: Any = slice(at[0, 0], at[0, 0] + 2) if len(at) == 1 else at
        self._places, self.numbers = [], []
        for (_, _, count), (width, kind), mark in zip(fields, kinds, marks, strict=True):
            place = _place(text, np.array(mark, kind).tobytes()) if count else 0
            window = self._data[HEADER + place :][: np.dtype(kind).itemsize * count * width].view(kind)
            self._places.append(place)
            self.numbers.append(window if width == 1 else window.reshape(-1, width))

    def _all(self, kind: str) -> np.ndarray:
        """The fields as if all of them were numbers of one kind."""
        size = np.dtype(kind).itemsize
        return self._data[HEADER : HEADER + (len(self._data) - HEADER) // size * size].view(kind)

    def doubles(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """All float64 of the message, to write to, and where among them those of k fields of `width` numbers
        each are (k, width): one assignment instead of k."""
        return self._all("<f8"), np.array(self._places, dtype=np.intp)[:, None] // 8 + np.arange(width)

    def stamped(self, stamp: Time) -> bytes:
        """The message as it is, with a stamp (builtin_interfaces/Time, or what has its fields)."""
        self._words[self._stamps] = stamp.sec, stamp.nanosec
        return self._data.tobytes()


def _place(text: bytes, mark: bytes) -> int:
    """Where a mark is among the fields."""
    place = text.find(mark)
    assert place >= 0, "ROS serialises numbers otherwise than expected"
    return place - HEADER


def _mark(owner: Any, name: str, count: int, mark: float) -> tuple[int, str]:
    """Give a field its length and, as first number, a mark; returns the numbers per entry and their kind."""
    text = owner.get_fields_and_field_types()[name]
    if text == "sequence<double>":
        setattr(owner, name, array("d", [mark, *[0.0] * (count - 1)][:count]))
        return 1, "<f8"
    if text == "geometry_msgs/Transform":
        getattr(owner, name).translation.x = mark
        return 7, "<f8"
    assert text[9:-1] in ENTRIES, f"{name} is {text}"
    entry, first, width, kind = ENTRIES[text[9:-1]]
    setattr(owner, name, [entry(**{first: mark}), *(entry() for _ in range(count - 1))][:count])
    return width, kind
