"""Markers around a robot that change seldom: what the colours mean, undeformed links, the road."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point, Pose, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from flexdyn_ros.expanded.appearance import STOPS, Appearance, top_of
from flexdyn_ros.nodes.state_publisher.deformation_mesh import Bent
from flexdyn_ros.robot.verbs import Robot

GHOST, ROAD, TEXT = (0.55, 0.6, 0.66, 0.3), (0.42, 0.42, 0.45, 1.0), (0.1, 0.1, 0.12, 1.0)
#: blocks of a bar of colours
BLOCKS = 24
#: a strip of road: behind and before the robot, between points, to both sides [shares of its reach]
BEHIND, BEFORE, FINE, WIDE = 2.0, 4.0, 0.02, 0.45


def new_marker(
    namespace: str, number: int, kind: int, frame: str, colour: tuple[float, float, float, float]
) -> Marker:
    """A marker at the origin of a frame, with which it moves until the next message."""
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD, frame_locked=True)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    r, g, b, a = colour
    marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
    return marker


class Legend:
    """A bar of colours with the values at its ends, beside the robot.

    Parameters
    ----------
    robot : Robot
        Tells where beside is.
    frame : str
        A fixed one.
    """

    def __init__(self, robot: Robot, frame: str) -> None:
        points = robot.frames(robot.neutral())[:, :3, 3]
        low, high = points.min(axis=0), points.max(axis=0)
        self._size = max(float(np.max(high - low)), 1e-3)
        self._frame = frame
        self._foot = np.array([low[0] - 0.25 * self._size, 0.5 * (low[1] + high[1]), low[2]])

    def markers(self, quantity: str, top: float) -> list[Marker]:
        """The bar from 0 to `top`, and three texts."""
        height = 0.5 * self._size
        block = height / BLOCKS
        bar = new_marker("legend", 0, Marker.CUBE_LIST, self._frame, (1.0, 1.0, 1.0, 1.0))
        bar.scale = Vector3(x=2.0 * block, y=2.0 * block, z=block)
        rises = (np.arange(BLOCKS) + 0.5) * block
        bar.points = [self._at(rise) for rise in rises.tolist()]
        columns = [
            np.interp(rises / height, np.linspace(0.0, 1.0, len(STOPS)), STOPS[:, i] / 255) for i in range(3)
        ]
        bar.colors = [ColorRGBA(r=r, g=g, b=b, a=1.0) for r, g, b in zip(*(c.tolist() for c in columns))]
        texts = (
            (-2.0 * block, "0"),
            (height + 2.0 * block, top_of(quantity, top)),
            (height + 5.0 * block, quantity),
        )
        return [bar, *(self._text(n, rise, text) for n, (rise, text) in enumerate(texts, 1))]

    def _at(self, rise: float) -> Point:
        x, y, z = self._foot.tolist()
        return Point(x=x, y=y, z=z + rise)

    def _text(self, number: int, rise: float, text: str) -> Marker:
        marker = new_marker("legend", number, Marker.TEXT_VIEW_FACING, self._frame, TEXT)
        marker.pose.position = self._at(rise)
        marker.scale.z, marker.text = 0.04 * self._size, text
        return marker


def ghosts(appearance: Appearance, links: Sequence[Bent], prefix: str) -> list[Marker]:
    """The undeformed links, transparent, where their joints are."""
    markers = []
    for number, bent in enumerate(links):
        ring = appearance.outline(bent.link, bent.length)
        kind = Marker.CUBE if len(ring) == 4 else Marker.CYLINDER
        marker = new_marker(f"undeformed/{bent.link}", number, kind, prefix + bent.frame, GHOST)
        upright = bent.frame.endswith("/base")
        middle = 0.5 * bent.length
        marker.pose = Pose()
        # boxes and cylinders have their length along z, beams along x: a third of a turn about the diagonal
        half = 0.5 if not upright else 0.0
        o = marker.pose.orientation
        o.x, o.y, o.z, o.w = half, half, half, 0.5 if not upright else 1.0
        marker.pose.position = Point(z=middle) if upright else Point(x=middle)
        across = 2.0 * np.max(np.abs(ring), axis=0)
        marker.scale = Vector3(x=float(across[0]), y=float(across[1]), z=bent.length)
        markers.append(marker)
    return markers


class RoadStrip:
    """The road under a wheeled robot as a strip, made anew when the robot has gone some way.

    Parameters
    ----------
    appearance : Appearance
        With a road.
    frame : str
        Whose x and z axes are the road's abscissa and height.
    """

    def __init__(self, appearance: Appearance, frame: str) -> None:
        assert appearance.road is not None
        self._heights, self._frame = appearance.road, frame
        x = [wheel.xyz[0] for wheel in appearance.wheels]
        self._reach = max(max(x) - min(x), 0.2)
        self._drawn_at: float | None = None

    def height(self, x: float) -> float:
        """Of the road [m]."""
        return float(self._heights(np.array([x]))[0])

    def marker(self, at: float) -> Marker | None:
        """A strip about the abscissa `at` [m]; None if the last one still serves."""
        if self._drawn_at is not None and abs(at - self._drawn_at) < self._reach:
            return None
        self._drawn_at = at
        x = np.arange(at - BEHIND * self._reach, at + BEFORE * self._reach, FINE * self._reach)
        z = self._heights(x).tolist()
        left, right = ([(a, s * WIDE * self._reach, b) for a, b in zip(x.tolist(), z)] for s in (1.0, -1.0))
        marker = new_marker("road", 0, Marker.TRIANGLE_LIST, self._frame, ROAD)
        marker.scale = Vector3(x=1.0, y=1.0, z=1.0)
        corners = [
            p
            for i in range(len(x) - 1)
            for p in (left[i], right[i], right[i + 1], left[i], right[i + 1], left[i + 1])
        ]
        marker.points = [Point(x=a, y=b, z=c) for a, b, c in corners]
        return marker

    def forget(self) -> None:
        """Draw again next time, for viewers that came later."""
        self._drawn_at = None
