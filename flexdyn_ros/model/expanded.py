"""The expanded description: a plain URDF of rigid pieces that shows a robot as it is, and its joint states.

For a rigid tree the pieces are its links. `<flexdyn>` blocks and `<inertial>` are left out, so that nobody
simulates the picture by mistake; a floating base leaves the URDF (it is an odometry transform), a floating
joint becomes six one-axis ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.errors import UnsupportedError

__all__ = ["Expanded", "expand"]

#: one-axis joints that stand for a floating one, from the parent on: (suffix, type, axis)
SIX_AXES = (
    ("x", "prismatic", "1 0 0"),
    ("y", "prismatic", "0 1 0"),
    ("z", "prismatic", "0 0 1"),
    ("yaw", "continuous", "0 0 1"),
    ("pitch", "continuous", "0 1 0"),
    ("roll", "continuous", "1 0 0"),
)


@dataclass(frozen=True)
class _Free:
    """A floating joint: where it is in q and v, and its first column among the joints."""

    q_index: int
    v_index: int
    column: int


class Expanded:
    """A URDF that any tool can show, and the map from a robot's state to its joint states.

    Attributes
    ----------
    urdf : str
        XML text without our elements and without `<inertial>`.
    joint_names : tuple of str
        Every joint that moves, mimic joints included, in the order of the file.
    """

    def __init__(
        self,
        urdf: str,
        joint_names: tuple[str, ...],
        columns: np.ndarray,
        ratios: np.ndarray,
        offsets: np.ndarray,
        effort_columns: np.ndarray,
        free: tuple[_Free, ...],
    ) -> None:
        self.urdf = urdf
        self.joint_names = joint_names
        self._q_columns, self._v_columns = columns
        self._ratios, self._offsets = ratios, offsets
        self._effort_columns = effort_columns
        self._has_effort = effort_columns >= 0
        self._free = free

    def joint_positions(self, q: np.ndarray) -> np.ndarray:
        """Positions (..., k) [rad or m] of `joint_names` for q (..., nq)."""
        q = np.asarray(q, dtype=np.float64)
        positions = self._ratios * q[..., self._q_columns] + self._offsets
        for f in self._free:
            positions[..., f.column : f.column + 3] = q[..., f.q_index : f.q_index + 3]
            positions[..., f.column + 3 : f.column + 6] = _yaw_pitch_roll(
                q[..., f.q_index + 3 : f.q_index + 7]
            )
        return positions

    def joint_velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities (..., k) [rad/s or m/s] of `joint_names` for q (..., nq) and v (..., nv).

        At a pitch of 90 degrees yaw and roll of a floating joint cannot be told apart; their rates are then
        limited.
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        velocities = self._ratios * v[..., self._v_columns]
        for f in self._free:
            angles = _yaw_pitch_roll(q[..., f.q_index + 3 : f.q_index + 7])
            velocities[..., f.column : f.column + 3] = v[..., f.v_index + 3 : f.v_index + 6]
            velocities[..., f.column + 3 : f.column + 6] = _angle_rates(
                angles, v[..., f.v_index : f.v_index + 3]
            )
        return velocities

    def joint_efforts(self, tau: np.ndarray) -> np.ndarray:
        """Efforts (..., k) [N m or N] of `joint_names` for tau (..., nu); 0 for joints that no actuator
        moves itself."""
        return np.where(self._has_effort, np.asarray(tau, dtype=np.float64)[..., self._effort_columns], 0.0)


def expand(robot: Any, segments: int | None = None) -> Expanded:
    """The expanded description of a robot.

    Parameters
    ----------
    robot : Robot
    segments : int, optional
        Pieces per flexible link; a rigid tree has none, so that it makes no difference there.

    Raises
    ------
    UnsupportedError
        If robots of this kind, or with links that bend, are not expanded yet.
    """
    if robot.kind != "tree":
        raise UnsupportedError(f"robots of kind '{robot.kind}' are not expanded yet; kind 'tree' is")
    bending = sorted({c.body for c in robot.coordinates if c.kind not in ("base", "joint")})
    if bending:
        raise UnsupportedError(
            f"flexible links ({', '.join(bending)}) are not expanded yet; load the robot with "
            "options={'formulation.flexible': False} to show its rigid twin"
        )
    moving = [joint for joint in robot.description.joints if joint.type != "fixed"]
    names: list[str] = []
    rows: list[tuple[int, int, float, float, int]] = []
    free: list[_Free] = []
    at = {c.name: c for c in robot.coordinates}
    starts = {name: i for i, name in enumerate(robot.q_names)}
    for joint in moving:
        if joint.type == "floating":
            free.append(_Free(starts[f"{joint.name}/x"], at[f"{joint.name}/wx"].v_index, len(names)))
            names += [f"{joint.name}/{suffix}" for suffix, _, _ in SIX_AXES]
            rows += [(0, 0, 0.0, 0.0, -1)] * 6
            continue
        leader, ratio, offset = _leader(robot.description, joint)
        c = at[leader.name]
        names.append(joint.name)
        rows.append((c.q_index, c.v_index, ratio, offset, c.v_index if joint.mimic is None else -1))
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 5)
    return Expanded(
        urdf=_shown_text(robot.description),
        joint_names=tuple(names),
        columns=table[:, :2].T.astype(np.int64),
        ratios=table[:, 2].copy(),
        offsets=table[:, 3].copy(),
        effort_columns=table[:, 4].astype(np.int64),
        free=tuple(free),
    )


def _leader(description: RobotDescription, joint: Joint) -> tuple[Joint, float, float]:
    """The joint at the end of a chain of mimics: position = ratio * leader's + offset."""
    ratio, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += ratio * joint.mimic.offset
        ratio *= joint.mimic.multiplier
        joint = description.joint(joint.mimic.joint)
    return joint, ratio, offset


def _shown_text(description: RobotDescription) -> str:
    """The URDF without what is not for showing."""
    parser = etree.XMLParser(remove_comments=True, resolve_entities=False)
    root = etree.fromstring(description.text.encode(), parser)
    for element in list(root):
        if element.tag in ("flexdyn", "gazebo", "transmission", "ros2_control"):
            root.remove(element)
    for inertial in list(root.iter("inertial")):
        inertial.getparent().remove(inertial)
    root.set("name", description.name)
    _drop_base(root, description)
    floating = {joint.name for joint in description.joints if joint.type == "floating"}
    for joint in root.findall("joint"):
        if joint.get("name") in floating:
            _split_floating(root, joint)
    etree.indent(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _drop_base(root: etree._Element, description: RobotDescription) -> None:
    """Take the floating joint of the base and the link above it out: odometry places the root link."""
    base = description.base
    for element in root.findall("joint") + root.findall("link"):
        is_joint = element.tag == "joint" and element.get("name") == base.joint
        if (base.joint and is_joint) or (
            base.world and element.tag == "link" and element.get("name") == base.world
        ):
            root.remove(element)


def _split_floating(root: etree._Element, joint: etree._Element) -> None:
    """Six one-axis joints in place of a floating one; the last carries the child link."""
    name, parent, child = joint.get("name", ""), _end(joint, "parent"), _end(joint, "child")
    origin = joint.find("origin")
    index = root.index(joint)
    root.remove(joint)
    for number, (suffix, kind, axis) in enumerate(SIX_AXES):
        last = number == len(SIX_AXES) - 1
        link = child if last else f"{name}/{suffix}_link"
        if not last:
            root.append(etree.Element("link", name=link))
        new = etree.Element("joint", name=f"{name}/{suffix}", type=kind)
        etree.SubElement(new, "parent", link=parent)
        etree.SubElement(new, "child", link=link)
        if number == 0 and origin is not None:
            new.append(origin)
        etree.SubElement(new, "axis", xyz=axis)
        if kind == "prismatic":
            etree.SubElement(new, "limit", lower="-1e9", upper="1e9", effort="0", velocity="1e9")
        root.insert(index + number, new)
        parent = link


def _end(joint: etree._Element, tag: str) -> str:
    """Name of the parent or child link."""
    element = joint.find(tag)
    return "" if element is None else element.get("link", "")


def _yaw_pitch_roll(quaternion: np.ndarray) -> np.ndarray:
    """Angles (..., 3) of R = Rz(yaw) Ry(pitch) Rx(roll) from quaternions x y z w (..., 4)."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    yaw = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return np.stack((yaw, pitch, roll), axis=-1)


def _angle_rates(angles: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rates of yaw, pitch, roll from the angular velocity (..., 3) in the axes of the parent frame."""
    yaw, pitch = angles[..., 0], angles[..., 1]
    along = np.cos(yaw) * w[..., 0] + np.sin(yaw) * w[..., 1]
    across = np.cos(yaw) * w[..., 1] - np.sin(yaw) * w[..., 0]
    cosine = np.cos(pitch)
    roll = along / np.where(np.abs(cosine) < 1e-6, 1e-6, cosine)
    return np.stack((w[..., 2] + roll * np.sin(pitch), across, roll), axis=-1)
