"""Everything that a state publisher draws of one robot, from what it hears."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker

from flexdyn_interfaces.msg import HydraulicState
from flexdyn_ros.description import RobotDescription
from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters
from flexdyn_ros.nodes.state_publisher.deformation_mesh import Bent, DeflectionReader, DeformationMesh
from flexdyn_ros.nodes.state_publisher.scenery import TEXT, Legend, RoadStrip, ghosts, new_marker
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms
from flexdyn_ros.numerics.algebra.placement import rotation_of_quaternion
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import matrix_from_pose

#: of legs that push and that pull
PUSH, PULL = (0.80, 0.25, 0.15, 1.0), (0.15, 0.35, 0.75, 1.0)
#: arrow of the greatest force, shaft of an arrow, height of a text [shares of the length of a leg]
LONGEST, SHAFT, LETTERS = 0.5, 0.035, 0.06


class LegMarkers:
    """One arrow and one text per leg, in the frame of its rod: they move with it.

    Parameters
    ----------
    robot : Robot
        A platform.
    prefix : str
        Put before the names of frames.

    Attributes
    ----------
    force, bore, rod : dict
        By name of the leg: force on the rod, positive pushing [N], and pressures [Pa absolute].
    """

    def __init__(self, robot: Robot, prefix: str) -> None:
        legs = appearance_of(robot.description).legs
        self._frames = {name: prefix + rod for name, (_, rod) in legs.items()}
        q = robot.neutral()
        self._length = float(np.mean(robot.inverse_kinematics(q, np.zeros(robot.nv)).length))
        finite = robot.effort_limits[np.isfinite(robot.effort_limits)]
        self._full = float(finite.max()) if finite.size else 9.81 * robot.mass
        self.force: dict[str, float] = {}
        self.bore: dict[str, float] = {}
        self.rod: dict[str, float] = {}

    def take(self, place: dict[str, float], names: Any, values: Any) -> None:
        """Keep values by the names of the legs; others are passed over."""
        place.update(
            (name, value) for name, value in zip(names, values, strict=False) if name in self._frames
        )

    def markers(self) -> list[object]:
        """What is known of each leg."""
        made = []
        for number, (name, frame) in enumerate(self._frames.items()):
            if name not in self.force or not np.isfinite(self.force[name]):
                continue
            made.append(self._arrow(number, frame, self.force[name]))
            made.append(self._text(number, frame, name))
        return made

    def _arrow(self, number: int, frame: str, force: float) -> object:
        """Beside the rod, from its upper end: away from it if the leg pulls, towards it if it pushes."""
        marker = new_marker("leg_force", number, Marker.ARROW, frame, PUSH if force >= 0.0 else PULL)
        reach = max(LONGEST * self._length * min(abs(force) / self._full, 1.0), 1e-3)
        aside = 3.0 * SHAFT * self._length
        low, high = Point(x=aside, z=-reach), Point(x=aside)
        marker.points = [low, high] if force >= 0.0 else [high, low]
        marker.scale = Vector3(x=SHAFT * self._length, y=2.0 * SHAFT * self._length, z=0.0)
        return marker

    def _text(self, number: int, frame: str, name: str) -> object:
        marker = new_marker("leg_text", number, Marker.TEXT_VIEW_FACING, frame, TEXT)
        marker.pose.position = Point(x=6.0 * SHAFT * self._length, z=-0.15 * self._length)
        marker.scale.z = LETTERS * self._length
        marker.text = _words(self.force[name], self.bore, self.rod, name)
        return marker


def _words(force: float, bore: Mapping[str, float], rod: Mapping[str, float], name: str) -> str:
    # without blanks: rviz draws one as wide as a word
    text = f"{1e-3 * force:.1f}kN"
    if name in bore and name in rod:
        text += f"\n{1e-5 * bore[name]:.0f}|{1e-5 * rod[name]:.0f}bar"
    return text


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


#: messages of what changes seldom [1/s], and how many of them are without the things that stand still
RATE, SELDOM = 10.0, 10


class Picture:
    """Markers of one robot.

    Parameters
    ----------
    robot : Robot
    urdf : str
        Its expanded description.
    frame : str
        A fixed one: the legend, the road and the trace of the tip are in it.
    settings : StatePublisherParameters

    Attributes
    ----------
    rate : float
        At which `markers` is to be called [1/s].
    """

    rate = RATE

    def __init__(self, robot: Robot, urdf: str, frame: str, settings: StatePublisherParameters) -> None:
        self._appearance, self._settings = appearance_of(robot.description), settings
        self._mesh = DeformationMesh(robot.description)
        self._legend = Legend(robot, frame)
        self._reader = DeflectionReader()
        self._bent: list[Bent] = []
        self._base = robot.frames(robot.neutral(), robot.description.root)
        self._moves = robot.description.base.type != "fixed"
        self._road = RoadStrip(self._appearance, frame) if self._appearance.road else None
        self._legs = LegMarkers(robot, settings.frame_prefix) if robot.legs else None
        self._trace = None
        tip = settings.trace_frame or deepest_link(robot.description)
        if settings.trace_duration > 0.0 and (settings.trace_frame or self._legs is None):
            size = float(np.max(np.ptp(robot.frames(robot.neutral())[:, :3, 3], axis=0)))
            transforms = JointTransforms(urdf)
            self._trace = TipTrace(transforms, tip, frame, settings.trace_duration, size)
        self._count = 0

    # ---- what is heard ----

    def wants(self, topic: str) -> bool:
        """Whether this robot has to do with a topic."""
        return self._moves if topic == "odom" else self._legs is not None

    def change(self, settings: StatePublisherParameters) -> None:
        """Other settings."""
        if settings.colour != self._settings.colour or settings.colour_limit != self._settings.colour_limit:
            self._mesh.restart_colours()
        self._settings, self._count = settings, 0

    def take_odometry(self, message: Odometry) -> None:
        """Where the root link is."""
        self._base = matrix_from_pose(message.pose.pose)

    def take_joints(
        self, time: float, rows: np.ndarray, position: np.ndarray, quaternion: np.ndarray
    ) -> None:
        """`JointTransforms.poses` at a time [s]."""
        if self._trace is not None:
            self._trace.add(time, self._base, rows, position, quaternion)

    def take_legs(self, message: JointState) -> None:
        """Forces of legs."""
        assert self._legs is not None
        self._legs.take(self._legs.force, message.name, message.effort)

    def take_pressures(self, message: HydraulicState) -> None:
        """Pressures of cylinders."""
        assert self._legs is not None
        self._legs.take(self._legs.bore, message.names, message.pressure_bore)
        self._legs.take(self._legs.rod, message.names, message.pressure_rod)

    # ---- what is drawn ----

    def mesh_message(self, data: bytes) -> bytes | None:
        """The MarkerArray of a LinkDeflections message, both as bytes; None where nothing bends.

        Raises
        ------
        ValueError
            If the bytes are no such message.
        """
        stamp, self._bent = self._reader.read(data)
        return self._mesh.message(stamp, self._bent, self._settings)

    def markers(self) -> list[Marker]:
        """What changes between two calls; once a second all, for viewers that came later."""
        settings, everything = self._settings, self._count % SELDOM == 0
        self._count += 1
        made = []
        if self._trace is not None:
            made.append(self._trace.marker())
        if self._legs is not None:
            made += self._legs.markers()
        if self._road is not None:
            if everything:
                self._road.forget()
            made.append(self._road.marker(float(self._base[0, 3])))
        if everything and self._bent:
            if settings.ghost:
                made += ghosts(self._appearance, self._bent, settings.frame_prefix)
            if settings.legend:
                made += self._legend.markers(self._mesh.quantity, self._mesh.top)
        return [marker for marker in made if marker is not None]
