"""Bent links as meshes: their outline swept along the deformed centre line, coloured by a quantity.

LinkDeflections are read from the bytes of a message: arrays instead of an object per vector. Messages of a
topic follow each other with the same links and stations: ROS reads the first, whose layout says where the
numbers of the others stand, until anything but the numbers has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker

from flexdyn_interfaces.msg import LinkDeflections
from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import shortened
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.expanded.colour_scale import UNKNOWN, ColourRange, colours_of
from flexdyn_ros.expanded.kernels.kinematics import lengths, paint, sweep
from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.simulation.live.message_fields import seconds_of
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


#: points around a round link
AROUND = 12
#: colours that values are looked up in: 256 rows red green blue alpha of 0..1
TABLE = np.column_stack((colours_of(np.linspace(0.0, 1.0, 256)) / 255.0, np.ones(256))).astype(np.float32)

GREY = np.array([*UNKNOWN, 255], np.float32) / 255


class _Tube:
    """The shape of one link: outline (n, 3) in the axes of a section, and which corners make triangles."""

    def __init__(self, appearance: Appearance, bent: Bent) -> None:
        ring = appearance.outline(bent.link, bent.length, AROUND)
        # beams lie along the x axis of their frame, soft sections along the z axis of SECTION/base
        self.along = 2 if bent.frame.endswith("/base") else 0
        self.ring = np.insert(ring, self.along, 0.0, axis=1)
        k, n = len(bent.stations), len(ring)
        i, j = np.meshgrid(np.arange(k - 1), np.arange(n), indexing="ij")
        a, b = i * n + j, i * n + (j + 1) % n
        sides = np.stack((a, b, b + n, a, b + n, a + n), axis=-1).ravel()
        end = (k - 1) * n
        fan = np.array([(0, m + 1, m) for m in range(1, n - 1)]).ravel()
        far = np.array([(end, end + m, end + m + 1) for m in range(1, n - 1)]).ravel()
        self.corners = np.concatenate((sides, fan, far)).astype(np.int64)
        self.station = self.corners // n
        self.straight = np.zeros((k, 3))
        self.straight[:, self.along] = bent.stations * bent.length
        self._surface, self.value = np.zeros((k * n, 3)), np.zeros(k)

    def write_points(self, bent: Bent, magnification: float, out: np.ndarray) -> None:
        """Corners of the triangles, in the undeformed frame of the link, to out (m, 3) [m]."""
        sweep(
            self.straight,
            bent.displacement,
            bent.rotation,
            magnification,
            self.ring,
            self.corners,
            self._surface,
            out,
        )

    def write_colours(self, scale: float, out: np.ndarray) -> None:
        """Colours of scale times `value` at the stations (k,), of 0..1, to out (m, 4)."""
        paint(self.value, scale, self.station, TABLE, out)


class DeformationMesh:
    """MarkerArray messages of all bent links of a robot, as bytes.

    Attributes
    ----------
    top : float
        Value of the last colour: `settings.colour_limit`, or where that is 0 that of a `ColourRange`.
    quantity : str
        What the colours show: `Appearance.shown_quantity` of `settings.colour`.
    """

    def __init__(self, description: RobotDescription) -> None:
        self._appearance = appearance_of(description)
        self._shape: tuple[object, ...] = ()
        self._before: tuple[float, list[np.ndarray]] | None = None
        self.top, self._range = 0.0, ColourRange()
        self.quantity = ""

    def restart_colours(self) -> None:
        """Let the scale of colours grow from nothing."""
        self._range.restart()

    def message(self, stamp: Stamp, links: Sequence[Bent], settings: Any) -> bytes | None:
        """The message of some deflections; None where nothing bends.

        settings: magnification, colour, colour_limit, frame_prefix of StatePublisherParameters.
        """
        drawn = [bent for bent in links if len(bent.stations) > 1]
        if not drawn:
            return None
        self._make(drawn, settings.frame_prefix)
        self.quantity = self._appearance.shown_quantity(settings.colour)
        largest = self._take_values(stamp, drawn, self.quantity)
        self.top = settings.colour_limit or self._range.take(largest, seconds_of(stamp))
        scale = 1.0 / self.top if self.top > 0.0 else 0.0
        for n, (bent, tube) in enumerate(zip(drawn, self._tubes, strict=True)):
            tube.write_points(bent, settings.magnification, self._message.numbers[f"{n}/points"])
            colours = self._message.numbers[f"{n}/colors"]
            if self.quantity == "strain" and not self._appearance.has_strain(bent.link):
                colours[:] = GREY
            else:
                tube.write_colours(scale, colours)
        return self._message.stamped(stamp)

    def _make(self, links: Sequence[Bent], prefix: str) -> None:
        """Shapes and message for these links, if they are not those of before."""
        shape = (prefix, *((bent.link, bent.frame, bent.stations.tobytes(), bent.length) for bent in links))
        if shape == self._shape:
            return
        self._shape = shape
        self._tubes = [_Tube(self._appearance, bent) for bent in links]
        self._before = None
        layout = Layout().count(len(links))
        for number, (bent, tube) in enumerate(zip(links, self._tubes, strict=True)):
            _add_marker(layout, number, bent, prefix, len(tube.corners))
        self._message = PatchedMessage(layout)

    def _take_values(self, stamp: Stamp, links: Sequence[Bent], colour: str) -> float:
        """What colours stand for, to the tubes, and the largest; velocity: how fast the displacement
        changes."""
        if colour == "velocity":
            shown = self._velocities(seconds_of(stamp), links)
        else:
            shown = [getattr(bent, colour) for bent in links]
        pairs = zip(shown, self._tubes, strict=True)
        return max(float(lengths(x.reshape(len(x), -1), tube.value)) for x, tube in pairs)

    def _velocities(self, time: float, links: Sequence[Bent]) -> list[np.ndarray]:
        """By the difference to the message before, (k, 3) per link; zeros after a pause."""
        before, self._before = self._before, (time, [bent.displacement.copy() for bent in links])
        if before is None or not 0.0 < time - before[0] < 1.0:
            return [np.zeros((len(bent.stations), 3)) for bent in links]
        return [
            (bent.displacement - was) / (time - before[0]) for bent, was in zip(links, before[1], strict=True)
        ]


def _add_marker(layout: Layout, number: int, bent: Bent, prefix: str, corners: int) -> None:
    """The fields of a visualization_msgs/Marker in their order; slots N/points and N/colors."""
    layout.header(prefix + bent.frame).text(f"deformation/{bent.link}")
    layout.constants([number, Marker.TRIANGLE_LIST, Marker.ADD], sequence=False, kind="<i4")
    position, quaternion, scale, black = [0.0] * 3, [0.0, 0.0, 0.0, 1.0], [1.0] * 3, [0.0, 0.0, 0.0, 1.0]
    layout.constants(position + quaternion + scale, sequence=False)
    layout.constants(black, sequence=False, kind="<f4")
    lifetime, frame_locked = [0, 0], [True]
    layout.constants(lifetime, sequence=False, kind="<i4").constants(frame_locked, sequence=False, kind="u1")
    layout.doubles(f"{number}/points", corners, width=3)
    layout.doubles(f"{number}/colors", corners, width=4, kind="<f4")
    # no texture (its image has a stamp, a frame, a format and data), no places in it, no text, no file
    layout.text("").constants([0, 0], sequence=False, kind="<i4").text("").text("").count(0).count(0)
    layout.text("").text("").text("").count(0).constants([False], sequence=False, kind="u1")
