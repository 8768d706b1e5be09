"""The expanded description: a plain URDF of rigid pieces that shows a robot as it is, and its joint states.

For a rigid tree the pieces are its links; links that bend are cut into segments (trees/flexible/expanded.py).
`<flexdyn>` blocks and `<inertial>` are left out, so that nobody simulates the picture by mistake; a floating
base leaves the URDF (it is an odometry transform), a floating joint becomes six one-axis ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from lxml import etree

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.expanded.frames import angle_rates, yaw_pitch_roll_of_quaternion
from flexdyn_ros.expanded.visuals import add_shapes
from flexdyn_ros.families.stewart.expanded import PREFIX, PlatformJoints
from flexdyn_ros.families.trees.flexible.expanded import FlexibleSegments, cut_flexible_links
from flexdyn_ros.families.trees.flexible.model import settled_link
from flexdyn_ros.families.wheeled.expanded import hang_wheels

__all__ = ["Expanded", "Part", "bending_frames", "expand", "shown_tree"]

#: one-axis joints that stand for a floating one, from the parent on: (suffix, type, axis)
SIX_AXES = (
    ("x", "prismatic", "1 0 0"),
    ("y", "prismatic", "0 1 0"),
    ("z", "prismatic", "0 0 1"),
    ("yaw", "continuous", "0 0 1"),
    ("pitch", "continuous", "0 1 0"),
    ("roll", "continuous", "1 0 0"),
)


class Part(Protocol):
    """Joints of an expanded description that belong together.

    names: of its joints. state(q, v): their positions and velocities (..., k) [rad or m, per s] for q
    (..., nq), v (..., nv), whose leading dimensions broadcast.
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


@dataclass(frozen=True)
class Axes:
    """Joints of one axis: position = ratio * a coordinate + offset, mimic joints included."""

    names: tuple[str, ...]
    q_index: np.ndarray
    v_index: np.ndarray
    ratio: np.ndarray
    offset: np.ndarray

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.ratio * q[..., self.q_index] + self.offset, self.ratio * v[..., self.v_index]


@dataclass(frozen=True)
class FloatingJoint:
    """A floating joint as six of one axis; where it begins in q and v."""

    names: tuple[str, ...]
    q_index: int
    v_index: int

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, begin = self.q_index, self.v_index
        angles = yaw_pitch_roll_of_quaternion(q[..., at + 3 : at + 7])
        rates = angle_rates(angles, v[..., begin : begin + 3])
        carried = np.broadcast_to(v[..., begin + 3 : begin + 6], rates.shape)
        return (
            np.concatenate((q[..., at : at + 3], angles), axis=-1),
            np.concatenate((carried, rates), axis=-1),
        )


class Expanded:
    """A URDF that any tool can show, and the map from a robot's state to its joint states.

    Attributes
    ----------
    urdf : str
        XML text without our elements and without `<inertial>`.
    joint_names : tuple of str
        Every joint that moves, mimic joints included: those of the URDF in the order of the file, then those
        of the frames that were added.
    """

    def __init__(self, urdf: str, parts: Sequence[Part], efforts: dict[str, int], nv: int) -> None:
        self.urdf, self._still = urdf, np.zeros(nv)
        self._parts = tuple(parts)
        self.joint_names = tuple(name for part in parts for name in part.names)
        columns = np.array([efforts.get(name, -1) for name in self.joint_names], dtype=np.int64)
        self._effort_columns, self._has_effort = columns, columns >= 0

    def joint_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., k) of `joint_names`, computed together.

        q (..., nq) and v (..., nv), whose leading dimensions broadcast; [rad or m], [rad/s or m/s]. At a
        pitch of 90 degrees yaw and roll of a floating joint cannot be told apart; their rates are then
        limited.
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        states = [part.state(q, v) for part in self._parts]
        if len(states) == 1:
            return states[0]
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        return _joined(batch, [x for x, _ in states]), _joined(batch, [xd for _, xd in states])

    def joint_positions(self, q: np.ndarray) -> np.ndarray:
        """Positions (..., k) [rad or m] of `joint_names` for q (..., nq)."""
        return self.joint_state(q, self._still)[0]

    def joint_velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities (..., k) [rad/s or m/s] of `joint_names` for q (..., nq) and v (..., nv); as those of
        `joint_state`."""
        return self.joint_state(q, v)[1]

    def joint_efforts(self, tau: np.ndarray) -> np.ndarray:
        """Efforts (..., k) [N m or N] of `joint_names` for tau (..., nu); 0 for joints that no actuator
        moves itself."""
        tau = np.asarray(tau, dtype=np.float64)
        if not self.joint_names:
            return np.zeros((*tau.shape[:-1], 0))
        return np.where(self._has_effort, tau[..., self._effort_columns], 0.0)


def _joined(batch: tuple[int, ...], values: Sequence[np.ndarray]) -> np.ndarray:
    if not batch:
        return np.concatenate(values) if values else np.zeros(0)
    full = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in values]
    return np.concatenate(full, axis=-1) if full else np.zeros((*batch, 0))


def expand(robot: Any, segments: int | None = None) -> Expanded:
    """The expanded description of a robot.

    Parameters
    ----------
    robot : Robot
    segments : int, optional
        Pieces per flexible link, in place of what `<display segments>` says; links that do not bend have
        none, so that it makes no difference there.

    Raises
    ------
    UnsupportedError
        If robots of this kind are not expanded yet.
    """
    if robot.kind == "platform":
        joints = PlatformJoints(robot)
        return Expanded(text_of(_shaped_tree(robot)), [joints], joints.efforts, robot.nv)
    if robot.kind == "continuum":
        from flexdyn_ros.families.continuum.expanded import cut_sections

        root = _shaped_tree(robot)
        soft = cut_sections(root, robot, segments)
        return Expanded(text_of(root), [soft], {}, robot.nv)
    if robot.kind not in ("tree", "mobile"):
        raise UnsupportedError(
            f"robots of kind '{robot.kind}' are not expanded yet; kinds 'tree', 'mobile' and 'platform' are"
        )
    root = _shaped_tree(robot)
    parts, efforts = _joints_of_the_urdf(robot)
    bending = {c.body for c in robot.coordinates if c.kind in FlexibleSegments.kinds}
    if bending:
        parts.append(cut_flexible_links(root, robot, bending, segments))
    if robot.kind == "mobile":
        parts.append(hang_wheels(root, robot))
    return Expanded(text_of(root), parts, efforts, robot.nv)


def bending_frames(description: RobotDescription) -> dict[str, tuple[str, float]]:
    """Frame and undeformed length [m] by the name of the flexible link or of the soft section's joint.

    LINK/beam has its x axis along the link, SECTION/base its z axis along the section.
    """
    frames = {
        name: (f"{name}/beam", float(settled_link(description, link).beam.length))
        for name, link in description.flexible_links.items()
    }
    frames |= {
        section.joint: (f"{section.joint}/base", float(section.length)) for section in description.sections
    }
    return frames


def _shaped_tree(robot: Any) -> etree._Element:
    """`shown_tree`, with shapes for rigid links of a description that has no visuals."""
    description = robot.description
    root = shown_tree(description)
    bending = {c.body for c in robot.coordinates if c.kind in FlexibleSegments.kinds}
    there = {element.get("name") for element in root.findall("link")}
    lengths = {name: length for name, (_, length) in bending_frames(description).items()}
    add_shapes(root, description, [x.name for x in description.links if x.name in there - bending], lengths)
    return root


def _joints_of_the_urdf(robot: Any) -> tuple[list[Part], dict[str, int]]:
    """What moves the URDF's own joints, and the column of tau of those that have an actuator."""
    at = {c.name: c for c in robot.coordinates}
    starts = {name: i for i, name in enumerate(robot.q_names)}
    parts: list[Part] = []
    rows: list[tuple[str, int, int, float, float]] = []
    efforts: dict[str, int] = {}

    def flush() -> None:
        if rows:
            names, q, v, ratio, offset = zip(*rows, strict=True)
            parts.append(Axes(names, np.array(q), np.array(v), np.array(ratio), np.array(offset)))
            rows.clear()

    for joint in robot.description.joints:
        if joint.type == "fixed":
            continue
        if joint.type == "floating":
            flush()
            names = tuple(f"{joint.name}/{suffix}" for suffix, _, _ in SIX_AXES)
            parts.append(FloatingJoint(names, starts[f"{joint.name}/x"], at[f"{joint.name}/wx"].v_index))
            continue
        leader, ratio, offset = _leader(robot.description, joint)
        c = at[leader.name]
        rows.append((joint.name, c.q_index, c.v_index, ratio, offset))
        if joint.mimic is None:
            efforts[joint.name] = c.v_index
    flush()
    return parts, efforts


def _leader(description: RobotDescription, joint: Joint) -> tuple[Joint, float, float]:
    """The joint at the end of a chain of mimics: position = ratio * leader's + offset."""
    ratio, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += ratio * joint.mimic.offset
        ratio *= joint.mimic.multiplier
        joint = description.joint(joint.mimic.joint)
    return joint, ratio, offset


def shown_tree(description: RobotDescription) -> etree._Element:
    """The URDF without what is not for showing, as a tree of elements."""
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
    platform = None if description.platform is None else description.platform.link
    for joint in root.findall("joint"):
        if joint.get("name") not in floating:
            continue
        if _end(joint, "child") == platform:
            _stand_on_parent(joint)
        _split_floating(root, joint)
    return root


def _stand_on_parent(joint: etree._Element) -> None:
    """The pose of a platform is counted from the link that carries it, not from home."""
    joint.set("name", PREFIX)
    for origin in joint.findall("origin"):
        joint.remove(origin)


def text_of(root: etree._Element) -> str:
    """The tree of elements as indented text."""
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
