"""What is around a robot: light, ground or road, horizon and shadow; light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.view.around.ground import DEEP, Floor, Road, Shadow
from flexdyn_ros.view.around.surroundings import DARK, LIGHT, Palette, Surroundings
from flexdyn_ros.view.drawing.shown_robot import ShownRobot

if TYPE_CHECKING:
    from viser import SceneApi

#: light from above, and from all sides
SUN, SKY = 3.0, 1.1
#: the ground beside a road lies so far below it; one that gives way goes so far below the robot [sizes of it]
ABYSS, SINK = 0.1, 0.05


class Stage:
    """All that stands around a robot in the scene of a server.

    Parameters
    ----------
    scene : viser.SceneApi
    shown : ShownRobot
    low, high : (3,) arrays
        Corners of the room that the robot needs [m].
    rich : bool
        With shadow, ground and sky.
    """

    def __init__(
        self, scene: SceneApi, shown: ShownRobot, low: np.ndarray, high: np.ndarray, *, rich: bool
    ) -> None:
        _add_light(scene)
        self._size = size = float(np.max(high - low))
        appearance = shown.appearance
        self.road = Road(scene, shown.robot, appearance, size) if appearance.road else None
        self.floor = None if self.road else Floor(scene, low, high, LIGHT)
        self.shadow: Shadow | None = None
        self._around: Surroundings | None = None
        if rich:
            middle = 0.5 * (low + high)
            middle[2] = self._level = self.floor.height if self.floor else low[2] - ABYSS * size
            self._around = Surroundings(scene, middle - [0.0, 0.0, 2.0 * DEEP * size], size, LIGHT)
            if shown.shapes or shown.tubes:
                self.shadow = Shadow(scene, shown, self._ground, self._shade(LIGHT))
        scene.add_frame("/world", axes_length=0.06 * size, axes_radius=0.003 * size)

    def moved(self, q: np.ndarray) -> list[Callable[[], None]]:
        """What to do to show it around a robot at q (nq,)."""
        if self.road is not None:
            self.road.show(q)
        if self.shadow is None:
            return []
        points = self.shadow.points(q)
        changes = self._sunk(float(points[:, 2].min())) if self.floor else []
        return [*changes, *self.shadow.moved(points)]

    def _sunk(self, lowest: float) -> list[Callable[[], None]]:
        """What to do for a ground that gives way to a robot that reaches below it, for good."""
        if lowest >= self._level:
            return []
        self._level = lowest - SINK * self._size
        assert self.floor is not None
        assert self._around is not None
        floor, around, by = self.floor, self._around, self._level - self.floor.height
        return [lambda: floor.sink(by), lambda: around.sink(by)]

    def _shade(self, palette: Palette) -> tuple[int, int, int]:
        return palette.shadow if self.road is None else palette.on_road

    def _ground(self, x: np.ndarray) -> np.ndarray:
        """Heights at abscissas x (n,) that shadows fall on [m]."""
        if self.road is not None:
            return self.road.ground(x) + DEEP * self._size
        return np.full(x.shape, self._level - DEEP * self._size)

    def paint(self, *, dark: bool) -> None:
        """By day or by night."""
        palette = DARK if dark else LIGHT
        if self.floor is not None:
            self.floor.paint(palette)
        if self._around is not None:
            self._around.paint(palette)
        if self.shadow is not None:
            self.shadow.recolour(self._shade(palette))


def _add_light(scene: SceneApi) -> None:
    """The sun and the sky, in place of two suns and an environment to mirror: each costs every pixel much
    where pictures are rendered in software."""
    scene.set_up_direction("+z")
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_directional("/sun", intensity=SUN, position=(-0.2, -0.25, 1.0))
    scene.add_light_hemisphere("/sky", ground_color=(196, 190, 182), intensity=SKY)
