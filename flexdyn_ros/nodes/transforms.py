"""Transforms of the joints of a plain URDF: each depends on its own joint alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from lxml import etree

__all__ = ["JointTransforms"]

_TURNING = ("revolute", "continuous")


@dataclass(frozen=True)
class _Joint:
    """A joint: names of its links, position (3,) [m], quaternion x y z w (4,), axis (3,), leader or ''."""

    name: str
    kind: str
    parent: str
    child: str
    position: np.ndarray
    quaternion: np.ndarray
    axis: np.ndarray
    leader: str
    ratio: float
    offset: float


class JointTransforms:
    """Transforms parent -> child of all joints of a URDF.

    Parameters
    ----------
    urdf : str
        XML text.
    prefix : str
        Put before the names of all frames.

    Attributes
    ----------
    names : tuple of str
        Moving joints.
    fixed : tuple
        Fixed joints.
    """

    def __init__(self, urdf: str, prefix: str = "") -> None:
        root = etree.fromstring(urdf.encode(), etree.XMLParser(resolve_entities=False))
        joints = [_read(element, prefix) for element in root.findall("joint")]
        self.fixed = tuple(joint for joint in joints if joint.kind == "fixed")
        self._moving = {joint.name: joint for joint in joints if joint.kind != "fixed"}
        self.names = tuple(self._moving)
        self._followers: dict[str, list[_Joint]] = {}
        for joint in self._moving.values():
            if joint.leader:
                self._followers.setdefault(joint.leader, []).append(joint)

    def fixed_messages(self, stamp: Any) -> list[TransformStamped]:
        """Transforms of the fixed joints."""
        return [_message(joint, joint.position, joint.quaternion, stamp) for joint in self.fixed]

    def moving_messages(
        self, names: Sequence[str], positions: Sequence[float], stamp: Any
    ) -> list[TransformStamped]:
        """Transforms of the joints that are named; mimic joints follow unnamed; unknown ones are skipped.

        Raises ValueError if there are not as many positions as names, or one is not finite.
        """
        if len(names) != len(positions):
            raise ValueError(
                f"position has {len(positions)} numbers, expected {len(names)} (as many as name)"
            )
        if not np.isfinite(positions).all():
            raise ValueError("position holds a number that is not finite")
        values = {name: x for name, x in zip(names, positions, strict=True) if name in self._moving}
        for leader in [name for name in values if name in self._followers]:
            self._follow(leader, values)
        return [self._moved(self._moving[name], x, stamp) for name, x in values.items()]

    def _follow(self, leader: str, values: dict[str, float]) -> None:
        for joint in self._followers.get(leader, []):
            if joint.name not in values:
                values[joint.name] = joint.ratio * values[leader] + joint.offset
                self._follow(joint.name, values)

    def _moved(self, joint: _Joint, x: float, stamp: Any) -> TransformStamped:
        if joint.kind in _TURNING:
            turn = np.append(np.sin(0.5 * x) * joint.axis, np.cos(0.5 * x))
            return _message(joint, joint.position, _product(joint.quaternion, turn), stamp)
        return _message(
            joint, joint.position + x * _rotated(joint.quaternion, joint.axis), joint.quaternion, stamp
        )


def _read(element: Any, prefix: str) -> _Joint:
    origin, axis, mimic = element.find("origin"), element.find("axis"), element.find("mimic")
    direction = _numbers(axis, "xyz", "1 0 0")
    length = np.linalg.norm(direction)
    return _Joint(
        name=element.get("name"),
        kind=element.get("type"),
        parent=prefix + element.find("parent").get("link"),
        child=prefix + element.find("child").get("link"),
        position=_numbers(origin, "xyz", "0 0 0"),
        quaternion=_from_rpy(_numbers(origin, "rpy", "0 0 0")),
        axis=direction / length if length > 0.0 else direction,
        leader="" if mimic is None else mimic.get("joint"),
        ratio=1.0 if mimic is None else float(mimic.get("multiplier", 1.0)),
        offset=0.0 if mimic is None else float(mimic.get("offset", 0.0)),
    )


def _numbers(element: Any, attribute: str, default: str) -> np.ndarray:
    return np.array(
        [float(x) for x in (default if element is None else element.get(attribute, default)).split()]
    )


def _message(joint: _Joint, position: np.ndarray, quaternion: np.ndarray, stamp: Any) -> TransformStamped:
    x, y, z = position.tolist()
    qx, qy, qz, qw = quaternion.tolist()
    message = TransformStamped(child_frame_id=joint.child)
    message.header.stamp, message.header.frame_id = stamp, joint.parent
    message.transform.translation = Vector3(x=x, y=y, z=z)
    message.transform.rotation = Quaternion(x=qx, y=qy, z=qz, w=qw)
    return message


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of quaternions x y z w."""
    return np.append(a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3]), a[3] * b[3] - a[:3] @ b[:3])


def _rotated(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x turned by the quaternion q."""
    t = 2.0 * np.cross(q[:3], x)
    return x + q[3] * t + np.cross(q[:3], t)


def _from_rpy(rpy: np.ndarray) -> np.ndarray:
    """Quaternion of fixed-axis roll, pitch, yaw."""
    half = 0.5 * rpy
    axes = np.eye(3)
    turns = [np.append(np.sin(half[i]) * axes[i], np.cos(half[i])) for i in range(3)]
    return _product(turns[2], _product(turns[1], turns[0]))
