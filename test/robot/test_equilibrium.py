"""States of rest: pendulums, springs, held coordinates, and what has no rest."""

import numpy as np
import pytest
from models import PANDA, QUADRUPED, random_tree, real_robot, two_link_arm

import flexdyn_ros
from flexdyn_ros.errors import ConvergenceError, DimensionError, StateError, UnknownNameError


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load(two_link_arm())


def test_a_double_pendulum_comes_to_hang(arm):
    rest = arm.static_equilibrium(np.array([-1.0, 0.4]))
    assert rest.q == pytest.approx([-np.pi / 2, 0.0], abs=1e-12)
    assert rest.stable
    assert rest.residual <= 1e-11
    assert not rest.tau.any()


def test_near_the_top_the_unstable_rest_is_found_and_called_so(arm):
    rest = arm.static_equilibrium(np.array([np.pi / 2 - 0.1, 0.1]))
    assert rest.q == pytest.approx([np.pi / 2, 0.0], abs=1e-12)
    assert not rest.stable


def test_a_start_where_the_stiffness_is_singular(arm):
    rest = arm.static_equilibrium(np.zeros(2))
    assert np.abs(arm.bias_forces(rest.q, np.zeros(2))).max() <= 1e-11


def test_held_coordinates_stay_and_get_their_effort(arm):
    q0 = np.array([0.3, -0.9])
    rest = arm.static_equilibrium(q0, hold=["shoulder"])
    assert rest.q[0] == 0.3
    assert np.sin(rest.q.sum()) == pytest.approx(-1.0, abs=1e-12)
    assert rest.tau[1] == 0.0
    assert rest.tau[0] == pytest.approx(2.6 * 0.8 * 9.81 * np.cos(0.3), rel=1e-12)
    everything = arm.static_equilibrium(q0, hold="joints")
    assert np.array_equal(everything.q, q0)
    assert everything.tau == pytest.approx(arm.bias_forces(q0, np.zeros(2)), abs=1e-14)
    assert everything.iterations == 0


def test_efforts_and_wrenches_are_balanced(arm):
    tau = np.array([3.0, 1.0])
    push = {"tip": np.array([0.0, 0.0, 0.0, 2.0, -1.0, 0.0])}
    rest = arm.static_equilibrium(np.array([-1.2, 0.2]), tau=tau, wrenches=push)
    assert arm.inverse_dynamics(rest.q, np.zeros(2), np.zeros(2), push) == pytest.approx(tau, abs=1e-11)
    assert rest.stable
    assert np.array_equal(rest.tau, tau)


def test_a_floating_base_rests_only_when_held():
    robot = real_robot(QUADRUPED, True)
    base = [name for name in robot.v_names if name.startswith("base/")]
    rest = robot.static_equilibrium(hold=base)
    load = robot.bias_forces(rest.q, np.zeros(robot.nv))
    assert load[:6] == pytest.approx(rest.tau[:6])
    assert np.abs(load[6:]).max() <= 1e-9
    with pytest.raises(ConvergenceError, match="no equilibrium found"):
        robot.static_equilibrium(hold="joints")


def test_an_effort_that_gravity_cannot_balance_does_not_converge(arm):
    with pytest.raises(ConvergenceError) as caught:
        arm.static_equilibrium(np.array([-1.0, 0.0]), tau=np.array([1000.0, 0.0]))
    assert caught.value.residual > 900
    assert caught.value.iterations >= 1


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_springs_come_to_rest(seed):
    robot = flexdyn_ros.load(
        random_tree(seed, base="fixed", floating=False, resistance=True, kinds=("revolute", "continuous"))
    )
    rest = robot.static_equilibrium(robot.random(np.random.default_rng(seed)))
    zero = np.zeros(robot.nv)
    assert np.abs(robot.bias_forces(rest.q, zero)).max() <= 1e-9
    # stable: no small step lowers the potential
    lowest = robot.energy(rest.q, zero).total
    steps = 1e-3 * np.random.default_rng(0).standard_normal((200, robot.nv))
    around = robot.energy(robot.integrate(rest.q, steps, 1.0), zero).total
    if rest.stable:
        assert around.min() >= lowest - 1e-12 * (1 + abs(lowest))
    else:
        assert not robot.modes(rest.q).unstable or robot.modes(rest.q).unstable == (not rest.stable)


def test_wrong_arguments_are_named(arm):
    with pytest.raises(UnknownNameError, match="coordinate in hold 'elbo'"):
        arm.static_equilibrium(hold=["elbo"])
    with pytest.raises(DimensionError, match="single states"):
        arm.static_equilibrium(np.zeros((3, 2)))
    with pytest.raises(StateError, match="q"):
        arm.static_equilibrium(np.array([np.inf, 0.0]))
    with pytest.raises(UnknownNameError, match="frame 'hand'"):
        arm.static_equilibrium(wrenches={"hand": np.zeros(6)})


def test_the_panda_rests_with_its_joints_held():
    robot = real_robot(PANDA)
    rest = robot.static_equilibrium(hold="joints")
    assert rest.tau == pytest.approx(robot.bias_forces(robot.neutral(), np.zeros(robot.nv)))
