"""Closing joints that tags of other tools name: `check` suggests a `<loop>`, which closes the same joint."""

import re

import numpy as np
import pytest
from machines import joint, robot, rod

import flexdyn_ros

#: an open four-bar that is closed at its zero pose: a parallelogram with pins at (0.3, 0, 0.4)
PARTS = (
    rod("crank", 0.4, 1.0, along=(0.0, 0.0, 1.0)),
    rod("coupler", 0.3, 2.0),
    rod("rocker", 0.4, 1.5, along=(0.0, 0.0, 1.0)),
    joint("crank_joint", "ground", "crank"),
    joint("coupler_joint", "crank", "coupler", at=(0.0, 0.0, 0.4)),
    joint("rocker_joint", "ground", "rocker", at=(0.3, 0.0, 0.0)),
)


def open_chain(more):
    return robot("open_chain", *PARTS).replace("</robot>", f"{more}</robot>")


GAZEBO = """<gazebo><joint name="close" type="{type}"><parent>coupler</parent><child>rocker</child>
<pose>0 0 0.4 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></gazebo>"""
BALL = """<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>
<drake:ball_constraint_body_B name="rocker"/><drake:ball_constraint_p_AP value="0.3 0 0"/>
<drake:ball_constraint_p_BQ value="0 0 0.4"/></drake:ball_constraint>"""
BUSHING = """<frame name="a" link="coupler" xyz="0.3 0 0" rpy="1.5707963267948966 0 0"/>
<frame name="c" link="rocker" xyz="0 0 0.4" rpy="1.5707963267948966 0 0"/>
<drake:linear_bushing_rpy><drake:bushing_frameA name="a"/><drake:bushing_frameC name="c"/>
<drake:bushing_torque_stiffness value="3e4 3e4 0"/><drake:bushing_torque_damping value="1 1 0"/>
<drake:bushing_force_stiffness value="1e4 1e4 1e4"/><drake:bushing_force_damping value="1 1 1"/>
</drake:linear_bushing_rpy>"""
CONNECT = '<mujoco><equality><connect body1="coupler" body2="rocker" anchor="0.3 0 0"/></equality></mujoco>'
ISAAC = """<loop_joint name="close" type="spherical"><link1 link="coupler" xyz="0.3 0 0" rpy="0 0 0"/>
<link1 link="rocker" xyz="0 0 0.4" rpy="0 0 0"/></loop_joint>"""
TAGS = {
    "gazebo, revolute": (GAZEBO.format(type="revolute"), "revolute", "<gazebo><joint name='close'>"),
    "gazebo, ball": (GAZEBO.format(type="ball"), "spherical", "<gazebo><joint name='close'>"),
    "drake, ball": (BALL, "spherical", "<drake:ball_constraint>"),
    "drake, bushing": (BUSHING, "revolute", "<drake:linear_bushing_rpy>"),
    "mujoco, connect": (CONNECT, "spherical", "<equality><connect>"),
    "isaac": (ISAAC, "spherical", "<loop_joint name='close'>"),
}


def suggestions(text):
    return [x for x in flexdyn_ros.check(text).warnings if "closes a loop" in x]


@pytest.mark.parametrize("what", TAGS)
def test_the_suggested_loop_closes_the_joint_that_the_tag_names(what):
    tag, kind, name = TAGS[what]
    (text,) = suggestions(open_chain(tag))
    assert text.startswith(name)
    (loop,) = re.findall(r"<loop [^>]*/>", text)
    assert f'type="{kind}"' in loop
    closed = flexdyn_ros.load(open_chain(f"{tag}<flexdyn>{loop}</flexdyn>"))
    # a parallelogram: the coupler stays level, the rocker goes with the crank
    q = closed.neutral()
    assert np.abs(q).max() < 1e-9
    q[0] = 0.3
    q = closed.assemble(q, lock=("crank_joint",))
    np.testing.assert_allclose(q, [0.3, -0.3, 0.3], atol=1e-9)
    # nothing is suggested that is there
    assert suggestions(open_chain(f"{tag}<flexdyn>{loop}</flexdyn>")) == []


@pytest.mark.parametrize("rpy", ["0 0.7 0", "0.3 -0.7 1.1", "2.5 0.4 -3"])
def test_a_weld_and_a_turned_frame(rpy):
    """A link that is welded to one with other axes: `base_rpy` turns the joint."""
    parts = (
        rod("a", 0.5, 1.0),
        rod("b", 0.5, 1.0),
        joint("j", "ground", "a"),
        joint("k", "a", "b", at=(0.5, 0.0, 0.0)).replace('xyz="0.5 0.0 0.0"', f'xyz="0.5 0 0" rpy="{rpy}"'),
    )
    weld = '<mujoco><equality><weld body1="ground" body2="b"/></equality></mujoco>'
    text = robot("welded", *parts).replace("</robot>", f"{weld}</robot>")
    (found,) = suggestions(text)
    assert f'base_rpy="{rpy}"' in found
    (loop,) = re.findall(r"<loop [^>]*/>", found)
    closed = flexdyn_ros.load(text.replace("</robot>", f"<flexdyn>{loop}</flexdyn></robot>"))
    assert np.abs(closed.neutral()).max() < 1e-6
    assert closed.mobility == 0


def test_the_axis_of_a_model_frame_is_turned_into_both_links():
    tag = GAZEBO.format(type="revolute").replace(
        "<xyz>0 1 0</xyz>", "<xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>"
    )
    tag = tag.replace("0 0 0.4 0 0 0", "0 0 0.4 1.2 0 0")
    (text,) = suggestions(open_chain(tag))
    assert 'axis="0 1 0"' in text


@pytest.mark.parametrize(
    "tag",
    [
        "<gazebo><plugin name='p' filename='f'/></gazebo>",
        GAZEBO.format(type="screw"),
        GAZEBO.format(type="revolute").replace("rocker", "nobody"),
        BALL.replace('value="0.3 0 0"', 'value="here"'),
        BALL.replace("drake:ball_constraint_p_AP", "drake:other"),
        "<drake:linear_bushing_rpy/>",
        '<mujoco><equality><connect body1="coupler"/></equality></mujoco>',
        '<loop_joint name="close" type="spherical"/>',
        '<mujoco><compiler strippath="true"/></mujoco>',
    ],
)
def test_other_words_of_other_tools_are_left_alone(tag):
    assert suggestions(open_chain(tag)) == []


@pytest.mark.parametrize(("ratio", "mobility"), [(-1.0, 1), (-0.8, 0)])
def test_mimic_joints_in_a_loop_are_substituted(ratio, mobility):
    """With the ratio of the parallelogram nothing is constrained twice; another one holds it still."""
    mimic = f'type="continuous"><mimic joint="crank_joint" multiplier="{ratio}"/>'
    loop = (
        '<loop name="pin" type="revolute" base="coupler" base_xyz="0.3 0 0" end="rocker" end_xyz="0 0 0.4"'
        ' axis="0 1 0"/>'
    )
    text = open_chain(f"<flexdyn>{loop}</flexdyn>")
    text = text.replace('name="coupler_joint" type="continuous">', f'name="coupler_joint" {mimic}')
    closed = flexdyn_ros.load(text)
    assert closed.v_names == ("crank_joint", "rocker_joint")
    assert closed.mobility == mobility
    (note,) = (x for x in flexdyn_ros.check(text).notes if "rows of loops" in x)
    assert f"mobility {mobility}" in note
    if mobility:
        q = closed.assemble(np.array([0.3, 0.2]), lock=("crank_joint",))
        np.testing.assert_allclose(q, [0.3, 0.3], atol=1e-9)


def test_check_asks_of_passive_joints_only_where_no_loop_counts_them():
    assert not any("intended?" in note for note in flexdyn_ros.check("excavator").notes)
