"""The shadow of a robot, on the ground and on a road."""

import numpy as np
import pytest

import flexdyn_ros

pytest.importorskip("viser")
pytest.importorskip("trimesh")

from flexdyn_ros.view import Viewer
from flexdyn_ros.view.around.surroundings import DARK, LIGHT


@pytest.mark.parametrize("name", ["flexible_two_link", "mobile_arm"])
def test_a_shadow_is_darker_than_what_it_falls_on(name):
    viewer = Viewer(flexdyn_ros.load(name), port=8395)
    try:
        stage, node = viewer.picture.stage, viewer.server.scene.get_handle_by_name
        for dark in (False, True, False):
            stage.paint(dark=dark)
            below = (DARK if dark else LIGHT).near if stage.road is None else node("/road/surface").color
            assert max(node("/shadow").color) < min(below)
    finally:
        viewer.close()


def test_a_shadow_lies_flat_where_the_rays_of_one_sun_end():
    """What is higher casts its shadow farther, all in one direction."""
    viewer = Viewer(flexdyn_ros.load("flexible_two_link"), port=8396)
    try:
        points = viewer.picture.stage.shadow.points(viewer.robot.neutral())
        cast = np.asarray(viewer.server.scene.get_handle_by_name("/shadow").vertices, dtype=float)
    finally:
        viewer.close()
    assert np.ptp(cast[:, 2]) < 1e-6
    high = points[:, 2] - cast[:, 2]
    assert np.all(high > 0.0)
    moved = (cast - points)[:, :2] / high[:, None]
    assert np.abs(moved[0]).min() > 0.05
    np.testing.assert_allclose(moved, moved[:1].repeat(len(moved), axis=0), atol=1e-4)


def test_the_ground_gives_way_to_what_reaches_below_it_and_stays_there():
    robot = flexdyn_ros.load("canadarm2")
    viewer = Viewer(robot, port=8397)

    def heights():
        """Of the floor's lines, the shadow, the ground near and far, and the lowest sky [m]."""
        node = viewer.server.scene.get_handle_by_name
        found = [np.asarray(node(f"/floor/{name}").points)[..., 2] for name in ("fine", "heavy")]
        found.append(np.asarray(node("/shadow").vertices)[:, 2])
        around = [node(f"/surroundings/{name}") for name in ("middle", "ground", "sky")]
        found += [np.min(one.batched_positions[:, 2]) for one in around]
        moved = [node("/floor/fine"), node("/floor/heavy"), node("/shadow"), *around]
        return np.array([np.min(z) + one.position[2] for z, one in zip(found, moved, strict=True)])

    try:
        first, passed = heights(), []
        # forwards, down, farther down, and up again
        for angle in (0.0, 0.5, 1.0, -1.0, 0.2):
            q = robot.neutral()
            q[0] = angle
            viewer.pose(q)
            viewer.redraw_now()
            passed.append((viewer.picture.stage.shadow.points(q)[:, 2].min(), heights()))
    finally:
        viewer.close()
    deepest = np.inf
    for lowest, (fine, heavy, shadow, middle, ground, sky) in passed:
        assert lowest > fine == heavy > shadow > middle == ground == sky
        assert fine <= deepest
        deepest = fine
    below = np.array([now - first for _, now in passed])
    np.testing.assert_allclose(below, below[:, :1].repeat(6, axis=1), atol=1e-5)
    assert below[0, 0] == 0.0 > below[1, 0]
    assert (below[-1] == below[-2]).all()
