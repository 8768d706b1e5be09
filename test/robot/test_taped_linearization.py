"""Batches that are linearized by a tape have the matrices that tangents give, state by state."""

import numpy as np
import pytest
from models import HUMANOID, QUADRUPED, elastic, real_robot
from random_robots import FAMILIES
from robot.complex_step import slopes
from robot.test_derivatives import of_family

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, StateError
from flexdyn_ros.robot.entries import taped
from flexdyn_ros.robot.threads import set_batch_threads

SHIPPED = [
    "canadarm2", "flexible_two_link", "kane_beam", "mobile_arm", "seven_joint_arm", "soft_arm", "soft_arm_3",
    "stewart_1t", "stewart_electric", "hexapod_arm", "two_link",
]  # fmt: skip


@pytest.fixture
def at_once(monkeypatch):
    """Tapes are written for the first batch."""
    monkeypatch.setattr(taped, "STATES", 0)


def states(robot, n, seed=1):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(n)])
    return q, 0.3 * rng.standard_normal((n, robot.nv)), rng.standard_normal((n, robot.nu))


def one_by_one(robot, q, v, tau):
    found = [robot.linearize(*state) for state in zip(q, v, tau, strict=True)]
    return np.array([x.A for x in found]), np.array([x.B for x in found])


def check(robot, n=17, bound=1e-10):
    """The tape is used, and its matrices equal those of single states to `bound` of their largest entry."""
    q, v, tau = states(robot, n)
    A, B = robot.linearize(q, v, tau)
    assert robot.functions.general.functions.taped.tape is not None
    for found, expected in zip((A, B), one_by_one(robot, q, v, tau), strict=True):
        largest = np.abs(expected).max(axis=(1, 2))
        error = np.abs(found - expected).max(axis=(1, 2))
        assert (error <= bound * largest).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_robots(at_once, name):
    check(flexdyn_ros.load(name))


@pytest.mark.parametrize("family", FAMILIES)
def test_random_robots(at_once, family):
    for seed in range(3):
        check(of_family(family, seed), 17)


@pytest.mark.parametrize("name", [QUADRUPED, HUMANOID])
def test_free_bodies(at_once, name):
    check(real_robot(name, floating=True), 9)


@pytest.mark.parametrize("name", ["seven_joint_arm", "flexible_two_link"])
def test_elastic_joints(at_once, name):
    check(elastic(name))


@pytest.mark.parametrize("name", ["flexible_two_link", "soft_arm", "stewart_electric"])
def test_the_balance_stays_zero_along_them_by_complex_steps(at_once, name):
    robot = flexdyn_ros.load(name)
    q, v, tau = states(robot, 8)
    A, _ = robot.linearize(q, v, tau)
    for i in range(8):
        a = robot.forward_dynamics(q[i], v[i], tau[i])
        M, by = robot.mass_matrix(q[i]), np.hstack(slopes(robot, q[i], v[i], a, None, tau[i]))
        rest = M @ A[i, robot.nv :] + by
        assert np.abs(rest).max() <= 1e-10 * (np.abs(M) @ np.abs(A[i, robot.nv :]) + np.abs(by)).max()


def test_quaternions_that_are_unit_to_their_tolerance_only(at_once):
    robot = real_robot(QUADRUPED, floating=True)
    q, v, tau = states(robot, 8)
    q[:, 3:7] *= 1.0 + 1e-8
    A, _ = robot.linearize(q, v, tau)
    assert np.abs(A - one_by_one(robot, q, v, tau)[0]).max() <= 1e-6 * np.abs(A).max()


def test_results_do_not_depend_on_neighbours_or_threads(at_once):
    robot = flexdyn_ros.load("flexible_two_link")
    q, v, tau = states(robot, 1024)
    try:
        set_batch_threads(1)
        alone = robot.linearize(q, v, tau)
        set_batch_threads(3)
        together = robot.linearize(q, v, tau)
    finally:
        set_batch_threads(None)
    some = robot.linearize(q[5:50], v[5:50], tau[5:50])
    for x, y, z in zip(alone, together, some, strict=True):
        assert np.array_equal(x, y)
        assert np.array_equal(x[5:50], z)


def test_wrong_rows_are_told_by_tangents():
    robot = flexdyn_ros.load("two_link", options={"base.type": "floating"})
    q, v, tau = states(robot, 12)
    q[11, 3:7] *= 1.1
    with pytest.raises(StateError, match="a quaternion in q of sample 11 "):
        robot.linearize(q, v, tau)


def test_wrong_rows_are_told_as_without_a_tape(at_once):
    robot = flexdyn_ros.load("two_link")
    q, v, tau = states(robot, 70)
    v[40, 1] = np.nan
    with pytest.raises(StateError, match=r"v\[1\] of sample 40 is nan"):
        robot.linearize(q, v, tau)


POINT = """<robot name="point"><link name="base"/><link name="arm"/><link name="tip"><inertial>
  <mass value="2"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="tip"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""


def test_states_with_a_singular_mass_matrix_are_nan_and_the_others_are_answered(at_once):
    robot = flexdyn_ros.load(POINT)
    q, v, tau = states(robot, 40)
    q[[3, 17], 1] = 0.0  # nothing turns
    with pytest.warns(FlexdynWarning, match="singular in 2 of 40"):
        A, B = robot.linearize(q, v, tau)
    bad = np.isnan(A[:, robot.nv :]).any(axis=(1, 2))
    assert list(np.flatnonzero(bad)) == [3, 17]
    expected = one_by_one(robot, *(np.delete(x, [3, 17], axis=0) for x in (q, v, tau)))
    assert np.abs(A[~bad] - expected[0]).max() <= 1e-12 * np.abs(expected[0]).max()
    assert np.abs(B[~bad] - expected[1]).max() <= 1e-12 * np.abs(expected[1]).max()


def test_straight_sections(at_once):
    """What is selected there is a series."""
    robot = flexdyn_ros.load("soft_arm_3")
    q, v, tau = states(robot, 12)
    q[4] = robot.neutral()
    q[9, 3:6] = 0.0
    A, B = robot.linearize(q, v, tau)
    expected = one_by_one(robot, q, v, tau)
    assert np.abs(A - expected[0]).max() <= 1e-10 * np.abs(expected[0]).max()
    assert np.abs(B - expected[1]).max() <= 1e-10 * np.abs(expected[1]).max()


def test_a_tape_is_written_after_so_many_states(monkeypatch):
    monkeypatch.setattr(taped, "STATES", 50)
    robot = flexdyn_ros.load("two_link")
    own = robot.functions.general.functions.taped
    robot.linearize(*states(robot, 40))
    assert "tape" not in vars(own)
    robot.linearize(*states(robot, 10))
    assert vars(own)["tape"] is not None


def test_equations_that_are_too_many_are_linearized_by_tangents(at_once, monkeypatch):
    monkeypatch.setattr(taped, "MOST_PRODUCTS", 10)
    robot = flexdyn_ros.load("seven_joint_arm")
    q, v, tau = states(robot, 10)
    A, B = robot.linearize(q, v, tau)
    assert robot.functions.general.functions.taped.tape is None
    for found, expected in zip((A, B), one_by_one(robot, q, v, tau), strict=True):
        assert np.array_equal(found, expected)


def test_wrenches_are_linearized_by_tangents(at_once):
    robot = flexdyn_ros.load("flexible_two_link")
    q, v, tau = states(robot, 10)
    frame = robot.frame_names[-1]
    loads = np.random.default_rng(3).standard_normal((10, 6))
    A, _ = robot.linearize(q, v, tau, {frame: loads})
    single = robot.linearize(q[7], v[7], tau[7], {frame: loads[7]})
    assert np.abs(A[7] - single.A).max() <= 1e-12 * np.abs(single.A).max()


def test_kernels_that_cannot_be_traced_are_linearized_by_tangents(at_once, monkeypatch):
    """Those of other packages may do anything."""

    def refuse(*arguments):
        raise TypeError("unsupported operand")

    monkeypatch.setattr(taped.Equations, "tape", refuse)
    robot = flexdyn_ros.load("two_link")
    q, v, tau = states(robot, 10)
    A, _ = robot.linearize(q, v, tau)
    assert np.array_equal(A, one_by_one(robot, q, v, tau)[0])


def test_single_states_do_not_count_as_batches(monkeypatch):
    monkeypatch.setattr(taped, "STATES", 20)
    robot = flexdyn_ros.load("two_link")
    q, v, tau = states(robot, 1)
    for _ in range(30):
        robot.linearize(q, v, tau)
    robot.linearize(*states(robot, 10))
    assert "tape" not in vars(robot.functions.general.functions.taped)
