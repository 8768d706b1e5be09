"""Control laws: what they promise of the error."""

import numpy as np
import pytest
from flexible_robots import WORKED_EXAMPLE
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros.control import StaticShape, computed_torque, pd
from flexdyn_ros.errors import DimensionError, UnknownNameError


def swing(t):
    s, c = np.sin(2 * t), np.cos(2 * t)
    return np.array([0.5 * s, -0.3 * s]), np.array([c, -0.6 * c]), np.array([-2 * s, 1.2 * s])


def test_computed_torque_makes_the_error_a_linear_oscillator():
    robot = double_pendulum()
    law = computed_torque(robot, swing, 10.0, 0.5)
    rng = np.random.default_rng(1)
    for t in (0.0, 0.3, 2.0):
        q, v = rng.standard_normal(2), rng.standard_normal(2)
        q_d, v_d, a_d = swing(t)
        a = robot.forward_dynamics(q, v, law(t, q, v))
        assert a == pytest.approx(a_d + 100.0 * (q_d - q) + 10.0 * (v_d - v), abs=1e-9)


def test_computed_torque_follows_and_pd_holds():
    robot = double_pendulum()
    run = flexdyn_ros.simulate(robot, 2.0, [0.2, 0.2], control=computed_torque(robot, swing, 20.0))
    assert run.q[-1] == pytest.approx(swing(2.0)[0], abs=2e-3)
    target = np.array([1.0, -0.5])
    held = flexdyn_ros.simulate(robot, 8.0, control=pd(robot, target, 60.0, 25.0))
    assert held.q[-1] == pytest.approx(target, abs=1e-4)
    sagging = flexdyn_ros.simulate(robot, 8.0, control=pd(robot, target, 60.0, 25.0, gravity=False))
    assert np.abs(sagging.q[-1] - target).max() > 1e-2


def test_coordinates_without_an_actuator_get_no_effort():
    robot = tumbler("0 0 -9.81")
    q = robot.neutral()
    q[7] = 0.4
    for law in (computed_torque(robot, robot.neutral(), 10.0), pd(robot, robot.neutral(), 10.0, 1.0)):
        tau = law(0.0, q, np.zeros(7))
        assert np.abs(tau[:6]).max() < 1e-9
        assert abs(tau[6]) > 0.01


def test_wrong_sizes_are_refused():
    robot = double_pendulum()
    with pytest.raises(DimensionError, match="stiffness"):
        pd(robot, np.zeros(2), np.zeros(3), 1.0)
    with pytest.raises(DimensionError, match="target"):
        pd(robot, np.zeros(3), 1.0, 1.0)
    with pytest.raises(DimensionError, match="v of the target at t = 1 s"):
        computed_torque(robot, lambda t: (np.zeros(2), np.zeros(1)), 1.0)(1.0, np.zeros(2), np.zeros(2))


def test_pd_holds_a_bending_arm_with_the_efforts_of_its_bent_shape():
    robot = flexdyn_ros.load(WORKED_EXAMPLE)
    joints = [c.v_index for c in robot.coordinates if c.kind == "joint"]
    q_d = np.array([0.4, 0.3, 0.3, -0.7, 0.3, 0.3])
    tau = pd(robot, q_d, 50.0, 1.0)(0.0, q_d, np.zeros(6))
    found = robot.static_equilibrium(q_d, hold="joints")
    assert tau[joints] == pytest.approx(found.tau[joints], rel=1e-10)
    assert not tau[[1, 2, 4, 5]].any()
    stiff = robot.inverse_dynamics(np.where(np.isin(range(6), joints), q_d, 0.0), np.zeros(6), np.zeros(6))
    assert np.abs(tau[joints] - stiff[joints]).max() > 0.01


def test_a_bending_arm_under_pd_is_at_rest_with_its_joints_at_the_target_and_returns_there():
    robot = flexdyn_ros.load(WORKED_EXAMPLE)
    q_d = robot.neutral()
    q_d[[0, 3]] = 0.9, -0.6
    P, D = np.array([60.0, 0, 0, 20.0, 0, 0]), np.array([12.0, 0, 0, 3.0, 0, 0])
    law = pd(robot, q_d, P, D)
    bent, rest = StaticShape(robot)(q_d)[0], np.zeros(6)
    tau = law(0.0, bent, rest)
    gravity = np.abs(robot.bias_terms(bent, rest).gravity).max()
    assert np.abs(robot.inverse_dynamics(bent, rest, rest) - tau).max() < 1e-9 * gravity
    A, B = robot.linearize(bent, rest, tau)
    poles = np.linalg.eigvals(A - B @ np.hstack((np.diag(P), np.diag(D))))
    assert poles.real.max() < -0.1


def test_the_tip_of_a_sagging_arm_is_put_where_the_stiff_one_has_it():
    robot = flexdyn_ros.load("canadarm2")
    joints = [c.v_index for c in robot.coordinates if c.kind == "joint"]
    q = robot.neutral()
    q[joints] = -0.6, 1.0, -0.4, 0.3, 0.0
    shape = StaticShape(robot)
    goal = robot.frames(q, "tool0")[:3, 3]
    sagging = robot.frames(shape(q)[0], "tool0")[:3, 3]
    assert np.linalg.norm(sagging - goal) > 1.0  # on the ground this arm hangs
    corrected = robot.frames(shape(shape.aimed(q, "tool0"))[0], "tool0")[:3, 3]
    assert corrected == pytest.approx(goal, abs=1e-6)
    law = pd(robot, q, 1e6, 0.0, tip="tool0")
    assert law(0.0, shape.aimed(q, "tool0"), np.zeros(robot.nv))[joints] == pytest.approx(
        shape(shape.aimed(q, "tool0"))[1][joints], rel=1e-6, abs=1e-6
    )
    with pytest.raises(UnknownNameError, match="tool1"):
        pd(robot, q, 1.0, 1.0, tip="tool1")


def test_the_static_shape_is_that_of_the_verb_and_rigid_robots_have_none():
    robot = flexdyn_ros.load("canadarm2")
    shape = StaticShape(robot)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = robot.neutral()
        joints = [c.q_index for c in robot.coordinates if c.kind == "joint"]
        q[joints] = rng.uniform(-1.0, 1.0, 5)
        found = robot.static_equilibrium(q, hold="joints")
        bent, tau = shape(q)
        assert bent == pytest.approx(found.q, abs=1e-9)
        assert tau[joints] == pytest.approx(found.tau[joints], rel=1e-7, abs=1e-4)
    rigid = StaticShape(double_pendulum())
    assert rigid.is_rigid
    assert rigid(np.array([0.3, 0.2]))[0] == pytest.approx([0.3, 0.2])
