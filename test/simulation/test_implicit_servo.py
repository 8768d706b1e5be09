"""Implicit steps: one with a stiff servo solves its equations, many with stiff joints come to rest."""

import re

import numpy as np
import pytest
from mixtures import random_mixture
from models import random_tree

import flexdyn_ros
from flexdyn_ros.description import read
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


def test_a_step_solves_the_linear_system_of_stops_beside_that_of_its_servo():
    """At upper and lower stops and between them: f - k (x - x_stop) - d v, with k and d in the system."""
    robot = flexdyn_ros.load("seven_joint_arm")
    rng, h = np.random.default_rng(6), 2e-3
    limits = np.array([(c.lower, c.upper) for c in robot.coordinates])
    beyond = rng.uniform(0.01, 0.03, robot.nu) * [1.0, -1.0, 0.0, 1.0, -1.0, 0.0, 1.0]
    stop = np.select([beyond > 0.0, beyond < 0.0], limits[:, ::-1].T, 0.5 * (limits[:, 0] + limits[:, 1]))
    v = rng.standard_normal(robot.nv)
    servo, stops = rng.uniform(10.0, 90.0, (2, robot.nu)), rng.uniform(20.0, 150.0, (2, robot.nu))
    tau, off = rng.uniform(-9.0, 9.0, robot.nu), rng.uniform(-0.1, 0.1, robot.nu)
    stepper = Stepper(robot, h, "semi_implicit_euler", q0=stop + beyond, v0=v, limits="spring")
    stepper.set_servo(*servo)
    stepper.set_stops(*stops)
    # none is too stiff for the step
    assert np.array_equal([stepper.stop_stiffness, stepper.stop_damping], stops)
    q = stepper.q.copy()
    stepper.target_q[:] = q + off
    stepper.advance(1, tau)
    K, D = (np.diag(own + at * (beyond != 0.0)) for own, at in zip(servo, stops, strict=True))
    force = tau + servo[0] * off - stops[0] * beyond - D @ v - robot.bias_forces(q, v) - h * K @ v
    expected = v + h * np.linalg.solve(robot.mass_matrix(q) + h * D + h**2 * K, force)
    np.testing.assert_allclose(stepper.v, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
    # the servo at the end, and the impulses of all efforts along the way
    effort = tau + servo[0] * (off - h * stepper.v) - servo[1] * stepper.v
    np.testing.assert_allclose(stepper.effort, effort, rtol=1e-9)
    assert stepper.work == pytest.approx(0.5 * h * effort @ (v + stepper.v), rel=1e-9)


def test_a_step_tells_the_effort_that_its_prescribed_acceleration_takes():
    """Of a wheeled base, beside a load on the arm: that of inverse dynamics with what the step did."""
    robot, h = flexdyn_ros.load("mobile_arm"), 1e-3
    load = {"link_1": np.array([1.0, 2.0, 3.0, 40.0, 50.0, 60.0])}
    q, v = robot.neutral(), 0.1 * np.random.default_rng(1).standard_normal(robot.nv)
    tau = np.zeros(robot.nu)
    tau[[robot.index(name) for name in ("shoulder", "elbow")]] = 30.0, -20.0
    stepper = Stepper(robot, h, "semi_implicit_euler", q0=q, v0=v)
    stepper.set_wrenches(load)
    stepper.given[0] = 1.7
    stepper.advance(1, tau)
    assert stepper.v[0] - v[0] == pytest.approx(1.7 * h, rel=1e-9)
    expected = robot.inverse_dynamics(q, v, (stepper.v - v) / h, load)[0]
    assert abs(expected) > 1.0
    assert stepper.effort[0] == pytest.approx(expected, rel=1e-6)
    assert np.array_equal(stepper.effort[1:], tau[1:])


def test_efforts_of_a_step_balance_a_prescribed_base_that_a_servo_pulls_at():
    """M a + h = B u with the efforts u that the step tells; a servo holds a cylinder from world to arm."""
    text = re.sub("<formulation[^>]*>", '<formulation method="articulated"/>', read("mobile_arm").text)
    line = (
        '<flexdyn><cylinder name="line" base="world" base_xyz="-1 0 0.2" end="link_1" end_xyz="0.5 0 0"'
        ' minimum_length="0.2" stroke="3"><force maximum="3e5"/></cylinder></flexdyn></robot>'
    )
    robot, h = flexdyn_ros.load(text.replace("</robot>", line)), 1e-3
    q, v = robot.neutral(), 0.1 * np.random.default_rng(1).standard_normal(robot.nv)
    tau, stiffness, damping = np.zeros((3, robot.nu))
    places = [robot.effort_names.index(name) for name in ("shoulder", "elbow", "line")]
    tau[places], stiffness[places], damping[places] = (30.0, -20.0, 15.0), (90.0, 0.0, 4e4), (3.0, 0.0, 3e3)
    stepper = Stepper(robot, h, "semi_implicit_euler", q0=q, v0=v)
    stepper.set_servo(stiffness, damping)
    stepper.target_q[:] = stepper.actuator_motion(0.0)[0] + 0.02
    stepper.given[0] = 1.7
    assert stepper.advance(1, tau) == 0
    a, B = (stepper.v - v) / h, robot.actuation_matrix(q)
    assert a[0] == pytest.approx(1.7, rel=1e-9)
    assert abs(B[0, places[2]] * stepper.effort[places[2]]) > 10.0
    left = robot.mass_matrix(q) @ a + robot.bias_forces(q, v) - B @ stepper.effort
    assert np.abs(left).max() < 1e-9 * np.abs(stepper.effort).max()


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
