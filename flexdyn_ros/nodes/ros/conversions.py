"""Everything between messages and arrays. ROS puts linear before angular, the library angular before linear:
the swap
happens here and nowhere else."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import copysign, sqrt
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Twist, Vector3, Wrench

from flexdyn_interfaces.msg import Coordinate as CoordinateMsg
from flexdyn_interfaces.msg import DynamicsState, HydraulicState
from flexdyn_ros.families.actuators.hydraulics import Cylinders
from flexdyn_ros.simulation.live.message_fields import doubles

# ---- time ----


def time_message(nanoseconds: int) -> Time:
    """Stamp from nanoseconds."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


# ---- geometry ----


#: fields of the message that are fields of the state as well, in their order
_HYDRAULIC_FIELDS = [
    name for name, kind in HydraulicState.get_fields_and_field_types().items() if kind == "sequence<double>"
]


def vector_message(x: Any) -> Vector3:
    """Vector3 from three numbers."""
    return Vector3(x=float(x[0]), y=float(x[1]), z=float(x[2]))


def quaternion_of(R: np.ndarray) -> tuple[float, float, float, float]:
    """Unit quaternion x y z w of a rotation matrix, w >= 0 (Shepperd 1978: the largest of the four is never
    divided by)."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    trace = a + e + i
    if trace > 0.0:
        s = 2.0 * sqrt(1.0 + trace)
        x, y, z, w = (h - f) / s, (c - g) / s, (d - b) / s, 0.25 * s
    elif a >= e and a >= i:
        s = 2.0 * sqrt(1.0 + a - e - i)
        x, y, z, w = 0.25 * s, (b + d) / s, (c + g) / s, (h - f) / s
    elif e >= i:
        s = 2.0 * sqrt(1.0 + e - a - i)
        x, y, z, w = (b + d) / s, 0.25 * s, (f + h) / s, (c - g) / s
    else:
        s = 2.0 * sqrt(1.0 + i - a - e)
        x, y, z, w = (c + g) / s, (f + h) / s, 0.25 * s, (d - b) / s
    n = copysign(sqrt(x * x + y * y + z * z + w * w), w if w else 1.0)
    return x / n, y / n, z / n, w / n


def quaternions_of(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (n, 4), x y z w, of rotation matrices (n, 3, 3), as `quaternion_of` for each."""
    a, e, i = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    h_f, c_g, d_b = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d_b2, c_g2, h_f2 = R[:, 1, 0] + R[:, 0, 1], R[:, 0, 2] + R[:, 2, 0], R[:, 2, 1] + R[:, 1, 2]
    cases = (
        (1.0 + a + e + i, (h_f, c_g, d_b, None)),
        (1.0 + a - e - i, (None, d_b2, c_g2, h_f)),
        (1.0 + e - a - i, (d_b2, None, h_f2, c_g)),
        (1.0 + i - a - e, (c_g2, h_f2, None, d_b)),
    )
    largest = np.where(a + e + i > 0.0, 0, np.where((a >= e) & (a >= i), 1, np.where(e >= i, 2, 3)))
    found = np.empty((len(R), 4))
    for case, (square, parts) in enumerate(cases):
        rows = largest == case
        s = 2.0 * np.sqrt(square[rows])
        for k, part in enumerate(parts):
            found[rows, k] = 0.25 * s if part is None else part[rows] / s
    n = np.sqrt(np.einsum("ij,ij->i", found, found))
    return found / np.copysign(n, np.where(found[:, 3] != 0.0, found[:, 3], 1.0))[:, None]


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


def wrench_message(w: Any) -> Wrench:
    """Wrench from (moment; force) (6,)."""
    return Wrench(force=vector_message(w[3:6]), torque=vector_message(w[:3]))


def twist_message(V: Any) -> Twist:
    """Twist from (angular; linear) (6,)."""
    return Twist(linear=vector_message(V[3:6]), angular=vector_message(V[:3]))


def rows_of_jacobian(J: np.ndarray) -> np.ndarray:
    """Jacobians (..., 6, nv) with linear rows first."""
    return np.concatenate((J[..., 3:, :], J[..., :3, :]), axis=-2)


# ---- records ----


def coordinate_message(c: Any) -> CoordinateMsg:
    """Coordinate message of a robot's coordinate."""
    own = {name: getattr(c, name) for name in CoordinateMsg.get_fields_and_field_types() if hasattr(c, name)}
    return CoordinateMsg(position_index=c.q_index, velocity_index=c.v_index, **own)


def dynamics_state(robot: Any, stamp: Time, arrays: Mapping[str, np.ndarray]) -> DynamicsState:
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


def fill_hydraulic_state(message: Any, cylinders: Cylinders) -> None:
    """Write the present state into a HydraulicState message, all but header and names."""
    columns = cylinders.rows.T
    for i, name in enumerate(_HYDRAULIC_FIELDS):
        setattr(message, name, doubles(columns[i]))
    message.flags = array("I", (int(x) for x in cylinders["flags"]))
