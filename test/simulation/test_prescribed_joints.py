"""Motion prescribed for joints of a tree: they follow it, others move as they must, and energy balances."""

import numpy as np
import pytest
from pendulums import double_pendulum
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError


def swing(t):
    """0.5 sin 3t with its derivatives."""
    return 0.5 * np.sin(3.0 * t), 1.5 * np.cos(3.0 * t), -4.5 * np.sin(3.0 * t)


def slew(t):
    """A quarter turn within a second, at rest before and after."""
    s = min(max(t, 0.0), 1.0)
    shape = np.array([10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 - 60 * s**3 + 30 * s**4, 0.0])
    shape[2] = 60 * s - 180 * s**2 + 120 * s**3
    return tuple(0.5 * np.pi * shape)


def elbow_alone(robot):
    """The elbow while the shoulder swings, by the mass matrix: at 0, 0.1, ... 1 s."""

    def rate(t, y):
        x, v, a = swing(t)
        found = robot.forward_dynamics([x, y[0]], [v, y[1]], np.zeros(2), prescribed={"shoulder": a})
        return [y[1], found[1]]

    times = np.linspace(0.0, 1.0, 11)
    return solve_ivp(rate, (0.0, 1.0), [0.3, 0.0], "DOP853", times, rtol=1e-11, atol=1e-12).y[0]


@pytest.mark.parametrize("method", ["auto", "extrapolated"])
def test_the_elbow_moves_as_the_mass_matrix_says_while_the_shoulder_swings(method):
    robot = double_pendulum('<dynamics damping="0.3"/>')
    run = flexdyn_ros.simulate(
        robot, 1.0, [0.0, 0.3], method=method, rtol=1e-8, sample=0.1, prescribed={"shoulder": swing}
    )
    assert run["elbow"] == pytest.approx(elbow_alone(robot), abs=2e-6)
    assert run["shoulder"] == pytest.approx([swing(t)[0] for t in run.t], abs=1e-7)
    assert np.abs(run.balance()).max() < 1e-6 * run.energy.kinetic.max()


def test_the_effort_is_that_of_inverse_dynamics():
    robot = double_pendulum()
    run = flexdyn_ros.simulate(robot, 0.5, prescribed={"shoulder": swing, "elbow": lambda t: (0.2, 0.0, 0.0)})
    for i in (100, 400):
        x, v, a = swing(run.t[i])
        expected = robot.inverse_dynamics([x, 0.2], [v, 0.0], [a, 0.0])
        assert run.tau[i] == pytest.approx(expected, abs=1e-4)


def test_a_measured_slew_leaves_a_bending_arm_swinging():
    """A spline through samples, as of an encoder; the booms swing on afterwards."""
    robot = flexdyn_ros.load("flexible_two_link")
    times = np.linspace(0.0, 1.2, 121)
    spline = CubicSpline(times, [slew(t)[0] for t in times], bc_type="clamped")

    def measured(t):
        return tuple(float(spline(min(t, 1.2), k)) for k in range(3))

    still = robot.static_equilibrium(hold="joints")
    rest = {"shoulder": measured, "elbow": lambda t: (still.q[robot.q_names.index("elbow")], 0.0, 0.0)}
    run = flexdyn_ros.simulate(robot, 2.0, still.q, prescribed=rest)
    assert run["shoulder"][-1] == pytest.approx(0.5 * np.pi, abs=1e-6)
    assert np.abs(run["shoulder"] - [measured(t)[0] for t in run.t]).max() < 1e-6
    assert np.ptp(run["link_1/bending_y/1"][1300:]) > 1e-6
    assert run.balance_error < 1e-5


def test_wrenches_and_control_of_other_joints_act_beside_it():
    robot = double_pendulum()
    law = flexdyn_ros.continuous(lambda t, q, v: {"elbow": -2.0 * q[1] - 0.1 * v[1]})
    push = {"lower": [0.0, 0.3, 0.0, 1.0, 0.0, 0.0]}
    run = flexdyn_ros.simulate(
        robot, 0.5, [0.0, 0.3], control=law, wrenches=push, prescribed={"shoulder": swing}, rtol=1e-8
    )
    assert np.abs(run["shoulder"] - 0.5 * np.sin(3.0 * run.t)).max() < 1e-7
    assert np.abs(run.balance()).max() < 1e-6 * run.energy.kinetic.max()


def test_efforts_do_not_depend_on_who_else_is_asked():
    """A sampled control law ends a step at every sample; the efforts recorded there are those of its time."""
    robot, given = double_pendulum(), {"shoulder": swing}
    alone = flexdyn_ros.simulate(robot, 0.3, [0.0, 0.3], prescribed=given, rtol=1e-9)
    asked = flexdyn_ros.simulate(
        robot, 0.3, [0.0, 0.3], prescribed=given, rtol=1e-9, control=lambda t, q, v: np.zeros(2)
    )
    assert asked.tau == pytest.approx(alone.tau, abs=1e-6)
    arm, tau = flexdyn_ros.load("mobile_arm"), np.zeros(11)

    def faster(t):
        return 0.3 * t + t * t, 0.3 + 2.0 * t, 2.0

    alone = flexdyn_ros.simulate(arm, 0.02, prescribed=faster)
    asked = flexdyn_ros.simulate(arm, 0.02, prescribed=faster, control=lambda t, q, v: tau)
    assert asked["base/x", "effort"] == pytest.approx(alone["base/x", "effort"], abs=0.5)


def test_a_joint_follows_on_a_base_that_is_driven():
    robot = flexdyn_ros.load("mobile_arm")
    start = robot.neutral()[robot.index("shoulder")]
    given = {
        "base/x": lambda t: (0.3 * t + 1.5 * t * t, 0.3 + 3.0 * t, 3.0),
        "shoulder": lambda t: (start, 0.0, 0.0),
    }
    run = flexdyn_ros.simulate(robot, 0.05, prescribed=given)
    assert run["shoulder"] == pytest.approx(np.full(51, start), abs=1e-8)
    assert run["base/x", "velocity"][-1] == pytest.approx(0.45, abs=1e-9)


def test_what_cannot_be_followed_is_refused_by_name():
    robot = double_pendulum()
    with pytest.raises(UnknownNameError, match="joint to prescribe"):
        flexdyn_ros.simulate(robot, 0.1, prescribed={"sholder": swing})
    with pytest.raises(StateError, match=r"prescribed\['elbow'\] is 3"):
        flexdyn_ros.simulate(robot, 0.1, prescribed={"elbow": 3})
    with pytest.raises(UnsupportedError, match="no dt"):
        flexdyn_ros.simulate(robot, 0.1, dt=1e-3, prescribed={"elbow": swing})
    with pytest.raises(UnsupportedError, match="no stops that push them off it"):
        flexdyn_ros.simulate(robot, 0.1, limits="spring", prescribed={"elbow": swing})
    with pytest.raises(StateError, match="q0 of 'elbow' is 1, but its motion is prescribed"):
        flexdyn_ros.simulate(robot, 0.1, [0.0, 1.0], prescribed={"elbow": lambda t: (0.0, 0.0, 0.0)})
    with pytest.raises(StateError, match="v0 of 'elbow' is 1, but its motion is prescribed"):
        flexdyn_ros.simulate(robot, 0.1, v0=[0.0, 1.0], prescribed={"elbow": lambda t: (0.0, 0.0, 0.0)})
    with pytest.raises(StateError, match=r"control of 'elbow' is 0\.5, expected 0: its motion is prescribed"):
        flexdyn_ros.simulate(robot, 0.1, control=[0.0, 0.5], prescribed={"elbow": swing})
    run = flexdyn_ros.simulate(robot, 0.01, control=[0.5, 0.0], prescribed={"elbow": swing})
    assert (run.tau[:, 0] == 0.5).all()
    with pytest.raises(DimensionError, match=r"prescribed\['elbow'\] at t = 0 s is 1.0"):
        flexdyn_ros.simulate(robot, 0.1, prescribed={"elbow": lambda t: 1.0})
    with pytest.raises(UnsupportedError, match="for trees with compiled steps only"):
        flexdyn_ros.simulate(flexdyn_ros.load("stewart_electric"), 0.1, prescribed={"leg_1": swing})


def test_efforts_of_motions_that_are_given_are_refused_where_they_are_constant():
    wheeled = flexdyn_ros.load("mobile_arm")
    with pytest.raises(StateError, match=r"base/x.*prescribed"):
        flexdyn_ros.simulate(wheeled, 0.01, control=np.ones(wheeled.nu))
    still = {"shoulder": lambda t: (0.0, 0.0, 0.0)}
    with pytest.raises(StateError, match=r"'shoulder' is 0\.1, expected 0"):
        flexdyn_ros.simulate(flexdyn_ros.load("two_link"), 0.01, prescribed=still, control={"shoulder": 0.1})


def test_the_one_acceleration_that_a_description_prescribes_needs_no_name():
    robot = flexdyn_ros.load("mobile_arm")
    q, v = robot.neutral(), np.zeros(robot.nv)
    named = robot.forward_dynamics(q, v, prescribed={"base/x": 0.5})
    assert np.array_equal(robot.forward_dynamics(q, v, prescribed=0.5), named)
    several = robot.forward_dynamics(q, v, prescribed=np.array([0.0, 0.5]))
    assert several.shape == (2, robot.nv)
    assert np.array_equal(several[1], named)
