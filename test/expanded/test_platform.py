"""Expanded descriptions of platforms: a plain tree whose joint values put every link where it belongs."""

import numpy as np
import pytest
from platforms import random_motion, random_platform

import flexdyn_ros


@pytest.mark.parametrize("seed", range(3))
def test_links_stand_and_move_where_the_robot_has_them(seed):
    robot = flexdyn_ros.load(random_platform(seed)[0])
    expanded = flexdyn_ros.expand(robot)
    shown = flexdyn_ros.load(expanded.urdf)
    order = [expanded.joint_names.index(name) for name in shown.q_names]
    assert len(order) == len(expanded.joint_names) == 24
    rng = np.random.default_rng(seed)
    q, v, _ = random_motion(robot, rng)
    x, dx = expanded.joint_positions(q), expanded.joint_velocities(q, v)
    stand = robot.frames(q, "base_link")
    for name in robot.frame_names:
        np.testing.assert_allclose(stand @ shown.frames(x[order], name), robot.frames(q, name), atol=1e-12)
        turned = np.kron(np.eye(2), stand[:3, :3])
        moving = turned @ shown.jacobian(x[order], name) @ dx[order]
        np.testing.assert_allclose(moving, robot.jacobian(q, name) @ v, atol=1e-11)


def test_legs_of_a_platform_on_an_arm_are_drawn_once():
    names = flexdyn_ros.expand(flexdyn_ros.load("hexapod_arm")).joint_names
    assert len(names) == 4 + 6 + 6 * 3
    assert sum("leg_1" in name for name in names) == 3


def test_values_of_the_example():
    # what is fixed to the platform has no value
    mount = '<joint name="mount" type="fixed"><parent link="platform"/><child link="lamp"/></joint>'
    text = flexdyn_ros.load("stewart_1t").description.text
    robot = flexdyn_ros.load(text.replace("</robot>", f'<link name="lamp"/>{mount}</robot>'))
    expanded = flexdyn_ros.expand(robot)
    assert "lamp" in expanded.urdf
    assert "inertial" not in expanded.urdf
    assert "flexdyn" not in expanded.urdf
    first = tuple(f"platform/{name}" for name in ("x", "y", "z", "yaw", "pitch", "roll"))
    assert expanded.joint_names[:6] == first
    q = np.array([robot.neutral(), robot.neutral()])
    q[1, :3] += [0.01, 0.02, 0.03]
    x = expanded.joint_positions(q)
    assert x.shape == (2, 24)
    np.testing.assert_allclose(x[1, :3], q[1, :3], atol=1e-15)
    slide = [expanded.joint_names.index(f"leg_{i}_slide") for i in range(1, 7)]
    np.testing.assert_allclose(x[:, slide], robot.inverse_kinematics(q).stroke, atol=1e-15)
    efforts = expanded.joint_efforts(np.arange(1.0, 7.0))
    np.testing.assert_array_equal(efforts[slide], np.arange(1.0, 7.0))
    assert efforts.sum() == 21.0
