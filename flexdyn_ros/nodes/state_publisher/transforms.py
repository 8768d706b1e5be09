"""Transforms of the joints of a plain URDF: each depends on its own joint alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from lxml import etree

from flexdyn_ros.numerics.algebra.placement import quaternion_of, rotation_of_quaternion, rotation_of_rpy
from flexdyn_ros.simulation.recordings.cdr import Layout, PatchedMessage

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
        self._arrays = _Arrays(tuple(self._moving.values()))
        self._place = {name: i for i, name in enumerate(self._moving)}
        self._known_names: tuple[list[str], np.ndarray, bool] | None = None
        self._followers: dict[str, list[_Joint]] = {}
        for joint in self._moving.values():
            if joint.leader:
                self._followers.setdefault(joint.leader, []).append(joint)

    def fixed_messages(self, stamp: Time) -> list[TransformStamped]:
        """Transforms of the fixed joints."""
        return [_message(joint, joint.position, joint.quaternion, stamp) for joint in self.fixed]

    def poses(
        self, names: Sequence[str], positions: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers in `names` (k,) of the joints that are named, positions (k, 3) [m] and quaternions x y z w
        (k, 4) of the child in the parent; mimic joints follow unnamed, unknown ones are skipped.

        Raises ValueError if there are not as many positions as names, or one is not finite.
        """
        if self._known_names is None or names != self._known_names[0]:
            known = [name in self._moving for name in names]
            plain = all(known) and not self._followers and len(set(names)) == len(names)
            rows = [self._place[name] for name in names] if plain else []
            self._known_names = (list(names), np.array(rows, dtype=np.intp), plain)
        if not self._known_names[2] or len(positions) != len(names):
            chosen, x = self._values(names, positions)
            return (np.array(chosen, dtype=np.intp), *self._arrays.moved(chosen, x))
        # the names of before, all of them known: nothing to look up
        x = np.asarray(positions, dtype=np.float64)
        if not np.isfinite(x).all():
            raise ValueError("position holds a number that is not finite")
        return (self._known_names[1], *self._arrays.moved(self._known_names[1], x))

    def frames_of(self, row: int) -> tuple[str, str]:
        """Parent and child link of a moving joint, by its number in `names`."""
        joint = self._moving[self.names[row]]
        return joint.parent, joint.child

    def axis_of(self, row: int) -> np.ndarray:
        """Axis (3,) of a moving joint in its child link, by its number in `names`."""
        return self._moving[self.names[row]].axis

    def path_to(self, link: str) -> tuple[Any, ...]:
        """Joints from the root to a link; empty for a link that is not there."""
        above = {joint.child: joint for joint in (*self.fixed, *self._moving.values())}
        path = []
        while link in above:
            path.append(above[link])
            link = above[link].parent
        return tuple(reversed(path))

    def number_of(self, joint: str) -> int:
        """Of a moving joint in `names`, -1 for a fixed one."""
        return self._place.get(joint, -1)

    def _values(self, names: Sequence[str], positions: Sequence[float]) -> tuple[list[int], np.ndarray]:
        """Numbers and positions of the joints that are named and known, followers last."""
        if len(names) != len(positions):
            raise ValueError(
                f"position has {len(positions)} numbers, expected {len(names)} (as many as name)"
            )
        if not np.isfinite(positions).all():
            raise ValueError("position holds a number that is not finite")
        values = {name: x for name, x in zip(names, positions, strict=True) if name in self._moving}
        for leader in [name for name in values if name in self._followers]:
            self._follow(leader, values)
        return [self._place[name] for name in values], np.array(list(values.values()))

    def _follow(self, leader: str, values: dict[str, float]) -> None:
        for joint in self._followers.get(leader, []):
            if joint.name not in values:
                values[joint.name] = joint.ratio * values[leader] + joint.offset
                self._follow(joint.name, values)


class TransformMessage:
    """A TFMessage of transforms between given frames, as bytes.

    Parameters
    ----------
    frames : sequence of (parent, child)
    """

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        layout = Layout().count(len(frames))
        for number, (parent, child) in enumerate(frames):
            layout.header(parent).text(child).doubles(f"{number}", 7, sequence=False)
        self._message = PatchedMessage(layout)
        self._doubles, places = self._message.together(7)
        self._position, self._quaternion = places[:, :3], places[:, 3:]

    def filled(self, stamp: Time, position: np.ndarray, quaternion: np.ndarray) -> bytes:
        """The message with one stamp, positions (k, 3) [m] and quaternions x y z w (k, 4)."""
        self._doubles[self._position], self._doubles[self._quaternion] = position, quaternion
        return self._message.stamped(stamp)


class _Arrays:
    """Moving joints as arrays, so that all of them move at once."""

    def __init__(self, joints: Sequence[_Joint]) -> None:
        self._position = np.array([joint.position for joint in joints]).reshape(-1, 3)
        self._quaternion = np.array([joint.quaternion for joint in joints]).reshape(-1, 4)
        turns = np.array([joint.kind in _TURNING for joint in joints], dtype=bool)
        slide = [rotation_of_quaternion(*joint.quaternion) @ joint.axis for joint in joints]
        self._half = np.where(turns, 0.5, 0.0)
        half_turns = [_product(joint.quaternion, np.append(joint.axis, 0.0)) for joint in joints]
        self._turned = np.array(half_turns).reshape(-1, 4)
        self._slide_axis = np.where(turns[:, None], 0.0, np.array(slide).reshape(-1, 3))

    def moved(self, rows: Sequence[int] | np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (k, 3) and quaternions (k, 4) of joints by number at x (k,) [rad or m]."""
        at = np.asarray(rows, dtype=np.intp)
        half = (self._half[at] * x)[:, None]
        # a (cos, axis sin) = cos a + sin (a axis), both products of quaternions known beforehand
        quaternion = np.cos(half) * self._quaternion[at] + np.sin(half) * self._turned[at]
        return self._position[at] + x[:, None] * self._slide_axis[at], quaternion


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
        quaternion=np.array([*quaternion_of(rotation_of_rpy(_numbers(origin, "rpy", "0 0 0").tolist()))]),
        axis=direction / length if length > 0.0 else direction,
        leader="" if mimic is None else mimic.get("joint"),
        ratio=1.0 if mimic is None else float(mimic.get("multiplier", 1.0)),
        offset=0.0 if mimic is None else float(mimic.get("offset", 0.0)),
    )


def _numbers(element: Any, attribute: str, default: str) -> np.ndarray:
    return np.array(
        [float(x) for x in (default if element is None else element.get(attribute, default)).split()]
    )


def _message(joint: _Joint, position: np.ndarray, quaternion: np.ndarray, stamp: Time) -> TransformStamped:
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
