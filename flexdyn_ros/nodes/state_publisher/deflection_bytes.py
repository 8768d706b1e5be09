"""LinkDeflections read from the bytes of a message: arrays instead of an object per vector.

Messages of a topic follow each other with the same links and stations: ROS reads the first, whose layout says
where the numbers of the others stand, until anything but the numbers has changed.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message

from flexdyn_interfaces.msg import LinkDeflections
from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.ros.patched_message import HEADER, aligned
from flexdyn_ros.simulation.recordings.cdr import Layout
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS, deflection_layout


class Stamp(NamedTuple):
    """Time of a message: seconds and nanoseconds."""

    sec: int
    nanosec: int


class Bent(NamedTuple):
    """One bent link in the axes of its undeformed frame; k stations.

    stations (k,) [-], displacement (k, 3) [m], rotation (k, 3) [rad], strain (k,) [-], moment (k, 3) [N m].
    """

    link: str
    frame: str
    length: float
    stations: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray
    strain: np.ndarray
    moment: np.ndarray


class DeflectionReader:
    """Reads the messages of a topic one after the other."""

    def __init__(self) -> None:
        self._data, self._layout = np.zeros(0, np.uint8), Layout()
        self._links: list[Bent] = []

    def read(self, data: bytes) -> tuple[Stamp, list[Bent]]:
        """Stamp and links of a LinkDeflections message; their arrays hold until the next one is read.

        Raises
        ------
        ValueError
            If it is not one, or its arrays have not one entry per station.
        """
        given = np.frombuffer(data, np.uint8)
        if len(given) == HEADER or not self._layout.fits(given):
            self._learn(data)
        self._data[:] = given
        return Stamp(*struct.unpack_from("<II", data, HEADER)), self._links

    def _learn(self, data: bytes) -> None:
        """Take the layout of a message whose structure is new; that of before is kept if it is none."""
        try:
            message = deserialize_message(data, LinkDeflections)
        except Exception as error:  # noqa: BLE001  bytes of anyone: whatever the middleware runs into
            raise ValueError(f"no LinkDeflections message: {error}") from None
        for link in message.links:
            if any(len(getattr(link, field)) != len(link.stations) for _, field, _ in DEFLECTION_PARTS):
                count = len(link.stations)
                raise ValueError(
                    f"link {shortened(link.link)!r} has arrays of other lengths than its {count} stations"
                )
        links = [(m.link, m.frame_id, m.length, np.array(m.stations)) for m in message.links]
        layout, room = deflection_layout(message.header.frame_id, message.robot, links), aligned(data)
        if not layout.fits(room):
            raise ValueError("a message that is not in little-endian CDR")
        self._layout, self._data = layout, room
        self._links = [_bent(layout, room, n, *link) for n, link in enumerate(links)]


def _bent(
    layout: Layout, data: np.ndarray, number: int, link: str, frame: str, length: float, stations: np.ndarray
) -> Bent:
    parts = {}
    for part, _, width in DEFLECTION_PARTS:
        if part in Bent._fields:
            values = layout.view(data, f"{number}/{part}")
            parts[part] = values if width == 1 else values.reshape(-1, width)
    return Bent(link, frame, length, stations, **parts)
