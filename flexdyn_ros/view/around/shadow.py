"""The shadow of a robot on the ground: its outline along the rays of the sun, as one flat mesh.

viser's own shadows reach 20 m and cost every pixel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.drawing.tubes import PIECES
from flexdyn_ros.view.page import EXACT

if TYPE_CHECKING:
    from viser import SceneApi

#: along the ground, for each metre of height
SLANT = np.array([0.2, 0.25])
#: every so many sections of a tube give its shadow
STRIDE = 5
#: directions in which the outermost points of a shape give its shadow
DIRECTIONS = 80


class Shadow:
    """The shadow of a robot.

    Parameters
    ----------
    scene : viser.SceneApi
    shown : ShownRobot
    ground : callable
        Heights [m] of the ground at abscissas (n,) [m].
    colour : (3,) tuple
    """

    def __init__(
        self,
        scene: SceneApi,
        shown: ShownRobot,
        ground: Callable[[np.ndarray], np.ndarray],
        colour: tuple[int, int, int],
    ) -> None:
        self._shown, self._ground = shown, ground
        self._bodies = [(shape.link, *_hull(shape.vertices)) for shape in shown.shapes]
        self._sections = np.unique(np.append(np.arange(0, PIECES + 1, STRIDE), PIECES))
        parts = [faces for _, _, faces in self._bodies]
        parts += [tube.surface_faces(len(self._sections)) for tube in shown.tubes]
        q = shown.robot.neutral()
        before = np.cumsum([0, *(len(p) for p in self._parts(q))])
        faces = np.concatenate([f + start for f, start in zip(parts, before, strict=False)])
        self._node = scene.add_mesh_simple(
            "/shadow", self._cast(self.points(q)), faces, color=colour, material=EXACT,
            side="double", cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def points(self, q: np.ndarray) -> np.ndarray:
        """Points (n, 3) of the robot at q (nq,) that the shadow is made of [m]."""
        return np.concatenate(self._parts(q))

    def moved(self, points: np.ndarray) -> list[Callable[[], None]]:
        """What to do to show that of points (n, 3)."""
        flat = self._cast(points).astype(np.float32)
        return [partial(setattr, self._node, "vertices", flat)]

    def recolour(self, colour: tuple[int, int, int]) -> None:
        """Another colour, of another ground."""
        self._node.color = colour

    def _parts(self, q: np.ndarray) -> list[np.ndarray]:
        poses = self._shown.link_poses(q)
        points = [p @ poses[link][:3, :3].T + poses[link][:3, 3] for link, p, _ in self._bodies]
        for tube, state in zip(self._shown.tubes, self._shown.tube_states(q), strict=True):
            points.append(tube.surface(state.frames[self._sections]))
        return points

    def _cast(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) where the rays of the sun through them meet the ground."""
        height = np.maximum(points[:, 2] - self._ground(points[:, 0]), 0.0)
        flat = points[:, :2] + height[:, None] * SLANT
        return np.column_stack((flat, self._ground(flat[:, 0])))


def _hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Few points (n, 3) of a body that cast about the same shadow, and faces (m, 3) that join them."""
    import trimesh
    from scipy.spatial import QhullError

    i = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * i / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * i
    rays = np.stack((np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z))
    chosen = points[np.unique(np.argmax(points @ rays, axis=0))]
    try:
        hull = trimesh.convex.convex_hull(chosen)
    except QhullError:  # too few points, or all in a plane
        return chosen, np.zeros((0, 3), dtype=int)
    return np.asarray(hull.vertices), np.asarray(hull.faces)
