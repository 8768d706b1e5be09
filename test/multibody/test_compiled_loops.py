"""Compiled functions of robots with loops: they answer as the general methods, or leave it to these."""

from types import SimpleNamespace

import machines
import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, StateError
from flexdyn_ros.families.trees.loops.kernels import independent

ROBOTS = {
    "four_bar": machines.four_bar,
    "four_bars": lambda: machines.four_bars(3),
    "bricard": machines.bricard,
    "squeezer": machines.squeezer,
    "floating": lambda: flexdyn_ros.load(machines.FLOATING),
    "beam": lambda: flexdyn_ros.load(machines.BEAM),
}


def closed_states(robot, count, seed=0):
    """States on the loops near the neutral pose."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        size = np.array([1e-3 if c.kind not in ("joint", "base") else 0.1 for c in robot.coordinates])
        q = robot.integrate(robot.neutral(), size * rng.standard_normal(robot.nv), 1.0)
        found.append(robot.project(robot.assemble(q), rng.standard_normal(robot.nv)))
    q, v = (np.array(parts) for parts in zip(*found, strict=True))
    return q, v, rng.standard_normal((count, robot.nu))


def parts_of(robot):
    layer = robot.functions.layers[-1]
    return layer._fast, layer._forces, layer.closing


@pytest.mark.parametrize("name", ROBOTS)
def test_the_compiled_answer_is_the_general_one(name):
    robot = ROBOTS[name]()
    fast, general, _ = parts_of(robot)
    q, v, tau = closed_states(robot, 6)
    call, address = fast._compiled.single()
    for one in zip(q, v, tau, strict=True):
        expected, a = general.forward_dynamics(*one), np.empty(robot.nv)
        assert call(address, *one, a) == 0
        np.testing.assert_allclose(a, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_array_equal(robot.forward_dynamics(*one), a)


def test_a_batch_is_compiled_and_equals_its_calls():
    robot = machines.four_bars(2)
    fast, _, _ = parts_of(robot)
    q, v, tau = closed_states(robot, 17)
    a = np.empty((17, robot.nv))
    assert fast._compiled.rows(q, v, tau, a)
    np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau), a)
    np.testing.assert_array_equal(a, [robot.forward_dynamics(*one) for one in zip(q, v, tau, strict=True)])


def test_rows_off_the_loops_are_left_to_the_general_method():
    robot = machines.four_bar()
    q, v, tau = closed_states(robot, 3)
    expected = robot.forward_dynamics(q, v, tau)
    q[1, 0] += 1e-3
    with pytest.raises(StateError, match="loop 'close' is open by"):
        robot.forward_dynamics(q[1], v[1], tau[1])
    with pytest.warns(FlexdynWarning, match="1 of 3 states are off the loops"):
        a = robot.forward_dynamics(q, v, tau)
    assert np.isnan(a[1]).all()
    np.testing.assert_allclose(a[[0, 2]], expected[[0, 2]], rtol=1e-11)


def test_velocities_that_open_a_loop_are_left_to_the_general_method():
    robot = machines.four_bar()
    q, v, tau = closed_states(robot, 1)
    with pytest.raises(StateError, match="opens at"):
        robot.forward_dynamics(q[0], v[0] + [1e-3, 0.0, 0.0], tau[0])


@pytest.mark.parametrize("name", ROBOTS)
def test_the_compiled_projection_is_the_general_one(name):
    robot = ROBOTS[name]()
    fast, _, closing = parts_of(robot)
    q, v, _ = closed_states(robot, 4, seed=1)
    rng = np.random.default_rng(2)
    for place, speed in zip(q, v, strict=True):
        place = robot.integrate(place, 1e-5 * rng.standard_normal(robot.nv), 1.0)
        speed = speed + 1e-3 * rng.standard_normal(robot.nv)
        expected = closing.project(place, speed)
        found = place.copy(), speed.copy()
        assert fast._compiled.project(*found)
        np.testing.assert_allclose(found[0], expected[0], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=0.0, atol=1e-10)
        assert np.abs(robot.loop_residual(found[0])).max() < 1e-12
        assert np.abs(robot.loop_jacobian(found[0]) @ found[1]).max() < 1e-10


def test_states_far_from_the_loops_are_projected_by_the_general_method():
    robot = machines.four_bar()
    fast, _, closing = parts_of(robot)
    q, v = machines.Q + [0.05, -0.02, 0.03], np.ones(3)
    found = q.copy(), v.copy()
    assert not fast._compiled.project(*found)
    np.testing.assert_array_equal(found, (q, v))
    np.testing.assert_array_equal(robot.project(q, v), closing.project(q, v))


def test_singular_poses_are_left_to_the_general_method():
    """A parallelogram in line: the rank drops by one."""
    robot = machines.four_bars(1)
    fast, _, _ = parts_of(robot)
    flat = robot.assemble(np.array([-0.5 * np.pi, -0.5 * np.pi, 0.5 * np.pi]))
    np.testing.assert_allclose(np.abs(flat), 0.5 * np.pi, atol=1e-6)
    call, address = fast._compiled.single()
    a, still = np.empty(3), np.zeros(3)
    assert call(address, flat, still, still, a) != 0
    with pytest.warns(FlexdynWarning, match="singular pose"):
        robot.forward_dynamics(flat, still)


@pytest.mark.parametrize(("tilt", "as_they_come"), [(0.0, 3), (1.0, 4), (5e-4, -1)])
def test_rows_are_counted_as_they_come_or_by_pivots(tilt, as_they_come):
    """Five rows: the last is a sum of others, and the fourth but for a part `tilt` of its own."""
    rng = np.random.default_rng(2)
    J = rng.standard_normal((5, 6))
    J[3], J[4] = J[0] - J[2] + tilt * J[3], J[0] + J[1]
    G = np.zeros((5, 8))
    G[:, :5] = J @ J.T
    F, left, order = np.zeros((5, 8)), np.zeros(8), np.zeros(8)
    assert independent.rows_as_they_come(G.copy(), F, left, order) == as_they_come
    by_pivots = independent.rows_by_pivots(G.copy(), np.zeros((5, 8)), np.zeros(8))
    assert by_pivots == (3 if tilt == 0.0 else 4)
    if as_they_come > 0:
        c = np.zeros(8)
        c[:5] = G[:5, :5] @ rng.standard_normal(5)
        x = c.copy()
        independent.solve_rows(F, as_they_come, order, x, left)
        np.testing.assert_allclose(G[:, :5] @ x[:5], c[:5], rtol=0.0, atol=1e-12)
        assert not x[4]


@pytest.mark.parametrize("number", [0.0, np.nan])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_no_row_is_independent_of_rows_that_are_zero_or_no_numbers(count, number):
    """Of nothing but these, what the memory holds behind the rows is no row either."""
    W = np.zeros((6, 8))
    W[:, :count] = number
    data = SimpleNamespace(
        G=np.full((count, 8), 7.0),
        F=np.full((count, 8), 7.0),
        left=np.full(count, 7.0),
        order=np.full(count, 7.0),
    )
    assert independent.independent_rows(data, W, np.eye(6)) == 0
    G = np.full((count, 8), number)
    assert independent.rows_by_pivots(G, data.F, data.order) == 0
    assert sorted(data.order) == list(range(count))


@pytest.mark.parametrize(("tilt", "rank"), [(0.0, 3), (1.0, 4), (5e-4, 4)])
def test_multipliers_of_rows_that_depend_give_the_share_of_what_they_can(tilt, rank):
    """Rows W with a metric D: W' D^-1 W lam = c for any c that they reach, clear or not which rows depend."""
    rng = np.random.default_rng(2)
    J, D = rng.standard_normal((5, 6)), np.diag([1.0, 2.0, 0.5, 4.0, 0.25, 3.0])
    J[3], J[4] = J[0] - J[2] + tilt * J[3], J[0] + J[1]
    W = np.zeros((6, 8))
    W[:, :5] = J.T
    data = SimpleNamespace(G=np.zeros((5, 8)), F=np.zeros((5, 8)), left=np.zeros(8), order=np.zeros(8))
    assert independent.independent_rows(data, W, D) == rank
    G = J @ np.linalg.inv(D) @ J.T
    c = np.zeros(8)
    c[:5] = G @ rng.standard_normal(5)
    lam = c.copy()
    independent.solve_rows(data.F, rank, data.order, lam, data.left)
    np.testing.assert_allclose(G @ lam[:5], c[:5], rtol=0.0, atol=1e-10)
    assert np.count_nonzero(lam) == rank


def test_factors_are_solved_forwards_and_backwards():
    rng = np.random.default_rng(4)
    L, c = np.tril(rng.standard_normal((4, 4))) + 3.0 * np.eye(4), rng.standard_normal(4)
    for solve, factor in ((independent.forwards, L), (independent.backwards, L.T)):
        x = c.copy()
        solve(L, 4, x)
        np.testing.assert_allclose(factor @ x, c, rtol=0.0, atol=1e-14)
