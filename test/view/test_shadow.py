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


def covers(vertices, faces, points):
    """Whether a mesh in a plane covers points (n, 2)."""
    a, b, c = np.moveaxis(vertices[faces][..., :2], 1, 0)
    ab, ac, to = b - a, c - a, points[:, None] - a
    # shares of b and c by Cramer's rule
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    area = np.where(np.abs(area) > 1e-12, area, np.inf)
    s = (to[..., 0] * ac[:, 1] - to[..., 1] * ac[:, 0]) / area
    t = (ab[:, 0] * to[..., 1] - ab[:, 1] * to[..., 0]) / area
    return np.any((area < np.inf) & (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0), axis=1)


def test_links_that_bend_cast_a_shadow_all_along():
    """Straight ones: where the rays through the line between their ends meet the ground; beside it none."""
    viewer = Viewer(flexdyn_ros.load("flexible_two_link"), port=8398)
    robot, node = viewer.robot, viewer.server.scene.get_handle_by_name("/shadow")
    shares = np.linspace(0.02, 0.98, 25)[:, None]
    try:
        lines, meshes = [], []
        for elbow in (0.5, -0.9):
            q = robot.neutral()
            q[[robot.index(name) for name in ("shoulder", "elbow")]] = 0.3, elbow
            viewer.pose(q)
            viewer.redraw_now()
            points = viewer.picture.stage.shadow.points(q)
            vertices = np.asarray(node.vertices, dtype=float)
            # what the rays do to a point as high as another
            slant = (vertices[0] - points[0])[:2] / (points[0, 2] - vertices[0, 2])
            ends = np.array([robot.frames(q, name)[:3, 3] for name in ("link_1", "link_2", "tool0")])
            flat = ends[:, :2] + (ends[:, 2:] - vertices[0, 2]) * slant
            lines.append([a + shares * (b - a) for a, b in zip(flat[:-1], flat[1:], strict=True)])
            meshes.append((vertices, np.asarray(node.faces)))
    finally:
        viewer.close()
    for mesh, own, other in zip(meshes, lines, lines[::-1], strict=True):
        for line in own:
            assert covers(*mesh, line).all()
        assert not covers(*mesh, other[1][5:]).any()


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
