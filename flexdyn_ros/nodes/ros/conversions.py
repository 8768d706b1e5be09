"""Everything between messages and arrays. ROS puts linear before angular, the library angular before linear:
the swap
happens here and nowhere else."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Twist, Vector3, Wrench

from flexdyn_interfaces.msg import Coordinate as CoordinateMsg
from flexdyn_interfaces.msg import DynamicsState, HydraulicState, LinkDeflection, LinkDeflections
from flexdyn_ros.expanding import bending_frames
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders
from flexdyn_ros.numerics.algebra.placement import quaternion_of
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS, HYDRAULIC_PARTS, station_numbers

# ---- time ----


def time_message(nanoseconds: int) -> Time:
    """Stamp from nanoseconds."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


# ---- geometry ----


def vector_message(x: Sequence[float] | np.ndarray) -> Vector3:
    """Vector3 from three numbers."""
    return Vector3(x=float(x[0]), y=float(x[1]), z=float(x[2]))


def pose_message(T: np.ndarray) -> Pose:
    """Pose from a homogeneous matrix (4, 4)."""
    x, y, z, w = quaternion_of(T[:3, :3])
    position = Point(x=float(T[0, 3]), y=float(T[1, 3]), z=float(T[2, 3]))
    return Pose(position=position, orientation=Quaternion(x=x, y=y, z=z, w=w))


def transform_message(T: np.ndarray) -> Transform:
    """Transform from a homogeneous matrix (4, 4)."""
    x, y, z, w = quaternion_of(T[:3, :3])
    return Transform(translation=vector_message(T[:3, 3]), rotation=Quaternion(x=x, y=y, z=z, w=w))


def poses_from_matrices(T: np.ndarray) -> list[Pose]:
    """Poses, row-major, from matrices (..., 4, 4)."""
    return [pose_message(matrix) for matrix in T.reshape(-1, 4, 4)]


# ---- pairs of vectors: (angular; linear) inside, linear first outside ----


def wrench_vector(wrench: Wrench) -> np.ndarray:
    """(moment; force) (6,) of a Wrench."""
    m, f = wrench.torque, wrench.force
    return np.array([m.x, m.y, m.z, f.x, f.y, f.z])


def wrench_message(w: Sequence[float] | np.ndarray) -> Wrench:
    """Wrench from (moment; force) (6,)."""
    return Wrench(force=vector_message(w[3:6]), torque=vector_message(w[:3]))


def twist_message(V: Sequence[float] | np.ndarray) -> Twist:
    """Twist from (angular; linear) (6,)."""
    return Twist(linear=vector_message(V[3:6]), angular=vector_message(V[:3]))


def rows_of_jacobian(J: np.ndarray) -> np.ndarray:
    """Jacobians (..., 6, nv) with linear rows first."""
    return np.concatenate((J[..., 3:, :], J[..., :3, :]), axis=-2)


# ---- records ----


def coordinate_message(c: Coordinate) -> CoordinateMsg:
    """Coordinate message of a robot's coordinate."""
    own = {name: getattr(c, name) for name in CoordinateMsg.get_fields_and_field_types() if hasattr(c, name)}
    return CoordinateMsg(position_index=c.q_index, velocity_index=c.v_index, **own)


def dynamics_state(robot: Robot, stamp: Time, arrays: Mapping[str, np.ndarray]) -> DynamicsState:
    """DynamicsState from arrays q, v, a, tau."""
    message = DynamicsState(
        robot=robot.name,
        position_names=list(robot.q_names),
        velocity_names=list(robot.v_names),
        effort_names=list(robot.effort_names),
        positions=doubles(arrays["q"]),
        velocities=doubles(arrays["v"]),
        accelerations=doubles(arrays["a"]),
        efforts=doubles(arrays["tau"]),
    )
    message.header.stamp = stamp
    message.header.frame_id = "world"
    return message


def fill_hydraulic_state(message: HydraulicState, cylinders: Cylinders) -> None:
    """Write the present state into a HydraulicState message, all but header and names."""
    columns = cylinders.rows.T
    for i, name in enumerate(HYDRAULIC_PARTS):
        setattr(message, name, doubles(columns[i]))
    message.flags = array("I", (int(x) for x in cylinders["flags"]))


_KNOWN: WeakKeyDictionary[object, dict[str, tuple[str, float]]] = WeakKeyDictionary()


def deflection_message(robot: Robot, bent: dict[str, object], row: tuple[int, ...] = ()) -> LinkDeflections:
    """LinkDeflections of one sample, the one at `row` of what `robot.deflections` answered; frames
    LINK/beam, SECTION/base of soft sections."""
    frames = bending_frames_of(robot)
    return LinkDeflections(
        robot=robot.name, links=[_link(name, *frames[name], d, row) for name, d in bent.items()]
    )


def bending_frames_of(robot: Robot) -> dict[str, tuple[str, float]]:
    """`bending_frames`, once for every robot."""
    if robot not in _KNOWN:
        _KNOWN[robot] = bending_frames(robot.description)
    return _KNOWN[robot]


def _link(name: str, frame: str, length: float, d: Any, row: tuple[int, ...]) -> LinkDeflection:
    numbers = zip(DEFLECTION_PARTS, station_numbers(d), strict=True)
    values = {field: (of_all[row], width) for (_, field, width), of_all in numbers}
    return LinkDeflection(
        link=name,
        frame_id=frame,
        length=length,
        stations=doubles(d.station),
        **{field: _vectors(x) if width == 3 else doubles(x) for field, (x, width) in values.items()},
    )


def _vectors(rows: np.ndarray) -> list[object]:
    return [vector_message(x) for x in rows.tolist()]
