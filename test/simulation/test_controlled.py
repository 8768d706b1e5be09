"""Compiled runs with error control: they agree with another integrator and with each other, keep their
tolerance and the balance of energy, and let through what callables raise."""

import importlib

import numpy as np
import pytest
from flexible_robots import WORKED_EXAMPLE, WORKED_STATE
from pendulums import Verbs, double_pendulum, tumbler, wheel

import flexdyn_ros
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.stepping import dop853, places
from flexdyn_ros.numerics.stepping import extrapolated as steppers_extrapolated
from flexdyn_ros.numerics.stepping.explicit import chart_rate
from flexdyn_ros.simulation import Stepper

simulate_module = importlib.import_module("flexdyn_ros.simulation.simulate")
METHODS = ("dop853", "extrapolated")
LIMITS = '<limit lower="-0.5" upper="0.5" effort="50" velocity="10"/>'
FRICTION = '<flexdyn reference="shoulder"><friction static="0.3" smoothing_velocity="0.5"/></flexdyn></robot>'
SPANS = {"seven_joint_arm": 0.3, "canadarm2": 0.1, "mobile_arm": 0.02, "soft_arm": 0.05, "stewart_1t": 0.1}


@pytest.fixture
def by_scipy(monkeypatch):
    """A function that simulates by scipy's own DOP853, which asks Python for every evaluation."""

    def simulate(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(simulate_module, "CONTROLLED", ())
            return flexdyn_ros.simulate(*arguments, method="dop853", **options)

    return simulate


@pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SPANS)
def test_every_family_moves_as_by_scipy(name, method, by_scipy):
    robot, span = flexdyn_ros.load(name), SPANS[name]
    tight = {"rtol": 1e-9, "atol": 1e-12}
    oracle = by_scipy(robot, span, **tight)
    run = flexdyn_ros.simulate(robot, span, method=method, **tight)
    assert np.array_equal(run.t, oracle.t)
    size = np.abs(oracle.q).max() + np.abs(oracle.v).max()
    assert np.abs(run.q - oracle.q).max() < 1e-8 * size
    assert np.abs(run.v - oracle.v).max() < 3e-6 * size
    assert run.work[-1] == pytest.approx(oracle.work[-1], abs=1e-7 * oracle.energy.kinetic.max())


@pytest.mark.parametrize("method", METHODS)
def test_a_wheel_that_nothing_brakes_keeps_its_speed(method):
    run = flexdyn_ros.simulate(wheel(), 0.1, [0.3], [2.0], method=method, sample=0.05)
    assert run.q[:, 0] == pytest.approx(0.3 + 2.0 * run.t, abs=1e-12)
    assert run.v[:, 0] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_smaller_tolerance_makes_a_smaller_error(method, by_scipy):
    robot, q0 = double_pendulum(), [2.0, 1.0]
    exact = by_scipy(robot, 1.0, q0, rtol=1e-13, atol=1e-14)
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        run = flexdyn_ros.simulate(robot, 1.0, q0, method=method, rtol=rtol, atol=1e-3 * rtol)
        errors.append(np.abs(run.q - exact.q).max())
        assert errors[-1] < 10 * rtol
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.parametrize("method", METHODS)
def test_a_free_body_turns_as_by_scipy(method, by_scipy):
    robot = tumbler("0 0 -9.81")
    v0 = [1.0, 7.0, 0.5, 0.3, -0.2, 0.1, 2.0]
    oracle = by_scipy(robot, 0.5, v0=v0, rtol=1e-12, atol=1e-13)
    run = flexdyn_ros.simulate(robot, 0.5, v0=v0, method=method, rtol=1e-10, atol=1e-12)
    assert np.abs(robot.difference(oracle.q[-1], run.q[-1])).max() < 1e-8


def test_samples_leave_the_steps_alone():
    robot, options = double_pendulum(), {"q0": [2.0, 1.0], "method": "dop853"}
    fine = flexdyn_ros.simulate(robot, 1.0, dt=1e-3, **options)
    coarse = flexdyn_ros.simulate(robot, 1.0, dt=0.25, **options)
    assert np.array_equal(fine.q[-1], coarse.q[-1])
    assert np.abs(fine.q[::250] - coarse.q).max() < 1e-14


def test_telling_of_the_progress_changes_nothing():
    robot, options = flexdyn_ros.load("canadarm2"), {"method": "dop853", "rtol": 1e-6, "atol": 1e-9}
    told = []
    quiet = flexdyn_ros.simulate(robot, 0.3, **options)
    heard = flexdyn_ros.simulate(robot, 0.3, progress=told.append, **options)
    assert np.array_equal(quiet.q, heard.q)
    assert told[-1] == pytest.approx(0.3)


@pytest.mark.parametrize("method", METHODS)
def test_energy_is_balanced_over_springs_friction_and_stops(method):
    text = double_pendulum(LIMITS).description.text
    robot = flexdyn_ros.load(text.replace("</robot>", FRICTION))
    run = flexdyn_ros.simulate(
        robot, 1.0, [0.3, 0.3], [3.0, 1.0], method=method, rtol=1e-8, atol=1e-11, limits="spring"
    )
    balance = run.energy.total - run.work + run.dissipated
    assert np.abs(run.q).max() > 0.5
    assert np.abs(balance - balance[0]).max() < 1e-4 * run.energy.kinetic.max()


@pytest.mark.parametrize("method", METHODS)
def test_stops_are_met_alike_by_both_methods(method, by_scipy):
    options = {"q0": [0.3, 0.3], "v0": [3.0, 1.0], "limits": "spring"}
    oracle = by_scipy(double_pendulum(LIMITS), 0.5, rtol=1e-11, atol=1e-13, **options)
    run = flexdyn_ros.simulate(double_pendulum(LIMITS), 0.5, method=method, rtol=1e-9, atol=1e-12, **options)
    assert np.abs(run.q - oracle.q).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_two_zeros_within_a_step_are_both_found(method):
    def dips(t, q, v):
        return (q[0] - 0.30) * (q[0] - 0.33)

    run = flexdyn_ros.simulate(wheel(), 1.0, v0=[0.5], events=dips, method=method, dt=0.1)
    assert [event.time for event in run.events] == pytest.approx([0.60, 0.66], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_zeros_more_than_half_a_sample_apart_are_all_found(method):
    times = np.arange(0.01, 1.0, 0.051)

    def waves(t, q, v):
        return np.sin(np.pi * (2.0 * q[0] - times[0]) / 0.051)

    run = flexdyn_ros.simulate(wheel(), 1.0, v0=[0.5], events=waves, method=method, dt=0.1)
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_terminal_event_ends_the_run_where_it_lies(method):
    def reached(t, q, v):
        return q[0] - 0.3

    reached.terminal = True
    run = flexdyn_ros.simulate(wheel(), 1.0, v0=[0.77], events=reached, method=method, dt=0.05)
    assert run.status == 1
    assert run.t[-1] == pytest.approx(0.3 / 0.77, abs=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.3, abs=1e-9)
    assert (np.diff(run.t) > 0.0).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_control_law_is_asked_at_every_dt_and_held(method, by_scipy):
    asked = []

    def law(t, q, v):
        asked.append(t)
        return [-2.0 * q[0] - v[0], -q[1]]

    options = {"q0": [1.0, 0.5], "control": law, "dt": 0.05, "rtol": 1e-10, "atol": 1e-12}
    run = flexdyn_ros.simulate(double_pendulum(), 0.5, method=method, **options)
    assert asked == pytest.approx(0.05 * np.arange(10))
    oracle = by_scipy(double_pendulum(), 0.5, **options)
    assert np.abs(run.q - oracle.q).max() < 1e-8
    assert np.abs(run.tau[:-1] - oracle.tau[:-1]).max() < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_wrenches_follow_time_and_state_between_samples(method, by_scipy):
    robot = double_pendulum()
    frame = robot.frame_names[-1]

    def push(t, q, v):
        return {frame: [0.0, 0.0, 0.0, 5.0 * np.sin(40.0 * t), 0.0, -2.0 * v[0]]}

    options = {"q0": [1.0, 0.5], "wrenches": push, "dt": 0.1}
    oracle = by_scipy(robot, 0.5, rtol=1e-11, atol=1e-13, **options)
    run = flexdyn_ros.simulate(robot, 0.5, method=method, rtol=1e-9, atol=1e-11, **options)
    assert np.abs(run.q - oracle.q).max() < 1e-7


def test_of_what_is_not_stiff_the_default_tries_nothing_else():
    """Where it stops to look, after 200 steps, one evaluation is made again."""
    robot = flexdyn_ros.load(
        '<robot name="r"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -1"/>'
        '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        "</joint></robot>"
    )
    asked = {"auto": [], "dop853": []}
    for method, times in asked.items():
        run = flexdyn_ros.simulate(
            robot, 1.45, [1.0], [60.0], method=method, rtol=1e-13, atol=1e-15,
            wrenches=lambda t, q, v, times=times: times.append(t) or {},
        )  # fmt: skip
        assert run.method == "dop853"
    assert set(asked["auto"]) == set(asked["dop853"])
    assert len(asked["auto"]) == len(asked["dop853"]) + 1 > 200 * 12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", ["control", "wrenches", "events"])
def test_what_a_callable_raises_comes_out(what, method):
    class OwnError(Exception):
        pass

    def fails(t, q, v):
        if t > 0.2:
            raise OwnError("at 0.2 s")
        return {"control": np.zeros(2), "wrenches": {}, "events": 1.0}[what]

    with pytest.raises(OwnError, match=r"at 0\.2 s"):
        flexdyn_ros.simulate(double_pendulum(), 1.0, [1.0, 0.0], method=method, **{what: fails})


def test_the_coefficients_fulfil_what_defines_them():
    """Row sums, and the conditions of order 8 of quadrature; both estimates vanish for low orders."""
    weights = dop853.A[12, :12]
    assert dop853.A.sum(axis=1) == pytest.approx(dop853.C, abs=1e-13)
    for k in range(8):
        assert weights @ dop853.C[:12] ** k == pytest.approx(1.0 / (k + 1), abs=1e-13)
    for k in range(3):
        assert dop853.ERROR_3 @ dop853.C[:13] ** k == pytest.approx(0.0, abs=1e-12)
    for k in range(5):
        assert dop853.ERROR_5 @ dop853.C[:13] ** k == pytest.approx(0.0, abs=1e-12)


def test_extrapolation_takes_away_a_power_of_the_step_with_every_row():
    """Results of j + 1 small steps that differ from the limit by a polynomial in 1 / (j + 1) of degree 3."""
    work, limit = np.empty((4, 2)), np.array([3.0, -0.7])
    errors = np.random.default_rng(0).standard_normal((3, 2))
    for j in range(4):
        work[j] = limit + sum(errors[k] / (j + 1.0) ** (k + 1) for k in range(3))
        steppers_extrapolated.extrapolate(j, work, 2)
    assert work[0] == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize("size", [1e-3, 0.09, 0.11, 1.0, 2.5])
def test_rates_of_a_turn_are_those_of_its_exponential(size):
    """R(theta + h theta') = exp(h [w]) R(theta) to the first order in h."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(4)
    theta, w, rate = rng.standard_normal(3), rng.standard_normal(3), np.empty(6)
    theta *= size / np.linalg.norm(theta)

    class Chart:
        nb, nv, v_index = 2, 6, [0, 0]

    chart_rate(Chart, np.append(theta, np.zeros(3)), np.append(w, np.zeros(3)), rate)
    h = 1e-6
    ahead = Rotation.from_rotvec(theta + h * rate[:3]) * Rotation.from_rotvec(theta - h * rate[:3]).inv()
    assert ahead.as_rotvec() / (2 * h) == pytest.approx(w, abs=1e-8)


def test_a_robot_without_compiled_steps_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"has no compiled steps.*extrapolated"):
        flexdyn_ros.simulate(Verbs(double_pendulum()), 0.1, method="extrapolated")


def by_alternating_steps(robot, q, v, span, n, column):
    """The end of a run by the extrapolated method with one column, of n pairs of steps, 10 to 1."""
    stepper = Stepper(robot, 1e-3, "rosenbrock", q0=q, v0=v)
    run_to = steppers_extrapolated.run_to.load()
    control, scale = np.zeros(places.CONTROL), np.ones(2 * robot.nv)
    work = np.zeros((steppers_extrapolated.WORK_ROWS, 2 * robot.nv + 2))
    none = [np.zeros((0, width)) for width in (robot.nq, robot.nv, robot.nu, 3, robot.nq, robot.nv)]
    t = 0.0
    for i in range(2 * n):
        h = span / n * (10.0 if i % 2 == 0 else 1.0) / 11.0
        control[[places.RTOL, places.LARGEST]] = 1e9, np.inf
        control[places.OF_SPEEDS] = 1.0
        control[[places.STEP, places.COLUMN]] = h, column
        run_to(stepper._steps, t, t + h, 0, control, scale, work, np.zeros(0), *none)
        t += h
    assert control[places.ACCEPTED] == 2 * n
    return stepper.q.copy(), stepper.v.copy()


@pytest.mark.parametrize("column", [2, 3, 4])
def test_the_implicit_method_keeps_its_order_while_steps_change_ten_to_one(column):
    """The slopes that it holds over a step leave out gravity, turning mass and gyroscopic forces."""
    robot = flexdyn_ros.load(WORKED_EXAMPLE)
    q, v = WORKED_STATE
    exact = flexdyn_ros.simulate(robot, 0.02, q, v, method="dop853", rtol=1e-13, atol=1e-15)
    counts = (64, 128, 256)
    errors = [
        np.abs(by_alternating_steps(robot, q, v, 0.02, n, column)[1] - exact.v[-1]).max() for n in counts
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(column, abs=0.3)
