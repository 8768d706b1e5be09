"""What sampling does to feedback, against the simulated arm."""

import numpy as np
import pytest
from pendulums import double_pendulum

import flexdyn_ros
from flexdyn_ros.control import joint_inertia, sampled_growth
from flexdyn_ros.errors import StateError
from flexdyn_ros.simulation import Stepper


def test_a_sampled_mass_turns_unstable_at_twice_its_inertia():
    robot = flexdyn_ros.load(
        """<robot name="wheel"><link name="base"/><link name="disc"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial></link>
        <joint name="axle" type="continuous"><parent link="base"/><child link="disc"/>
        <axis xyz="0 0 1"/></joint></robot>"""
    )
    h, inertia = 0.01, 3.0
    growth = [sampled_growth(robot, np.zeros(1), 0.0, d * inertia / h, h) for d in (0.5, 1.9, 2.1)]
    # v+ = (1 - D h / inertia) v; the position itself does not grow
    assert growth[0] == pytest.approx(0.0, abs=1e-6)
    assert growth[1] == pytest.approx(0.0, abs=1e-6)
    assert growth[2] == pytest.approx(np.log(1.1) / h, rel=1e-9)
    # held a whole sample longer: z^2 - z + D h / inertia, unstable from 1 on
    late = [sampled_growth(robot, np.zeros(1), 0.0, d * inertia / h, h, h) for d in (0.9, 1.1)]
    assert late[0] == pytest.approx(0.0, abs=1e-6)
    assert late[1] == pytest.approx(0.5 * np.log(1.1) / h, rel=1e-9)


def swing(robot, q, P, D, period, duration, servo=False):
    """Largest joint speed in the first and the last quarter after a kick, sampled or in the steps."""
    stepper = Stepper(robot, 1e-3, q0=q, v0=np.where(P > 0.0, 1e-4, 0.0))
    if servo:
        stepper.set_servo(P, D)
        stepper.target_q[:] = q
    speeds = []
    for _ in range(round(duration / period)):
        if not servo:
            stepper.set_efforts(P * (q - stepper.q) - D * stepper.v)
        assert stepper.advance(round(period / 1e-3)) == 0
        speeds.append(np.abs(stepper.v[P > 0.0]).max())
    k = len(speeds) // 4
    return max(speeds[:k]), max(speeds[-k:])


def test_growth_is_that_of_the_simulated_arm_and_its_own_servos_calm_it():
    robot = flexdyn_ros.load("canadarm2", options={"gravity": [0, 0, 0]})
    q = robot.neutral()
    inertia = joint_inertia(robot, q)
    P, D = 0.5 * inertia, 1.4 * inertia
    period = 0.01
    assert sampled_growth(robot, q, P, D, period) > 10.0
    first, last = swing(robot, q, P, D, period, 0.4)
    assert last > 100.0 * first
    first, last = swing(robot, q, 4.0 * inertia, 4.0 * inertia, period, 24.0, servo=True)
    assert last < 0.3 * first


def test_an_arm_whose_joints_have_inertia_is_calmed_by_samples():
    robot = flexdyn_ros.load("flexible_two_link")
    q = robot.neutral()
    inertia = joint_inertia(robot, q)
    P, D = 50.0 * inertia, 14.0 * inertia
    assert max(sampled_growth(robot, q, P, D, 0.01, delay) for delay in (0.0, 0.005, 0.01)) < 0.0
    first, last = swing(robot, q, P, D, 0.01, 2.0)
    assert last < 0.1 * first


def test_impossible_samples_are_refused():
    for period, delay in ((0.0, 0.0), (0.01, 0.02), (np.nan, 0.0)):
        with pytest.raises(StateError, match="period"):
            sampled_growth(double_pendulum(), np.zeros(2), 1.0, 1.0, period, delay)
