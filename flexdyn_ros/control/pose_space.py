"""Poses as configurations: what a path of poses needs of a robot, for a frame that is not one."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


class PoseSpace:
    """Poses (7,), position and quaternion x y z w, and displacements (6,): turn [rad], then way [m], both in
    world axes; conventions of a platform's coordinates."""

    @staticmethod
    def integrate(pose: np.ndarray, twist: np.ndarray, dt: float) -> np.ndarray:
        """The pose (7,) after dt [s] of a constant twist (6,)."""
        turned = Rotation.from_rotvec(twist[:3] * dt) * Rotation.from_quat(pose[3:])
        return np.concatenate((pose[:3] + twist[3:] * dt, turned.as_quat()))

    @staticmethod
    def difference(pose0: np.ndarray, pose1: np.ndarray) -> np.ndarray:
        """The displacements (..., 6) from poses (..., 7) to others."""
        turn = Rotation.from_quat(pose1[..., 3:]) * Rotation.from_quat(pose0[..., 3:]).inv()
        return np.concatenate((turn.as_rotvec(), pose1[..., :3] - pose0[..., :3]), axis=-1)

    @staticmethod
    def of_matrix(T: np.ndarray) -> np.ndarray:
        """The pose (7,) of a matrix (4, 4)."""
        return np.concatenate((T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()))

    @staticmethod
    def matrix(pose: np.ndarray) -> np.ndarray:
        """The matrix (4, 4) of a pose (7,)."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
        return T
