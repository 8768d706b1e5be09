"""The way that the tip of a robot went, as a line."""

from __future__ import annotations

from collections import deque

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.nodes.state_publisher.scenery import new_marker
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms
from flexdyn_ros.numerics.algebra.placement import rotation_of_quaternion

COLOUR = (0.85, 0.35, 0.10, 1.0)
#: width of the line, as a share of the robot's size; points that it has at most
WIDTH, POINTS = 0.004, 400


def deepest_link(description: RobotDescription) -> str:
    """The link at the end of the longest chain of joints; the first of several."""
    depth = {description.root: 0}
    waiting = [description.root]
    while waiting:
        link = waiting.pop(0)
        for joint in description.children_of(link):
            depth[joint.child] = depth[link] + 1
            waiting.append(joint.child)
    return max(depth, key=lambda name: depth[name])


class TipTrace:
    """Positions of one link over the last seconds.

    Parameters
    ----------
    transforms : JointTransforms
        Of the expanded robot, without a prefix.
    link : str
    frame : str
        A fixed one.
    seconds : float
    size : float
        Of the robot [m].
    """

    def __init__(
        self, transforms: JointTransforms, link: str, frame: str, seconds: float, size: float
    ) -> None:
        self._path = transforms.path_to(link)
        self._numbers = [transforms.number_of(joint.name) for joint in self._path]
        self._frame, self._seconds, self._width = frame, seconds, WIDTH * size
        self._points: deque[tuple[float, np.ndarray]] = deque(maxlen=POINTS)

    def add(
        self, time: float, base: np.ndarray, rows: np.ndarray, position: np.ndarray, quaternion: np.ndarray
    ) -> None:
        """One more moment [s]: pose of the root link (4, 4), and `JointTransforms.poses`."""
        if self._points and time <= self._points[-1][0]:
            self._points.clear()
        if self._points and time - self._points[-1][0] < self._seconds / POINTS:
            return
        place = {int(row): i for i, row in enumerate(rows)}
        R, p = base[:3, :3], base[:3, 3]
        for joint, number in zip(self._path, self._numbers, strict=True):
            if number < 0:
                x, q = joint.position, joint.quaternion
            elif number in place:
                x, q = position[place[number]], quaternion[place[number]]
            else:
                return
            p, R = p + R @ x, R @ rotation_of_quaternion(*q.tolist())
        self._points.append((time, p))
        while time - self._points[0][0] > self._seconds:
            self._points.popleft()

    def marker(self) -> Marker | None:
        """The line; None while it has no length."""
        if len(self._points) < 2:
            return None
        marker = new_marker("tip_trace", 0, Marker.LINE_STRIP, self._frame, COLOUR)
        marker.scale.x = self._width
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in (p.tolist() for _, p in self._points)]
        return marker
