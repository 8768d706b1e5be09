"""What is around a robot: light, ground or road, horizon and shadow; light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.view.around.ground import DEEP, Floor, Road, Shadow
from flexdyn_ros.view.around.surroundings import DARK, LIGHT, Palette, Surroundings
from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.motion import Reach

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


# Where one looks from: a few directions, at a distance that shows the whole robot.

#: direction from the robot to the eye, and what is up in the picture
PRESETS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "corner": ((1.0, -1.6, 0.9), (0.0, 0.0, 1.0)),
    "front": ((1.0, 0.0, 0.12), (0.0, 0.0, 1.0)),
    "side": ((0.0, -1.0, 0.12), (0.0, 0.0, 1.0)),
    "top": ((0.0, -0.02, 1.0), (0.0, 1.0, 0.0)),
}
#: angle of view of the page's camera, from top to bottom [rad], and the share of it that the robot may fill
ANGLE, SHARE = 0.7, 0.9
#: the horizon is nearer than so many half diagonals of the robot
FAR = 300.0
#: the robot stands so far left of the middle, in half diagonals of it
BESIDE_PANEL = 0.35
#: share of the height of an upright page, from its top, that the panel leaves to the robot
ABOVE_PANEL = 0.4


def room_of(shown: ShownRobot, reach: Reach) -> tuple[np.ndarray, np.ndarray]:
    """Corners (3,), (3,) of a box that holds a robot in its neutral position and, unless it bends and is
    shown vibrating, wherever its tour takes it [m]."""
    robot = shown.robot
    boxes = [shown.bounds(robot.neutral())]
    if not any(c.kind in MODAL for c in robot.coordinates):
        ends = np.pi * (np.arange(2 * robot.nv) + 0.5)
        halves = np.pi * (np.arange(2 * robot.nv) + np.array([[0.25], [0.75]])).ravel()
        boxes += [shown.bounds(reach.in_turn(phase)) for phase in (*ends.tolist(), *halves.tolist())]
    low, high = zip(*boxes, strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


def aim(
    camera: Any,
    preset: str,
    low: np.ndarray,
    high: np.ndarray,
    *,
    beside_panel: bool = True,
    closer: float = 1.0,
    upright: float = 0.0,
) -> None:
    """Set a camera (of a client, or the one that new clients start with) to see a box from low (3,) to high
    (3,) [m].

    beside_panel: leave the right of the picture to the panel. closer: factor of the distance. upright: width
    by height of a page whose panel is at its bottom, as on a phone; 0: of others.
    """
    direction, up = PRESETS[preset]
    middle = 0.5 * (low + high)
    reach = max(float(np.linalg.norm(high - low)) * 0.5, 1e-3)
    half = np.tan(0.5 * ANGLE)
    distance = closer * reach / half / SHARE / (min(upright, ABOVE_PANEL) if upright else 1.0)
    eye = middle + np.asarray(direction) / np.linalg.norm(direction) * distance
    # the panel covers the right of the page
    right = np.cross(middle - eye, up)
    aside = BESIDE_PANEL * reach * right / np.linalg.norm(right) if beside_panel else np.zeros(3)
    if upright:
        above = np.cross(right, middle - eye)
        aside = -(1.0 - ABOVE_PANEL) * half * distance * above / np.linalg.norm(above)
    eye, middle = eye + aside, middle + aside
    if hasattr(camera, "up_direction"):
        camera.up_direction = up
    elif hasattr(camera, "up"):
        camera.up = up
    camera.fov = ANGLE
    camera.position, camera.look_at = eye, middle
    camera.near, camera.far = reach * 0.01, reach * FAR
