"""Marks of links, without a browser: what is drawn, against mechanics."""

from types import SimpleNamespace

import numpy as np
import pytest
from models import random_tree
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.view.drawing.link_marks import LinkMarks

pytest.importorskip("viser")
pytest.importorskip("trimesh")


def drawn_marks(robot):
    """Marks of links without a browser, and their nodes by name."""
    nodes = {}

    def axes(name, batched_wxyzs, batched_positions, **options):
        assert (batched_wxyzs.shape[1], batched_positions.shape[1]) == (4, 3)
        return nodes.setdefault(name, SimpleNamespace(**options))

    def meshes(name, vertices, faces, **options):
        assert np.linalg.norm(vertices, axis=1) == pytest.approx(1.0)
        assert faces.max() < len(vertices)
        return nodes.setdefault(name, SimpleNamespace(**options))

    scene = SimpleNamespace(add_batched_axes=axes, add_batched_meshes_simple=meshes)
    return LinkMarks(scene, robot, 1.0), nodes


def test_ellipsoids_that_are_drawn_have_the_kinetic_energy_of_the_robot():
    """Semi-axes a, b, c: I1 = m (b2 + c2) / 5, turned and placed as they are shown."""
    robot = flexdyn_ros.load(random_tree(4, base="floating", joints=6, mimic=False))
    rng = np.random.default_rng(5)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    marks, nodes = drawn_marks(robot)
    node = nodes["/marks/ellipsoids"]
    for change in marks.moved({"ellipsoids"}, "", q):
        change()
    solid = [facts for facts in marks.facts.values() if facts.inertia is not None]
    assert len(solid) == 7
    kinetic = 0.0
    for i, facts in enumerate(solid):
        R = Rotation.from_quat(np.roll(node.batched_wxyzs[i], -1)).as_matrix()
        squares = node.batched_scales[i].astype(float) ** 2
        inertia = R @ np.diag(squares.sum() - squares) @ R.T * facts.mass / 5.0
        speed, origin = robot.frame_velocity(q, v, facts.name), robot.frames(q, facts.name)[:3, 3]
        center = speed[3:] + np.cross(speed[:3], node.batched_positions[i] - origin)
        kinetic += 0.5 * facts.mass * center @ center + 0.5 * speed[:3] @ inertia @ speed[:3]
    assert kinetic == pytest.approx(robot.energy(q, v).kinetic, rel=1e-5)


def test_marks_are_shown_where_they_are_chosen_and_follow_the_links():
    rigid = flexdyn_ros.load("seven_joint_arm")
    q = rigid.random(np.random.default_rng(6))
    marks, nodes = drawn_marks(rigid)
    frames, picked = nodes["/marks/frames"], nodes["/marks/picked"]
    assert not any(node.visible for node in nodes.values())
    assert set(marks.offered) == {"frames", "ellipsoids"}
    for chosen, link in (({"frames"}, "link_3"), (set(), ""), ({"frames", "ellipsoids"}, "link_5")):
        for change in marks.moved(chosen, link, q):
            change()
        assert frames.visible == ("frames" in chosen)
        assert nodes["/marks/ellipsoids"].visible == ("ellipsoids" in chosen)
        assert picked.visible == bool(link)
        if link:
            T = rigid.frames(q, link)
            np.testing.assert_allclose(picked.batched_positions, T[None, :3, 3], atol=1e-6)
            turned = Rotation.from_quat(np.roll(picked.batched_wxyzs[0], -1)).as_matrix()
            np.testing.assert_allclose(turned, T[:3, :3], atol=1e-6)
        if "frames" in chosen:
            T = rigid.frames(q, list(marks.facts))
            np.testing.assert_allclose(frames.batched_positions, T[:, :3, 3], atol=1e-6)
