"""Where one looks from: a few directions, at a distance that shows the whole robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.motion import Reach

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
