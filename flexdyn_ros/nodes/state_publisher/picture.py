"""Everything that a state publisher draws of one robot, from what it hears."""

from __future__ import annotations

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker

from flexdyn_interfaces.msg import HydraulicState
from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters
from flexdyn_ros.nodes.state_publisher.deflection_bytes import Bent, DeflectionReader
from flexdyn_ros.nodes.state_publisher.deformation_mesh import DeformationMesh
from flexdyn_ros.nodes.state_publisher.leg_markers import LegMarkers
from flexdyn_ros.nodes.state_publisher.scenery import Legend, RoadStrip, ghosts
from flexdyn_ros.nodes.state_publisher.tip_trace import TipTrace, deepest_link
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import matrix_from_pose

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
                made += self._legend.markers(settings.colour, self._mesh.top)
        return [marker for marker in made if marker is not None]
