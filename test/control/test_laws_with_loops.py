"""Control laws on closed mechanisms: efforts of the actuators that there are, errors by their closed form."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Q, four_bar

import flexdyn_ros
from flexdyn_ros import control
from flexdyn_ros.control import can_be_held, holding_stiffness, sampled_growth
from flexdyn_ros.errors import ConvergenceError

STILL = np.zeros(3)


def test_gravity_compensation_of_a_four_bar_is_the_published_torque():
    """The static torque of the crank in W3 of the specification; none on passive joints."""
    robot = four_bar()
    law = control.pd(robot, Q, 30.0, 5.0)
    np.testing.assert_allclose(law(0.0, Q, STILL), [-2.300349069209468, 0.0, 0.0], atol=1e-9)
    q = robot.assemble(Q + [0.1, 0.0, 0.0], lock=("crank_joint",))
    np.testing.assert_allclose(law(0.0, q, STILL) - law(0.0, Q, STILL), [-3.0, 0.0, 0.0], atol=1e-9)


def test_pd_brings_a_four_bar_to_its_target_and_holds_it():
    robot = four_bar()
    start = robot.assemble(Q + [0.1, 0.0, 0.0], lock=("crank_joint",))
    run = flexdyn_ros.simulate(robot, 8.0, start, STILL, control=control.pd(robot, Q, 30.0, 5.0), rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], Q, atol=1e-6)


def test_targets_are_of_the_actuators_and_loops_move_the_others():
    robot = four_bar()
    closed = robot.assemble(Q + [0.1, 0.0, 0.0], lock=("crank_joint",))
    laws = [control.pd(robot, target, 1.0, 1.0) for target in (closed, Q + [0.1, 0.0, 0.0])]
    np.testing.assert_allclose(*(law(0.0, Q, STILL) for law in laws), rtol=0.0, atol=1e-9)


def test_targets_at_which_the_loops_do_not_close():
    """A crank turns all around, its rocker does not."""
    law = control.pd(four_bar(more='<actuation active="rocker_joint"/>'), Q + [0.0, 0.0, 2.5], 1.0, 1.0)
    with pytest.raises(ConvergenceError):
        law(0.0, Q, STILL)


def test_more_actuators_than_motions_aim_at_the_nearest_pose():
    """Targets of two motors that do not go together by a little, as encoders have it."""
    robot = four_bar(more='<actuation active="crank_joint rocker_joint"/>')
    near = Q + [1e-3, 0.0, -1e-3]
    q, tau = control.StaticShape(robot)(near)
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10
    assert np.abs(q - near).max() <= 3e-3
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, STILL, STILL), atol=1e-12)


def crank_by_itself(robot, law, x, speed):
    """Acceleration of the crank at an angle and speed of it, the others as the loops have them."""
    q = robot.assemble(np.array([x, *Q[1:]]), lock=("crank_joint",))
    N = robot.functions.motions(q)[:, 0]
    v = N * (speed / N[0])
    return robot.forward_dynamics(q, v, law(0.0, q, v))[0]


def test_modes_of_a_four_bar_under_feedback_are_those_of_its_crank():
    """x'' = f(x, x') of the crank alone, derivatives by differences: the poles s^2 = f_v s + f_x."""
    robot, P, D, h = four_bar(), 30.0, 1.0, 1e-5
    law, tau = control.pd(robot, Q, P, D), robot.inverse_dynamics(Q, STILL, STILL)
    by_x = (crank_by_itself(robot, law, Q[0] + h, 0.0) - crank_by_itself(robot, law, Q[0] - h, 0.0)) / (2 * h)
    by_v = (crank_by_itself(robot, law, Q[0], h) - crank_by_itself(robot, law, Q[0], -h)) / (2 * h)
    found = control.closed_loop_modes(robot, Q, P, D, tau)
    np.testing.assert_allclose(found.frequency, [np.sqrt(-by_x) / (2.0 * np.pi)], rtol=1e-6)
    np.testing.assert_allclose(found.damping_ratio, [-by_v / (2.0 * np.sqrt(-by_x))], rtol=1e-6)
    # sampled ever faster, motion decays as the poles do
    pole = 0.5 * by_v if by_v**2 < -4.0 * by_x else 0.5 * (by_v + np.sqrt(by_v**2 + 4.0 * by_x))
    assert sampled_growth(robot, Q, P, D, 1e-5, 0.0, tau) == pytest.approx(pole, rel=1e-3)


def test_what_a_crank_feels_is_what_a_torque_there_moves():
    robot = four_bar()
    still = robot.forward_dynamics(Q, STILL, STILL)[0]
    push = robot.forward_dynamics(Q, STILL, np.array([1.0, 0.0, 0.0]))[0] - still
    np.testing.assert_allclose(control.joint_inertia(robot, Q), [1.0 / push, 0.0, 0.0], rtol=1e-9)


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_the_stiffness_that_holds_a_mechanism_up(name):
    """Without it weight tips it over, with it feedback at rest decays, from random poses."""
    robot = four_bar() if name == "four_bar" else flexdyn_ros.load(name)
    assert can_be_held(robot)
    P = holding_stiffness(robot, robot.neutral())
    driven = [robot.index(joint) for joint in robot.actuators]
    assert (P[driven] >= 0.0).all()
    assert not np.delete(P, driven).any()
    rng, rest = np.random.default_rng(3), np.zeros(robot.nv)
    for _ in range(3):
        q = robot.random(rng)
        tau, D = robot.inverse_dynamics(q, rest, rest), 2.0 * control.joint_inertia(robot, q)
        assert sampled_growth(robot, q, 1.5 * P + 1.0, D, 1e-3, 0.0, tau) < 0.0


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_errors_of_actuated_coordinates_obey_what_is_asked(name):
    """e'' = -w^2 e - 2 zeta w e' of all states on the loops; passive coordinates get nothing."""
    robot = four_bar() if name == "four_bar" else flexdyn_ros.load(name)
    driven = np.array([c.actuated for c in robot.coordinates])
    target, w, rng = robot.neutral(), 6.0, np.random.default_rng(2)
    law = control.computed_torque(robot, target, w, 0.7)
    for size in rng.uniform(-0.05, 0.05, (5, robot.nv)):
        q, v = robot.project(robot.integrate(target, size, 1.0), rng.uniform(-1.0, 1.0, robot.nv))
        tau = law(0.0, q, v)
        assert np.abs(tau[~driven]).max() == 0.0
        a = robot.forward_dynamics(q, v, tau)
        asked = w * w * robot.difference(q, target) - 1.4 * w * v
        np.testing.assert_allclose(a[driven], asked[driven], atol=1e-8 * np.abs(asked).max())


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_accelerations_of_actuated_coordinates_alone_tell_efforts(name):
    """unactuated="free", in a batch: those are met, what is said of others is not looked at."""
    robot = four_bar() if name == "four_bar" else flexdyn_ros.load(name)
    driven = [c.v_index for c in robot.coordinates if c.actuated]
    rng, near = np.random.default_rng(5), robot.neutral()
    starts = rng.uniform(-0.05, 0.05, (4, robot.nv))
    states = [robot.project(robot.integrate(near, x, 1.0), rng.uniform(-1.0, 1.0, robot.nv)) for x in starts]
    q, v = map(np.array, zip(*states, strict=True))
    a = rng.uniform(-5.0, 5.0, v.shape)
    tau = robot.inverse_dynamics(q, v, a, unactuated="free")
    assert np.abs(np.delete(tau, driven, axis=1)).max() == 0.0
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau)[:, driven], a[:, driven], atol=1e-8)
