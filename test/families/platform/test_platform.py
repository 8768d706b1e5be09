"""Verbs of a platform on six legs: worked numbers of the parallel specification, section 9, and what must
hold."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.errors import (
    ConvergenceError,
    DimensionError,
    SingularityError,
    StateError,
    UnknownNameError,
)

WORKED_Q = np.array([0.06, -0.04, 1.17, *np.array([0.05, -0.07, 0.09, 0.99]) / np.sqrt(0.9956)])
WORKED_V = np.array([0.2, -0.1, 0.25, 0.3, -0.2, 0.15])
WORKED_A = np.array([-0.6, 0.9, 0.4, 1.0, -0.5, 0.8])
WORKED_TAU = {
    "universal": [2297.07428, 1459.89302, 2624.91517, 2593.33272, 3437.59174, 2589.42760],
    "none": [2297.07402, 1459.90238, 2624.90518, 2593.32675, 3437.59276, 2589.41425],
}


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("stewart_1t")


def worked_wrench():
    """The wrench of the example about the platform's origin."""
    force, arm = np.array([200.0, -150.0, -300.0]), np.array([0.1, 0.05, 0.4])
    return np.concatenate([np.array([30.0, -20.0, 10.0]) + np.cross(arm, force), force])


def test_worked_pose_of_the_specification(robot):
    load = {"platform": worked_wrench()}
    legs = robot.inverse_kinematics(WORKED_Q, WORKED_V, WORKED_A)
    np.testing.assert_allclose(
        legs.length, [1.34369275, 1.59008694, 1.47318167, 1.44339518, 1.19122333, 1.52813261], atol=6e-9
    )
    np.testing.assert_allclose(
        legs.rate,
        [-0.0520882816, 0.205251281, 0.366462881, 0.29984373, -0.189138184, 0.326043912],
        rtol=3e-9,
    )
    np.testing.assert_allclose(
        legs.acceleration,
        [0.334324072, -0.438985804, 0.513515007, 1.85163369, 1.22489733, 1.4768309],
        rtol=3e-9,
    )
    tau = robot.inverse_dynamics(WORKED_Q, WORKED_V, WORKED_A, load)
    np.testing.assert_allclose(tau, WORKED_TAU["universal"], atol=6e-6)
    a = robot.forward_dynamics(WORKED_Q, WORKED_V, np.full(6, 3000.0), load)
    expected = [1.57442652, -2.67381108, 2.35047512, 1.42657926, -0.0180900606, 3.19113843]
    np.testing.assert_allclose(a, expected, atol=6e-9)


def test_worked_leg_states_and_reactions(robot):
    states = robot.leg_states(WORKED_Q, WORKED_V, WORKED_A)
    spin = [-0.13669197, 0.0586405206, 0.0144903264, -0.145000919, -0.0139630169, -0.0247452694]
    np.testing.assert_allclose(states.spin, spin, rtol=1e-8)
    np.testing.assert_allclose(states.angular_velocity[0], [0.04647383, 0.363263713, -0.005360203], atol=1e-9)
    np.testing.assert_allclose(
        states.angular_acceleration[0], [0.0629106073, 1.11752044, -0.033960534], atol=6e-9
    )
    a_l, a_u = states.com_acceleration[0]
    np.testing.assert_allclose(a_l, [0.407164879, -0.0204179469, 0.0944604905], atol=1e-9)
    np.testing.assert_allclose(a_u, [0.76432907, -0.148615838, 0.496150654], atol=1e-9)
    found = robot.joint_reactions(WORKED_Q, WORKED_V, WORKED_A, {"platform": worked_wrench()})
    np.testing.assert_allclose(found.f_a[0], [-774.90615, -755.05712, 2465.38771], atol=1e-5)
    s = robot.inverse_kinematics(WORKED_Q).direction
    along = np.einsum("ij,ij->i", found.f_b, s)
    f = [2118.66497, 1307.56388, 2442.77325, 2415.45517, 3246.69060, 2413.92734]
    np.testing.assert_allclose(along, f, atol=6e-6)
    g = found.f_b[0] - along[0] * s[0]
    np.testing.assert_allclose(g, [-98.6347601, -72.4550713, -63.4935805], atol=1e-7)
    assert np.linalg.norm(found.moment_a[0]) == pytest.approx(0.0582276858, abs=1e-10)
    np.testing.assert_allclose(np.einsum("ij,ij->i", found.f_p, s), found.drive, rtol=1e-12)


def test_worked_pose_without_spin():
    plain = flexdyn_ros.load("stewart_1t", options={"formulation.leg_spin": "none"})
    tau = plain.inverse_dynamics(WORKED_Q, WORKED_V, WORKED_A, {"platform": worked_wrench()})
    np.testing.assert_allclose(tau, WORKED_TAU["none"], atol=6e-6)


def test_poses_of_the_worked_lengths(robot):
    """The lengths are printed to 1e-8 m."""
    lengths = [1.34369275, 1.59008694, 1.47318167, 1.44339518, 1.19122333, 1.52813261]
    found = robot.forward_kinematics(lengths)
    assert found.residual < 1e-12
    assert np.abs(robot.difference(found.q, WORKED_Q)).max() < 5e-8


def test_the_search_of_poses_has_no_preferred_direction(robot):
    """The robot looks the same after a third of a turn: so do targets, distant starts and the steps."""
    turn = Rotation.from_rotvec([0.0, 0.0, 2.0 * np.pi / 3.0])

    def turned(q):
        return np.concatenate([turn.apply(q[:3]), (turn * Rotation.from_quat(q[3:]) * turn.inv()).as_quat()])

    target = WORKED_Q
    start = robot.neutral() + [0.3, 0.95, 0.3, 0.0, 0.0, 0.0, 0.0]
    steps = []
    for _ in range(3):
        found = robot.forward_kinematics(robot.inverse_kinematics(target).length, start, mode="any")
        steps.append(found.iterations)
        target, start = turned(target), turned(start)
    assert steps == [steps[0]] * 3
    assert steps[0] > 5


@pytest.mark.parametrize("frame", ["leg_1_cross", "leg_2_cylinder", "leg_3_rod"])
def test_wrenches_on_legs_have_the_power_of_their_frame(robot, frame):
    w = worked_wrench()
    change = robot.inverse_dynamics(WORKED_Q, WORKED_V, WORKED_A, {frame: w})
    change = change - robot.inverse_dynamics(WORKED_Q, WORKED_V, WORKED_A)
    given = change @ robot.inverse_kinematics(WORKED_Q, WORKED_V).rate
    assert given == pytest.approx(-w @ robot.frame_velocity(WORKED_Q, WORKED_V, frame), rel=1e-9)


def test_home_of_the_specification(robot):
    q, zero = robot.neutral(), np.zeros(6)
    margins = robot.workspace_margins(q)
    np.testing.assert_allclose(
        margins.singular_values, [2.00651, 1.41889, 1.41889, 1.40488, 0.99335, 0.99335], atol=5e-6
    )
    assert margins.singular_values[0] / margins.singular_values[-1] == pytest.approx(2.0199, abs=6e-5)
    assert margins.determinant == pytest.approx(5.59998, abs=6e-6)
    assert margins.mask == 0
    np.testing.assert_allclose(robot.inverse_dynamics(q, zero, zero), 2260.027, atol=6e-4)
    M = robot.mass_matrix(q)
    diagonal = [415.405, 415.405, 504.166, 1099.960, 1099.960, 1112.111]
    np.testing.assert_allclose(np.diag(M), diagonal, atol=6e-4)
    assert [M[1, 3], M[0, 4]] == [pytest.approx(299.936, abs=6e-4), pytest.approx(-299.936, abs=6e-4)]


def test_a_robot_pickles_and_stays_as_it_is(robot):
    again = pickle.loads(pickle.dumps(robot))
    assert again.effort_names == tuple(f"leg_{i}" for i in range(1, 7))
    tau = again.inverse_dynamics(WORKED_Q, WORKED_V, WORKED_A)
    assert np.array_equal(tau, robot.inverse_dynamics(WORKED_Q, WORKED_V, WORKED_A))
    with pytest.raises(AttributeError, match="immutable"):
        robot.name = "other"


def test_wrong_arguments_are_named(robot):
    q, zero = robot.neutral(), np.zeros(6)
    with pytest.raises(DimensionError, match="q has shape"):
        robot.inverse_dynamics(q[:6], zero, zero)
    with pytest.raises(StateError, match="v\\[2\\]"):
        robot.forward_dynamics(q, np.array([0, 0, np.nan, 0, 0, 0]), zero)
    with pytest.raises(StateError, match="quaternion"):
        robot.mass_matrix(q * 1.01)
    with pytest.raises(UnknownNameError, match="frame"):
        robot.frames(q, "leg_7_rod")
    with pytest.raises(UnknownNameError, match="coordinate 'platform/x'"):
        robot.forward_dynamics(q, zero, zero, prescribed={"platform/x": 0.0})
    with pytest.raises(ConvergenceError):
        robot.forward_kinematics(np.full(6, 0.3))


def test_a_prescribed_acceleration_is_kept_and_the_others_follow(robot):
    tau, load = np.array(WORKED_TAU["universal"]), {"platform": worked_wrench()}
    a = robot.forward_dynamics(WORKED_Q, WORKED_V, tau, load, prescribed={"platform/vz": 0.25})
    assert a[5] == 0.25
    h, B = robot.bias_forces(WORKED_Q, WORKED_V), robot.actuation_matrix(WORKED_Q)
    missing = robot.mass_matrix(WORKED_Q) @ a + h - B @ tau - worked_wrench()
    assert np.abs(missing[:5]).max() < 1e-8  # of some 1e4 N and N m
    assert abs(missing[5]) > 100.0


def test_inverse_dynamics_refuses_a_singular_pose_and_forward_dynamics_does_not(robot):
    zero, flat = np.zeros(6), robot.neutral()
    flat[2] = 0.0  # all legs in one plane
    with pytest.raises(SingularityError) as caught:
        robot.inverse_dynamics(flat, zero, zero)
    assert caught.value.measure < 1e-6
    batch = np.array([robot.neutral(), flat])
    with pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="1 of 2"):
        tau = robot.inverse_dynamics(batch, zero, zero)
    assert np.isnan(tau[1]).all()
    assert np.isfinite(tau[0]).all()
    assert np.isfinite(robot.forward_dynamics(flat, zero, zero)).all()


@pytest.mark.parametrize("name", ["q0", "q1"])
def test_ends_of_a_way_are_refused_by_name_where_they_are_no_poses(name):
    robot = flexdyn_ros.load("stewart_1t")
    ends = {"q0": robot.neutral(), "q1": robot.neutral()}
    ends[name] = ends[name] + [0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(StateError, match=rf"^{name}\[2\] is nan, expected a finite number"):
        robot.difference(**ends)
    ends[name] = robot.neutral() * [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.1]
    with pytest.raises(StateError, match="a quaternion in q is not of unit length"):
        robot.difference(**ends)
