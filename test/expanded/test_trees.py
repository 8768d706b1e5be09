"""The expanded description: for showing only, and complete."""

import numpy as np
import pytest
from lxml import etree
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.errors import DimensionError
from flexdyn_ros.expanded.kernels.kinematics import turn

FREE = """<robot name="sat"><link name="world"/><link name="body"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="tip"/>
  <joint name="float" type="floating"><parent link="world"/><child link="body"/></joint>
  <joint name="arm" type="revolute"><parent link="body"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <flexdyn><gravity>0 0 0</gravity></flexdyn></robot>"""
INNER = """<robot name="inner"><link name="ground"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="body">
    <inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="free" type="floating"><parent link="ground"/><child link="body"/></joint></robot>"""
MIMIC = """<robot name="grip"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
  <joint name="left" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="9" velocity="1"/></joint>
  <joint name="right" type="prismatic"><parent link="base"/><child link="b"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="9" velocity="1"/>
      <mimic joint="left" multiplier="-2" offset="0.5"/></joint>
  <joint name="third" type="prismatic"><parent link="base"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="9" velocity="1"/><mimic joint="right" multiplier="3"/>
      </joint></robot>"""


def names_of(urdf, tag):
    return {element.get("name") for element in etree.fromstring(urdf.encode()).findall(tag)}


def test_original_links_and_joints_keep_their_names_and_lose_their_inertia():
    robot = flexdyn_ros.load("seven_joint_arm")
    urdf = flexdyn_ros.expand(robot).urdf
    assert names_of(urdf, "link") == {link.name for link in robot.description.links}
    assert names_of(urdf, "joint") == {joint.name for joint in robot.description.joints}
    tags = {element.tag for element in etree.fromstring(urdf.encode()).iter()}
    assert not tags & {"inertial", "flexdyn"}


def test_the_expanded_description_is_a_urdf_of_its_own():
    robot = flexdyn_ros.load("seven_joint_arm")
    again = flexdyn_ros.load(flexdyn_ros.expand(robot).urdf)
    q = robot.random(np.random.default_rng(0))
    assert again.q_names == robot.q_names
    np.testing.assert_allclose(again.frames(q, "tool0"), robot.frames(q, "tool0"), atol=1e-14)


def test_a_floating_base_is_not_part_of_it():
    expanded = flexdyn_ros.expand(flexdyn_ros.load(FREE))
    assert expanded.joint_names == ("arm",)
    assert names_of(expanded.urdf, "joint") == {"arm"}
    q = np.array([1.0, 2, 3, 0, 0, 0, 1, 0.25])
    assert expanded.joint_positions(q).tolist() == [0.25]
    assert expanded.joint_efforts(np.arange(7.0)).tolist() == [6.0]


def test_a_floating_joint_becomes_six_of_one_axis():
    robot = flexdyn_ros.load(INNER)
    expanded = flexdyn_ros.expand(robot)
    assert expanded.joint_names == tuple(f"free/{axis}" for axis in ("x", "y", "z", "yaw", "pitch", "roll"))
    assert names_of(expanded.urdf, "joint") == set(expanded.joint_names)
    rng = np.random.default_rng(5)
    q, v = robot.random(rng), rng.standard_normal(6)
    h = 1e-6
    ahead, behind = (expanded.joint_positions(robot.integrate(q, v, s * h)) for s in (1, -1))
    np.testing.assert_allclose(expanded.joint_velocities(q, v), (ahead - behind) / (2 * h), atol=1e-7)
    assert not expanded.joint_efforts(np.ones(6)).any()


def test_one_axis_joints_of_a_floating_joint_carry_its_link_where_the_robot_has_it():
    """Frames from the text: along x, y, z, then about the axes of yaw, pitch and roll."""
    robot = flexdyn_ros.load(INNER)
    expanded = flexdyn_ros.expand(robot)
    joints = {
        j.find("child").get("link"): j for j in etree.fromstring(expanded.urdf.encode()).findall("joint")
    }
    q = robot.random(np.random.default_rng(8))
    positions = dict(zip(expanded.joint_names, expanded.joint_positions(q), strict=True))
    T, link = np.eye(4), "body"
    while link in joints:
        along = np.array(joints[link].find("axis").get("xyz").split(), dtype=float)
        X, by = np.eye(4), positions[joints[link].get("name")] * along
        if joints[link].get("type") == "prismatic":
            X[:3, 3] = by
        else:
            X[:3, :3] = Rotation.from_rotvec(by).as_matrix()
        T, link = X @ T, joints[link].find("parent").get("link")
    assert link == "ground"
    np.testing.assert_allclose(T, robot.frames(q, "body"), rtol=0.0, atol=1e-12)


def test_mimic_joints_are_included_along_their_chain():
    robot = flexdyn_ros.load(MIMIC)
    expanded = flexdyn_ros.expand(robot)
    assert expanded.joint_names == ("left", "right", "third")
    assert expanded.joint_positions(np.array([0.1])).tolist() == pytest.approx([0.1, 0.3, 0.9])
    assert expanded.joint_velocities(np.array([0.1]), np.array([1.0])).tolist() == pytest.approx([1, -2, -6])
    assert expanded.joint_efforts(np.array([4.0])).tolist() == [4.0, 0.0, 0.0]


def test_batches_are_mapped_row_by_row():
    robot = flexdyn_ros.load("seven_joint_arm")
    expanded = flexdyn_ros.expand(robot)
    q = np.arange(21.0).reshape(3, 7)
    assert expanded.joint_positions(q).tolist() == q.tolist()
    assert expanded.joint_efforts(q).tolist() == q.tolist()


def test_a_rigid_twin_has_no_segments():
    rigid = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False})
    assert flexdyn_ros.expand(rigid).joint_names == rigid.v_names


BENT = """<robot name="bent"><link name="base"/>
  <link name="boom"><visual><geometry><box size="1 1 1"/></geometry></visual></link><link name="side"/>
  <link name="root_box"/><link name="end"><inertial><mass value="0.3"/>
  <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
  <joint name="pivot" type="revolute"><parent link="base"/><child link="boom"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
  <joint name="side_mount" type="fixed"><parent link="boom"/><child link="side"/>
    <origin xyz="0.1 0.55 0.2"/></joint>
  <joint name="root_mount" type="fixed"><parent link="boom"/><child link="root_box"/>
    <origin xyz="0 0.05 0"/></joint>
  <joint name="wrist" type="revolute"><parent link="boom"/><child link="end"/>
    <origin xyz="0 1.05 0" rpy="0 0.4 0"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
  <flexdyn reference="boom"><beam axis="0 1 0" origin="0 0.05 0" length="1" mass_per_length="1" GJ="40">
    <rectangle width="0.02" height="0.01"/><material name="aluminium"/></beam>
    <modes axial="1" bending_y="2" bending_z="2" torsion="1"/>
    <attach joint="side_mount" station="0.5"/><attach joint="root_mount" station="0"/>
    <display segments="5"/></flexdyn>
  <flexdyn><gravity>0 0 -9.81</gravity></flexdyn></robot>"""


def bent_state(robot, rng):
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    modal = [c for c in robot.coordinates if c.kind not in ("joint", "base")]
    for c in modal:
        v[c.v_index] *= 0.1
    return q, v


@pytest.mark.parametrize("torsion", [0, 1])
@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_segments_tips_and_children_stand_where_the_robot_has_them(stiffening, torsion):
    options = {"formulation.stiffening": stiffening, "links.boom.modes.torsion": torsion}
    robot = flexdyn_ros.load(BENT, options=options)
    expanded = flexdyn_ros.expand(robot)
    shown = flexdyn_ros.load(expanded.urdf)
    assert set(shown.v_names) == set(expanded.joint_names)
    order = [expanded.joint_names.index(name) for name in shown.q_names]
    q, _ = bent_state(robot, np.random.default_rng(3))
    positions = expanded.joint_positions(q)[order]
    for frame in ("boom", "boom/tip", "side", "root_box", "end"):
        np.testing.assert_allclose(shown.frames(positions, frame), robot.frames(q, frame), atol=1e-12)
    for k in range(1, 6):
        there = robot.frames(q, f"boom@{(k - 0.5) / 5}")
        np.testing.assert_allclose(shown.frames(positions, f"boom/segment_{k}"), there, atol=1e-12)


def test_frames_and_joints_of_a_link_that_bends_have_their_names():
    expanded = flexdyn_ros.expand(flexdyn_ros.load(BENT))
    links, joints = names_of(expanded.urdf, "link"), names_of(expanded.urdf, "joint")
    assert {"boom/beam", "boom/segment_1", "boom/segment_5", "boom/tip", "boom/at/side_mount"} <= links
    assert {f"boom/tip/{axis}" for axis in ("tx", "ty", "tz", "rz", "ry", "rx")} <= joints
    assert {"boom/tip/tx_link", "boom/tip/ry_link"} <= links
    assert "boom/segment_6" not in links
    assert expanded.joint_names[:2] == ("pivot", "wrist")
    assert expanded.joint_names[2:8] == tuple(
        f"boom/segment_1/{a}" for a in ("tx", "ty", "tz", "rz", "ry", "rx")
    )


def test_fields_without_modes_have_no_joints_but_for_the_foreshortening():
    def moving(**options):
        robot = flexdyn_ros.load(
            BENT, options={f"links.boom.modes.{k}": v for k, v in options.items()} | changed
        )
        return {name.rpartition("/")[2] for name in flexdyn_ros.expand(robot).joint_names if "tip" in name}

    changed = {"formulation.stiffening": "full"}
    assert moving(axial=0, bending_y=0, torsion=0) == {"tx", "tz", "ry"}
    assert moving(axial=0, torsion=0) == {"tx", "ty", "tz", "rz", "ry", "rx"}
    changed = {"formulation.stiffening": "none"}
    assert moving(axial=0, bending_z=0, torsion=0) == {"ty", "rz"}
    assert moving(axial=0, bending_y=0) == {"tz", "rz", "ry", "rx"}


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 9.9e-3, 0.0101, 0.8, 1.4])
def test_rotation_vectors_of_any_size_become_yaw_pitch_and_roll(angle):
    for axis in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [0.48, -0.6, 0.64]):
        at, rate = np.concatenate([np.zeros(3), angle * np.array(axis)]), np.zeros(6)
        expected = Rotation.from_rotvec(at[3:]).as_euler("ZYX")
        turn(at, rate)
        np.testing.assert_allclose(at[3:], expected, rtol=0.0, atol=2e-15 + 2e-13 * angle**2)


def test_velocities_of_segments_are_the_rates_of_their_positions():
    robot = flexdyn_ros.load(BENT)
    expanded = flexdyn_ros.expand(robot)
    q, v = bent_state(robot, np.random.default_rng(4))
    h = 1e-5
    ahead, behind = (expanded.joint_positions(robot.integrate(q, v, s * h)) for s in (1, -1))
    np.testing.assert_allclose(expanded.joint_velocities(q, v), (ahead - behind) / (2 * h), atol=1e-8)
    batch = expanded.joint_velocities(np.stack([q, 2 * q]), np.stack([v, v]))
    assert batch.shape == (2, len(expanded.joint_names))
    np.testing.assert_array_equal(batch[0], expanded.joint_velocities(q, v))


def test_the_canadarm_is_cut_as_it_says_and_as_it_is_asked():
    robot = flexdyn_ros.load("canadarm2")
    names = flexdyn_ros.expand(robot).joint_names
    assert len(names) == 5 + 2 * 9 * 6
    assert len(flexdyn_ros.expand(robot, segments=3).joint_names) == 5 + 2 * 4 * 6
    zero = flexdyn_ros.expand(robot).joint_positions(robot.neutral())
    assert not zero.any()
    for wrong in (0, 2.5, -1):
        with pytest.raises(DimensionError, match="segments"):
            flexdyn_ros.expand(robot, segments=wrong)


def test_visuals_of_a_link_that_bends_are_pieces_of_its_section_or_kept():
    root = etree.fromstring(flexdyn_ros.expand(flexdyn_ros.load(BENT)).urdf.encode())
    visuals = {link.get("name"): link.findall("visual") for link in root.findall("link")}
    assert not visuals["boom"]
    (piece,) = visuals["boom/segment_2"]
    assert [float(x) for x in piece.find("geometry/box").get("size").split()] == pytest.approx(
        [0.204, 0.02, 0.01]
    )
    kept = flexdyn_ros.load(BENT, options={"links.boom.display.visual": "keep"})
    root = etree.fromstring(flexdyn_ros.expand(kept).urdf.encode())
    assert [link.get("name") for link in root.findall("link") if link.findall("visual")] == ["boom"]
