"""Dynamics of soft arms: acceptance checks of the continuum specification's section 15 and its worked
numbers.
"""

import numpy as np
import pytest
from soft_arms import (
    NO_ROTARY,
    Q2,
    TAU,
    TAU2,
    V2,
    Q,
    V,
    chain,
    one,
    random_states,
    relative,
    split_rod,
    two_sections,
)

import flexdyn_ros

# ---- worked numbers, section 14 ----


def test_worked_numbers_of_one_section(paper):
    bare = flexdyn_ros.load("soft_arm", options=NO_ROTARY)
    M = [
        [0.5595594037, -0.2777330490, -0.2505859871],
        [-0.2777330490, 0.5393723210, -0.2606795285],
        [-0.2505859871, -0.2606795285, 0.5273655711],
    ]
    assert np.abs(bare.mass_matrix(Q) - M).max() < 6e-11
    assert np.abs(np.diag(paper.mass_matrix(Q)) - [0.5652003584, 0.5450132756, 0.5332627230]).max() < 6e-11
    terms = paper.bias_terms(Q, V)
    assert np.abs(terms.velocity - [-4.429026e-4, -1.8542323e-2, -2.5158879e-3]).max() < 6e-10
    assert np.abs(terms.gravity - [0.982935425, -0.511080001, 0.235927712]).max() < 6e-10
    with_rotary, without = paper.energy(Q, V), bare.energy(Q, V)
    assert without.kinetic == pytest.approx(1.37006121685e-3, rel=1e-11)
    assert with_rotary.kinetic - without.kinetic == pytest.approx(1.36281909e-5, rel=1e-8)
    assert with_rotary.gravity == pytest.approx(0.115368651277, rel=1e-11)
    assert with_rotary.elastic == pytest.approx(0.56865, rel=1e-12)
    lumped = flexdyn_ros.load("soft_arm", options={"formulation.mass_model": "lumped"})
    lump = 0.56 * lumped.energy(Q, V).kinetic
    assert lump == pytest.approx(7.61341095e-04, rel=1e-8)
    assert lump / without.kinetic == pytest.approx(0.555699, abs=5e-7)
    for robot, a in (
        (paper, (-259.1369447, -272.1853998, -262.7022269)),
        (bare, (-259.1232633, -272.3047052, -262.7216622)),
        (lumped, (-194.0823243, -208.6890511, -198.4077790)),
    ):
        assert np.abs(robot.forward_dynamics(Q, V, TAU) - a).max() < 6e-8
    rest = bare.mass_matrix(np.zeros(3))[0] / 0.15
    assert np.abs(rest - [3.237037, -1.562963, -1.562963]).max() < 6e-7


def test_worked_numbers_of_two_sections(two):
    diagonal = (12.27757763, 13.33104505, 15.32079196, 1.948162668, 2.037595617, 1.920342290)
    M = np.diag(two.mass_matrix(Q2))
    # the second entry is printed there as 13.33104505; brute force says 13.33104503
    # (test_continuum_reference.py), and accelerations that follow from it agree in all digits
    assert np.abs(M - diagonal)[[0, 2, 3, 4, 5]].max() < 6e-9
    assert M[1] == pytest.approx(13.33104505, abs=2.5e-8)
    h = (22.20904090, 23.48009775, 7.495588081, 20.58560399, 6.545415312, 21.42380411)
    # one unit of the last digit printed
    assert np.abs(two.bias_forces(Q2, V2) - h).max() < 1e-8
    a = (64.68295579, 62.53998295, 58.13149755, -125.0641100, -115.3444573, -123.4142047)
    assert np.abs(two.forward_dynamics(Q2, V2, TAU2) - a).max() < 6e-8
    energy = two.energy(Q2, V2)
    assert energy.kinetic == pytest.approx(0.0941994308 + 0.000328267066, abs=6e-11)
    assert energy.gravity == pytest.approx(0.4204655793, abs=6e-11)
    assert energy.elastic == pytest.approx(0.7205, rel=1e-12)


def test_gravity_energy_of_the_preset_is_exact(paper):
    assert paper.energy(np.zeros(3), np.zeros(3)).gravity == pytest.approx(0.1125, rel=1e-15)


def test_static_states_of_one_section(arm):
    pushed = arm.static_equilibrium(tau=[25.0, 0.0, 0.0])
    assert np.abs(pushed.q - np.array([15.0371733, -0.3701369, -0.3701369]) * 1e-3).max() < 6e-11
    assert pushed.residual < 1e-11
    assert pushed.stable
    assert np.abs(arm.forward_dynamics(pushed.q, np.zeros(3), [25.0, 0.0, 0.0])).max() < 1e-8
    weight = arm.static_equilibrium()
    assert np.abs(weight.q + 0.1442647e-3).max() < 6e-11


# ---- consistency ----


def test_closed_form_equals_quadrature_with_twenty_four_nodes():
    closed = one()
    summed = one(quadrature=24).with_quadrature()
    q, v, tau = random_states(3, 200, 0)
    assert relative(closed.mass_matrix(q), summed.mass_matrix(q)) < 1e-13
    # velocity forces are small beside what gravity and springs leave of them: each part by itself
    for a, b in zip(closed.bias_terms(q, v), summed.bias_terms(q, v)):
        assert np.abs(a - b).max() <= 1e-13 * max(np.abs(a).max(), 1e-2)
    assert relative(closed.forward_dynamics(q, v, tau), summed.forward_dynamics(q, v, tau)) < 1e-12
    assert relative(closed.energy(q, v).kinetic, summed.energy(q, v).kinetic) < 1e-13
    # two nodes are too few for a section that bends
    assert relative(closed.mass_matrix(q), one(quadrature=2).with_quadrature().mass_matrix(q)) > 1e-9


def test_recursion_over_sections_reduces_to_one_section():
    # a second section without weight or length to speak of: the first must move as if alone
    text = chain(1, 'preset="bai2022" length="0.15"')
    alone = flexdyn_ros.load(text)
    more = (
        '<link name="ghost"/><joint name="ghost_joint" type="fixed"><parent link="link_1"/>'
        '<child link="ghost"/>'
        '<origin xyz="0 0 1e-6"/></joint>'
        '<flexdyn reference="ghost_joint"><section length="1e-6" radius="0.01" '
        'mass="1e-18" stiffness="1" lower="0" upper="1e-6"/></flexdyn></robot>'
    )
    both = flexdyn_ros.load(text.replace("</robot>", more))
    q, v, _ = random_states(3, 50, 1)
    wide = lambda x: np.concatenate([x, np.zeros_like(x)], axis=1)  # noqa: E731
    assert relative(alone.mass_matrix(q), both.mass_matrix(wide(q))[:, :3, :3]) < 1e-13
    assert np.abs(both.bias_forces(wide(q), wide(v))[:, :3] / alone.bias_forces(q, v) - 1).max() < 1e-13
    for a, b in zip(alone.bias_terms(q, v), both.bias_terms(wide(q), wide(v))):
        assert np.abs(a - b[:, :3]).max() <= 1e-13 * np.abs(a).max()
    tau = random_states(3, 50, 17)[2]
    b = both.forward_dynamics(wide(q), wide(v), wide(tau))[:, :3]
    assert relative(alone.forward_dynamics(q, v, tau), b) < 1e-13


def test_forward_dynamics_undoes_inverse_dynamics():
    for robot in (
        two_sections(),
        flexdyn_ros.load("soft_arm_3"),
        flexdyn_ros.load(split_rod(8, "0 0 -9.81")),
    ):
        rng = np.random.default_rng(2)
        q = np.array([robot.random(rng) for _ in range(50)])
        v, a = rng.uniform(-0.2, 0.2, q.shape), rng.uniform(-50, 50, q.shape)
        tau = robot.inverse_dynamics(q, v, a)
        assert np.abs(robot.forward_dynamics(q, v, tau) - a).max() < 1e-11 * np.abs(a).max()
        again = robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, tau))
        assert np.abs(again - tau).max() < 1e-11 * np.abs(tau).max()
        M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
        assert np.abs(np.einsum("nij,nj->ni", M, a) + h - tau).max() < 1e-11 * np.abs(tau).max()


def test_mass_matrix_is_symmetric_positive_definite_and_gives_the_energy(two):
    q, v, _ = random_states(6, 100, 3)
    M = two.mass_matrix(q)
    assert np.array_equal(M, np.swapaxes(M, 1, 2))
    assert (np.linalg.eigvalsh(M) > 0).all()
    twice = np.einsum("ni,nij,nj->n", v, M, v)
    assert np.abs(2 * two.energy(q, v).kinetic / twice - 1).max() < 1e-13


def test_coriolis_matrix_is_that_of_christoffel(two):
    q, v, _ = random_states(6, 20, 4)
    C = two.coriolis_matrix(q, v)
    assert np.abs(np.einsum("nij,nj->ni", C, v) - two.bias_terms(q, v).velocity).max() < 1e-12
    # exact dM/dt: the derivative of M(q) v along v
    still = np.zeros_like(v)
    by_q = (
        two.inverse_dynamics_derivatives(q, still, v)[0]
        - two.inverse_dynamics_derivatives(q, still, still)[0]
    )
    power = np.einsum("ni,nij,nj->n", v, by_q, v) - 2 * np.einsum("ni,nij,nj->n", v, C, v)
    assert np.abs(power / (2 * two.energy(q, v).kinetic)).max() < 1e-10
    h = 1e-6
    Md = (two.mass_matrix(q + h * v) - two.mass_matrix(q - h * v)) / (2 * h)
    # rounding of differences of M
    assert np.abs(Md - C - np.swapaxes(C, 1, 2)).max() < 1e-7 * np.abs(Md).max()


def test_gravity_and_springs_are_the_gradient_of_the_potential(two):
    q = random_states(6, 1, 5)[0][0]
    h, still = 1e-6, np.zeros(6)
    terms = two.bias_terms(q, still)
    gradient = np.zeros(6)
    for k in range(6):
        step = h * np.eye(6)[k]
        up, down = two.energy(q + step, still), two.energy(q - step, still)
        gradient[k] = (up.gravity + up.elastic - down.gravity - down.elastic) / (2 * h)
    assert relative(gradient, terms.gravity + terms.elastic) < 1e-8


def test_bias_is_the_sum_of_its_terms(two):
    q, v, _ = random_states(6, 20, 6)
    assert relative(sum(two.bias_terms(q, v)), two.bias_forces(q, v)) < 1e-14


@pytest.mark.parametrize("mass_model", ["consistent", "lumped", "lumped2"])
def test_power_balance(two, mass_model):
    # d(T + U)/dt = tau.v - v.D v, by differences along the motion
    options = {"formulation.mass_model": mass_model}
    robot = two if mass_model == "consistent" else flexdyn_ros.load("soft_arm", options=options)
    q, v, tau = random_states(robot.nq, 20, 7)
    a, h = robot.forward_dynamics(q, v, tau), 1e-6
    ahead = robot.energy(q + h * v + 0.5 * h * h * a, v + h * a).total
    behind = robot.energy(q - h * v + 0.5 * h * h * a, v - h * a).total
    loss = np.einsum("ni,ni->n", v, robot.bias_terms(q, v).damping)
    power = np.einsum("ni,ni->n", tau, v) - loss
    assert np.abs((ahead - behind) / (2 * h) - power).max() < 1e-6 * np.abs(power).max()


# ---- symmetries ----


def test_relabelling_actuators_changes_nothing_but_labels(arm):
    q, v, tau = random_states(3, 100, 8)
    a = arm.forward_dynamics(q, v, tau)
    for order in ([1, 2, 0], [2, 0, 1], [0, 2, 1]):
        b = arm.forward_dynamics(q[:, order], v[:, order], tau[:, order])
        assert np.abs(b - a[:, order]).max() < 1e-14 * np.abs(a).max()


def test_turning_the_base_about_gravity_changes_nothing():
    text = chain(2, 'preset="bai2022" length="0.15"')
    turned = text.replace("</gravity>", '</gravity><base type="fixed" rpy="0 0 0.7"/>', 1)
    q, v, tau = random_states(6, 50, 9)
    a = flexdyn_ros.load(text).forward_dynamics(q, v, tau)
    assert relative(a, flexdyn_ros.load(turned).forward_dynamics(q, v, tau)) < 1e-13


def test_a_hanging_arm_equals_an_upright_one_under_reversed_gravity():
    text = chain(3, 'preset="bai2022" length="0.15"', "0 0 9.81")
    hanging = chain(
        3, 'preset="bai2022" length="0.15"', "0 0 -9.81", '<base type="fixed" rpy="3.141592653589793 0 0"/>'
    )
    q, v, tau = random_states(9, 20, 10)
    a = flexdyn_ros.load(text).forward_dynamics(q, v, tau)
    assert relative(a, flexdyn_ros.load(hanging).forward_dynamics(q, v, tau)) < 1e-12


# ---- through the straight pose ----


def test_accelerations_tend_linearly_to_those_of_equal_lengths(arm):
    equal = np.full(3, 0.012)
    a = arm.forward_dynamics(equal, V, TAU)
    assert np.isfinite(a).all()
    for direction in np.eye(3):
        for offset in 10.0 ** -np.arange(3, 16):
            near = arm.forward_dynamics(equal + offset * direction, V, TAU)
            assert np.isfinite(near).all()
            # 40/m: 9 k/m + the share of the mass matrix (1/s2 per m)
            assert np.abs(near - a).max() <= 40 / 0.15 * 1700 * offset + 1e-13 * np.abs(a).max() * 10


def test_derivatives_hold_through_the_straight_pose(two):
    for q in (np.full(6, 0.01), np.full(6, 0.01) + 1e-12, np.r_[0.01, 0.01, 0.01, Q]):
        found = two.linearize(q, V2, TAU2)
        A = np.zeros((6, 12))
        for k in range(12):
            h = 1e-6 if k < 6 else 1e-4
            dq, dv = (h * np.eye(6)[k], 0.0) if k < 6 else (0.0, h * np.eye(6)[k - 6])
            above = two.forward_dynamics(q + dq, V2 + dv, TAU2)
            A[:, k] = (above - two.forward_dynamics(q - dq, V2 - dv, TAU2)) / (2 * h)
        assert np.abs(found.A[6:] - A).max() < 1e-6 * np.abs(A).max()
        assert np.abs(found.B[6:] @ two.mass_matrix(q) - np.eye(6)).max() < 1e-10


def test_pure_elongation_stays_straight_to_the_last_bit(arm):
    q, v, dt = np.zeros(3), np.zeros(3), 1e-4
    for step in range(500):
        tau = np.full(3, 10.0 * (1 - np.cos(np.pi * min(step * dt / 0.2, 1.0))))
        v = v + dt * arm.forward_dynamics(q, v, tau)
        q = q + dt * v
    assert np.isfinite(q).all()
    assert np.ptp(q) <= 1e-15
    assert arm.arc_parameters(q)[0, 1] < 1e-12


@pytest.mark.parametrize("options", [{}, {"formulation.kinematics": "modal", "formulation.order": 6}])
def test_the_two_dynamics_undo_each_other(two, options):
    """tau(a) is affine in a with slope M, and forward dynamics gives back a."""
    robot = flexdyn_ros.load(two.description.text, options=options)
    a = np.array([3.0, -2.0, 1.0, 4.0, -1.0, 2.5])
    at_rest, tau = robot.inverse_dynamics(Q2, V2, np.zeros(6)), robot.inverse_dynamics(Q2, V2, a)
    M = robot.mass_matrix(Q2)
    assert np.allclose(M, M.T, rtol=0.0, atol=1e-14 * np.abs(M).max())
    assert np.allclose(tau - at_rest, M @ a, rtol=0.0, atol=1e-12 * np.abs(tau).max())
    assert np.allclose(robot.forward_dynamics(Q2, V2, tau), a, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"formulation.kinematics": "modal", "formulation.order": 6}])
def test_gravity_in_any_direction_has_the_energy_of_the_center_of_mass(two, options):
    """V = -m g . c up to a constant, and its slope by q is the gravity force."""
    gravity = np.array([3.0, -5.0, -7.0])
    robot = flexdyn_ros.load(two.description.text, options={**options, "gravity": gravity.tolist()})
    still, h = np.zeros(6), 1e-6
    other = Q2 + [0.004, -0.003, 0.006, 0.002, 0.005, -0.001]
    fall = robot.center_of_mass(other) - robot.center_of_mass(Q2)
    gained = robot.energy(other, still).gravity - robot.energy(Q2, still).gravity
    mass = gained / -(gravity @ fall)
    down = flexdyn_ros.load(two.description.text, options={**options, "gravity": [0.0, 0.0, -9.81]})
    gained = down.energy(other, still).gravity - down.energy(Q2, still).gravity
    assert gained == pytest.approx(9.81 * mass * fall[2], rel=1e-9)
    slope = [
        (robot.energy(Q2 + e, still).gravity - robot.energy(Q2 - e, still).gravity) / (2.0 * h)
        for e in h * np.eye(6)
    ]
    assert np.allclose(robot.bias_terms(Q2, still).gravity, slope, rtol=0.0, atol=1e-7 * np.abs(slope).max())
