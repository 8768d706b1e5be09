"""Placements of frames (rotation and origin) and the inertias that are carried along with them."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, cos, sin, sqrt
from typing import NamedTuple

import numpy as np


def rotation_of_rpy(rpy: Sequence[float]) -> np.ndarray:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll), URDF's rule; exact for multiples of 90 degrees up to
    rounding."""
    cr, sr, cp, sp, cy, sy = cos(rpy[0]), sin(rpy[0]), cos(rpy[1]), sin(rpy[1]), cos(rpy[2]), sin(rpy[2])
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_of_quaternion(x: float, y: float, z: float, w: float) -> np.ndarray:
    """Rotation matrix (3, 3) of a unit quaternion."""
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ])  # fmt: skip


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


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The cross product (3,) of two vectors (3,), in a tenth of the time of NumPy's, which takes arrays."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def cross_matrices(x: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) whose products with vectors are the cross products x (n, 3) times these vectors."""
    C = np.zeros((len(x), 3, 3))
    C[:, 0, 1], C[:, 0, 2], C[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    return C - np.swapaxes(C, 1, 2)


class Placement(NamedTuple):
    """Where a frame is: rotation R (3, 3) and origin p (3,) [m], both in the frame of reference."""

    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, other: Placement) -> Placement:
        """The placement `other`, given in this frame, in this frame's frame of reference."""
        return Placement(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Placement:
        """The placement of the frame of reference in this frame."""
        return Placement(self.R.T, -self.R.T @ self.p)

    @staticmethod
    def of(xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> Placement:
        """Placement of a URDF origin."""
        return Placement(rotation_of_rpy(rpy), np.asarray(xyz, dtype=float))

    def flat(self) -> np.ndarray:
        """The twelve numbers that kernels read: R row by row, then p."""
        return np.concatenate([self.R.ravel(), self.p])


IDENTITY = Placement(np.eye(3), np.zeros(3))


def frame_with_z_along(axis: Sequence[float]) -> np.ndarray:
    """A rotation matrix whose third column is the unit vector `axis`; signed permutations for coordinate
    axes."""
    z = np.asarray(axis, dtype=float)
    helper = np.zeros(3)
    helper[(int(np.argmax(np.abs(z))) + 1) % 3] = 1.0
    x = helper - (helper @ z) * z
    x /= np.sqrt(x @ x)
    return np.array([x, cross(z, x), z]).T.copy()


class RigidInertia(NamedTuple):
    """Mass [kg], first moment (3,) [kg m] and inertia (3, 3) about the origin [kg m2] in some frame."""

    mass: float
    moment: np.ndarray
    inertia: np.ndarray

    @staticmethod
    def zero() -> RigidInertia:
        return RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def of(
        mass: float, com: Sequence[float], inertia: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> RigidInertia:
        """From URDF: com (3,), inertia (ixx, ixy, ixz, iyy, iyz, izz) about the com in axes turned by rpy."""
        xx, xy, xz, yy, yz, zz = inertia
        R = rotation_of_rpy(rpy)
        about_com = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        c = np.asarray(com, dtype=float)
        return RigidInertia(float(mass), mass * c, about_com + mass * (c @ c * IDENTITY.R - c[:, None] * c))

    def seen_from(self, placement: Placement) -> RigidInertia:
        """The same body in the frame of reference in which its frame has `placement`."""
        R, p = placement
        c = R @ self.moment
        d = c + 0.5 * self.mass * p
        outer = p[:, None] * d
        shifted = R @ self.inertia @ R.T + 2.0 * (p @ d) * IDENTITY.R - outer - outer.T
        return RigidInertia(self.mass, c + self.mass * p, shifted)

    def __add__(self, other: RigidInertia) -> RigidInertia:  # type: ignore[override]
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.inertia + other.inertia)

    def flat(self) -> np.ndarray:
        """The ten numbers that kernels read: mass, first moment, xx xy xz yy yz zz."""
        i = self.inertia
        return np.array([self.mass, *self.moment, i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2]])
