"""The expanded description of a soft arm shows it where it is, and moves as it moves."""

import numpy as np
import pytest
from lxml import etree

import flexdyn_ros
from flexdyn_ros.errors import DimensionError
from flexdyn_ros.numerics.algebra.placement import Placement


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("soft_arm_3")


def frames_of(expanded, q):
    """Pose of every link against the root, from the URDF text and the joint positions alone."""
    root = etree.fromstring(expanded.urdf.encode())
    value = dict(zip(expanded.joint_names, expanded.joint_positions(q)))
    joints = {j.find("child").get("link"): j for j in root.findall("joint")}
    links = [link.get("name") for link in root.findall("link")]
    poses = {next(name for name in links if name not in joints): np.eye(4)}

    def pose(name):
        if name not in poses:
            joint = joints[name]
            origin = joint.find("origin")
            xyz, rpy = ([0, 0, 0], [0, 0, 0])
            if origin is not None:
                xyz = [float(x) for x in origin.get("xyz", "0 0 0").split()]
                rpy = [float(x) for x in origin.get("rpy", "0 0 0").split()]
            at = Placement.of(xyz, rpy)
            if joint.get("type") != "fixed":
                axis = np.array([float(x) for x in joint.find("axis").get("xyz").split()])
                x = value[joint.get("name")]
                turn = joint.get("type") == "continuous"
                at = at @ Placement.of(np.zeros(3) if turn else x * axis, x * axis if turn else np.zeros(3))
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = at.R, at.p
            poses[name] = pose(joint.find("parent").get("link")) @ T
        return poses[name]

    return {name: pose(name) for name in links}


def test_every_frame_stands_where_the_arm_has_it(arm):
    expanded = flexdyn_ros.expand(arm, segments=4)
    base = arm.frames(arm.neutral(), "base_link")
    for q in (arm.random(np.random.default_rng(0)), np.full(9, 0.01)):
        shown = frames_of(expanded, q)
        for name in ("plate_1", "plate_2", "tip", "section_2/base", "section_3/tip"):
            assert np.abs(base @ shown[name] - arm.frames(q, name)).max() < 1e-12
        for k in range(1, 5):
            section = arm.frames(q, f"section_3@{(k - 0.5) / 4}")
            assert np.abs(base @ shown[f"section_3/segment_{k}"] - section).max() < 1e-12


def test_velocities_are_the_rates_of_positions(arm):
    expanded, rng, h = flexdyn_ros.expand(arm), np.random.default_rng(1), 1e-6
    for q in (arm.random(rng), np.full(9, 0.01)):
        v = rng.uniform(-0.1, 0.1, 9)
        rate = (expanded.joint_positions(q + h * v) - expanded.joint_positions(q - h * v)) / (2 * h)
        assert np.abs(expanded.joint_velocities(q, v) - rate).max() < 1e-7
    batch = np.array([arm.random(rng) for _ in range(3)])
    assert expanded.joint_positions(batch).shape == (3, len(expanded.joint_names))
    assert not expanded.joint_positions(arm.neutral()).any()


def test_names_follow_the_contract(arm):
    expanded = flexdyn_ros.expand(arm)
    axes = ("tx", "ty", "tz", "rz", "ry", "rx")
    assert expanded.joint_names[:6] == tuple(f"section_1/segment_1/{a}" for a in axes)
    assert len(expanded.joint_names) == 3 * 9 * 6
    assert not any("actuator" in name for name in expanded.joint_names)
    assert "<inertial" not in expanded.urdf
    assert "flexdyn" not in expanded.urdf
    assert not expanded.joint_efforts(np.ones(9)).any()
    with pytest.raises(DimensionError, match="segments"):
        flexdyn_ros.expand(arm, segments=0)
