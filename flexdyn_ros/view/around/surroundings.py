"""Ground and sky around a robot, without light and textures: cheap where pictures are rendered in
software."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.view.page import EXACT

if TYPE_CHECKING:
    from viser import SceneApi

Colour = tuple[int, int, int]


class Palette(NamedTuple):
    """Colours of the ground near and far, of the sky low and high, of a shadow on the ground and on a road,
    of lines."""

    near: Colour
    far: Colour
    low: Colour
    high: Colour
    shadow: Colour
    on_road: Colour
    fine: Colour
    heavy: Colour


LIGHT = Palette(
    (233, 235, 238), (206, 213, 222), (236, 241, 247), (180, 204, 230), (200, 204, 211), (92, 94, 100),
    (216, 219, 224), (190, 195, 204),
)  # fmt: skip
DARK = Palette(
    (52, 55, 61),
    (38, 42, 49),
    (64, 74, 88),
    (18, 22, 30),
    (36, 38, 43),
    (70, 72, 78),
    (64, 68, 75),
    (84, 89, 98),
)
#: the ground: radius of the disc in the middle [sizes of the robot], growth and number of rings around it
DISC, GROWTH, RINGS = 2.0, 1.2, 17
#: bands of the sky, up to this slope
BANDS, STEEPEST = 24, 2.5
#: corners of rings
AROUND = 64
#: farthest that is drawn of any picture [m]
FARTHEST = 900.0


class Surroundings:
    """A ground that ends at a horizon, and a sky.

    Parameters
    ----------
    scene : viser.SceneApi
    middle : (3,) array
        On the ground, below the robot [m].
    size : float
        Of the robot [m].
    """

    def __init__(self, scene: SceneApi, middle: np.ndarray, size: float, palette: Palette) -> None:
        size = min(size, FARTHEST / (DISC * GROWTH**RINGS))
        ring, faces = _ring()
        inner = DISC * size * GROWTH ** np.arange(-1.0, RINGS)
        inner[0] = 0.0
        disc = np.concatenate((ring[:AROUND], [[0.0, 0.0, 0.0]]))
        i = np.arange(AROUND)
        fan = np.stack((i, (i + 1) % AROUND, np.full(AROUND, AROUND)), -1)
        options: dict[str, object] = {
            "material": EXACT, "lod": "off", "cast_shadow": False, "receive_shadow": False
        }  # fmt: skip
        flat = np.ones((RINGS, 3))
        flat[:, :2] = inner[1:, None]
        self._rings = _instances(scene, "/surroundings/ground", ring, faces, middle, flat, options)
        one = np.array([[DISC * size, DISC * size, 1.0]])
        self._disc = _instances(scene, "/surroundings/middle", disc, fan, middle, one, options)
        R = DISC * size * GROWTH**RINGS
        slopes = np.linspace(0.0, STEEPEST, BANDS + 1)
        bands = np.column_stack((np.full((BANDS, 2), R), R * np.diff(slopes)))
        above = middle + np.column_stack((np.zeros((BANDS, 2)), R * slopes[:-1]))
        wall, sides = _wall()
        self._sky = _instances(scene, "/surroundings/sky", wall, sides, above, bands, options)
        self.paint(palette)

    def paint(self, palette: Palette) -> None:
        """Other colours."""
        self._disc.batched_colors = np.array([palette.near], np.uint8)
        self._rings.batched_colors = _between(palette.near, palette.far, RINGS)
        self._sky.batched_colors = _between(palette.low, palette.high, BANDS)

    def sink(self, by: float) -> None:
        """Put all of it so far [m] above its first height."""
        for node in (self._disc, self._rings, self._sky):
            node.position = (0.0, 0.0, by)


def _instances(
    scene: SceneApi, name: str, vertices: np.ndarray, faces: np.ndarray, at: np.ndarray, scales: np.ndarray,
    options: dict[str, object],
) -> Any:  # fmt: skip
    count = len(scales)
    return scene.add_batched_meshes_simple(
        name, vertices, faces, batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
        batched_positions=np.broadcast_to(at, (count, 3)), batched_scales=scales.astype(np.float32),
        batched_colors=np.zeros((count, 3), np.uint8), **options,
    )  # fmt: skip


def _between(first: Colour, last: Colour, count: int) -> np.ndarray:
    share = np.linspace(0.0, 1.0, count)[:, None]
    colours: np.ndarray = np.rint((1.0 - share) * np.array(first) + share * np.array(last))
    return colours.astype(np.uint8)


def _circle() -> np.ndarray:
    turn = 2.0 * np.pi * np.arange(AROUND) / AROUND
    return np.stack((np.cos(turn), np.sin(turn), np.zeros(AROUND)), -1)


def _ring() -> tuple[np.ndarray, np.ndarray]:
    """A flat ring from radius 1 to that of the next one, looking up."""
    i = np.arange(AROUND)
    j = (i + 1) % AROUND
    faces = np.stack((i, AROUND + i, AROUND + j, i, AROUND + j, j), -1).reshape(-1, 3)
    return np.concatenate((_circle(), GROWTH * _circle())), faces


def _wall() -> tuple[np.ndarray, np.ndarray]:
    """A round wall of radius and height 1, looking inwards."""
    i = np.arange(AROUND)
    j = (i + 1) % AROUND
    faces = np.stack((i, AROUND + j, j, i, AROUND + i, AROUND + j), -1).reshape(-1, 3)
    return np.concatenate((_circle(), _circle() + [0.0, 0.0, 1.0])), faces
