"""Derivatives of all families equal the complex step of the interpreted kernels."""

import numpy as np
import pytest
from random_robots import FAMILIES, random_robot
from robot.complex_step import slopes

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, FlexdynWarning, SingularityError, UnknownNameError

SHIPPED = [
    "seven_joint_arm",
    "canadarm2",
    "flexible_two_link",
    "mobile_arm",
    "soft_arm_3",
    "stewart_1t",
]


def of_family(family, seed):
    """A random robot; of platforms the first that is none with singular joints, which are refused."""
    for drawn in range(seed, seed + 10_000, 1_000):
        try:
            return flexdyn_ros.load(random_robot(family, drawn))
        except DescriptionError as error:
            if "universal joint is singular" not in str(error):
                raise
    raise AssertionError("ten platforms with singular joints")


def motion(robot, seed):
    """q, v, a, tau, wrenches."""
    rng = np.random.default_rng(seed)
    q, v, a, tau = robot.random(rng), *(rng.standard_normal(n) for n in (robot.nv, robot.nv, robot.nu))
    frames = robot.frame_names[-2:]
    if robot.functions.effort_names == robot.functions.v_names:
        tau[robot.functions.prescribed] = 0.0
    return q, 0.3 * v, a, tau, {name: rng.standard_normal(6) for name in frames}


def close(found, expected, bound=1e-10):
    largest = np.abs(expected).max(initial=1e-300)
    assert np.abs(found - expected).max(initial=0.0) <= bound * largest


def check(robot, seed):
    q, v, a, tau, wrenches = motion(robot, seed)
    for loads in (None, wrenches):
        needed = robot.inverse_dynamics(q, v, a, loads)
        dq, dv = slopes(robot, q, v, a, loads, needed)
        found = robot.inverse_dynamics_derivatives(q, v, a, loads)
        B = robot.actuation_matrix(q)
        close(B @ found[0], dq)
        close(B @ found[1], dv)
        close(B @ found[2], robot.mass_matrix(q))
        # M a + h - B tau - J^T w stays zero along the derivatives of the acceleration
        free, M = ~robot.functions.prescribed, robot.mass_matrix(q)
        moved = robot.forward_dynamics(q, v, tau, loads)
        dq, dv = slopes(robot, q, v, moved, loads, tau)
        by = robot.forward_dynamics_derivatives(q, v, tau, loads)
        for slope, change in ((dq, by.dq), (dv, by.dv), (-B, by.dtau)):
            rest = (M @ change + slope)[free]
            size = np.abs(M)[free] @ np.abs(change) + np.abs(slope)[free]
            assert np.abs(rest).max(initial=0.0) <= 1e-10 * size.max(initial=0.0)
            assert not change[~free].any()


@pytest.mark.parametrize("name", SHIPPED)
def test_derivatives_of_shipped_robots_equal_the_complex_step(name):
    check(flexdyn_ros.load(name), 5)


@pytest.mark.parametrize("family", FAMILIES)
def test_derivatives_of_random_robots_equal_the_complex_step(family):
    for seed in range(3):
        check(of_family(family, seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_derivatives_of_two_hundred_random_robots_equal_the_complex_step(family):
    for seed in range(3, 203):
        check(of_family(family, seed), seed)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_fast_way_and_batches_linearize_alike(name):
    robot = flexdyn_ros.load(name)
    q, v, _, tau, _ = motion(robot, 2)
    single = robot.linearize(q, v, tau)
    batch = robot.linearize(np.stack([q] * 3), np.stack([v] * 3), tau)
    lists = robot.linearize(q.tolist(), v.tolist(), tau.tolist())
    for found in (batch.A[1], lists.A):
        close(found, single.A, 1e-13)
    close(batch.B[2], single.B, 1e-13)


def test_a_singular_mass_matrix_raises_for_one_state_and_warns_for_rows():
    robot = flexdyn_ros.load(
        "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='continuous'>"
        "<parent link='a'/><child link='b'/></joint></robot>"
    )
    with pytest.raises(SingularityError):
        robot.linearize(np.zeros(1), np.zeros(1))
    with pytest.warns(FlexdynWarning, match="singular in 2 of 2"):
        found = robot.linearize(np.zeros((2, 1)), np.zeros((2, 1)))
    assert np.isnan(found.A[:, 1:]).all()
    assert np.array_equal(found.A[:, 0], [[0.0, 1.0]] * 2)


LOCKED = {
    "two_link": ("elbow",),
    "flexible_two_link": "joints",
    "canadarm2": ("elbow_pitch", "boom_1/torsion/1"),
}


@pytest.mark.parametrize("name", LOCKED)
def test_linearize_with_locked_coordinates_is_the_slope_of_accelerations_without_theirs(name):
    robot, lock = flexdyn_ros.load(name), LOCKED[name]
    rng = np.random.default_rng(4)
    q, v, tau = 0.01 * rng.standard_normal((3, 2, robot.nv))
    held = [c.name for c in robot.coordinates if (c.kind == "joint" if lock == "joints" else c.name in lock)]
    kept = [i for i, known in enumerate(robot.v_names) if known not in held]
    m, step = len(kept), 1e-6
    A, B = robot.linearize(q, v, tau, lock=lock)
    assert A.shape == (2, 2 * m, 2 * m)
    assert B.shape == (2, 2 * m, robot.nu)

    def accelerations(dq, dv, dtau):
        still = dict.fromkeys(held, 0.0)
        moved = robot.integrate(q, dq, 1.0), v + dv, tau + dtau
        return robot.forward_dynamics(*moved, prescribed=still)[:, kept]

    none = np.zeros(robot.nv)
    for k, at in enumerate(kept):
        one = np.where(np.arange(robot.nv) == at, step, 0.0)
        for column, dx in ((k, (one, none, none)), (m + k, (none, one, none))):
            slope = (accelerations(*dx) - accelerations(*(-x for x in dx))) / (2 * step)
            assert np.abs(A[:, m:, column] - slope).max() < 1e-6 * np.abs(A).max()
        # linear in efforts: a large step keeps rounding of large accelerations small
        slope = accelerations(none, none, 1e9 * one) - accelerations(none, none, -1e9 * one)
        slope /= 2e9 * step
        assert np.abs(B[:, m:, at] - slope).max() < 1e-6 * np.abs(B).max()
    assert A[:, :m] == pytest.approx(np.broadcast_to(np.eye(m, 2 * m, m), (2, m, 2 * m)))
    assert pytest.approx(A[0]) == robot.linearize(q[0], v[0], tau[0], lock=lock).A
    with pytest.raises(UnknownNameError, match="lock"):
        robot.linearize(q, v, lock="nobody")
