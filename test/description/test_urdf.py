"""Plain URDF is read exactly, and every published robot loads."""

from __future__ import annotations

import sysconfig
from math import inf, isclose
from pathlib import Path

import numpy as np
import pytest

from flexdyn_ros.description import read
from flexdyn_ros.description.urdf.inertia import principal_moments
from flexdyn_ros.errors import DescriptionError

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
FILES = sorted(ROBOTS.rglob("*.urdf"))


def two_links(joint: str) -> str:
    return f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>'


def joint(body: str, kind: str = "revolute") -> str:
    return f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{body}</joint>'


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_robot_loads(path: Path) -> None:
    if "<link" not in path.read_text():
        pytest.skip("the file holds an empty robot: nothing to load")
    robot = read(path)
    assert len(robot.joints) == len(robot.links) - 1
    assert robot.link(robot.root).name == robot.root
    assert robot.kind == "tree"
    assert not robot.flexible_links


def test_axis_is_normalised_and_may_be_negative_or_skew() -> None:
    robot = read(
        two_links(joint('<axis xyz="0 -3 4"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'))
    )
    assert robot.joint("j").axis == pytest.approx((0, -0.6, 0.8), abs=1e-15)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e200])
def test_axis_of_any_length_is_normalised(scale: float) -> None:
    axis = read(two_links(joint(f'<axis xyz="{scale} {scale} 0"/>'))).joint("j").axis
    assert isclose(sum(c * c for c in axis), 1.0, rel_tol=1e-15)


def test_default_axis_is_x() -> None:
    assert read(two_links(joint(""))).joint("j").axis == (1.0, 0.0, 0.0)


def test_continuous_joint_has_no_position_limits() -> None:
    limit = read(two_links(joint('<limit lower="-1" upper="1" effort="5"/>', "continuous"))).joint("j").limit
    assert (limit.lower, limit.upper, limit.effort, limit.velocity) == (-inf, inf, 5.0, inf)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ('lower="-1.5" upper="0.5"', -1.5, 0.5),
        ('lower="-1.5"', -1.5, 0.0),
        ('upper="0.5"', 0.0, 0.5),
        ("", -inf, inf),
    ],
)
def test_a_bound_that_is_absent_is_zero_unless_both_are(
    kind: str, bounds: str, lower: float, upper: float
) -> None:
    limit = read(two_links(joint(f'<limit {bounds} effort="5" velocity="3"/>', kind))).joint("j").limit
    assert (limit.lower, limit.upper, limit.effort, limit.velocity) == (lower, upper, 5.0, 3.0)


@pytest.mark.parametrize("bounds", ['lower="0.5"', 'upper="-0.5"', 'lower="2" upper="1"'])
def test_a_lower_bound_above_the_upper_one_is_refused(bounds: str) -> None:
    with pytest.raises(DescriptionError, match="the lower limit is above the upper"):
        read(two_links(joint(f"<limit {bounds}/>")))


def test_revolute_without_limit_is_unlimited_and_warned_of() -> None:
    robot = read(two_links(joint("")))
    assert robot.joint("j").limit.upper == inf
    assert any("without <limit>" in warning for warning in robot.warnings)


def test_inertial_and_dynamics_are_read() -> None:
    text = (
        '<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="1 2 3" rpy="0.1 0 0"/>'
        '<mass value="2.5"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.1" iyz="0.3" izz="1.2"/></inertial></link>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/>'
        '<origin xyz="0 0 1" rpy="0 0 2"/>'
        '<axis xyz="0 0 1"/><limit lower="-0.1" upper="0.2" effort="7" velocity="3"/>'
        '<dynamics damping="0.5" friction="0.25"/></joint></robot>'
    )
    robot = read(text)
    body, slider = robot.link("b").inertial, robot.joint("j")
    assert (body.mass, body.xyz, body.rpy) == (2.5, (1, 2, 3), (0.1, 0, 0))
    assert body.inertia == (1, 0.1, 0.2, 1.1, 0.3, 1.2)
    assert (slider.xyz, slider.rpy, slider.axis) == ((0, 0, 1), (0, 0, 2), (0, 0, 1))
    assert (slider.damping, slider.friction) == (0.5, 0.25)
    assert (slider.limit.lower, slider.limit.upper) == (-0.1, 0.2)
    assert robot.root == "a"
    assert robot.children_of("a") == (slider,)


def test_principal_moments_are_eigenvalues() -> None:
    for entries in np.random.default_rng(0).normal(size=(200, 6)):
        xx, xy, xz, yy, yz, zz = entries
        expected = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert principal_moments(tuple(entries)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("ixx", "iyy", "izz", "ixy", "told"),
    [
        (0, 1, 1, 0, ()),  # a thin rod
        (1, 1, 2, 0, ()),  # a thin disc
        (-1e-9, 1, 1, 0, ()),
        (1, 1, 2.01, 0, ("triangle inequality",)),
        (1, 1, 2, 1.2, ("not positive semi-definite",)),
    ],
)
def test_inertia_that_no_body_has_is_warned_of(
    ixx: float, iyy: float, izz: float, ixy: float, told: tuple[str, ...]
) -> None:
    moments = f'ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="{ixy}"'
    text = '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia {}/></inertial></link></robot>'
    warnings = read(text.format(moments)).warnings
    assert all(words in warning for words, warning in zip(told, warnings, strict=True))
    with pytest.raises(DescriptionError, match="not positive semi-definite"):
        read(text.format('ixx="1" iyy="1" izz="2" ixy="4"'))


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ('<limit lowr="-1" upper="1"/>', "'lowr' of <limit> is ignored (did you mean 'lower'?)"),
        ('<limits lower="-1" upper="1"/>', "<limits> is ignored (did you mean 'limit'?)"),
        ('<dynamics dampng="1"/>', "'dampng' of <dynamics> is ignored (did you mean 'damping'?)"),
    ],
)
def test_words_that_look_like_typing_mistakes_are_warned_of(wrong: str, hint: str) -> None:
    assert any(hint in warning for warning in read(two_links(joint(wrong))).warnings)


def test_words_of_other_tools_are_told_and_no_mistakes() -> None:
    words = (
        '<limit lower="-1" upper="1" command_effort="3"/><dynamics D="1" K="2" mu_viscous="3"/><hardware/>'
    )
    assert all("no part of URDF that is read" in text for text in read(two_links(joint(words))).warnings)
