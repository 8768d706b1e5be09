"""What there is to see of a robot, and where it is: links with their visuals, and tubes that bend.

Everything comes from the verbs that all families answer (`frames`, `deflections`) and from the expanded
description, so that no family is drawn by code of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flexdyn_ros.description.urdf.geometry import as_urchin
from flexdyn_ros.errors import FlexdynError, UnsupportedError
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.expanding import Expanded, appearance_of, expand
from flexdyn_ros.robot.results import Loads
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.view.drawing.generated_shapes import generated_shapes, shapes_of_visuals
from flexdyn_ros.view.drawing.tubes import PIECES, Tube, TubeState, state_of, tube_of

#: step of the difference that gives velocities [s]
STEP = 1e-5
#: what tubes can be coloured by
COLOURINGS = ("none", "strain", "displacement", "moment", "velocity")
#: of the middles of pieces of tubes, where values of colours are taken
STATIONS = [(i + 0.5) / PIECES for i in range(PIECES)]


class ShownRobot:
    """The visible parts of a robot.

    Parameters
    ----------
    robot : Robot
        Of any family.

    Attributes
    ----------
    appearance : Appearance
    shapes : tuple of Shape
        Rigid pieces, each in the frame of its link.
    tubes : tuple of Tube
    size : float
        Largest extent of the robot in its neutral position [m].
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._expanded = _expanded(robot)
        self._urdf = _urdf(robot, self._expanded)
        self.appearance = appearance_of(robot.description)
        self.tubes = _tubes(robot, self.appearance)
        bending = {tube.name for tube in self.tubes}
        shapes = [shape for shape in shapes_of_visuals(self._urdf) if not _is_segment(shape.link, bending)]
        seen = {shape.link for shape in shapes}
        frames = {tube.name: tube.frames for tube in self.tubes}
        links = {link.name for link in self._urdf.links}
        shapes += generated_shapes(robot, self.appearance, without=seen, tubes=frames, links=links)
        sections = {name for names in frames.values() for name in names}
        self._known = set(robot.frame_names)
        links = {shape.link for shape in shapes}
        self._direct = tuple(sorted(links & (self._known | sections)))
        self._chain = _chain(self._urdf, links - {*self._direct}) if self._expanded else ()
        placed = {*self._direct, *(joint.child for joint in self._chain)}
        self.shapes = tuple(shape for shape in shapes if shape.link in placed)
        low, high = self.bounds(robot.neutral())
        self.size = float(max(np.max(high - low), 1e-3))

    # ---- where things are ----

    def link_poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Poses (4, 4) in the world of all links that carry shapes."""
        poses = dict(zip(self._direct, self.robot.frames(q, self._direct), strict=True))
        if not self._chain:
            return poses
        assert self._expanded is not None
        names = self._expanded.joint_names
        at = dict(zip(names, self._expanded.joint_positions(q).tolist(), strict=True))
        for joint in self._chain:
            if joint.parent not in poses and joint.parent in self._known:
                poses[joint.parent] = self.robot.frames(q, joint.parent)
            poses[joint.child] = poses[joint.parent] @ joint.get_child_pose(at.get(joint.name, 0.0))
        return poses

    def tube_states(
        self,
        q: np.ndarray,
        colour: str = "none",
        state: tuple[np.ndarray, np.ndarray] | None = None,
        loads: Mapping[str, Loads] | None = None,
    ) -> list[TubeState]:
        """Where the pieces of all tubes are, and their strain [-] (NaN where it is not known), displacement
        [m], moment [N m] or the velocity [m/s] with which the displacement changes.

        state: q (nq,) and v (nv,) that these values are taken at, where q is magnified; else q at rest.
        loads: what moments are taken from, at `STATIONS`, where they are known; else the curvature of modes.
        """
        if not self.tubes:
            return []
        names = [name for tube in self.tubes for name in tube.frames]
        poses = self.robot.frames(q, names).reshape(len(self.tubes), PIECES + 1, 4, 4)
        at, rate = state or (q, np.zeros(self.robot.nv))
        values = self._values(at, rate, colour)
        if colour == "moment":
            values |= {name: np.linalg.norm(each.moment, axis=-1) for name, each in (loads or {}).items()}
        return [
            state_of(T, values.get(tube.name, np.zeros(PIECES)))
            for tube, T in zip(self.tubes, poses, strict=True)
        ]

    def bounds(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (3,), (3,) of a box in the world that holds all link origins, shapes and tubes [m]."""
        poses = self.link_poses(q)
        points = [self.robot.frames(q)[:, :3, 3]]
        points += [
            shape.vertices @ poses[shape.link][:3, :3].T + poses[shape.link][:3, 3] for shape in self.shapes
        ]
        for tube, state in zip(self.tubes, self.tube_states(q), strict=True):
            points += [state.position - tube.radius, state.position + tube.radius]
        stacked = np.concatenate(points)
        return stacked.min(axis=0), stacked.max(axis=0)

    def points(self, q: np.ndarray) -> np.ndarray:
        """Points (k, 3) of the robot in the world whose motion says how far it moved [m]."""
        points = [self.robot.frames(q)[:, :3, 3], *(state.position for state in self.tube_states(q))]
        return np.concatenate(points)

    def grabbed(self, link: str, place: np.ndarray, q: np.ndarray) -> tuple[str, np.ndarray]:
        """The frame of a link, of one that bends the nearest along it, that a place (3,) in the world at q
        (nq,) moves with, and the place in the axes of that frame [m]."""
        names = next((tube.frames for tube in self.tubes if tube.name == link), (link,))
        poses = self.robot.frames(q, names)
        nearest = int(np.argmin(np.linalg.norm(poses[:, :3, 3] - place, axis=1)))
        T = poses[nearest]
        return names[nearest], (place - T[:3, 3]) @ T[:3, :3]

    def _values(self, q: np.ndarray, v: np.ndarray, colour: str) -> dict[str, np.ndarray]:
        if colour == "none":
            return {}
        if colour == "velocity":
            # in the axes of the undeformed link, as the markers have it
            ahead, behind = (
                self.robot.deflections(self.robot.integrate(q, v, h), STATIONS) for h in (STEP, -STEP)
            )
            return {
                name: np.linalg.norm(d.displacement - behind[name].displacement, axis=-1) / (2.0 * STEP)
                for name, d in ahead.items()
            }
        found = self.robot.deflections(q, STATIONS)
        if colour == "strain":
            return {name: np.abs(d.strain) for name, d in found.items()}
        return {name: np.linalg.norm(getattr(d, colour), axis=-1) for name, d in found.items()}


# ---- making ----


def _expanded(robot: Robot) -> Expanded | None:
    try:
        return expand(robot)
    except UnsupportedError:
        return None


def _urdf(robot: Robot, expanded: Expanded | None) -> Any:
    """urchin's object of what is shown: the expanded description, else the robot's own."""
    if expanded is None:
        return robot.urdf
    return as_urchin(replace(robot.description, text=expanded.urdf))


def _tubes(robot: Robot, appearance: Appearance) -> tuple[Tube, ...]:
    """Tubes of all links and sections that have frames along them."""
    q = robot.neutral()
    tubes = []
    for name in dict.fromkeys((*robot.deflections(q), *robot.section_names)):
        frames = tuple(f"{name}@{i / PIECES:.17g}" for i in range(PIECES + 1))
        try:
            poses = robot.frames(q, frames)
        except FlexdynError:
            continue
        tubes.append(tube_of(appearance, name, frames, poses))
    return tuple(tubes)


def _is_segment(link: str, bending: set[str]) -> bool:
    """Whether a link of the expanded description is a piece of something that is drawn as a tube."""
    name, slash, piece = link.rpartition("/")
    return bool(slash) and name in bending and piece.startswith("segment")


def _chain(urdf: Any, links: set[str]) -> tuple[Any, ...]:
    """Joints of the expanded description that lead to links, parents first, from frames that are known."""
    above = {joint.child: joint for joint in urdf.joints}
    wanted: dict[str, Any] = {}
    for link in links:
        path = []
        while link in above and above[link].name not in wanted:
            path.append(above[link])
            link = above[link].parent
        for joint in reversed(path):
            wanted[joint.name] = joint
    return tuple(wanted.values())
