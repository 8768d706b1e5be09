"""Soft sections, cut into rigid segments for showing.

On the link below each section SECTION stands `SECTION/base` (fixed), on it segments `SECTION/segment_k` at
stations (k - 1/2)/K and `SECTION/tip`, each on six one-axis joints; the section's own fixed joint hangs on
its tip. The lengths of actuators are no joints of this robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from flexdyn_ros.description.elements.joints import Section
from flexdyn_ros.errors import DimensionError
from flexdyn_ros.expanded.frames import add_fixed, add_moving, add_visual, named, rows_of, set_origin
from flexdyn_ros.expanded.kernels.kinematics import soft_frames
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.robot.verbs import Robot

SEGMENTS = 8
#: segments share their length with the next ones, so that bends show no gaps
OVERLAP = 1.05


@dataclass(frozen=True)
class SoftSegments:
    """The joints of all segments and tips of an arm; stations (k,) are the same in every section."""

    names: tuple[str, ...]
    sections: tuple[Section, ...]
    stations: np.ndarray

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., joints) [m, rad, per s] for q (..., nq), v (..., nv)."""
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        qs, vs = rows_of(q, batch), rows_of(v, batch)
        sizes = np.array([(section.length, section.radius) for section in self.sections])
        positions, velocities = np.empty((len(qs), len(self.names))), np.empty((len(qs), len(self.names)))
        soft_frames(qs, vs, self.stations, sizes, np.empty(6), np.empty(6), positions, velocities)
        shape = (*batch, len(self.names))
        return positions.reshape(shape), velocities.reshape(shape)


def cut_sections(root: etree._Element, robot: Robot, segments: int | None) -> SoftSegments:
    """Write the frames of the sections into the tree of elements; returns their joints."""
    if segments is not None and not (isinstance(segments, int) and 1 <= segments <= 1000):
        raise DimensionError(f"segments is {segments!r}, expected an integer from 1 to 1000")
    count = segments or SEGMENTS
    stations = np.append((np.arange(count) + 0.5) / count, 1.0)
    joints, sections = named(root, "joint"), robot.description.sections
    names: list[str] = []
    for section in sections:
        names += _cut(root, robot.description.joint(section.joint), joints[section.joint], section, stations)
    links = named(root, "link")
    for section in sections:
        size = {"radius": repr(section.disc_radius), "length": repr(OVERLAP * section.length / count)}
        for k in range(1, count + 1):
            link = links[f"{section.joint}/segment_{k}"]
            add_visual(link, "cylinder", Placement(np.eye(3), np.zeros(3)), **size)
    return SoftSegments(tuple(names), sections, stations)


def _cut(
    root: etree._Element, carrier: Any, joint: etree._Element, section: Section, stations: np.ndarray
) -> list[str]:
    """Frames of one section, whose fixed joint then hangs on its tip."""
    name, L = section.joint, section.length
    down = Placement(np.eye(3), np.array([0.0, 0.0, -L]))
    base = f"{name}/base"
    add_fixed(root, f"{name}/base_joint", carrier.parent, base, Placement.of(carrier.xyz, carrier.rpy) @ down)
    count = len(stations) - 1
    names: list[str] = []
    for k, eta in enumerate(stations, 1):
        frame = f"{name}/segment_{k}" if k <= count else f"{name}/tip"
        at = Placement(np.eye(3), np.array([0.0, 0.0, float(eta) * L]))
        names += add_moving(root, frame, base, at, 2.0 * L)
    parent = joint.find("parent")
    assert parent is not None
    parent.set("link", f"{name}/tip")
    set_origin(joint, Placement(np.eye(3), np.zeros(3)))
    return names
