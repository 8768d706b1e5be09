"""One semi-implicit step with a stiff servo solves the equations that its implicit terms stand for."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.simulation import Stepper

ROBOTS = ("two_link", "seven_joint_arm", "flexible_two_link", "stewart_electric", "soft_arm", "soft_arm_3")


@pytest.mark.parametrize("name", ROBOTS)
def test_a_step_solves_the_linear_system_of_its_servo(name):
    """(M + h B D B' + h^2 B K B') dv = h (B tau - bias - h B K B' v), tau with the servo at the start."""
    robot = flexdyn_ros.load(name)
    rng, h = np.random.default_rng(4), 1e-3
    q = robot.integrate(robot.neutral(), 0.01 * rng.standard_normal(robot.nv), 1.0)
    v = 0.01 * rng.standard_normal(robot.nv)
    B = robot.actuation_matrix(q)
    stiffness, damping, tau = rng.uniform(10.0, 40.0, (3, robot.nu))
    stepper = Stepper(robot, h, "semi_implicit_euler")
    stepper.set_state(q, v)
    position, _ = stepper.actuator_motion(0.0)
    stepper.set_servo(stiffness, damping)
    stepper.target_q[:] = position + 0.01
    stepper.advance(1, tau)
    K, D = (B * gain @ B.T for gain in (stiffness, damping))
    force = B @ (tau + 0.01 * stiffness - damping * (B.T @ v)) - robot.bias_forces(q, v) - h * K @ v
    expected = v + h * np.linalg.solve(robot.mass_matrix(q) + h * D + h**2 * K, force)
    assert np.allclose(stepper.v, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
