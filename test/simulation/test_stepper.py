"""The stepper: servo, limits of effort, stops, failures, and what it promises the simulator node."""

import time

import numpy as np
import pytest
from models import random_tree
from pendulums import Verbs, double_pendulum, tumbler, wheel
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.numerics.stepping.memory import StepMemory, step_sizes
from flexdyn_ros.simulation import DIVERGED, NOT_FINITE, OK, Stepper

LIMITED = '<limit lower="-0.5" upper="0.5" effort="2" velocity="10"/>'


def test_fields_of_the_memory_are_those_the_kernels_open():
    names = list(step_sizes(2, 2, 2))
    assert list(StepMemory._fields)[3 : 3 + len(names)] == names
    robot = double_pendulum()
    stepper = Stepper(robot, q0=[0.3, -0.2], v0=[1.0, 2.0])
    stepper.target_q[:], stepper.target_v[:] = [5.0, 6.0], [7.0, 8.0]
    start, fields = 0, {}
    for name, size in step_sizes(2, 2, 2).items():
        fields[name] = stepper._workspace._floats[start : start + size]
        start += size
    assert fields["target_v"].tolist() == [7.0, 8.0]
    assert fields["v"].tolist() == [1.0, 2.0]
    assert start == stepper._workspace._floats.size


def test_time_and_steps_count_on():
    stepper = Stepper(double_pendulum(), 1e-3, t0=5.0)
    for _ in range(10):
        assert stepper.advance(100) == OK
    assert stepper.steps == 1000
    assert stepper.t == pytest.approx(6.0, abs=1e-12)
    stepper.set_state([0.0, 0.0], [0.0, 0.0], t=1.0)
    assert (stepper.t, stepper.steps, stepper.work, stepper.dissipated) == (1.0, 0, 0.0, 0.0)


def test_many_calls_and_one_call_are_the_same():
    one, many = (Stepper(double_pendulum(), q0=[1.0, 0.5]) for _ in range(2))
    one.advance(200, [0.3, -0.1])
    for _ in range(200):
        many.advance(1, [0.3, -0.1])
    assert (one.q == many.q).all()
    assert (one.v == many.v).all()
    assert one.work == many.work


def test_views_are_live_and_read_only():
    stepper = Stepper(double_pendulum(), q0=[1.0, 0.5])
    q = stepper.q
    stepper.advance(10)
    assert q[0] != 1.0
    with pytest.raises(ValueError, match="read-only"):
        q[0] = 3.0


@pytest.mark.parametrize("method", ["rosenbrock", "semi_implicit_euler"])
def test_a_servo_far_stiffer_than_the_step_holds_its_target(method):
    stepper = Stepper(double_pendulum(), method=method, q0=[0.3, -0.2])
    stepper.set_servo(1e7, 1e5)
    stepper.target_q[:] = [0.5, 0.1]
    assert stepper.advance(1000) == OK
    assert stepper.q == pytest.approx([0.5, 0.1], abs=1e-5)
    held = stepper.robot.inverse_dynamics(stepper.q, stepper.v, np.zeros(2))
    assert stepper.effort == pytest.approx(held, abs=1e-3)


def test_a_velocity_servo_reaches_its_speed():
    stepper = Stepper(wheel(), method="rosenbrock")
    stepper.set_servo(0.0, 1e3)
    stepper.target_v[:] = 2.5
    stepper.advance(100)
    assert stepper.v[0] == pytest.approx(2.5, abs=1e-9)


def test_servo_and_command_add_up():
    stepper = Stepper(wheel(), method="rosenbrock")
    stepper.set_servo(100.0, 20.0)
    stepper.advance(5000, [3.0])
    assert stepper.q[0] == pytest.approx(0.03, abs=1e-9)


@pytest.mark.parametrize("method", ["rosenbrock", "semi_implicit_euler", "rk4"])
def test_efforts_are_clipped_and_told(method):
    stepper = Stepper(wheel(LIMITED, kind="revolute"), method=method, saturate=True)
    stepper.set_servo(1e3, 10.0)
    stepper.target_q[:] = 0.4
    largest = 0.0
    for _ in range(20):
        stepper.advance(1)
        assert stepper.saturated.all()
        largest = max(largest, abs(stepper.effort[0]))
    assert largest == 2.0
    assert stepper.v[0] == pytest.approx(2.0 / 0.01 * 0.02, rel=1e-12)
    stepper.advance(2000)
    assert stepper.saturated.all()
    stepper.advance(1)
    assert not stepper.saturated.any()
    assert stepper.q[0] == pytest.approx(0.4, abs=1e-6)


def test_commands_are_clipped_only_if_told():
    free = Stepper(wheel(LIMITED, kind="revolute"))
    free.advance(1, [50.0])
    assert free.effort[0] == 50.0
    assert not free.saturated.any()
    held = Stepper(wheel(LIMITED, kind="revolute"), saturate=True)
    held.advance(1, [-50.0])
    assert held.effort[0] == -2.0


def test_stops_hold_a_joint_that_is_pushed_against_them():
    stepper = Stepper(wheel(LIMITED, kind="revolute"), limits="spring")
    assert stepper.advance(3000, [2.0]) == OK
    assert stepper.at_stop.tolist() == [True]
    assert stepper.q[0] == pytest.approx(0.5 + 2.0 / stepper.stop_stiffness[0], abs=1e-6)
    stepper.set_stops(stiffness=5e3)
    stepper.advance(3000)
    assert stepper.q[0] == pytest.approx(0.5 + 2.0 / 5e3, abs=1e-6)
    stepper.set_stops(stiffness=1e9)
    assert stepper.stop_stiffness[0] == pytest.approx(0.01 / 1e-3**2)
    stepper.advance(3000)
    assert stepper.q[0] == pytest.approx(0.5 + 2.0 / 1e4, abs=1e-6)


@pytest.mark.parametrize("limits", ["spring", "report"])
def test_joints_beyond_their_limits_are_marked_after_a_start_and_after_steps(limits):
    stepper = Stepper(double_pendulum(LIMITED, "revolute"), limits=limits, q0=[0.1, 0.6])
    assert stepper.at_stop.tolist() == [False, True]
    for q in ([-0.7, 0.2], [0.4, -0.4], [0.8, -0.9]):
        stepper.set_state(q, [0.0, 0.0])
        beyond = [abs(x) > 0.5 for x in q]
        assert stepper.at_stop.tolist() == beyond
        assert stepper.advance(2) == OK
        assert stepper.at_stop.tolist() == beyond


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rosenbrock", "rk4"])
def test_stops_do_nothing_within_the_limits(method):
    """Of the wheel in its limits, and of the one that hits them."""
    with_stops, without = (
        Stepper(wheel(LIMITED, kind="revolute"), method=method, limits=limits, v0=[1.0])
        for limits in ("spring", "report")
    )
    for stepper in (with_stops, without):
        stepper.advance(450)
    assert with_stops.q[0] == without.q[0] == pytest.approx(0.45, rel=1e-9)
    for stepper in (with_stops, without):
        stepper.advance(450)
    assert with_stops.q[0] == pytest.approx(0.5, abs=1e-9)
    assert without.q[0] == pytest.approx(0.9, rel=1e-9)


def test_not_finite_and_divergence_keep_the_last_good_state():
    stepper = Stepper(double_pendulum(), method="rk4", q0=[1.0, 0.5])
    stepper.set_servo(0.0, 1e6)
    stepper.target_v[:] = 1.0
    status = stepper.advance(1000)
    assert status in (NOT_FINITE, DIVERGED)
    assert stepper.message
    assert np.isfinite(stepper.q).all()
    assert np.isfinite(stepper.v).all()
    assert np.isfinite(stepper.energy().total)
    assert stepper.steps < 1000
    q, t = stepper.q.copy(), stepper.t
    assert stepper.advance(1) == status
    assert (stepper.q == q).all()
    assert stepper.t == t
    stepper.set_servo()
    stepper.set_state([1.0, 0.5], [0.0, 0.0])
    assert stepper.advance(10) == OK


def test_wrenches_stay_until_they_are_replaced():
    stepper = Stepper(wheel())
    stepper.set_wrenches({"disc": [0, 0, 0.5, 0, 0, 0]})
    stepper.advance(100)
    assert stepper.v[0] == pytest.approx(0.5 / 0.01 * 0.1)
    stepper.set_wrenches(None)
    before = stepper.v[0]
    stepper.advance(100)
    assert stepper.v[0] == pytest.approx(before)


def test_wrong_arguments_are_refused_and_nothing_moves():
    robot = double_pendulum()
    stepper = Stepper(robot, q0=[1.0, 0.5])
    with pytest.raises(DimensionError, match=r"tau has shape \(3,\), expected \(2,\)"):
        stepper.advance(1, [1.0, 2.0, 3.0])
    with pytest.raises(StateError, match=r"tau\[1\] is nan"):
        stepper.advance(1, [1.0, np.nan])
    assert stepper.steps == 0
    with pytest.raises(UnknownNameError, match="nowhere"):
        stepper.set_wrenches({"nowhere": np.zeros(6)})
    with pytest.raises(StateError, match="damping of elbow is -1"):
        stepper.set_servo(1.0, [0.0, -1.0])
    with pytest.raises(UnknownNameError, match="euler"):
        Stepper(robot, method="euler")
    with pytest.raises(StateError, match="dt is 0"):
        Stepper(robot, 0.0)
    with pytest.raises(UnsupportedError):
        Stepper(Verbs(robot))
    for stiffness, wrong in (([0, 2, 3, 4, 5, 6, 7], "wy is 2"), ([0, 0, 3, 4, 5, 6, 7], "wz is 3")):
        with pytest.raises(StateError, match=f"stiffness of base/{wrong}.0, expected 0"):
            Stepper(tumbler()).set_servo(np.array(stiffness, dtype=float), 0.0)


def test_an_advance_costs_python_little():
    """Processor time of a call with one cheap step: the median of many."""
    stepper = Stepper(wheel(), method="semi_implicit_euler")
    tau = np.zeros(1)
    stepper.advance(1000, tau)

    def spent(calls, steps):
        began = time.thread_time()
        for _ in range(calls):
            stepper.advance(steps, tau)
        return (time.thread_time() - began) / calls

    overhead = np.median([spent(200, 1) for _ in range(15)])
    assert overhead < 20e-6  # about 4 us; room for slower machines


def test_times_that_float64_cannot_tell_apart_are_refused():
    robot = double_pendulum()
    for options, words in (
        ({"dt": 1e-320}, "expected at least 1e-15 s"),
        ({"dt": 0.0}, "dt is 0.0, expected a positive number"),
        ({"t0": 1e18}, "numbers are 128 s apart"),
        ({"t0": np.nan}, "t0 is nan"),
    ):
        with pytest.raises(StateError, match=words):
            Stepper(robot, **options)
        with pytest.raises(StateError, match=words):
            flexdyn_ros.simulate(robot, 0.1, **options)
    for options in ({"sample": 1e-300}, {"dt": 1e-12}, {"sample": 1e-9, "t0": 1e9}):
        with pytest.raises(StateError, match=r"expected (at (least|most)|\|t0\| below)"):
            flexdyn_ros.simulate(robot, 1.0, **options)
    stepper = Stepper(robot)
    with pytest.raises(StateError, match="numbers are 128 s apart"):
        stepper.set_state(t=1e18)
    # seconds since 1970 are fine
    run = flexdyn_ros.simulate(robot, 0.01, t0=1.79e9)
    assert len(run) == 11


def test_balls_behind_other_joints_turn_by_their_own_speeds():
    """A step of Euler's: sliders by speed times step, R <- exp(h [w]) R of what has a quaternion."""
    robot = flexdyn_ros.load(
        random_tree(5, base="floating", joints=5, kinds=("ball", "revolute", "prismatic"))
    )
    rng, h = np.random.default_rng(12), 0.02
    q = robot.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, robot.nv), 1.0)
    stepper = Stepper(robot, h, "semi_implicit_euler", q0=q, v0=rng.uniform(-2.0, 2.0, robot.nv))
    stepper.advance(1)
    turned = set()
    for name in ("base", "j5", "j2"):
        at, of = robot.q_names.index(f"{name}/qx"), robot.v_names.index(f"{name}/wx")
        before, after = (Rotation.from_quat(x[at : at + 4]) for x in (q, stepper.q))
        turn = (after * before.inv()).as_rotvec()
        np.testing.assert_allclose(turn, h * stepper.v[of : of + 3], rtol=1e-9)
        turned |= set(range(at, at + 4))
    for c in robot.coordinates:
        if c.q_index >= 0 and c.q_index not in turned:
            way = stepper.q[c.q_index] - q[c.q_index]
            assert way == pytest.approx(h * stepper.v[c.v_index], rel=1e-9)
