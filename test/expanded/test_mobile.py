"""Expanded description of robots on wheels."""

import numpy as np
from mobile_arms import arm, state

import flexdyn_ros


def test_wheels_hang_on_suspension_joints_at_the_road():
    robot = arm()
    q, v = state(robot)
    expanded = flexdyn_ros.expand(robot)
    assert expanded.joint_names[-2:] == ("rear/suspension", "front/suspension")
    assert not any(name.startswith("base/") for name in expanded.joint_names)
    travel = expanded.joint_positions(q)[-2:]
    assert np.allclose(travel, robot.wheel_forces(q, v).travel)
    h = 1e-5
    rate = (expanded.joint_positions(q + h * v) - expanded.joint_positions(q - h * v))[-2:] / (2 * h)
    assert np.allclose(expanded.joint_velocities(q, v)[-2:], rate, rtol=1e-5)
    assert "inertial" not in expanded.urdf
