"""Legs too near to the axes of their universal joints are refused, at home and within the strokes."""

import re

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError


def text_of_example():
    return flexdyn_ros.load("stewart_1t").description.text


def test_axes_near_their_singularity_are_refused():
    text = text_of_example()
    # the axis of leg 1 turned from the tangent of the base circle towards the leg
    pattern = r'(<joint name="leg_1_u1".*?rpy=")[^"]*'
    near = re.sub(pattern, r"\g<1>0 -0.9599 -2.4681", text, flags=re.S)
    with pytest.raises(DescriptionError, match="nearly lines up") as caught:
        flexdyn_ros.load(near)
    assert caught.value.element == "leg 'leg_1'"
    assert caught.value.line


def limited(text, joint, lower, upper):
    """The text with other limits of a joint."""
    pattern = rf'(<joint name="{joint}".*?lower=")[^"]*(" upper=")[^"]*'
    return re.sub(pattern, rf"\g<1>{lower!r}\g<2>{upper!r}", text, count=1, flags=re.S)


def test_axes_that_strokes_can_bring_to_their_singularity_are_refused():
    """Home is clear, but one end of the strokes is not; limits settle it, of the leg or of the others."""
    text = text_of_example()
    pattern = r'(<joint name="leg_1_u1".*?rpy=")[^"]*'
    tilted = re.sub(pattern, r"\g<1>0 -0.4 -2.4681", text, flags=re.S)
    flexdyn_ros.load(tilted)
    wide = limited(tilted, "leg_1_u2", -3.0, 3.0)
    with pytest.raises(
        DescriptionError, match=r"within the strokes \|u.s\| reaches .* lines up with the axis"
    ):
        flexdyn_ros.load(wide)
    robot = flexdyn_ros.load(text)
    angles = robot.inverse_kinematics(robot.neutral()).angles.tolist()
    for leg in range(1, 6):
        for k in range(2):
            home = angles[leg][k]
            wide = limited(wide, f"leg_{leg + 1}_u{k + 1}", home - 0.05, home + 0.05)
    flexdyn_ros.load(wide)


def test_limits_of_the_second_joint_are_judged_around_the_circle():
    from flexdyn_ros.families.platform.reach import limits_keep_clear

    leg = flexdyn_ros.load("stewart_1t").legs[0]

    def clear(low, high, offset=0.0):
        return limits_keep_clear(leg._replace(angle_limits=np.array([[-1, 1], [low, high]]), offset=offset))

    assert clear(-1.25, 1.25)
    assert not clear(-1.25, 1.26)
    assert not clear(-1.26, 1.25)
    assert clear(-1.0, 1.0, np.pi)
    assert not clear(-0.1, 0.1, np.pi / 2)
    assert not clear(-np.inf, np.inf)
    assert not clear(-4.0, 4.0)


def test_the_search_for_singular_axes_climbs_beyond_what_samples_find():
    """Each leg's largest |u.s| against 4000 poses of independent random strokes, all of which it tops."""
    from flexdyn_ros.families.platform.reach import _Reach

    robot = flexdyn_ros.load("stewart_electric")
    reach = _Reach(robot.functions.tables, robot.functions.packed)
    share = np.random.default_rng(7).uniform(size=(4000, 6))
    lengths = np.array([leg.shortest for leg in robot.legs]) + share * [leg.stroke for leg in robot.legs]
    found = robot.forward_kinematics(lengths, strict=False)
    legs = robot.inverse_kinematics(found.q)
    limits = np.array([leg.angle_limits for leg in robot.legs])
    inside = ((legs.angles >= limits[..., 0]) & (legs.angles <= limits[..., 1])).all(axis=(1, 2))
    k = np.abs(np.einsum("nij,ij->ni", legs.direction, robot.functions.tables.axes))[inside & found.converged]
    assert len(k) > 100
    for i in range(6):
        assert k[:, i].max() < reach.largest(i) < 0.95
