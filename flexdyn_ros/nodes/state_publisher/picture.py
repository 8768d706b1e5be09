"""Everything that a state publisher draws of one robot, from what it hears."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Vector3
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker

from flexdyn_interfaces.msg import HydraulicState
from flexdyn_ros.description import RobotDescription
from flexdyn_ros.expanding import Expanded, appearance_of
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters
from flexdyn_ros.nodes.state_publisher.deformation_mesh import Bent, DeflectionReader, DeformationMesh
from flexdyn_ros.nodes.state_publisher.scenery import TEXT, Legend, RoadStrip, ghosts, new_marker
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms
from flexdyn_ros.numerics.algebra.placement import rotation_of_quaternion
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.hydraulic_inputs import ranges_of
from flexdyn_ros.simulation.live.message_fields import matrix_from_pose

#: of cylinders that push and that pull
PUSH, PULL = (0.80, 0.25, 0.15, 1.0), (0.15, 0.35, 0.75, 1.0)
#: arrow of the greatest force, shaft of an arrow, height of a text [shares of the length of a cylinder]
LONGEST, SHAFT, LETTERS = 0.5, 0.035, 0.06


class _Rod(NamedTuple):
    """Joint that moves a rod, frame of the rod, and directions (3,) in it: along the rod, and aside."""

    joint: str
    frame: str
    along: np.ndarray
    aside: np.ndarray


class CylinderMarkers:
    """One arrow and one text per cylinder or leg, in the frame of its rod: they move with it.

    Parameters
    ----------
    robot : Robot
    expanded : Expanded
        Whose joints tell the rods.
    prefix : str
        Put before the names of frames.

    Attributes
    ----------
    rods : dict
        By the name of the cylinder.
    force, bore, rod : dict
        By name: force on the rod, positive pushing [N], and pressures [Pa absolute].
    """

    def __init__(self, robot: Robot, expanded: Expanded, prefix: str) -> None:
        names, joints = robot.effort_names, JointTransforms(expanded.urdf, prefix)
        # what moves a joint of another name moves a rod
        rods = {joint: i for joint, i in expanded.efforts.items() if names[i] != joint}
        self.rods = {names[i]: _rod_of(joints, joint) for joint, i in rods.items()}
        self._of_joints = {rod.joint: name for name, rod in self.rods.items()}
        self._joint_force: dict[str, float] = {}
        self.force: dict[str, float] = {}
        self.bore: dict[str, float] = {}
        self.rod: dict[str, float] = {}
        if rods:
            places = list(rods.values())
            lengths, _ = robot.functions.effort_motion(robot.neutral(), np.zeros(robot.nv))
            self._length = float(np.mean(lengths[places]))
            self._full = _largest_force(robot, places)

    def take(self, place: dict[str, float], names: Any, values: Any) -> None:
        """Keep values by the names of the cylinders; others are passed over."""
        place.update((name, value) for name, value in zip(names, values, strict=False) if name in self.rods)

    def take_efforts(self, joints: Any, efforts: Any) -> None:
        """Forces by the names of the joints that move rods, for cylinders that nobody tells by theirs."""
        self._joint_force.update(
            (self._of_joints[joint], effort)
            for joint, effort in zip(joints, efforts, strict=False)
            if joint in self._of_joints
        )

    def markers(self) -> list[object]:
        """What is known of each cylinder."""
        made = []
        forces = self._joint_force | self.force
        for number, (name, rod) in enumerate(self.rods.items()):
            if name not in forces or not np.isfinite(forces[name]):
                continue
            made.append(self._arrow(number, rod, forces[name]))
            made.append(self._text(number, rod, _words(forces[name], self.bore, self.rod, name)))
        return made

    def _arrow(self, number: int, rod: _Rod, force: float) -> object:
        """Beside the rod, from its end: away from it if the cylinder pulls, towards it if it pushes."""
        marker = new_marker("cylinder_force", number, Marker.ARROW, rod.frame, PUSH if force >= 0.0 else PULL)
        reach = max(LONGEST * self._length * min(abs(force) / self._full, 1.0), 1e-3)
        high = 3.0 * SHAFT * self._length * rod.aside
        low, high = _point(high - reach * rod.along), _point(high)
        marker.points = [low, high] if force >= 0.0 else [high, low]
        marker.scale = Vector3(x=SHAFT * self._length, y=2.0 * SHAFT * self._length, z=0.0)
        return marker

    def _text(self, number: int, rod: _Rod, words: str) -> object:
        marker = new_marker("cylinder_text", number, Marker.TEXT_VIEW_FACING, rod.frame, TEXT)
        marker.pose.position = _point((6.0 * SHAFT * rod.aside - 0.15 * rod.along) * self._length)
        marker.scale.z = LETTERS * self._length
        marker.text = words
        return marker


def _rod_of(joints: JointTransforms, joint: str) -> _Rod:
    """The rod that a sliding joint moves."""
    number = joints.number_of(joint)
    along = joints.axis_of(number)
    aside = np.eye(3)[(int(np.argmax(np.abs(along))) + 1) % 3]
    aside = aside - (aside @ along) * along
    return _Rod(joint, joints.frames_of(number)[1], along, aside / np.linalg.norm(aside))


def _largest_force(robot: Robot, places: list[int]) -> float:
    """Of the cylinders at some places among the efforts [N]: their limits, else what their supplies reach,
    else the weight of the robot."""
    motion, names = robot.motion, [robot.effort_names[i] for i in places]
    found = dict.fromkeys(names, np.inf)
    if motion is not None:
        found = dict(zip(names, motion.effort_limit[places].tolist(), strict=True))
    if robot.hydraulics is not None:
        largest = ranges_of(robot.hydraulics, np.inf).largest_force.tolist()
        reached = dict(zip(robot.hydraulics.names, largest, strict=True))
        found = {name: min(limit, reached.get(name, np.inf)) for name, limit in found.items()}
    finite = [limit for limit in found.values() if np.isfinite(limit)]
    return max(finite) if finite else 9.81 * robot.mass


def _point(place: np.ndarray) -> Point:
    x, y, z = place.tolist()
    return Point(x=x, y=y, z=z)


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
    expanded : Expanded
    frame : str
        A fixed one: the legend, the road and the trace of the tip are in it.
    settings : StatePublisherParameters

    Attributes
    ----------
    rate : float
        At which `markers` is to be called [1/s].
    """

    rate = RATE

    def __init__(
        self, robot: Robot, expanded: Expanded, frame: str, settings: StatePublisherParameters
    ) -> None:
        self._appearance, self._settings = appearance_of(robot.description), settings
        self._mesh = DeformationMesh(robot.description)
        self._legend = Legend(robot, frame)
        self._reader = DeflectionReader()
        self._bent: list[Bent] = []
        self._base = robot.frames(robot.neutral(), robot.description.root)
        self._moves = robot.description.base.type != "fixed"
        self._road = RoadStrip(self._appearance, frame) if self._appearance.road else None
        self._cylinders = CylinderMarkers(robot, expanded, settings.frame_prefix)
        self._trace = None
        tip = settings.trace_frame or deepest_link(robot.description)
        if settings.trace_duration > 0.0 and (settings.trace_frame or not robot.legs):
            size = float(np.max(np.ptp(robot.frames(robot.neutral())[:, :3, 3], axis=0)))
            transforms = JointTransforms(expanded.urdf)
            self._trace = TipTrace(transforms, tip, frame, settings.trace_duration, size)
        self._count = 0

    # ---- what is heard ----

    def wants(self, topic: str) -> bool:
        """Whether this robot has to do with a topic."""
        return self._moves if topic == "odom" else bool(self._cylinders.rods)

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

    def take_efforts(self, message: JointState) -> None:
        """Forces of cylinders, among those of joints."""
        self._cylinders.take_efforts(message.name, message.effort)

    def take_legs(self, message: JointState) -> None:
        """Forces of legs, and of other cylinders."""
        self._cylinders.take(self._cylinders.force, message.name, message.effort)

    def take_pressures(self, message: HydraulicState) -> None:
        """Pressures of cylinders."""
        self._cylinders.take(self._cylinders.bore, message.names, message.pressure_bore)
        self._cylinders.take(self._cylinders.rod, message.names, message.pressure_rod)

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
        made += self._cylinders.markers()
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
