"""URDF 1.0 to 1.2; words that are not read are told, each once."""

import itertools
import math

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.description import read
from flexdyn_ros.description.urdf.parsing import _angles
from flexdyn_ros.errors import DescriptionError

FORM = """<robot name="r" {version}><link name="w"/><link name="a"><inertial><origin xyz="0.1 0 0" {turned}/>
<mass value="1"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
<joint name="j" type="revolute"><parent link="w"/><child link="a"/><origin xyz="0 0 1" {placed}/>{axis}{limit}
{more}</joint></robot>"""
GOOD = {
    "version": "",
    "turned": "",
    "placed": "",
    "axis": '<axis xyz="0 1 0"/>',
    "limit": '<limit lower="-1" upper="1" effort="1" velocity="1"/>',
    "more": "",
}
H = math.sqrt(0.5)


def robot(**change):
    return read(FORM.format(**(GOOD | change)))


@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_quaternions_are_read_as_orientations(version):
    found = robot(
        version=f'version="{version}"',
        placed=f'quat_xyzw="0 0 {H} {H}"',
        turned=f'quat_xyzw="0 {2 * H} 0 {2 * H}"',
    )
    assert found.joint("j").rpy == pytest.approx((0, 0, math.pi / 2))
    # about y by 90 degrees, of any length
    assert found.link("a").inertial.rpy == pytest.approx((0, math.pi / 2, 0))
    assert "quat_xyzw" not in found.text
    assert read(found.text).joints == found.joints


def matrix(x, y, z, w):
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation(r, p, y):
    cr, sr, cp, sp, cy, sy = (f(a) for a in (r, p, y) for f in (math.cos, math.sin))
    return (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )


def test_angles_of_a_quaternion_give_its_matrix():
    rng = np.random.default_rng(1)
    some = [*rng.standard_normal((200, 4)), *itertools.product((-1.0, 0.0, 1.0), repeat=4)]
    for q in (np.asarray(q) for q in some if any(q)):
        unit = q / np.linalg.norm(q)
        np.testing.assert_allclose(rotation(*_angles(*unit)), matrix(*unit), atol=1e-8)


@pytest.mark.parametrize("version", ["2.0", "abc", "1", "1.3", ""])
def test_an_unknown_version_is_refused_by_name(version):
    with pytest.raises(DescriptionError, match="unknown version of URDF") as caught:
        robot(version=f'version="{version}"')
    assert caught.value.value == version


@pytest.mark.parametrize(
    ("placed", "words"),
    [
        ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "both rpy and quat_xyzw"),
        ('quat_xyzw="0 0 0 0"', "no direction"),
        ('quat_xyzw="0 0 1"', "not a quaternion"),
        ('quat_xyzw="0 0 nan 1"', "not a quaternion"),
    ],
)
def test_what_is_no_quaternion_is_refused(placed, words):
    with pytest.raises(DescriptionError, match=words):
        robot(version='version="1.1"', placed=placed)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"placed": 'quat_xyzw="0 0 0 1"'}, ["'quat_xyzw' of <origin>"]),
        ({"placed": 'quat="0 0 0 1"'}, ["'quat' of <origin>"]),
        ({"turned": 'euler="0 0 0"'}, ["'euler' of <origin>"]),
        ({"axis": '<axis rpy="0 1 0"/>'}, ["'rpy' of <axis>"]),
        (
            {"limit": '<limit min="-1" max="1" effort="1" velocity="1"/>'},
            ["'min' of <limit>", "'max' of <limit>"],
        ),
        ({"more": '<joint_properties damping="5"/>'}, ["<joint_properties>"]),
        ({"more": '<mimic_of joint="x"/>'}, ["<mimic_of>"]),
        ({"more": '<dynamics viscous="5"/>'}, ["'viscous' of <dynamics>"]),
    ],
)
def test_words_that_are_not_read_are_told(change, told):
    found = robot(**change).warnings
    assert len(found) == len(told)
    for text, words in zip(found, told, strict=True):
        assert words in text
        assert "'j'" in text or "'a'" in text


def test_words_without_effect_are_notes_of_check_and_mistyped_ones_warnings():
    form = """<robot name="r"><link name="w"/><link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1"/></inertial></link><joint name="j" type="continuous"><parent link="w"/>
    <child link="a"/>{}</joint></robot>"""
    vendor = flexdyn_ros.check(form.format("<hardware/>"))
    assert not vendor.warnings
    assert any("<hardware> is no part of URDF" in text for text in vendor.notes)
    assert any("<hardware>" in text for text in flexdyn_ros.load(form.format("<hardware/>")).warnings)
    mistyped = flexdyn_ros.check(form.format('<dynamic damping="1"/>'))
    assert any("did you mean 'dynamics'" in text for text in mistyped.warnings)


def test_a_word_of_many_joints_is_told_once():
    joints = "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="fixed"><parent link="w"/>'
        f'<child link="l{i}"/><hardware/></joint>'
        for i in range(50)
    )
    found = read(f'<robot name="r"><link name="w"/>{joints}</robot>').warnings
    assert found == (
        "joint 'j0', line 1 (and 49 more): <hardware> is no part of URDF that is read; it has no effect",
    )


def test_words_of_other_namespaces_and_parts_that_urdf_knows_are_silent():
    more = '<safety_controller k_velocity="1"/><calibration rising="1"/>'
    assert robot(more=more).warnings == ()
    assert read('<robot name="r" xmlns:a="urn:a"><link name="w" a:x="1"><a:b/></link></robot>').warnings == ()
