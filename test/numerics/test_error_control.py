"""What chooses the steps of runs with error control: estimates in units of what is allowed, and stability."""

import numpy as np
import pytest
from oil_robots import hanging
from pendulums import tumbler
from scipy.integrate import DOP853

import flexdyn_ros
from flexdyn_ros.numerics.stepping import controlled, dop853, doubled, extrapolated, places
from flexdyn_ros.numerics.stepping.dop853 import ALL_STAGES, DENSE, ERROR_3, ERROR_5, STAGES, A, C
from flexdyn_ros.numerics.stepping.memory import open_steps
from flexdyn_ros.simulation import FusedHydraulics, Stepper


class Step:
    """A step of a free body that carries a joint, whose stages are chance, with different tolerances."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.robot = robot = tumbler()
        q, v = robot.neutral(), rng.uniform(1.0, 2.0, robot.nv)
        q = robot.integrate(q, rng.uniform(1.0, 2.0, robot.nv), 1.0)
        self.stepper = Stepper(robot, 1e-3, "rk4", q0=q, v0=v)
        self.handle = self.stepper._steps
        controlled.begin_step(open_steps(self.handle))
        self.q, self.v = q, v
        self.work = np.zeros((controlled.WORK_ROWS, 2 * robot.nv + 2))
        self.work[: STAGES + 1] = rng.standard_normal((STAGES + 1, 2 * robot.nv + 2))
        self.scale = rng.uniform(0.5, 1.5, 2 * robot.nv) * 1e-3
        self.control = np.zeros(places.CONTROL)
        self.control[[places.RTOL, places.OF_SPEEDS, places.OF_ENERGIES]] = 1e-3, 7.0, 1e9

    def allowed(self, change, speed):
        """Errors of positions and speeds that are allowed at a step's end."""
        positions = np.array([1.0 if c.q_index < 0 else self.q[c.q_index] for c in self.robot.coordinates])
        ahead = np.where([c.q_index < 0 for c in self.robot.coordinates], 1.0, positions + change)
        sizes = np.concatenate([np.maximum(abs(positions), abs(ahead)), np.maximum(abs(self.v), abs(speed))])
        lenient = np.repeat([1.0, self.control[places.OF_SPEEDS]], self.robot.nv)
        return lenient * (self.scale + self.control[places.RTOL] * sizes)


def test_coefficients_of_the_method_of_order_8_are_those_of_scipy():
    n = DOP853.n_stages
    assert (n + 1, n + 4) == (STAGES, ALL_STAGES)
    expected = np.zeros((ALL_STAGES, ALL_STAGES))
    expected[:n, :n], expected[n, :n], expected[STAGES:] = DOP853.A, DOP853.B, DOP853.A_EXTRA
    np.testing.assert_allclose(A, expected, rtol=1e-15)
    np.testing.assert_allclose(C, [*DOP853.C, 1.0, *DOP853.C_EXTRA], rtol=1e-15)
    np.testing.assert_allclose(DENSE, DOP853.D, rtol=1e-15)
    np.testing.assert_allclose([ERROR_3, ERROR_5], [DOP853.E3, DOP853.E5], rtol=1e-15)
    stages, found = np.random.default_rng(7).standard_normal((ALL_STAGES, 5)), np.empty(5)
    for weights, count in ((A[3], 3), (A[12], 12), (A[15], 15), (DENSE[1], ALL_STAGES)):
        dop853.weigh_stages(-0.3, weights, count, stages, found)
        np.testing.assert_allclose(found, -0.3 * weights[:count] @ stages[:count], rtol=1e-12)


@pytest.mark.parametrize("grows", [0.3, 3.0])
def test_the_error_of_an_explicit_step_is_that_of_hairer_norsett_and_wanner(grows):
    """Section II.10, eq. 10.17: root mean squares of both estimates, with SciPy's coefficients."""
    step, nv, h = Step(), 7, -0.02
    step.work[controlled.NEW, :nv] = (grows - 1.0) * np.arange(1.0, nv + 1.0)
    step.work[controlled.NEW, nv : 2 * nv] = -grows * step.v
    stages = step.work[:STAGES, : 2 * nv].copy()
    units = step.allowed(step.work[controlled.NEW, :nv], step.work[controlled.NEW, nv : 2 * nv])
    size = [np.sqrt(np.mean((row[:STAGES] @ stages / units) ** 2)) for row in (DOP853.E5, DOP853.E3)]
    expected = abs(h) * size[0] ** 2 / np.hypot(size[0], 0.1 * size[1])
    found = controlled.error_of(step.handle, h, step.control, step.scale, step.work)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("account", [0, 1])
def test_the_error_of_an_account_counts_where_it_is_larger(account):
    step, nv, h = Step(1), 7, 0.05
    estimate = h * DOP853.E5[:STAGES] @ step.work[:STAGES, 2 * nv + account]
    of_motion = controlled.error_of(step.handle, h, step.control, step.scale, step.work)
    step.work[:, 2 * nv + 1 - account] = 0.0
    for error in (0.5 * of_motion, 3.0 * of_motion):
        step.control[places.OF_ENERGIES] = abs(estimate) / error
        found = controlled.error_of(step.handle, h, step.control, step.scale, step.work)
        assert found == pytest.approx(max(error, of_motion), rel=1e-12)


@pytest.mark.parametrize("grows", [0.3, 3.0])
def test_the_error_of_an_implicit_step_is_the_difference_of_two_columns(grows):
    step, nv = Step(2), 7
    better = np.concatenate([(grows - 1.0) * np.arange(1.0, nv + 1.0), -grows * step.v])
    off = np.random.default_rng(3).standard_normal(2 * nv)
    work = np.zeros((extrapolated.WORK_ROWS, 2 * nv + 2))
    work[0, : 2 * nv], work[1, : 2 * nv] = better, better + off
    expected = np.sqrt(np.mean((off / step.allowed(better[:nv], better[nv:])) ** 2))
    found = extrapolated.difference(step.handle, step.control, step.scale, work)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_column_takes_as_many_small_steps_as_all_up_to_it():
    assert [extrapolated.evaluations(j) for j in range(5)] == [1, 1 + 2, 1 + 2 + 3, 1 + 2 + 3 + 4, 15]


@pytest.mark.parametrize("part", [slice(0, 7), slice(7, 14), slice(0, 14)])
@pytest.mark.parametrize("times", [0.98, 1.02])
def test_stability_bounds_a_step_by_the_quickest_rate_that_it_sees(part, times):
    """Two states of a step at one time, whose slopes differ by a rate times what they differ by."""
    step, rate = Step(4), 37.0
    differ = np.zeros(14)
    differ[part] = np.random.default_rng(5).standard_normal(14)[part]
    step.work[controlled.STATE], step.work[controlled.NEW] = 5.0, 5.0
    step.work[controlled.NEW, :14] += differ
    step.work[STAGES - 1, :14] = step.work[STAGES - 2, :14] - rate * differ
    h = times * controlled.STABLE / rate
    assert controlled.is_bound_by_stability(step.handle, h, step.work) == (times > 1.0)
    step.work[controlled.NEW] = step.work[controlled.STATE]
    assert not controlled.is_bound_by_stability(step.handle, h, step.work)


def test_a_first_step_changes_the_state_by_a_hundredth_of_its_size():
    step, nv = Step(6), 7
    units = step.allowed(np.zeros(nv), step.v)
    units[nv:] /= step.control[places.OF_SPEEDS]
    places_in_q = [c.q_index for c in step.robot.coordinates]
    state = np.concatenate([[1.0 if k < 0 else step.q[k] for k in places_in_q], step.v]) / units
    expected = 0.01 * np.linalg.norm(state) / np.linalg.norm(step.work[0, : 2 * nv] / units)
    found = controlled.first_step(step.handle, 1e9, step.control, step.scale, step.work)
    assert found == pytest.approx(expected, rel=1e-12)
    assert (
        controlled.first_step(step.handle, 0.1 * expected, step.control, step.scale, step.work)
        == 0.1 * expected
    )
    step.work[0] = 0.0
    assert controlled.first_step(step.handle, 1.0, step.control, step.scale, step.work) == 1e-6


def explicit_step(h):
    """The first step of a tumbling body that is accepted, tried with h: its length, and how many were not."""
    robot, nv = tumbler(), 7
    v = np.random.default_rng(8).uniform(1.0, 2.0, nv)
    stepper = Stepper(robot, 1e-3, "rk4", v0=v)
    control = np.zeros(places.CONTROL)
    control[[places.RTOL, places.STEP, places.LARGEST, places.OF_SPEEDS, places.OF_ENERGIES]] = (
        1e-9, h, np.inf, 1.0, 1e9
    )  # fmt: skip
    sizes = (robot.nq, nv, robot.nu, 3, robot.nq, nv)
    rows = [np.zeros((0, n)) for n in sizes]
    work, scale = np.zeros((controlled.WORK_ROWS, 2 * nv + 2)), np.full(2 * nv, 1e-9)
    status = controlled.run_to(stepper._steps, 0.0, 1e9, 1, control, scale, work, np.zeros(0), *rows)
    assert (status, control[places.ACCEPTED]) == (places.STEPPED, 1.0)
    # of the start, of twelve stages a try, of three more for the interpolation
    assert control[places.EVALUATIONS] == 1.0 + 12.0 * (1.0 + control[places.REJECTED]) + 3.0
    return control[places.TIME], control[places.REJECTED]


def test_a_step_that_fails_is_tried_again_just_below_the_longest_that_meets_the_tolerances():
    """Errors go by the eighth power of the step; at most a tenth is left of one at a time."""
    short, longest = 0.01, 10.0
    while longest > 1.01 * short:
        h = np.sqrt(short * longest)
        short, longest = (short, h) if explicit_step(h)[1] else (h, longest)
    for times, rejected in ((0.9, 0), (1.1, 1), (2.0, 1), (4.0, 1), (20.0, 2)):
        accepted, found = explicit_step(times * longest)
        assert found == rejected
        assert 0.85 * longest < accepted < longest


def with_oil(method, h):
    """A load that moves on its cylinder, whose valve opens now, and the tolerances of its states."""
    robot = flexdyn_ros.load(hanging())
    stepper = Stepper(robot, h, method, v0=[0.1])
    oil = FusedHydraulics(stepper, "valve")
    supply = oil.sharpen(1e-7)
    oil.command([0.3])
    return stepper, np.concatenate([[1e-6, 1e-6], oil.scale(1e-6 * supply)])


def doubled_step(h):
    """The first step with oil that is accepted, tried with h: its numbers, and the stepper behind it."""
    stepper, scale = with_oil("staggered", h)
    control = np.zeros(places.CONTROL)
    control[[places.RTOL, places.STEP, places.LARGEST, places.OF_ENERGIES]] = 1e-6, h, np.inf, 1e9
    sizes = (stepper.q.size, stepper.v.size, stepper.effort.size, 3, stepper.q.size, stepper.v.size)
    work = np.zeros((doubled.WORK_ROWS, sum(sizes[:3]) + 2 + stepper.actuators.size))
    rows = [np.zeros((0, n)) for n in sizes]
    status = doubled.run_to(
        stepper._steps, stepper.actuators, 0.0, 1.0, 1, control, scale, work, np.zeros(0), *rows
    )
    assert (status, control[places.ACCEPTED]) == (places.STEPPED, 1.0)
    return control, stepper


@pytest.mark.parametrize(("h", "rejected"), [(1e-4, 0.0), (2.5e-4, 0.0), (1e-3, 1.0)])
def test_a_step_proposes_the_longest_next_one_that_just_meets_the_tolerances(h, rejected):
    """Errors go by the third power of the step: a step a sixth longer would not meet them."""
    control, _ = doubled_step(h)
    assert control[places.REJECTED] == rejected
    assert (control[places.TIME] < h) == (rejected > 0.0)
    proposed = control[places.STEP]
    assert abs(np.log(proposed / control[places.TIME])) > 0.01
    assert doubled_step(proposed)[0][places.REJECTED] == 0.0
    assert doubled_step(7.0 / 6.0 * proposed)[0][places.REJECTED] == 1.0


def test_a_step_that_is_far_more_exact_than_it_must_be_is_followed_by_a_few_times_as_long_a_one():
    control, stepper = doubled_step(1e-5)
    assert control[places.STEP] == pytest.approx(doubled.GROWTH * 1e-5, rel=1e-12)
    halves, _ = with_oil("staggered", 5e-6)
    halves.advance(2)
    for one, other in ((stepper.q, halves.q), (stepper.v, halves.v), (stepper.actuators, halves.actuators)):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert stepper.work == pytest.approx(halves.work, rel=1e-9)
