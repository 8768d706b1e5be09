"""Objects in notebooks: HTML that is whole, says what the object says, and escapes what comes from files."""

from xml.etree import ElementTree

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.robot.coordinates import pose_name

ROBOTS = ("seven_joint_arm", "canadarm2", "soft_arm", "stewart_electric")


def cells(html):
    """Texts of all cells; an error if a tag is not closed."""
    return ["".join(cell.itertext()) for cell in ElementTree.fromstring(html).iter("td")]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_shows_its_coordinates(name):
    robot = flexdyn_ros.load(name)
    shown = cells(robot._repr_html_())
    assert {pose_name(c) for c in robot.coordinates[:20]} <= set(shown)
    assert f"nv = {robot.nv}" in robot._repr_html_()


def test_long_tables_say_how_much_is_left_out():
    robot = flexdyn_ros.load("canadarm2_7")
    assert f"and {robot.nv - 24} more" in robot._repr_html_()


def test_modes_show_frequencies():
    robot = flexdyn_ros.load("flexible_two_link")
    q = robot.neutral()
    modes = robot.modes(q, lock="joints")
    assert {f"{f:.5g}" for f in modes.frequency} <= set(cells(modes._repr_html_()))
    batch = robot.modes(np.tile(q, (3, 1)), lock="joints")
    assert "first of 3 states" in batch._repr_html_()


def test_a_trajectory_shows_where_coordinates_went():
    run = flexdyn_ros.simulate(flexdyn_ros.load("seven_joint_arm"), 0.1, sample=0.01)
    shown = cells(run._repr_html_())
    at = shown.index("elbow_pitch")
    assert shown[at + 1 : at + 4] == ["rad", f"{run['elbow_pitch'][0]:.5g}", f"{run['elbow_pitch'][-1]:.5g}"]


def test_a_report_shows_bodies_and_notes():
    report = flexdyn_ros.check("canadarm2")
    shown = cells(report._repr_html_())
    assert {body.link for body in report.bodies[:20]} <= set(shown)
    assert set(report.notes[:5]) <= set(shown)


def test_names_are_escaped():
    robot = flexdyn_ros.load(
        '<robot name="&lt;script&gt;"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="j&lt;b&gt;" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    assert "<script>" not in robot._repr_html_()
    assert "j<b>" in cells(robot._repr_html_())
