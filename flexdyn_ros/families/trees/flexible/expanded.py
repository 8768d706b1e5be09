"""Links that bend, cut into rigid segments for showing.

Below each flexible link LINK stand `LINK/beam` (fixed: root of the centre line, beam axes), segments
`LINK/segment_k` at stations (k - 1/2)/K, `LINK/tip`, and `LINK/at/JOINT` for child joints elsewhere on the
beam. Each moves against `LINK/beam` as its section does; child joints hang on the frame of their section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from flexdyn_ros.errors import DimensionError, UnsupportedError
from flexdyn_ros.expanded.frames import AXES, add_fixed, add_moving, add_visual, named, rows_of, set_origin
from flexdyn_ros.expanded.kernels.kinematics import bent_frames
from flexdyn_ros.expanded.shown_tree import first_shown
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.model import settled_link
from flexdyn_ros.numerics.algebra.placement import IDENTITY, Placement, rotation_of_rpy
from flexdyn_ros.robot.coordinates import Coordinate

if TYPE_CHECKING:
    from flexdyn_ros.description import RobotDescription
    from flexdyn_ros.families.trees.flexible.model import AnyLink

#: axes of a section's frame that each field moves
MOVES = {
    "axial": {"tx"},
    "bending_y": {"ty", "rz"},
    "bending_z": {"tz", "ry"},
    "torsion": {"rx"},
    "mode": {axis for axis, _, _ in AXES},
}
#: radius of a link whose section is not known, as a fraction of its length
SLENDER = 1.0 / 40.0
#: entries of the tables below this share of the largest are rounding
NOTHING = 1e-13
#: segments of a link share their length with the next ones, so that bends show no gaps
OVERLAP = 1.02


@dataclass(frozen=True)
class _Shapes:
    """How the frames of one link move with its m modal coordinates, which are at q and v.

    displacement = linear delta + delta^T quadratic delta / 2, rotation vector = rotation delta; linear,
    rotation (frames, 3, m), quadratic (frames, 3, m, m).
    """

    q: np.ndarray
    v: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    rotation: np.ndarray

    @staticmethod
    def of(robot: Any, link: str, own: Sequence[Coordinate], stations: np.ndarray) -> _Shapes:
        """Asked of the robot's deflections, at the unit vectors of its own coordinates and their sums."""
        q, v = (np.array([getattr(c, index) for c in own]) for index in ("q_index", "v_index"))
        m = len(own)
        order, back = np.unique(stations, return_inverse=True)
        pairs = np.eye(m)[:, None, :] + np.eye(m)[None, :, :]
        states = np.broadcast_to(robot.neutral(), (m + m * m, robot.nq)).copy()
        states[:, q] = np.concatenate((np.eye(m), pairs.reshape(m * m, m)))
        bent = robot.functions.deflection_of(link, states, order)
        one = bent.displacement[:m, back]
        both = bent.displacement[m:, back].reshape(m, m, len(stations), 3)
        quadratic = both - one[:, None] - one[None, :]
        curve = np.einsum("iifk->ifk", quadratic)
        return _Shapes(
            q=q,
            v=v,
            linear=np.moveaxis(one - 0.5 * curve, 0, -1).copy(),
            quadratic=np.moveaxis(quadratic, (0, 1), (-2, -1)).copy(),
            rotation=np.moveaxis(bent.rotation[:m, back], 0, -1).copy(),
        )

    def once(self, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Terms c delta of `bent_frames`, the frames counted from `first`: rows (k, 4), values (k,)."""
        table = np.concatenate((self.linear, self.rotation), axis=1)
        frame, axis, i = np.nonzero(np.abs(table) > NOTHING * np.abs(table).max(initial=0.0))
        rows = np.stack((first + frame, axis, self.q[i], self.v[i]), axis=1).astype(np.int64)
        return rows, table[frame, axis, i]

    def twice(self, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Terms c delta_i delta_j of `bent_frames`: rows (k, 6), values (k,)."""
        # of the symmetric matrices, the upper half twice
        table = np.triu(self.quadratic, 1) + 0.5 * self.quadratic * np.eye(len(self.q))
        largest = max(np.abs(self.linear).max(initial=0.0), np.abs(table).max(initial=0.0))
        frame, axis, i, j = np.nonzero(np.abs(table) > NOTHING * largest)
        indices = (first + frame, axis, self.q[i], self.q[j], self.v[i], self.v[j])
        return np.stack(indices, axis=1).astype(np.int64), table[frame, axis, i, j]


class FlexibleSegments:
    """The joints of all segments, tips and attachment frames of a robot's flexible links.

    columns: (frame, axis) of each joint, frames counted through all links.
    """

    def __init__(
        self, links: tuple[_Shapes, ...], names: tuple[str, ...], columns: tuple[np.ndarray, np.ndarray]
    ) -> None:
        self.names = names
        *firsts, self._frames = np.cumsum([0, *(len(link.linear) for link in links)]).tolist()
        placed = list(zip(links, firsts, strict=True))
        once = zip(*(link.once(first) for link, first in placed), strict=True)
        twice = zip(*(link.twice(first) for link, first in placed), strict=True)
        self._terms = (*map(np.concatenate, (*once, *twice)), np.stack(columns, axis=1).astype(np.int64))

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., k) [m, rad, per s] for q (..., nq), v (..., nv)."""
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        qs, vs = rows_of(q, batch), rows_of(v, batch)
        at, rate = np.empty((self._frames, 6)), np.empty((self._frames, 6))
        positions, velocities = np.empty((len(qs), len(self.names))), np.empty((len(qs), len(self.names)))
        bent_frames(qs, vs, *self._terms, at, rate, positions, velocities)
        shape = (*batch, len(self.names))
        return positions.reshape(shape), velocities.reshape(shape)


def cut_flexible_links(
    root: etree._Element, robot: Any, bending: Iterable[str], segments: int | None
) -> FlexibleSegments:
    """Write the frames of the flexible links into the tree of elements; returns their joints."""
    known = {*bending}
    links = [link.name for link in robot.description.links if link.name in known]
    if segments is not None and not (isinstance(segments, int) and 1 <= segments <= 1000):
        raise DimensionError(f"segments is {segments!r}, expected a whole number from 1 to 1000")
    own: dict[str, list[Coordinate]] = {link: [] for link in links}
    for c in robot.coordinates:
        if c.kind in MOVES and c.body in own:
            own[c.body].append(c)
    joints = named(root, "joint")
    names: list[str] = []
    shapes: list[_Shapes] = []
    frames, axes, count = [], [], 0
    for link in links:
        moved = _axes(robot, own[link])
        joint_names, stations, (frame, axis) = _cut(root, robot, link, moved, joints, segments)
        names += joint_names
        frames.append(frame + count)
        axes.append(axis)
        shapes.append(_Shapes.of(robot, link, own[link], stations))
        count += len(stations)
    elements = named(root, "link")
    for link in links:
        _show_segments(elements, robot, link, segments)
    return FlexibleSegments(tuple(shapes), tuple(names), (np.concatenate(frames), np.concatenate(axes)))


def _cut(
    root: etree._Element,
    robot: Any,
    name: str,
    axes: Sequence[tuple[str, str, str]],
    joints: Mapping[str, etree._Element],
    segments: int | None,
) -> tuple[tuple[str, ...], np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Names of the joints written, stations (frames,), and the frame and axis of each joint."""
    description = robot.description
    link = description.flexible_links[name]
    beam = settled_link(description, link)
    attach = _attachments(beam, name)
    add_fixed(root, f"{name}/beam", name, f"{name}/beam", beam.frame)
    count = segments or link.display.segments
    frames = [(f"{name}/segment_{k}", (k - 0.5) / count) for k in range(1, count + 1)]
    frames.append((f"{name}/tip", 1.0))
    for joint in description.children_of(name):
        if 0.0 < attach[joint.name] < 1.0:
            frames.append((f"{name}/at/{joint.name}", attach[joint.name]))
    names: list[str] = []
    frame, axis = [], []
    for number, (child, station) in enumerate(frames):
        at = Placement(np.eye(3), beam.centre(station))
        names += add_moving(root, child, f"{name}/beam", at, float(beam.beam.length), axes)
        frame += [number] * len(axes)
        axis += [AXES.index(a) for a in axes]
    _hang_children(joints, description, name, beam, attach)
    stations = np.array([station for _, station in frames])
    return tuple(names), stations, (np.array(frame, dtype=np.int64), np.array(axis, dtype=np.int64))


def _axes(robot: Any, own: Sequence[Coordinate]) -> list[tuple[str, str, str]]:
    """The joints that a link's fields move."""
    moved = set().union(*(MOVES[c.kind] for c in own))
    if robot.description.formulation.stiffening in (None, "full"):
        moved.add("tx")
    turns = {"rz", "ry", "rx"}
    if len(turns & moved) > 1:
        # a rotation vector along two axes has all three of yaw, pitch and roll
        moved |= turns
    return [axis for axis in AXES if axis[0] in moved]


def _attachments(beam: AnyLink, name: str) -> dict[str, float]:
    """Station of every child joint; of imported modes, that of its node.

    Raises UnsupportedError if the node shares its station with others: a section frame is no node then.
    """
    if isinstance(beam, BeamLink):
        return dict(beam.attach)
    stations = {joint: beam.station_of(at) for joint, at in beam.attach.items()}
    for joint, station in stations.items():
        if station is None:
            raise UnsupportedError(
                f"link '{name}' has imported modes with several nodes beside that of joint '{joint}': only "
                "links whose nodes lie one after the other are cut into segments"
            )
    return {joint: float(station or 0.0) for joint, station in stations.items()}


def _hang_children(
    elements: Mapping[str, etree._Element],
    description: RobotDescription,
    name: str,
    beam: AnyLink,
    attach: Mapping[str, float],
) -> None:
    """Move the child joints from the link to the frames of their sections."""
    for joint in description.children_of(name):
        station = attach[joint.name]
        if station == 0.0:
            continue
        element = elements[first_shown(description, joint)]
        parent = element.find("parent")
        assert parent is not None
        parent.set("link", f"{name}/tip" if station == 1.0 else f"{name}/at/{joint.name}")
        section = beam.frame @ Placement(np.eye(3), beam.centre(station))
        # the pose of a platform is counted from the link, not from home
        mounted = joint.name in description.platform_joints
        own = IDENTITY if mounted else Placement.of(joint.xyz, joint.rpy)
        set_origin(element, section.inverse() @ own)


def _show_segments(
    elements: Mapping[str, etree._Element], robot: Any, name: str, segments: int | None
) -> None:
    """A piece of the section on each segment, in place of what the link shows, unless that is kept."""
    link = robot.description.flexible_links[name]
    if link.display.visual != "segments":
        return
    beam, count, element = (
        settled_link(robot.description, link),
        segments or link.display.segments,
        elements[name],
    )
    for shown in element.findall("visual") + element.findall("collision"):
        element.remove(shown)
    length = OVERLAP * beam.beam.length / count
    section = beam.section if isinstance(beam, BeamLink) else None
    along_x = Placement(rotation_of_rpy((0.0, pi / 2.0, 0.0)), np.zeros(3))
    for k in range(1, count + 1):
        child = elements[f"{name}/segment_{k}"]
        if section is None or section.is_round:
            radius = beam.beam.length * SLENDER if section is None else section.reach_z
            add_visual(child, "cylinder", along_x, radius=f"{radius:.9g}", length=f"{length:.9g}")
        else:
            size = f"{length:.9g} {2.0 * section.reach_y:.9g} {2.0 * section.reach_z:.9g}"
            add_visual(child, "box", Placement(np.eye(3), np.zeros(3)), size=size)
