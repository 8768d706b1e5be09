"""The expanded description: for showing only, and complete."""

import numpy as np
import pytest
from lxml import etree

import flexdyn_ros
from flexdyn_ros.errors import UnsupportedError

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


def test_links_that_bend_are_not_shown_as_if_they_were_rigid():
    with pytest.raises(UnsupportedError, match=r"boom_1, boom_2.*formulation.flexible"):
        flexdyn_ros.expand(flexdyn_ros.load("canadarm2"))
    rigid = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False})
    assert flexdyn_ros.expand(rigid).joint_names == rigid.v_names
