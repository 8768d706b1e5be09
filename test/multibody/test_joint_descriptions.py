"""Joint types as descriptions say them, and what is refused."""

import numpy as np
import pytest
from jointed_robots import BODY, EVERY, NAMES, WORDS, with_joint
from models import JOINT_TYPES, joint, link, robot_text

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError


def refused(text, *words, options=None):
    with pytest.raises(DescriptionError) as caught:
        flexdyn_ros.load(text, options=options)
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {caught.value}"
    assert caught.value.expected
    assert caught.value.element
    return caught.value


def floating(words, text, more="", kind="floating", axis=None):
    return robot_text(
        "refused",
        link("ground", 0),
        link("body", 2.0, (0.3, 0, 0), BODY),
        joint("J", kind, "ground", "body", axis=axis, more=more),
        f'<flexdyn reference="J"><joint_type {words}>{text}</joint_type></flexdyn>',
    )


REFUSALS = {
    "unknown type": (("", "univesal"), "did you mean 'universal'", "helical", "cylindrical"),
    "no type": (("", ""), "is empty", "universal, helical, cylindrical"),
    "axis of a planar joint": (("axis='1 0 0'", "planar", "", "planar"), "no attribute 'axis'", "1 0 0"),
    "second axis of a helical joint": (
        ("pitch='1' second_axis='1 0 0'", "helical"),
        "a helical joint has no attribute 'second_axis'",
    ),
    "pitch of a universal joint": (("pitch='1'", "universal"), "no attribute 'pitch'"),
    "no pitch": (("", "helical"), "needs a pitch"),
    "pitch 0": (("pitch='0'", "helical"), "the pitch of a helical joint is 0", "given 0"),
    "axes parallel": (("axis='0 -2 0'", "universal"), "parallel", "0 -2 0"),
    "axis without direction": (("axis='0 0 0'", "cylindrical"), "no direction"),
    "too few numbers": (
        ("lower='1'", "universal"),
        "has 2 coordinates",
        "2 numbers, for J/angle_1, J/angle_2",
    ),
    "too many numbers": (("damping='1 2 3 4'", "planar", "", "planar"), "has 3 coordinates"),
    "negative damping": (("damping='-1 2'", "universal"), "damping"),
    "limits crossed": (("lower='1 0' upper='0 1'", "universal"), "a lower limit is above the upper one"),
    "planar joint called otherwise": (("", "universal", "", "planar"), "is planar in the URDF", "universal"),
    "joint that is revolute": (("", "universal", "", "revolute"), "joint 'J' is revolute"),
    "joint that is fixed": (("", "universal", "", "fixed"), "joint 'J' is fixed"),
    "position limits of a ball joint": (("lower='1 1 1'", "ball"), "a ball joint has no attribute 'lower'"),
    "axis of a ball joint": (("axis='1 0 0'", "ball"), "a ball joint has no attribute 'axis'"),
    "effort of a ball joint": (("effort='1'", "ball"), "has 3 coordinates", "J/wx, J/wy, J/wz"),
    "mimic": (("", "universal", '<mimic joint="K"/>', "floating"), "mimics another"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_name_place_value_and_expectation(case):
    (words, text, *rest), *expected = REFUSALS[case]
    more, kind = rest or ("", "floating")
    axis = (0, 0, 1) if kind in ("planar", "revolute") else None
    refused(floating(words, text, more, kind, axis), *expected)


@pytest.mark.parametrize(
    "element",
    [
        '<rotor inertia="1e-4"/>',
        '<rotor inertia="1e-4"/><joint_elasticity stiffness="10"/>',
        '<joint_spring stiffness="3"/>',
        '<friction static="1"/>',
    ],
)
@EVERY
def test_elements_of_one_axis_are_refused(kind, element):
    text = with_joint(kind, more=f'<flexdyn reference="J">{element}</flexdyn>')
    refused(text, "joint 'J' is", "revolute, continuous, prismatic")


@EVERY
def test_no_joint_mimics_it(kind):
    text = with_joint(kind).replace(
        '<axis xyz="0.0 0.0 1.0"/></joint>', '<axis xyz="0 0 1"/><mimic joint="J"/></joint>'
    )
    refused(text, "cannot be mimicked")


def test_a_planar_joint_mimics_none():
    text = with_joint("planar").replace(
        '<axis xyz="0.2 0.1 1.0"/>', '<axis xyz="0 0 1"/><mimic joint="first"/>'
    )
    refused(text, "mimic")
    plain = robot_text(
        "plain",
        link("a", 0),
        link("b", 1, inertia=BODY),
        link("c", 1, inertia=BODY),
        joint("K", "continuous", "a", "b", axis=(0, 0, 1)),
        joint("J", "planar", "b", "c", axis=(0, 0, 1), more='<mimic joint="K"/>'),
    )
    refused(plain, "a planar joint cannot mimic another")


def test_a_planar_joint_needs_no_block():
    plain = robot_text(
        "plain", link("a", 0), link("b", 1, inertia=BODY), joint("J", "planar", "a", "b", axis=(0, 0, 1))
    )
    assert flexdyn_ros.load(plain).v_names == NAMES["planar"]


def test_numbers_of_one_axis_on_such_joints_are_told():
    more = '<limit lower="-1" upper="1" effort="3" velocity="2"/><dynamics damping="0.5"/>'
    plain = robot_text(
        "plain",
        link("a", 0),
        link("b", 1, inertia=BODY),
        joint("J", "planar", "a", "b", axis=(0, 0, 1), more=more),
    )
    robot = flexdyn_ros.load(plain)
    assert [c.lower for c in robot.coordinates] == [-np.inf] * 3
    assert any("<limit>" in text and "'J'" in text and "<joint_type>" in text for text in robot.warnings)


def test_yaml_and_options_say_it_too(tmp_path):
    plain = robot_text("plain", link("a", 0), link("b", 1, inertia=BODY), joint("J", "floating", "a", "b"))
    options = {"joints.J.joint_type": {"type": "universal", "second_axis": [0, 0, 1], "effort": [1, 2]}}
    robot = flexdyn_ros.load(plain, options=options)
    assert robot.v_names == NAMES["universal"]
    assert [c.effort_limit for c in robot.coordinates] == [1.0, 2.0]
    settings = tmp_path / "settings.yaml"
    settings.write_text("flexdyn:\n  joints:\n    J:\n      joint_type: {type: helical, pitch: 0.01}\n")
    assert flexdyn_ros.load(plain, config=settings).v_names == ("J",)
    bad = tmp_path / "bad.yaml"
    bad.write_text("flexdyn:\n  joints:\n    J:\n      joint_type: {type: helical, pitch: 0}\n")
    with pytest.raises(DescriptionError, match=r"bad\.yaml"):
        flexdyn_ros.load(plain, config=bad)


@pytest.mark.parametrize("kind", [kind for kind in JOINT_TYPES if kind != "planar"])
def test_a_joint_under_the_world_is_no_base(kind):
    text = robot_text(
        "on_world",
        link("world", 0),
        link("body", 1, (0.1, 0, 0), BODY),
        joint("J", "floating", "world", "body", (0, 0, 1)),
        f'<flexdyn reference="J"><joint_type {WORDS[kind]}>{kind}</joint_type></flexdyn>',
    )
    robot = flexdyn_ros.load(text)
    assert robot.description.base.type == "fixed"
    assert robot.v_names == NAMES[kind]
    np.testing.assert_allclose(robot.frames(robot.neutral(), "body")[:3, 3], [0, 0, 1])
    plain = flexdyn_ros.load(text.split("<flexdyn")[0] + "</robot>")
    assert plain.v_names[0] == "base/wx"


def test_elements_of_the_base_are_refused():
    text = robot_text(
        "on_world",
        link("world", 0),
        link("body", 1, (0.1, 0, 0), BODY),
        joint("J", "floating", "world", "body", (0, 0, 1)),
        '<flexdyn reference="J"><rotor inertia="1"/></flexdyn>',
    )
    refused(text, "'J' is part of the floating base")
