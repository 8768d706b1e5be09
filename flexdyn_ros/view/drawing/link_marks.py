"""Frames and inertia ellipsoids of links, and what is known about a link."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.families.registry import family_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.view.drawing.scene import one_colour, wxyz_of

if TYPE_CHECKING:
    from viser import SceneApi

#: what may be marked at links, and what it is called
MARKS = {"frames": "Frames of links", "ellipsoids": "Inertia ellipsoids"}
#: length and radius of axes [sizes of the robot]; colour and opacity of ellipsoids
AXIS, THIN = 0.06, 0.0025
COLOUR, OPACITY = (0, 114, 178), 0.45
#: the frame of the link that is picked is so many times larger
PICKED = 1.8
#: thinnest ellipsoid that is drawn [sizes of the robot]
THINNEST = 1e-3
#: masses that differ by less are equal [of the larger]
SAME = 1e-6


class LinkFacts(NamedTuple):
    """A link: its mass [kg], and, where the description states them for this mass, the centre of mass (3,)
    [m] and the inertia (3, 3) [kg m2] about it, in link axes; flexible links undeformed."""

    name: str
    mass: float
    center: np.ndarray | None = None
    inertia: np.ndarray | None = None


def facts_of(robot: Robot) -> dict[str, LinkFacts]:
    """What is known about the links that have a frame, by name, in the order of the file."""
    description = robot.description
    masses = {report.link: report.mass for report in family_of(description).check(robot).links}
    frames, found = set(robot.frame_names), {}
    for link in description.links:
        if link.name not in frames:
            continue
        own = link.inertial
        mass = masses.get(link.name, own.mass if own else 0.0)
        if own is None or own.mass <= 0.0 or abs(mass - own.mass) > SAME * own.mass:
            found[link.name] = LinkFacts(link.name, mass)
        else:
            found[link.name] = LinkFacts(link.name, mass, np.asarray(own.xyz, dtype=float), _tensor(own))
    return found


def _tensor(inertial: Any) -> np.ndarray:
    """Inertia (3, 3) about the centre of mass in the axes of the link [kg m2]."""
    from scipy.spatial.transform import Rotation

    ixx, ixy, ixz, iyy, iyz, izz = inertial.inertia
    R = Rotation.from_euler("xyz", inertial.rpy).as_matrix()
    tensor: np.ndarray = R @ np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]) @ R.T
    return tensor


def ellipsoid(mass: float, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Semi-axes (3,) [m] and their directions, the columns of (3, 3), of the solid ellipsoid of uniform
    density with a mass [kg] and an inertia (3, 3) about its centre [kg m2]: I1 = m (b2 + c2) / 5."""
    moments, axes = np.linalg.eigh(inertia)
    squares = 2.5 / mass * (np.sum(moments) - 2.0 * moments)
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] *= -1.0
    return np.sqrt(np.maximum(squares, 0.0)), axes


class LinkMarks:
    """Marks at the links of a robot of a size [m] in the scene of a server."""

    def __init__(self, scene: SceneApi, robot: Robot, size: float) -> None:
        import trimesh

        self._robot = robot
        self.facts = facts_of(robot)
        self._links = list(self.facts)
        self._solid = [f for f in self.facts.values() if f.inertia is not None]
        self._T = np.tile(np.eye(4), (len(self._solid), 1, 1))
        scales = np.ones((len(self._solid), 3))
        for k, (_, mass, center, inertia) in enumerate(self._solid):
            assert inertia is not None
            scales[k], self._T[k, :3, :3] = ellipsoid(mass, inertia)
            self._T[k, :3, 3] = center
        self._picked = _axes(scene, "/marks/picked", 1, PICKED * size)
        self._nodes: dict[str, Any] = {"frames": _axes(scene, "/marks/frames", len(self._links), size)}
        if self._solid:
            ball = trimesh.creation.icosphere(subdivisions=3)
            self._nodes["ellipsoids"] = scene.add_batched_meshes_simple(
                "/marks/ellipsoids", ball.vertices, ball.faces, batched_wxyzs=wxyz_of(self._T[:, :3, :3]),
                batched_positions=self._T[:, :3, 3],
                batched_scales=np.maximum(scales, THINNEST * size).astype(np.float32),
                batched_colors=one_colour(COLOUR, len(self._solid)), opacity=OPACITY, lod="off",
                cast_shadow=False, receive_shadow=False, visible=False,
            )  # fmt: skip

    @property
    def offered(self) -> dict[str, str]:
        """Those of MARKS that the robot has."""
        return {name: label for name, label in MARKS.items() if name in self._nodes}

    def moved(self, chosen: set[str], picked: str, q: np.ndarray) -> list[Callable[[], None]]:
        """What to do to show those that are chosen, and the link that is picked, at q (nq,)."""
        changes: list[Callable[[], None]] = []
        if picked:
            changes.append(partial(_place, self._picked, self._robot.frames(q, [picked])))
        if self._picked.visible != bool(picked):
            changes.append(partial(setattr, self._picked, "visible", bool(picked)))
        for name, node in self._nodes.items():
            if name in chosen:
                T = self._robot.frames(q, self._links)
                if name == "ellipsoids":
                    T = self._robot.frames(q, [f.name for f in self._solid]) @ self._T
                changes.append(partial(_place, node, T))
            if node.visible != (name in chosen):
                changes.append(partial(setattr, node, "visible", name in chosen))
        return changes


def _axes(scene: SceneApi, name: str, count: int, size: float) -> Any:
    """Axes of so many frames."""
    return scene.add_batched_axes(
        name, wxyz_of(np.tile(np.eye(3), (count, 1, 1))), np.zeros((count, 3)),
        axes_length=AXIS * size, axes_radius=THIN * size, visible=False,
    )  # fmt: skip


def _place(node: Any, T: np.ndarray) -> None:
    node.batched_positions = T[:, :3, 3].astype(np.float32)
    node.batched_wxyzs = wxyz_of(T[:, :3, :3]).astype(np.float32)
