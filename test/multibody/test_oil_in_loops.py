"""Closed mechanisms on cylinders with oil: an excavator whose bucket is on a bell crank."""

import machines
import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.simulation import FusedHydraulics, Stepper

VALVES = {"arm_cylinder/valve": 0.3, "bucket_cylinder/valve": -0.2}


@pytest.fixture(scope="module")
def robot():
    return machines.excavator(oil=True)


def test_shut_valves_hold_the_machine_where_it_is(robot):
    run = flexdyn_ros.simulate(robot, 2.0, dt=1e-3)
    assert run.method == "rosenbrock"
    assert np.abs(run.q - run.q[0]).max() < 1e-9
    # the forces of the cylinders are those that hold it
    still = np.zeros(robot.nv)
    expected = robot.inverse_dynamics(robot.neutral(), still, still)[robot.nv :]
    np.testing.assert_allclose(run.tau[-1, robot.nv :], expected, rtol=1e-6)


@pytest.mark.parametrize("options", [{"dt": 1e-3}, {"dt": 1e-3, "method": "staggered"}, {"rtol": 1e-5}])
@pytest.mark.filterwarnings("default::flexdyn_ros.errors.FlexdynWarning")
def test_valves_move_it_with_closed_loops(robot, options):
    run = flexdyn_ros.simulate(
        robot, 0.5, control=VALVES, sample=0.01 if "rtol" in options else None, **options
    )
    assert abs(run["arm_joint"][-1] - run["arm_joint"][0]) > 0.1
    assert np.abs(robot.loop_residual(run.q)).max() <= 1e-10
    assert np.abs(np.einsum("nij,nj->ni", robot.loop_jacobian(run.q), run.v)).max() <= 1e-9
    exact = reference(robot)
    np.testing.assert_allclose(run.q[-1], exact, atol=5e-4)


_kept = {}


def reference(robot):
    """The end of the run by steps of 0.1 ms."""
    if "q" not in _kept:
        _kept["q"] = flexdyn_ros.simulate(robot, 0.5, control=VALVES, dt=1e-4, record=()).q[-1]
    return _kept["q"]


def test_implicit_steps_with_oil_are_of_order_two(robot):
    steps = (2e-3, 1e-3, 5e-4, 6.25e-5)
    ends = [flexdyn_ros.simulate(robot, 0.24, control=VALVES, dt=dt, record=()).q[-1] for dt in steps]
    first, second, third = (np.abs(end - ends[-1]).max() for end in ends[:-1])
    assert first / second > 2.5
    assert second / third > 2.5


def test_it_swings_on_shut_valves_as_its_modes_say(robot):
    """The lowest mode with the slew locked, by the zeros of its motion in a run from a small push."""
    q = robot.neutral()
    modes = robot.modes(q, lock="slew")
    shape = modes.shape[:, 0] / np.abs(modes.shape[:, 0]).max()
    stepper = Stepper(robot, 1e-4, "rosenbrock")
    FusedHydraulics(stepper, "valve")
    stepper.set_states(None)
    states = stepper.states
    stepper.set_state(q, 1e-3 * shape)
    stepper.set_states(states)
    M = robot.mass_matrix(q)
    seen = []
    for _ in range(6000):
        assert stepper.advance() == 0
        seen.append(shape @ M @ stepper.v)
    seen = np.array(seen)
    at = np.flatnonzero(np.diff(np.sign(seen)) != 0)
    zeros = at + seen[at] / (seen[at] - seen[at + 1])
    period = 2.0 * np.diff(zeros).mean() * 1e-4
    assert zeros.size >= 3
    assert 1.0 / period == pytest.approx(modes.frequency[0], rel=0.02)


def test_a_stepper_with_oil_keeps_its_loops_closed_after_every_step(robot):
    stepper = Stepper(robot, 1e-3)
    FusedHydraulics(stepper, "valve").command(np.array([0.2, 0.3, -0.5]), "valve")
    for _ in range(50):
        assert stepper.advance() == 0
        assert np.abs(robot.loop_residual(stepper.q.copy())).max() <= 1e-10
        assert np.abs(robot.loop_jacobian(stepper.q.copy()) @ stepper.v).max() <= 1e-9
