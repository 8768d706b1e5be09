"""What is drawn of a robot without visuals, and the surfaces of what bends."""

import numpy as np
import pytest
from pendulums import double_pendulum
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation

pytest.importorskip("trimesh")
pytest.importorskip("viser")

import trimesh
import viser

import flexdyn_ros
from flexdyn_ros.expanded.colour_scale import colours_of
from flexdyn_ros.view.drawing.scene import RobotScene
from flexdyn_ros.view.drawing.shown_robot import STATIONS, ShownRobot
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


def test_what_bends_is_shown_along_its_sections_in_colours_and_without():
    robot = flexdyn_ros.load("flexible_two_link")
    server, shown = viser.ViserServer(port=8470, verbose=False), ShownRobot(robot)
    try:
        scene, rng = RobotScene(server, shown), np.random.default_rng(5)
        for tube, length in zip(shown.tubes, (0.4, 0.35), strict=True):
            drawn = [
                trimesh.Trimesh(node.vertices, node.faces) for link, node in scene.parts if link == tube.name
            ]
            # a piece is 1 m long
            assert drawn[-2].volume == pytest.approx(length * drawn[-1].volume, rel=1e-6)
            assert drawn[-1].volume > 0.0
        for colour in ("none", "displacement", "none", "displacement"):
            q = 0.02 * rng.normal(size=robot.nq)
            q[[0, 5]] = rng.uniform(-1.0, 1.0, 2)
            for change in scene.moved(q, colour, lambda largest: 2.0 * largest):
                change()
            bent = robot.deflections(q, STATIONS)
            moved = {name: np.linalg.norm(bent[name].displacement, axis=-1) for name in ("link_1", "link_2")}
            top = 2.0 * max(values.max() for values in moved.values())
            for tube in shown.tubes:
                *_, surface, pieces = (node for link, node in scene.parts if link == tube.name)
                assert (pieces.visible, surface.visible) == (colour != "none", colour == "none")
                T = shown.robot.frames(q, list(tube.frames))
                ends, turned = T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3])
                if colour == "none":
                    far = cdist(surface.vertices, ends)
                    around = np.linalg.norm(tube.outline, axis=1).max() * (1.0 + 1e-5)
                    assert far.min(axis=0).max() <= around
                    assert far.min(axis=1).max() <= around
                    continue
                lengths = np.linalg.norm(np.diff(ends, axis=0), axis=1)
                assert pieces.batched_positions == pytest.approx(0.5 * (ends[:-1] + ends[1:]), abs=1e-6)
                # half of the way from the section at one end to that at the other
                turns = Rotation.from_quat(np.roll(pieces.batched_wxyzs, -1, axis=1))
                half = 0.5 * (turned[:-1].inv() * turned[1:]).magnitude()
                for end in (turned[:-1], turned[1:]):
                    assert (end.inv() * turns).magnitude() == pytest.approx(half, abs=2e-6)
                # nothing opens between neighbours where they bend
                longer = pieces.batched_scales[:, 0] - lengths
                reach = 0.5 * (longer[:-1] + longer[1:])
                opening = tube.radius * (turns[:-1].inv() * turns[1:]).magnitude()
                assert (reach > opening).all()
                assert reach.max() < 0.01 * lengths.max() + 1.2 * opening.max()
                np.testing.assert_array_equal(pieces.batched_scales[:, 1:], 1.0)
                expected = colours_of(moved[tube.name] / top)
                np.testing.assert_array_equal(pieces.batched_colors, expected)
    finally:
        server.stop()


@pytest.mark.parametrize(("alpha", "opacity"), [(1.0, None), (0.4, 0.4), (0.0, 0.0)])
def test_a_material_lets_light_through_only_where_it_says_so(alpha, opacity):
    text = f"""<robot name="box"><link name="base"><visual><geometry><box size="1 2 3"/></geometry>
      <material name="m"><color rgba="1 0.4 0 {alpha}"/></material></visual></link></robot>"""
    (shape,) = ShownRobot(flexdyn_ros.load(text)).shapes
    assert shape.opacity == opacity
    assert shape.colour == (255, 102, 0)
