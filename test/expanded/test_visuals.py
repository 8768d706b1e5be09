"""Robots that nobody gave visuals can be seen all the same, and visuals of the user stay as they are."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from lxml import etree
from pendulums import double_pendulum
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.expanded.kernels.kinematics import sweep
from flexdyn_ros.expanded.visuals import GENERATED
from flexdyn_ros.expanding import expand
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy


def visuals(robot):
    """(link, shape, sizes, pose) of every visual of the expanded description."""
    root = etree.fromstring(flexdyn_ros.expand(robot).urdf.encode())
    rows = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            origin, (shape,) = visual.find("origin"), visual.find("geometry")
            T = np.eye(4)
            if origin is not None:
                T[:3, :3] = rotation_of_rpy([float(x) for x in origin.get("rpy", "0 0 0").split()])
                T[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
            rows.append((link.get("name"), shape.tag, dict(shape.attrib), T, visual.get("name")))
    return rows


def without_visuals(name):
    """A shipped robot whose text has lost its visuals."""
    root = etree.fromstring(flexdyn_ros.load(name).description.text.encode())
    for visual in list(root.iter("visual")):
        visual.getparent().remove(visual)
    return flexdyn_ros.load(etree.tostring(root, encoding="unicode"))


def test_visuals_of_the_user_stay_and_nothing_is_added():
    robot = flexdyn_ros.load("seven_joint_arm")
    assert GENERATED not in flexdyn_ros.expand(robot).urdf
    own = etree.fromstring(robot.description.text.encode())
    assert len(visuals(robot)) == len(list(own.iter("visual")))


def test_bars_reach_from_joint_to_joint():
    robot = double_pendulum()
    rows = [row for row in visuals(robot) if row[4] == GENERATED]
    joints = {joint.name: joint for joint in robot.description.joints}
    upper = joints["elbow"].parent
    ends = [
        T[:3, 3] + side * 0.5 * float(sizes["length"]) * T[:3, 2]
        for link, _, sizes, T, _ in rows
        if link == upper
        for side in (-1, 1)
    ]
    assert min(np.linalg.norm(end) for end in ends) < 1e-9
    assert min(np.linalg.norm(end - joints["elbow"].xyz) for end in ends) < 1e-6


@pytest.mark.parametrize("end", [(0.3, 0.4, 1.2), (-0.3, 0.4, -1.2), (0.4, -0.3, 0.0), (0.0, 0.0, -1.0)])
def test_a_bar_reaches_to_a_joint_in_any_direction(end):
    xyz = " ".join(map(str, end))
    text = f"""<robot name="r"><link name="base"/><link name="bar"/><link name="hand"/>
      <joint name="a" type="continuous"><parent link="base"/><child link="bar"/></joint>
      <joint name="b" type="continuous"><parent link="bar"/><child link="hand"/><origin xyz="{xyz}"/></joint>
      </robot>"""
    rows = visuals(flexdyn_ros.load(text))
    # beside the hub about the joint
    ((_, _, sizes, T, _),) = (row for row in rows if row[0] == "bar" and row[3][:3, 3].any())
    half = 0.5 * float(sizes["length"]) * T[:3, 2]
    np.testing.assert_allclose([T[:3, 3] - half, T[:3, 3] + half], [np.zeros(3), end], atol=1e-6)


def test_what_is_drawn_here_is_grey():
    """Programs such as rviz draw visuals without a material in red."""
    root = ElementTree.fromstring(flexdyn_ros.expand(without_visuals("stewart_1t")).urdf)
    shapes = [visual for visual in root.iter("visual") if visual.get("name") == GENERATED]
    assert shapes
    assert {visual.find("material/color").get("rgba") for visual in shapes} == {"0.6 0.6 0.63 1"}


@pytest.mark.parametrize("name", ["excavator", "delta", "mobile_arm", "boom", "soft_arm", "canadarm2"])
def test_nothing_is_red(name):
    root = ElementTree.fromstring(flexdyn_ros.expand(flexdyn_ros.load(name)).urdf)
    assert [visual for visual in root.iter("visual") if visual.find("material") is None] == []


def test_a_platform_is_drawn_from_its_geometry():
    robot = without_visuals("stewart_1t")
    rows = visuals(robot)
    links = {row[0] for row in rows}
    assert {
        "base_link",
        "platform",
        *(f"leg_{n}_{part}" for n in range(1, 7) for part in ("cylinder", "rod")),
    } <= links
    (plate,) = (row for row in rows if row[0] == "platform")
    assert float(plate[2]["radius"]) == pytest.approx(0.9, rel=1e-5)
    (cylinder,) = (row for row in rows if row[0] == "leg_1_cylinder" and abs(row[3][2, 2]) > 0.999)
    # from the lower joint to where the rod begins
    assert float(cylinder[2]["length"]) == pytest.approx(1.10, rel=1e-5)


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "soft_arm_3"])
def test_links_that_do_not_bend_are_drawn_beside_those_that_do(name):
    robot = without_visuals(name)
    rows = visuals(robot)
    generated = {row[0] for row in rows if row[4] == GENERATED}
    bending = set(robot.deflections(robot.neutral()))
    assert generated
    assert not generated & bending
    for _, shape, sizes, _, _ in rows:
        assert all(float(x) > 0.0 for x in sizes.values()), shape


def test_the_viewer_draws_its_own_shapes_instead():
    pytest.importorskip("trimesh")
    from flexdyn_ros.view import ShownRobot

    shown = ShownRobot(without_visuals("stewart_1t"))
    # cones, plates and hubs of the viewer are finer than twelve-sided cylinders of the URDF
    assert {shape.link for shape in shown.shapes} >= {"platform", "base_link", "leg_1_rod"}
    assert all(len(shape.vertices) > 8 for shape in shown.shapes)


@pytest.mark.parametrize(
    "name",
    [
        "flexible_two_link", "canadarm2", "soft_arm_3", "stewart_1t", "boom_on_cylinder", "boom", "excavator",
        "delta", "hexapod_arm",
    ],
)  # fmt: skip
def test_sliders_of_shown_joints_reach_as_far_as_the_robot_can_move(name):
    """Limits hold what random poses need, and are no more than some lengths of the robot."""
    robot = flexdyn_ros.load(name)
    shown = expand(robot)
    limits = {
        joint.get("name"): [float(joint.find("limit").get(end)) for end in ("lower", "upper")]
        for joint in etree.fromstring(shown.urdf).iter("joint")
        if joint.get("type") == "prismatic"
    }
    rng = np.random.default_rng(0)
    places = shown.joint_positions(np.array([robot.random(rng) for _ in range(20)]))
    for joint, (lower, upper) in limits.items():
        at = places[:, shown.joint_names.index(joint)]
        assert lower - 1e-9 <= at.min(), joint
        assert at.max() <= upper + 1e-9, joint
        assert upper - lower <= 50.0, joint


def test_sliders_of_joint_types_have_the_limits_stated_or_those_of_a_turn():
    """Planar: what is stated, else the way along the robot, 5 m; a screw slides as far as half a turn takes
    it."""
    text = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="table" type="planar"><axis xyz="0 0 1"/>
        <parent link="a"/><child link="b"/><origin xyz="0 3 4"/></joint>
      <joint name="screw" type="floating"><parent link="b"/><child link="c"/></joint>
      <flexdyn reference="table"><joint_type lower="-2 -3 -1" upper="1 7 1"></joint_type></flexdyn>
      <flexdyn reference="screw"><joint_type pitch="-0.02">helical</joint_type></flexdyn></robot>"""
    root = etree.fromstring(expand(flexdyn_ros.load(text)).urdf)
    sliders = {
        joint.get("name"): [float(joint.find("limit").get(end)) for end in ("lower", "upper")]
        for joint in root.iter("joint")
        if joint.get("type") == "prismatic"
    }
    assert set(sliders) == {"table/x", "table/y", "screw/displacement"}
    assert sliders["table/x"] == [-2.0, 1.0]
    assert sliders["table/y"] == [-3.0, 7.0]
    np.testing.assert_allclose(sliders["screw/displacement"], [-0.02 * np.pi, 0.02 * np.pi], rtol=1e-8)


@pytest.mark.parametrize("magnification", [0.0, 0.5, 20.0])
def test_sections_of_a_bent_tube_are_turned_and_moved_rings(magnification):
    """Rotation vectors of no, small and large angles; corners in any order, some more than once."""
    rng = np.random.default_rng(7)
    straight, displacement, rotation, ring = (rng.standard_normal((n, 3)) for n in (4, 4, 4, 5))
    rotation *= np.array([0.0, 1e-4, 3e-3, 0.7])[:, None]
    turned = Rotation.from_rotvec(magnification * rotation).as_matrix() @ ring.T
    centres = straight + magnification * displacement
    expected = (centres[:, None] + np.swapaxes(turned, 1, 2)).reshape(-1, 3)
    corners, surface = rng.integers(0, 20, 30), np.zeros((20, 3))
    points = np.full((30, 3), np.nan)
    sweep(straight, displacement, rotation, magnification, ring, corners, surface, points)
    np.testing.assert_allclose(points, expected[corners], rtol=0.0, atol=1e-12)
