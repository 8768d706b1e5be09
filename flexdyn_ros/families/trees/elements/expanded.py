"""Elements along a line in an expanded description: two pieces that slide into each other between two points.

NAME/base and NAME/end (of a cylinder NAME/barrel and NAME/rod) stand at the two points, x along the line.
They hang on the root link by joints NAME/x, NAME/y, NAME/z, NAME/yaw, NAME/pitch and NAME/length, so that any
tool that shows URDF shows them, whatever moves. Rods that close loops have one piece, NAME/rod, at their
base, and no NAME/length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from lxml import etree

from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.expanded.frames import in_grey, limit_to
from flexdyn_ros.expanded.shown_tree import reach_of
from flexdyn_ros.families.trees.elements.model import Element
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.robot.verbs import Robot

_AXES = (
    ("x", "prismatic", "1 0 0"),
    ("y", "prismatic", "0 1 0"),
    ("z", "prismatic", "0 0 1"),
    ("yaw", "continuous", "0 0 1"),
    ("pitch", "continuous", "0 1 0"),
)
#: of the names of joints that place and turn a line
_SUFFIXES = tuple(suffix for suffix, _, _ in _AXES)
#: radius of the outer piece as a share of the length, in pictures; that of the inner one as a share of it
_SLENDERNESS, _INNER = 0.04, 0.6
#: what the pieces of a line show, of its length where all coordinates are zero; of what has a stroke, of its
#: least length
_OUTER_LENGTH, _INNER_LENGTH, _OF_LEAST = 0.6, 0.75, 0.95
#: radius of rods that close loops as a share of their length
_ROD_SLENDERNESS = 0.008
#: sliders: how far a spring is stretched, of its length there
_STRETCH = 3.0
#: square of the cosine of the pitch below which the yaw stands still
_UPRIGHT = 1e-12


class Line(Protocol):
    """What stands along a line: its name, and its record with `base`, `base_xyz`, `end` and `end_xyz`."""

    @property
    def name(self) -> str: ...

    @property
    def record(self) -> Any: ...


class Lines:
    """Joints of all elements of a robot that act along a line.

    Parameters
    ----------
    robot : Robot
    elements : of the robot, those along lines: what has a name, and a record with both ends
    suffixes : of the names of their joints; without "length" those of rods
    """

    def __init__(
        self, robot: Robot, elements: Sequence[Line], suffixes: tuple[str, ...] = (*_SUFFIXES, "length")
    ) -> None:
        self._robot, self._elements, self._count = robot, elements, len(suffixes)
        self.names = tuple(f"{element.name}/{suffix}" for element in elements for suffix in suffixes)

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., 6 n), of rods (..., 5 n)."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        root = self._robot.description.root
        R = self._robot.frames(q, root)[..., :3, :3]
        origin, carried = self._point(q, v, root, np.zeros(3))
        turning = self._robot.frame_velocity(q, v, root)[..., :3]
        positions, rates = np.empty((*batch, len(self.names))), np.empty((*batch, len(self.names)))
        for i, element in enumerate(self._elements):
            record = element.record
            a, va = self._point(q, v, record.base, np.array(record.base_xyz))
            b, vb = self._point(q, v, record.end, np.array(record.end_xyz))
            at, r = a - origin, b - a
            # in the axes of the root link, seen from it
            moved = (va - carried - np.cross(turning, at))[..., None, :] @ R
            grown = (vb - va - np.cross(turning, r))[..., None, :] @ R
            place, line = (x[..., None, :] @ R for x in (at, r))
            own, count = slice(self._count * i, self._count * (i + 1)), self._count
            found = _angles(place, line, moved, grown)
            positions[..., own], rates[..., own] = (x[..., :count] for x in found)
        return positions, rates

    def _point(
        self, q: np.ndarray, v: np.ndarray, frame: str, point: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Place and velocity (..., 3) of a point of a frame in the world."""
        if frame == WORLD and WORLD not in self._robot.frame_names:
            return point, np.zeros(3)
        pose = self._robot.frames(q, frame)
        lever = pose[..., :3, :3] @ point
        twist = self._robot.frame_velocity(q, v, frame)
        return pose[..., :3, 3] + lever, twist[..., 3:] + np.cross(twist[..., :3], lever)


def _angles(
    place: np.ndarray, line: np.ndarray, moved: np.ndarray, grown: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates (..., 6) of x, y, z, yaw, pitch, length, from rows (..., 1, 3)."""
    place, line, moved, grown = (x[..., 0, :] for x in (place, line, moved, grown))
    x, y, z = (line[..., i] for i in range(3))
    level = np.sqrt(x**2 + y**2)
    length = np.sqrt(level**2 + z**2)
    turned = np.where(level**2 > _UPRIGHT * length**2, level, np.inf)
    yaw_rate = (x * grown[..., 1] - y * grown[..., 0]) / turned**2
    level_rate = (x * grown[..., 0] + y * grown[..., 1]) / turned
    with np.errstate(divide="ignore", invalid="ignore"):
        pitch_rate = np.nan_to_num((z * level_rate - level * grown[..., 2]) / length**2)
        length_rate = np.nan_to_num((line * grown).sum(axis=-1) / length)
    angles = np.stack([np.arctan2(y, x), -np.arctan2(z, level), length], axis=-1)
    rates = np.stack([yaw_rate, pitch_rate, length_rate], axis=-1)
    shape = np.broadcast_shapes(place.shape, angles.shape, moved.shape, rates.shape)
    pieces = (np.broadcast_to(x, shape) for x in (place, angles, moved, rates))
    place, angles, moved, rates = pieces
    return np.concatenate([place, angles], axis=-1), np.concatenate([moved, rates], axis=-1)


def show_lines(root: etree._Element, robot: Robot) -> tuple[Lines, dict[str, int]]:
    """Add the pieces of all elements along lines; what moves them, and which effort drives the length of a
    cylinder."""
    elements = tuple(e for e in robot.elements if e.kind.unit == "m" and e.kind.is_drawn)
    found = robot.element_forces(robot.neutral(), np.zeros(robot.nv)).coordinate
    lengths = dict(zip(robot.element_names, found.tolist(), strict=True))
    for element in elements:
        _add_line(root, robot, element, lengths[element.name])
    driven = [(i, e) for i, e in enumerate(e for e in robot.elements if e.kind.driven)]
    efforts = {f"{e.name}/length": robot.nv + i for i, e in driven if e.kind.is_drawn}
    return Lines(robot, elements), efforts


def _add_line(root: etree._Element, robot: Robot, element: Element, length: float) -> None:
    outer, inner = ("barrel", "rod") if element.kind.driven else ("base", "end")
    link, above = _add_pointer(root, robot, element.name, outer)
    radius = _SLENDERNESS * length
    outside, inside = _lengths(element, length)
    _add_tube(link, radius, outside, 0.5)
    name = f"{element.name}/{inner}"
    link = etree.SubElement(root, "link", name=name)
    joint = _add_joint(root, f"{element.name}/length", "prismatic", above, name, "1 0 0")
    limits = element.kind.limits
    limit_to(joint, *((0.0, _STRETCH * length) if limits is None else limits(element.record)[2:]))
    _add_tube(link, _INNER * radius, inside, -0.5)


def _add_pointer(root: etree._Element, robot: Robot, name: str, end: str) -> tuple[etree._Element, str]:
    """Add the links and joints that put the link NAME/end at a point, its x axis along a line; it and its
    name."""
    above, reach = robot.description.root, reach_of(robot.description)
    for suffix, kind, axis in _AXES:
        below = f"{name}/{end}" if suffix == "pitch" else f"{name}/{suffix}_carrier"
        link = etree.SubElement(root, "link", name=below)
        joint = _add_joint(root, f"{name}/{suffix}", kind, above, below, axis)
        if kind == "prismatic":
            limit_to(joint, -reach, reach)
        above = below
    return link, above


def _lengths(element: Element, length: float) -> tuple[float, float]:
    """Lengths of the two pieces; those of a cylinder overlap over all of its stroke."""
    if element.kind.limits is None:
        return _OUTER_LENGTH * length, _INNER_LENGTH * length
    least, most = element.kind.limits(element.record)[2:]
    return _OF_LEAST * least, max(_OF_LEAST * least, most - _OF_LEAST * least)


def _add_joint(
    root: etree._Element, name: str, kind: str, parent: str, child: str, axis: str
) -> etree._Element:
    joint = etree.SubElement(root, "joint", name=name, type=kind)
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=child)
    etree.SubElement(joint, "axis", xyz=axis)
    return joint


def _add_tube(link: etree._Element, radius: float, length: float, share: float) -> None:
    """A round bar along x from the link's origin on (share 0.5), or up to it (-0.5)."""
    visual = etree.SubElement(link, "visual")
    etree.SubElement(visual, "origin", xyz=f"{share * length:.9g} 0 0", rpy="0 1.5707963267948966 0")
    shape = etree.SubElement(etree.SubElement(visual, "geometry"), "cylinder")
    shape.set("radius", f"{radius:.9g}")
    shape.set("length", f"{length:.9g}")
    in_grey(visual)


class Rod(NamedTuple):
    """The rod of a loop."""

    name: str
    record: Loop


def show_rods(root: etree._Element, robot: Robot) -> Lines:
    """Add the rods of all loops of type `distance`; what moves them."""
    rods = tuple(Rod(one.name, one) for one in loops_of(robot.description) if one.type == "distance")
    for rod in rods:
        length = float(rod.record.length or 0.0)
        link, _ = _add_pointer(root, robot, rod.name, "rod")
        _add_tube(link, _ROD_SLENDERNESS * length, length, 0.5)
    return Lines(robot, rods, _SUFFIXES)
