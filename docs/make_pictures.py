"""Makes the pictures of the viewer in docs/images: each family by itself, and four of them as one.

    scripts/run python docs/make_pictures.py [NAME ...]

Wants a chromium; renders without a screen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import imageio.v3 as imageio  # noqa: E402
from browser import Page, browser  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.view import Viewer, aim, picture  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 960, 600


def canadarm2(robot: Any) -> np.ndarray:
    """Held out and lifted, the booms bent far beyond what they may, as if magnified."""
    q = robot.neutral()
    set_named(robot, q, shoulder_pitch=-0.75, elbow_pitch=1.15, wrist_pitch=0.5)
    bent = {"boom_1/bending_z/1": -1.3, "boom_2/bending_z/1": -1.9, "boom_2/bending_y/1": 0.5}
    set_named(robot, q, **bent)
    return q


def soft_arm_3(robot: Any) -> np.ndarray:
    """Three sections that bend one after the other."""
    return np.array([0.0, 0.022, 0.012, 0.001, 0.024, 0.014, 0.026, 0.004, 0.004])


def mobile_arm(robot: Any) -> np.ndarray:
    """Where it stands at rest, the arm lifted."""
    q = robot.neutral()
    set_named(robot, q, shoulder=1.0, elbow=-1.2)
    return robot.static_equilibrium(q, hold=["base/x", "shoulder", "elbow"]).q


def stewart_1t(robot: Any) -> np.ndarray:
    """Tilted and lifted."""
    return robot.integrate(robot.neutral(), np.array([0.16, -0.12, 0.2, 0.05, 0.05, 0.06]), 1.0)


def seven_joint_arm(robot: Any) -> np.ndarray:
    """Reaching forward."""
    return np.array([0.5, -0.6, 0.2, -2.0, 0.0, 1.5, 0.0])


class Scene(NamedTuple):
    """A picture: robot, pose, what colours it, from where, share of the height that is looked at."""

    robot: str
    pose: Callable[[Any], np.ndarray]
    colour: str
    preset: str
    closer: float


SCENES = (
    Scene("soft_arm_3", soft_arm_3, "displacement", "corner", 0.85),
    Scene("canadarm2", canadarm2, "moment", "corner", 0.72),
    Scene("mobile_arm", mobile_arm, "moment", "corner", 0.78),
    Scene("stewart_1t", stewart_1t, "none", "corner", 0.74),
    Scene("seven_joint_arm", seven_joint_arm, "none", "corner", 0.85),
)


def set_named(robot: Any, q: np.ndarray, **values: float) -> None:
    """Coordinates by name."""
    for name, value in values.items():
        q[robot.q_names.index(name)] = value


def taken(chrome: Any, scene: Scene, port: int) -> np.ndarray:
    """Pixels (height, width, 3) of a scene."""
    robot = flexdyn_ros.load(scene.robot)
    viewer = Viewer(robot, port=port)
    try:
        page = Page(chrome, viewer.port, WIDTH, HEIGHT)
        viewer.panels._colouring.value = scene.colour
        viewer.restart_colours()
        viewer.pose(scene.pose(robot))
        (client,) = viewer.server.get_clients().values()
        low, high = viewer.shown.bounds(viewer.q)
        aim(client.camera, scene.preset, low, high, beside_panel=False, closer=scene.closer)
        page.page.wait_for_timeout(3000)
        return imageio.imread(picture(client))[..., :3]
    finally:
        viewer.close()


def main() -> None:
    wanted = sys.argv[1:]
    with browser() as chrome:
        for number, scene in enumerate(SCENES):
            if not wanted or scene.robot in wanted:
                one = taken(chrome, scene, 8700 + 10 * number)
                imageio.imwrite(IMAGES / f"viewer_{scene.robot}.png", one, optimize=True)
                print(f"viewer_{scene.robot}.png", flush=True)
    four = [imageio.imread(IMAGES / f"viewer_{scene.robot}.png") for scene in SCENES[:4]]
    rows = [np.concatenate(four[i : i + 2], axis=1) for i in (0, 2)]
    all_of_them = np.concatenate(rows, axis=0).astype(float)
    half = all_of_them.reshape(HEIGHT, 2, WIDTH, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)
    imageio.imwrite(IMAGES / "families.png", half, optimize=True)
    print("families.png")


if __name__ == "__main__":
    main()
