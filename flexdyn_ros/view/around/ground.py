"""What a robot stands on: a floor of lines, and the road of a robot on wheels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.view.around.surroundings import Palette
from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.drawing.tubes import PIECES
from flexdyn_ros.view.page import EXACT

if TYPE_CHECKING:
    from viser import SceneApi

CELL, SURFACE = (214, 218, 224), (140, 143, 150)
#: the floor is so far below the robot, the shadow and the ground each so far below it [sizes of the robot]
DEEP = 3e-3
#: cells of the floor between heavier lines, and cuts of each line
EVERY, CUTS = 5, 9
#: lines across a road to a cell of a floor of that size
ACROSS = 5
#: of a road: behind and before the robot, beside its wheels, between points [shares of the robot's size]
BEHIND, BEFORE, WIDE, FINE = 1.5, 2.5, 0.2, 0.008


class Floor:
    """Lines below a box from low (3,) to high (3,) [m], at round distances.

    Lines instead of viser's own grid: its shader costs every pixel of the floor, which counts where the
    picture is rendered in software.
    """

    def __init__(self, scene: SceneApi, low: np.ndarray, high: np.ndarray, palette: Palette) -> None:
        size = float(np.max(high - low))
        #: side of a cell [m]
        self.cell = cell = float(10.0 ** np.floor(np.log10(max(size, 1e-3) / 2.0)))
        self.height = float(min(low[2], 0.0)) - DEEP * size
        count = int(np.ceil(0.7 * size / cell / EVERY) * EVERY)
        x, y, _ = np.round(0.5 * (low + high) / cell / EVERY) * cell * EVERY
        self._lines = []
        for name, steps in (
            ("fine", [i for i in range(-count, count + 1) if i % EVERY]),
            ("heavy", list(range(-count, count + 1, EVERY))),
        ):
            lines = _crossing(np.array([x, y, self.height]), np.array(steps) * cell, count * cell)
            self._lines.append(
                scene.add_line_segments(
                    f"/floor/{name}", points=lines, colors=CELL, thickness=1.2, thickness_units="screen"
                )
            )
        self.paint(palette)

    def paint(self, palette: Palette) -> None:
        """Other colours."""
        for lines, colour in zip(self._lines, (palette.fine, palette.heavy), strict=True):
            lines.colors = np.array(colour, np.uint8)

    def sink(self, by: float) -> None:
        """Put it so far [m] above its first height."""
        for lines in self._lines:
            lines.position = (0.0, 0.0, by)


def _crossing(middle: np.ndarray, at: np.ndarray, reach: float) -> np.ndarray:
    """Lines (k, 2, 3) along x and along y at distances (n,) from a middle (3,), so long to both sides, in
    pieces: the page draws lines that begin behind the camera in front of all else."""
    cuts = np.linspace(-reach, reach, CUTS)
    ends = np.tile(np.stack((cuts[:-1], cuts[1:]), axis=-1), (len(at), 1))
    both = np.repeat(at, CUTS - 1)[:, None].repeat(2, axis=1)
    flat = np.concatenate((np.stack((ends, both), -1), np.stack((both, ends), -1)))
    lines: np.ndarray = np.concatenate((flat, np.zeros((*flat.shape[:2], 1))), axis=-1)
    lines += middle
    return lines


class Road:
    """The road as a ribbon under the robot, made anew when the robot comes near its end.

    Parameters
    ----------
    scene : viser.SceneApi
    robot : Robot
    appearance : Appearance
        Of its description, with a road.
    size : float
        Of the robot [m].
    """

    def __init__(self, scene: SceneApi, robot: Robot, appearance: Appearance, size: float) -> None:
        assert appearance.road is not None
        self._scene, self._robot, self._size, self._road = scene, robot, size, appearance.road
        #: between lines across it [m]
        self.cell = float(10.0 ** np.floor(np.log10(size / 2.0))) / ACROSS
        #: to both sides [m]
        self._wide = WIDE * size + max((abs(wheel.xyz[1]) for wheel in appearance.wheels), default=0.0)
        self._at = np.nan
        self._nodes: list[Any] = []
        self.show(robot.neutral())

    def show(self, q: np.ndarray) -> None:
        """Let the road reach before and behind the robot at q (nq,)."""
        x = float(self._robot.frames(q, self._robot.description.root)[0, 3])
        if abs(x - self._at) < 0.5 * self._size:
            return
        self._at = x
        for node in self._nodes:
            node.remove()
        points = self._profile = self.points(x)
        vertices, faces = ribbon(points, self._wide)
        surface = self._scene.add_mesh_simple(
            "/road/surface", vertices, faces, color=SURFACE, side="double", cast_shadow=False,
            receive_shadow=False,
        )  # fmt: skip
        # lines across tell that the ribbon moves past, and how long things are
        at = np.arange(np.ceil(points[0, 0] / self.cell), points[-1, 0] / self.cell) * self.cell
        marks = np.stack((at, np.zeros_like(at), self.ground(at)), axis=-1)
        across = np.array([0.0, self._wide, 0.0])
        lift = np.array([0.0, 0.0, 2e-3 * self._size])
        lines = np.stack((marks + lift - across, marks + lift + across), axis=1)
        edges = self._scene.add_line_segments(
            "/road/marks", points=lines, colors=CELL, thickness=1.5, thickness_units="screen"
        )
        self._nodes = [surface, edges]

    def points(self, x: float) -> np.ndarray:
        """Points (n, 3) of the road's middle around an abscissa [m]."""
        step = FINE * self._size
        # on a grid of the world, so that the ribbon does not crawl when it is made anew
        X = np.arange(np.floor((x - BEHIND * self._size) / step), (x + BEFORE * self._size) / step) * step
        return np.stack((X, np.zeros_like(X), self._road(X)), axis=-1)

    def ground(self, x: np.ndarray) -> np.ndarray:
        """Heights of the ribbon at abscissas x (n,) [m]; beyond its ends, theirs."""
        return np.asarray(np.interp(x, self._profile[:, 0], self._profile[:, 2]))


def ribbon(points: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (2 n, 3) and faces (2 n - 2, 3), looking up, of a ribbon along points (n, 3), `width` to both
    sides in y."""
    n = len(points)
    across = np.array([0.0, width, 0.0])
    i = np.arange(n - 1)
    faces = np.concatenate((np.stack((i, n + i, n + i + 1), -1), np.stack((i, n + i + 1, i + 1), -1)))
    return np.concatenate((points + across, points - across)), faces


# The shadow of a robot on the ground: its outline along the rays of the sun, as one flat mesh.
#
# viser's own shadows reach 20 m and cost every pixel.

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
        self._sections = np.append(np.arange(0, PIECES, STRIDE), PIECES)
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
