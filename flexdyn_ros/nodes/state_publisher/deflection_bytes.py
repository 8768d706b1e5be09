"""LinkDeflections read from the bytes of a message: arrays instead of an object per vector.

Messages of a topic follow each other with the same links and stations: ROS reads the first, whose layout says
where the numbers of the others stand, until anything but the numbers has changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message

from flexdyn_interfaces.msg import LinkDeflections
from flexdyn_ros.errors import shortened
from flexdyn_ros.simulation.recordings.cdr import Layout, PatchedMessage, Stamp, first_stamp
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS, deflection_layout


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
        self._layout: Layout | None = None
        self._links: list[Bent] = []

    def read(self, data: bytes) -> tuple[Stamp, list[Bent]]:
        """Stamp and links of a LinkDeflections message; their arrays hold until the next one is read.

        Raises
        ------
        ValueError
            If it is not one, or its arrays have not one entry per station.
        """
        given = np.frombuffer(data, np.uint8)
        if self._layout is None or not self._layout.fits(given):
            self._learn(data)
        self._message.data[:] = given
        return first_stamp(data), self._links

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
        layout = deflection_layout(message.header.frame_id, message.robot, links)
        if not layout.fits(np.frombuffer(data, np.uint8)):
            raise ValueError("a message that is not in little-endian CDR")
        self._layout, self._message = layout, PatchedMessage(layout)
        numbers, read = self._message.numbers, Bent._fields[4:]
        self._links = [
            Bent(*link, *(numbers[f"{n}/{part}"] for part in read)) for n, link in enumerate(links)
        ]
