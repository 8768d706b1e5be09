"""Marker messages as bytes: written once by ROS, then only their numbers are exchanged.

A mesh of 3000 corners as message objects would be 6000 objects per message. Here a MarkerArray is serialised
once with marks where its numbers stand, and each publication copies arrays over the marks. That needs no
knowledge of how the fields of a Marker lie, which differs between versions of ROS.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.serialization import serialize_message
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import MarkerArray

__all__ = ["HEADER", "MeshMessage", "aligned"]

#: marks that no message holds by chance: the n-th has n added
STAMP, POINT, COLOUR = 0x5EED0000, 3.5e301, 2.5e31
#: bytes before the fields; fields are aligned from there on
HEADER = 4


def aligned(data: bytes) -> np.ndarray:
    """A copy of a serialised message to write to, whose fields are aligned in memory as they are in it."""
    room = np.zeros(len(data) + 16, np.uint8)
    start = -(room.ctypes.data + HEADER) % 8
    copy = room[start : start + len(data)]
    copy[:] = np.frombuffer(data, np.uint8)
    return copy


class MeshMessage:
    """A MarkerArray of markers with points and colours, published as bytes.

    Parameters
    ----------
    markers : sequence of Marker
        All but stamps, points and colours is as it will be published.
    sizes : sequence of int
        Number of points, and of colours, of each marker.

    Attributes
    ----------
    points, colours : list of (n, 3), (n, 4) arrays
        To be written to, one per marker: metres; red green blue alpha of 0..1.
    """

    def __init__(self, markers: Sequence[Any], sizes: Sequence[int]) -> None:
        for n, (marker, size) in enumerate(zip(markers, sizes, strict=True)):
            marker.header.stamp = Time(sec=STAMP + n, nanosec=0)
            marker.points = [Point(x=POINT * (n + 1)), *(Point() for _ in range(size - 1))]
            marker.colors = [ColorRGBA(r=COLOUR * (n + 1)), *(ColorRGBA() for _ in range(size - 1))]
        text = bytes(serialize_message(MarkerArray(markers=list(markers))))
        self._data = aligned(text)
        self._stamps, self.points, self.colours = [], [], []
        for n, size in enumerate(sizes):
            self._stamps.append(self._window(text, struct.pack("<i", STAMP + n), "<u4", 2))
            points = self._window(text, struct.pack("<d", POINT * (n + 1)), "<f8", 3 * size)
            colours = self._window(text, struct.pack("<f", COLOUR * (n + 1)), "<f4", 4 * size)
            self.points.append(points.reshape(-1, 3))
            self.colours.append(colours.reshape(-1, 4))

    def _window(self, text: bytes, mark: bytes, kind: str, count: int) -> np.ndarray:
        """The numbers of the message that begin at a mark, as an array to write to."""
        place = text.find(mark)
        assert place >= 0, "ROS serialises numbers otherwise than expected"
        return self._data[place : place + np.dtype(kind).itemsize * count].view(kind)

    def stamped(self, stamp: tuple[int, int]) -> bytes:
        """The message as it is, with a stamp (seconds, nanoseconds)."""
        for time in self._stamps:
            time[:] = stamp
        return self._data.tobytes()
