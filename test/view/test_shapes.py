"""What is drawn of a robot without visuals, and the surfaces of what bends."""

import numpy as np
import pytest
from pendulums import double_pendulum

pytest.importorskip("trimesh")
pytest.importorskip("viser")

import trimesh

from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.drawing.tubes import Tube


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_a_bar_lies_between_its_joints_wherever_a_capsule_is_put(shift, monkeypatch):
    capsule = trimesh.creation.capsule
    monkeypatch.setattr(
        trimesh.creation, "capsule", lambda **o: capsule(**o).apply_translation([0.0, 0.0, shift])
    )
    # the bar of the upper rod, from the shoulder down to the elbow 1 m below
    shapes = [shape for shape in ShownRobot(double_pendulum()).shapes if shape.link == "upper"]
    bar = max(shapes, key=lambda shape: np.ptp(shape.vertices[:, 2]))
    low, high = bar.vertices.min(axis=0), bar.vertices.max(axis=0)
    radius = high[0]
    assert 0.0 < radius < 0.2
    np.testing.assert_allclose(low[:2], -radius, rtol=1e-6)
    np.testing.assert_allclose([low[2], high[2]], [-1.0 - radius, radius], atol=1e-6)


@pytest.mark.parametrize("corners", [3, 4, 7, 8, 12])
def test_the_surface_of_a_straight_tube_is_that_of_a_prism(corners):
    """Closed, with the volume of the prism, and each ring once, or twice where edges stay sharp."""
    angle = 2.0 * np.pi * np.arange(corners) / corners
    outline = np.stack((0.03 * np.cos(angle), 0.05 * np.sin(angle)), axis=1)
    sections, length = 5, 1.3
    T = np.tile(np.eye(4), (sections, 1, 1))
    T[:, 0, 3] = np.linspace(0.2, 0.2 + length, sections)
    tube = Tube("beam", tuple("abcde"), outline, 0)
    vertices, faces = tube.surface(T), tube.surface_faces(sections)
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    faces = faces[mesh.area_faces > 0.0]
    merged = trimesh.Trimesh(vertices, faces)
    merged.merge_vertices()
    assert merged.is_watertight
    area = 0.5 * corners * 0.03 * 0.05 * np.sin(2.0 * np.pi / corners)
    assert merged.volume == pytest.approx(area * length, rel=1e-12)
    inner = np.isclose(vertices[np.unique(faces), 0], T[2, 0, 3]).sum()
    assert inner == (corners if corners >= 8 else 2 * corners)
