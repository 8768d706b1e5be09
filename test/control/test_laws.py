"""Control laws: what they promise of the error."""

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros.control.computed_torque import computed_torque
from flexdyn_ros.control.pd import pd
from flexdyn_ros.errors import DimensionError


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
