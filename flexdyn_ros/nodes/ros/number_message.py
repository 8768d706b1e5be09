"""Messages of numbers as bytes: written once by ROS, then only their numbers are exchanged (see
marker_bytes.py).

Names of a hundred joints, or a few hundred vectors, would otherwise become objects, and those bytes, at every
publication.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3
from rclpy.serialization import serialize_message

from flexdyn_ros.nodes.state_publisher.marker_bytes import aligned

__all__ = ["NumberMessage"]

#: marks that no message holds by chance; the n-th field's has n added
STAMP, NUMBER = 0x5EED0000, 3.5e301


class NumberMessage:
    """A message with a header and numbers that change.

    Parameters
    ----------
    message : message
        As it will be published, but for its stamp and these fields.
    fields : sequence of (message, str, int)
        Message (itself or one inside), name of a field float64[] or Vector3[], and its length.

    Attributes
    ----------
    numbers : list of arrays
        To be written to, one per field: (length,), or (length, 3) of vectors.
    """

    def __init__(self, message: Any, fields: Sequence[tuple[Any, str, int]]) -> None:
        message.header.stamp = Time(sec=STAMP)
        marks = [NUMBER * (1 + n) for n in range(len(fields))]
        widths = [
            _mark(owner, name, count, mark) for (owner, name, count), mark in zip(fields, marks, strict=True)
        ]
        text = bytes(serialize_message(message))
        self._data = aligned(text)
        self._stamp = self._window(text, struct.pack("<i", STAMP), "<u4", 2)
        self.numbers = []
        for (_, _, count), mark, width in zip(fields, marks, widths, strict=True):
            window = self._window(text, struct.pack("<d", mark), "<f8", count * width)
            self.numbers.append(window if width == 1 else window.reshape(-1, width))

    def _window(self, text: bytes, mark: bytes, kind: str, count: int) -> np.ndarray:
        """The numbers of the message that begin at a mark, as an array to write to."""
        if count == 0:
            return np.zeros(0)
        place = text.find(mark)
        assert place >= 0, "ROS serialises numbers otherwise than expected"
        return self._data[place : place + np.dtype(kind).itemsize * count].view(kind)

    def stamped(self, stamp: Any) -> bytes:
        """The message as it is, with a stamp (builtin_interfaces/Time)."""
        self._stamp[:] = stamp.sec, stamp.nanosec
        return self._data.tobytes()


def _mark(owner: Any, name: str, count: int, mark: float) -> int:
    """Give a field its length and, as first number, a mark; returns the numbers per entry."""
    kind = owner.get_fields_and_field_types()[name]
    if kind == "sequence<double>":
        setattr(owner, name, array("d", [mark, *[0.0] * (count - 1)][:count]))
        return 1
    assert kind == "sequence<geometry_msgs/Vector3>", f"{name} is {kind}"
    setattr(owner, name, [Vector3(x=mark), *(Vector3() for _ in range(count - 1))][:count])
    return 3
