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
