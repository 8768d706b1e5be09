"""Modes against pendulums and springs whose frequencies are known in closed form."""

import numpy as np
import pytest
from models import joint, link, random_tree, robot_text, two_link_arm
from scipy.linalg import eigh

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, SingularityError, StateError, UnknownNameError

HANGING = np.array([-np.pi / 2, 0.0])


def pendulum(damping=0.0, friction=0.0, spring="", com=(0, 0, -0.5), axis=(0, 1, 0)):
    dynamics = f'<dynamics damping="{damping}" friction="{friction}"/>'
    return flexdyn_ros.load(
        robot_text(
            "pendulum",
            link("base", 0),
            link("bob", 2.0, com),
            joint("pivot", "continuous", "base", "bob", axis=axis, more=dynamics),
            "<flexdyn><gravity>0 0 -9.81</gravity></flexdyn>",
            spring,
        )
    )


def test_frequency_of_a_pendulum():
    modes = pendulum().modes(np.zeros(1))
    assert modes.frequency == pytest.approx([np.sqrt(9.81 / 0.5) / (2 * np.pi)], rel=1e-14)
    assert modes.damping_ratio == pytest.approx([0.0])
    # unit M-norm: M = m l^2
    assert np.abs(modes.shape) == pytest.approx(np.array([[1 / np.sqrt(2.0 * 0.25)]]))
    assert not modes.unstable


def test_damping_ratio_of_a_pendulum():
    critical = 2 * np.sqrt(2.0 * 0.25 * 2.0 * 9.81 * 0.5)
    for ratio in (0.01, 0.5, 0.999, 1.0, 3.0):
        modes = pendulum(damping=ratio * critical).modes(np.zeros(1))
        assert modes.damping_ratio == pytest.approx([ratio], rel=1e-12)


def test_upside_down_is_unstable():
    modes = pendulum().modes(np.array([np.pi]))
    assert modes.unstable
    assert modes.frequency == pytest.approx([0.0])
    assert np.isinf(modes.damping_ratio).all()


def test_a_joint_along_gravity_has_frequency_zero():
    modes = pendulum(com=(0.5, 0, 0), axis=(0, 0, 1)).modes(np.zeros(1))
    assert modes.frequency == [0.0]
    assert np.isinf(modes.damping_ratio).all()
    assert not modes.unstable


def test_a_joint_spring_counts_as_stiffness():
    spring = '<flexdyn reference="pivot"><joint_spring stiffness="30"/></flexdyn>'
    modes = pendulum(spring=spring).modes(np.zeros(1))
    expected = np.sqrt((2.0 * 9.81 * 0.5 + 30.0) / 0.5) / (2 * np.pi)
    assert modes.frequency == pytest.approx([expected], rel=1e-14)


def test_dry_friction_counts_with_its_slope_at_rest():
    modes = pendulum(friction=1e-4).modes(np.zeros(1))
    slope = 1e-4 / 1e-3
    assert modes.damping_ratio == pytest.approx([slope / (2 * np.sqrt(0.5 * 9.81))], rel=1e-12)


def test_two_link_arm_equals_the_eigenvalues_of_its_closed_form():
    arm = flexdyn_ros.load(two_link_arm())
    modes = arm.modes(HANGING)
    K = 9.81 * np.array([[2.6 * 0.8 + 0.9 * 0.6, 0.9 * 0.6], [0.9 * 0.6, 0.9 * 0.6]])
    M = arm.mass_matrix(HANGING)
    assert modes.frequency == pytest.approx(np.sqrt(eigh(K, M)[0]) / (2 * np.pi), rel=1e-12)
    assert modes.shape.T @ M @ modes.shape == pytest.approx(np.eye(2), abs=1e-13)
    assert modes.shape.T @ K @ modes.shape == pytest.approx(
        np.diag((2 * np.pi * modes.frequency) ** 2), abs=1e-11
    )


def test_locked_coordinates_have_no_part():
    arm = flexdyn_ros.load(two_link_arm())
    modes = arm.modes(HANGING, lock=["shoulder"])
    assert modes.frequency == pytest.approx([np.sqrt(9.81 / 0.6) / (2 * np.pi)], rel=1e-13)
    assert not modes.shape[0].any()
    nothing = arm.modes(HANGING, lock="joints")
    assert nothing.frequency.shape == (0,)
    assert nothing.shape.shape == (2, 0)


def test_coupled_damping_takes_the_ratios_of_the_complex_pairs():
    dampers = two_link_arm().replace(
        '<origin xyz="0.8 0.0 0.0" rpy="0.0 0.0 0.0"/><axis',
        '<dynamics damping="0.3"/><origin xyz="0.8 0.0 0.0" rpy="0.0 0.0 0.0"/><axis',
    )
    arm = flexdyn_ros.load(dampers)
    modes = arm.modes(HANGING)
    linear = arm.linearize(HANGING, np.zeros(2))
    roots = np.linalg.eigvals(linear.A)
    roots = roots[roots.imag > 0]
    ratios = -roots.real / np.abs(roots)
    assert ratios.max() > 0.01
    assert sorted(modes.damping_ratio) == pytest.approx(sorted(ratios), rel=1e-9)


def test_strong_coupled_damping_is_paired_with_every_mode():
    text = random_tree(11, base="fixed", joints=6, mimic=False, floating=False, kinds=("revolute",))
    text = text.replace("</axis>", "").replace("<limit", '<dynamics damping="40"/><limit')
    robot = flexdyn_ros.load(text)
    rest = robot.static_equilibrium(robot.random(np.random.default_rng(3)))
    modes = robot.modes(rest.q)
    moving = modes.frequency > 0
    assert moving.any()
    assert np.isfinite(modes.damping_ratio[moving]).all()
    assert (modes.damping_ratio[moving] > 0).all()
    # all roots together: sum of -2 zeta omega over the modes is the trace of the damping
    A = robot.linearize(rest.q, np.zeros(robot.nv)).A
    assert (np.linalg.eigvals(A).real <= 1e-9).all() == (not modes.unstable)


def test_batches_equal_single_states():
    robot = flexdyn_ros.load(random_tree(4, base="fixed", joints=4, floating=False, resistance=True))
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(6)]).reshape(2, 3, robot.nq)
    modes = robot.modes(q)
    for i in np.ndindex(2, 3):
        one = robot.modes(q[i])
        assert np.array_equal(modes.frequency[i], one.frequency)
        assert np.array_equal(modes.damping_ratio[i], one.damping_ratio)
        assert modes.unstable[i] == one.unstable
    assert robot.modes(np.empty((0, robot.nq))).shape.shape == (0, robot.nv, robot.nv)


def test_wrong_arguments_are_named():
    arm = flexdyn_ros.load(two_link_arm())
    with pytest.raises(UnknownNameError, match=r"coordinate in lock 'sholder'.*shoulder"):
        arm.modes(HANGING, lock=["sholder"])
    with pytest.raises(DimensionError, match=r"q has shape \(3,\)"):
        arm.modes(np.zeros(3))
    with pytest.raises(StateError, match=r"q\[1\] is nan"):
        arm.modes(np.array([0.0, np.nan]))


def test_a_mass_matrix_that_is_singular_is_told():
    text = robot_text(
        "idle", link("base", 0), link("arm", 0), joint("pivot", "continuous", "base", "arm", axis=(0, 1, 0))
    )
    with pytest.raises(SingularityError, match="not positive definite"):
        flexdyn_ros.load(text).modes(np.zeros(1))
