"""The joints of a platform's expanded description: six of the platform from the base, three of each leg."""

from __future__ import annotations

from typing import Any

import numpy as np
from lxml import etree

from flexdyn_ros.expanded.frames import angle_rates, limit_to, yaw_pitch_roll
from flexdyn_ros.numerics.algebra.placement import Placement

#: name of a platform alone, whatever the URDF calls its floating joint
PLATFORM = "platform"
_SUFFIXES = ("x", "y", "z", "yaw", "pitch", "roll")


def limit_platform(root: etree._Element, robot: Any, prefix: str = PLATFORM) -> None:
    """Limits of the platform's translations, which the URDF does not have: as far as its legs are long, and
    their joints from its origin."""
    longest = max(leg.shortest + leg.stroke for leg in robot.legs)
    reach = longest + max(float(np.linalg.norm(leg.anchor)) for leg in robot.description.platform.legs)
    for joint in root.findall("joint"):
        if joint.get("name") in {f"{prefix}/{axis}" for axis in "xyz"}:
            limit_to(joint, -reach, reach)


def mounted_joints(root: etree._Element, robot: Any) -> list[MountedJoints]:
    """The joints of each platform of a tree, whose translations it limits."""
    for mount in robot.description.mounts:
        limit_platform(root, robot.mechanisms[mount.platform.link], mount.prefix)
    return [MountedJoints(robot, mount.platform.link, mount.prefix) for mount in robot.description.mounts]


class MountedJoints:
    """Those of a platform that is part of a tree: the joints of its mechanism, seen from the link that
    carries them."""

    def __init__(self, robot: Any, link: str, prefix: str) -> None:
        mechanism = robot.mechanisms[link]
        self._robot, self._link, self._joints = robot, link, PlatformJoints(mechanism, prefix)
        self.names = self._joints.names
        column = robot.effort_names.index
        self.efforts = {leg.joints[2]: column(leg.name) for leg in mechanism.legs}

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., k) [m, rad, per s] for q (..., nq), v (..., nv)."""
        return self._joints.state(*self._robot.carried_motion(q, v, self._link))


class PlatformJoints:
    """Positions and velocities of all moving joints of a platform's URDF, in the order of the file.

    The platform's six are its pose in the frame of the link that carries it, not relative to home; those of
    the legs are the angles of the universal joints and the strokes that close the loops.
    """

    def __init__(self, robot: Any, prefix: str = PLATFORM) -> None:
        self._robot = robot
        self._link = robot.description.platform.link
        joint = robot.description.joint_to(self._link)
        carrier = robot.frames(robot.neutral(), joint.parent)
        self._carrier = Placement(carrier[:3, :3].copy(), carrier[:3, 3].copy())
        place = {name: 6 + 3 * i + n for i, leg in enumerate(robot.legs) for n, name in enumerate(leg.joints)}
        names: list[str] = []
        columns: list[int] = []
        for moving in robot.description.joints:
            if moving.type == "fixed":
                continue
            if moving.name == joint.name:
                names += [f"{prefix}/{suffix}" for suffix in _SUFFIXES]
                columns += range(6)
            else:
                names.append(moving.name)
                columns.append(place[moving.name])
        self.names = tuple(names)
        self._columns = np.array(columns)
        self.efforts = {leg.joints[2]: i for i, leg in enumerate(robot.legs)}

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., k) [m, rad, per s] for q (..., 7), v (..., 6)."""
        joints, rates = self._robot.leg_joints(q, v)
        moved, angles = self._pose(q)
        turning = angle_rates(angles, v[..., :3] @ self._carrier.R)
        return (
            self._joined(moved, angles, joints),
            self._joined(v[..., 3:] @ self._carrier.R, turning, rates),
        )

    def _pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position (..., 3) and angles (..., 3) of the platform in its carrier."""
        poses = self._robot.frames(q, self._link)
        moved = (poses[..., :3, 3] - self._carrier.p) @ self._carrier.R
        return moved, yaw_pitch_roll(self._carrier.R.T @ poses[..., :3, :3])

    def _joined(self, moved: np.ndarray, turned: np.ndarray, joints: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(moved.shape[:-1], turned.shape[:-1], joints.shape[:-2])
        pieces = (moved, turned, joints.reshape(*joints.shape[:-2], 18))
        full = [np.broadcast_to(piece, (*shape, piece.shape[-1])) for piece in pieces]
        return np.concatenate(full, axis=-1)[..., self._columns]
