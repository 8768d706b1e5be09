"""Implicit steps: one with a stiff servo solves its equations, many with stiff joints come to rest."""

import numpy as np
import pytest
from mixtures import random_mixture
from models import random_tree

import flexdyn_ros
from flexdyn_ros.simulation import Stepper

DRIVE = """
<robot name="drive"><link name="base"/><link name="arm"><inertial><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.2"/></inertial></link>
  <joint name="hub" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <flexdyn reference="hub"><rotor inertia="2e-4" gear_ratio="50"/>
    <joint_elasticity stiffness="900" damping="3"/></flexdyn></robot>"""
ROBOTS = (
    "two_link",
    "seven_joint_arm",
    "flexible_two_link",
    "stewart_electric",
    "soft_arm",
    "soft_arm_3",
    "boom",
)
#: with cylinders that are driven, springs and dampers; with balls and mimic joints
TEXTS = {f"{family} mixture": random_mixture(1, family) for family in ("rigid", "elastic")} | {
    f"tree {seed}": random_tree(
        seed, base="fixed", joints=5, kinds=("revolute", "ball", "prismatic", "helical")
    )
    for seed in (2, 8, 10)
}


@pytest.mark.parametrize("name", [*ROBOTS, *TEXTS])
def test_a_step_solves_the_linear_system_of_its_servo(name):
    """(M + h B D B' + h^2 B K B') dv = h (B tau - bias - h B K B' v), tau with the servo at the start."""
    robot = flexdyn_ros.load(TEXTS.get(name, name))
    rng, h = np.random.default_rng(4), 1e-3
    q = robot.integrate(robot.neutral(), 0.01 * rng.standard_normal(robot.nv), 1.0)
    v = 0.01 * rng.standard_normal(robot.nv)
    B = robot.actuation_matrix(q)
    stiffness, damping, tau = rng.uniform(10.0, 40.0, (3, robot.nu))
    # turns of a ball have no angles that a spring could pull at
    stiffness[[name.endswith(("/wx", "/wy", "/wz")) for name in robot.effort_names]] = 0.0
    stepper = Stepper(robot, h, "semi_implicit_euler")
    stepper.set_state(q, v)
    position, _ = stepper.actuator_motion(0.0)
    for name, c in zip(robot.v_names, robot.coordinates, strict=True):
        if name in robot.effort_names and not name.endswith(("/wx", "/wy", "/wz")):
            assert position[robot.effort_names.index(name)] == q[c.q_index]
    stepper.set_servo(stiffness, damping)
    stepper.target_q[:] = position + 0.01
    stepper.advance(1, tau)
    K, D = (B * gain @ B.T for gain in (stiffness, damping))
    bias = robot.bias_forces(q, v)[: robot.nv]
    force = B @ (tau + 0.01 * stiffness - damping * (B.T @ v)) - bias - h * K @ v
    expected = v + h * np.linalg.solve(robot.mass_matrix(q) + h * D + h**2 * K, force)
    assert np.allclose(stepper.v, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_stiff_springs_of_joints_turn_motor_and_link_against_each_other():
    """Without gravity, long steps (h omega = 6) damp the winding and keep I v + N^2 J v_motor."""
    robot = flexdyn_ros.load(DRIVE, options={"gravity": [0.0, 0.0, 0.0]})
    arm, motor = 0.3, 2e-4 * 50.0**2
    h = 6.0 / np.sqrt(900.0 / arm + 900.0 / motor)
    stepper = Stepper(robot, h, "rosenbrock")
    stepper.set_state(np.array([0.1, 0.0]), np.array([0.5, -0.2]))
    momentum = [arm, motor] @ stepper.v
    stepper.advance(40, np.zeros(2))
    assert stepper.q[0] - stepper.q[1] == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(stepper.v, momentum / (arm + motor), rtol=0.0, atol=1e-9)
    # what the damper takes of short steps is what the energy loses
    fine = Stepper(robot, 1e-4, "rk4")
    fine.set_state(np.array([0.1, 0.0]), np.array([0.5, -0.2]))
    start = robot.energy(fine.q, fine.v).total
    fine.advance(50, np.zeros(2))
    assert start - robot.energy(fine.q, fine.v).total == pytest.approx(fine.dissipated, rel=1e-6)
    assert fine.dissipated > 1e-3 * start
