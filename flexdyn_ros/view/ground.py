"""What a robot stands on: a floor of lines, and the road of a robot on wheels."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.families.wheeled.kernels.road import road_at
from flexdyn_ros.families.wheeled.roads import PackedRoad

__all__ = ["Road", "add_floor"]

CELL, SECTION, SURFACE = (214, 218, 224), (178, 184, 194), (140, 143, 150)
#: cells of the floor between heavier lines
EVERY = 5
#: of a road: behind and before the robot, to both sides, between points [shares of the robot's size]
BEHIND, BEFORE, WIDE, FINE = 1.5, 2.5, 0.25, 0.008


def add_floor(scene: Any, low: np.ndarray, high: np.ndarray) -> None:
    """Lines below a box from low (3,) to high (3,) [m], at round distances.

    Lines instead of viser's own grid: its shader costs every pixel of the floor, which counts where the
    picture is rendered in software.
    """
    size = float(np.max(high - low))
    cell = 10.0 ** np.floor(np.log10(max(size, 1e-3) / 2.0))
    floor = float(min(low[2], 0.0)) - 1e-3 * size
    count = int(np.ceil(0.7 * size / cell / EVERY) * EVERY)
    x, y, _ = np.round(0.5 * (low + high) / cell / EVERY) * cell * EVERY
    for name, steps, colour in (
        ("fine", [i for i in range(-count, count + 1) if i % EVERY], CELL),
        ("heavy", list(range(-count, count + 1, EVERY)), SECTION),
    ):
        at, reach = np.array(steps) * cell, count * cell
        ends = np.stack((np.full(len(at), -reach), np.full(len(at), reach)), axis=-1)
        both = np.repeat(at[:, None], 2, axis=1)
        along = np.stack((x + ends, y + both), axis=-1), np.stack((x + both, y + ends), axis=-1)
        flat = np.concatenate(along)
        lines = np.concatenate((flat, np.full((*flat.shape[:2], 1), floor)), axis=-1)
        scene.add_line_segments(
            f"/floor/{name}", points=lines, colors=colour, thickness=1.2, thickness_units="screen"
        )


class Road:
    """The road as a ribbon under the robot, made anew when the robot comes near its end.

    Parameters
    ----------
    scene : viser.SceneApi
    robot : Robot
        Of kind mobile.
    size : float
        Of the robot [m].
    """

    def __init__(self, scene: Any, robot: Any, size: float) -> None:
        self._scene, self._robot, self._size = scene, robot, size
        self._road = PackedRoad(robot.description.road)
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
        points = self.points(x)
        vertices, faces = ribbon(points, WIDE * self._size)
        surface = self._scene.add_mesh_simple(
            "/road/surface", vertices, faces, color=SURFACE, side="double", cast_shadow=False,
            receive_shadow=False,
        )  # fmt: skip
        # lines across tell that the ribbon moves past
        marks = points[:: len(points) // 40]
        across = np.array([0.0, WIDE * self._size, 0.0])
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
        z = [road_at(self._road.address, float(value))[0] for value in X]
        return np.stack((X, np.zeros_like(X), np.array(z)), axis=-1)


def ribbon(points: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (2 n, 3) and faces (2 n - 2, 3), looking up, of a ribbon along points (n, 3), `width` to both
    sides in y."""
    n = len(points)
    across = np.array([0.0, width, 0.0])
    i = np.arange(n - 1)
    faces = np.concatenate((np.stack((i, n + i, n + i + 1), -1), np.stack((i, n + i + 1, i + 1), -1)))
    return np.concatenate((points + across, points - across)), faces
