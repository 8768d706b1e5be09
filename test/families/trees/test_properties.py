"""What must hold for every tree at every state, whatever the numbers are.

Tolerances are those of rounding: about 1e-12 of the largest term for sums over ten bodies, the error of
the difference quotient (1e-7 or so) where derivatives are taken by differences.
"""

import numpy as np
from hypothesis import given
from models import KINDS, assert_near, random_state
from strategies import states, trees

import flexdyn_ros

SMALL = 1e-6


@given(trees(resistance=True, kinds=KINDS), states())
def test_mass_matrix_is_symmetric_and_positive_definite(robot, rng):
    M = robot.mass_matrix(robot.random(rng))
    assert np.array_equal(M, M.T)
    scaling = 1.0 / np.sqrt(np.diag(M))
    assert np.linalg.eigvalsh(M * np.outer(scaling, scaling))[0] > 0.0


@given(trees(resistance=True, kinds=KINDS), states())
def test_columns_of_the_mass_matrix_are_inverse_dynamics(robot, rng):
    q, v, _ = random_state(robot, rng)
    still = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
    columns = robot.inverse_dynamics(q, v, np.eye(robot.nv)) - still
    M = robot.mass_matrix(q)
    # the difference of two efforts carries the rounding of the larger ones
    assert np.abs(columns - M).max() <= 1e-12 * (np.abs(M).max() + np.abs(still).max())


@given(trees(resistance=True, kinds=KINDS), states())
def test_inverse_dynamics_undoes_forward_dynamics(robot, rng):
    q, v, tau = random_state(robot, rng)
    a = robot.forward_dynamics(q, v, tau)
    scale = max(
        np.abs(robot.mass_matrix(q) @ a).max(), np.abs(robot.bias_forces(q, v)).max(), np.abs(tau).max()
    )
    assert np.abs(robot.inverse_dynamics(q, v, a) - tau).max() <= 1e-11 * scale


@given(trees(resistance=True, kinds=KINDS), states())
def test_power_of_the_efforts_is_the_rate_of_energy_and_loss(robot, rng):
    q, v, a = random_state(robot, rng)
    tau = robot.inverse_dynamics(q, v, a)
    loss = v @ robot.bias_terms(q, v).damping

    def total(t):
        return robot.energy(robot.integrate(q, v + 0.5 * t * a, t), v + t * a).total

    rate = (total(SMALL) - total(-SMALL)) / (2 * SMALL)
    assert abs(rate - (tau @ v - loss)) <= 1e-6 * (np.abs(tau * v).sum() + abs(total(0.0)))


@given(trees(resistance=True, kinds=KINDS), states())
def test_kinetic_energy_is_half_v_M_v(robot, rng):
    q, v, _ = random_state(robot, rng)
    assert_near(robot.energy(q, v).kinetic, 0.5 * v @ robot.mass_matrix(q) @ v, 1e-12)


@given(trees(resistance=True, kinds=KINDS), states())
def test_damping_and_friction_never_add_energy(robot, rng):
    q, v, _ = random_state(robot, rng)
    damping = robot.bias_terms(q, v).damping
    assert (damping * v >= 0.0).all()


@given(trees(resistance=True, kinds=KINDS), states())
def test_bias_terms_sum_to_the_bias(robot, rng):
    q, v, _ = random_state(robot, rng)
    terms = robot.bias_terms(q, v)
    scale = max(np.abs(term).max() for term in terms)
    assert np.abs(sum(terms) - robot.bias_forces(q, v)).max() <= 1e-12 * scale
    assert not terms.external.any()
    rest = robot.bias_terms(q, 0 * v)
    assert not rest.velocity.any()
    assert not rest.damping.any()
    assert_near(rest.gravity, terms.gravity, 1e-13)


@given(trees(resistance=True, kinds=KINDS), states())
def test_gravity_and_springs_are_the_gradient_of_the_potential(robot, rng):
    q, _, _ = random_state(robot, rng)
    zero = np.zeros(robot.nv)
    force = robot.bias_forces(q, zero)
    for i, e in enumerate(np.eye(robot.nv)):
        ends = [robot.energy(robot.integrate(q, e, s), zero).total for s in (1e-5, -1e-5)]
        scale = np.abs(force).max() + abs(ends[0])
        assert abs((ends[0] - ends[1]) / 2e-5 - force[i]) <= 1e-7 * scale


@given(trees(), states())
def test_jacobian_times_v_is_the_velocity_of_the_frame(robot, rng):
    q, v, _ = random_state(robot, rng)
    name = str(rng.choice(robot.frame_names))
    ahead, behind = (robot.frames(robot.integrate(q, v, s), name) for s in (SMALL, -SMALL))
    rate = (ahead - behind) / (2 * SMALL)
    W = rate[:3, :3] @ robot.frames(q, name)[:3, :3].T
    twist = np.array([W[2, 1], W[0, 2], W[1, 0], *rate[:3, 3]])
    J = robot.jacobian(q, name)
    assert np.abs(J @ v - twist).max() <= 1e-7 * (1.0 + np.abs(twist).max())


@given(trees(base="floating"), states())
def test_momentum_of_a_free_floating_tree_changes_by_gravity_alone(robot, rng):
    q, v, tau = random_state(robot, rng)
    tau[:6] = 0.0
    a = robot.forward_dynamics(q, v, tau)
    ahead, behind = (
        robot.momentum(robot.integrate(q, v + 0.5 * s * a, s), v + s * a) for s in (SMALL, -SMALL)
    )
    rate = (ahead - behind) / (2 * SMALL)
    weight = robot.mass * robot.gravity
    expected = np.concatenate([np.cross(robot.center_of_mass(q), weight), weight])
    scale = np.abs(expected).max() + np.abs(robot.momentum(q, v)).max() * (
        1 + np.abs(v).max() + np.abs(a).max()
    )
    assert np.abs(rate - expected).max() <= 1e-6 * scale


@given(trees(base="floating", mimic=False), states())
def test_turning_the_world_changes_nothing(robot, rng):
    """A turned robot under turned gravity takes the same joint efforts; what is given in world axes turns
    along.
    """
    q, v, a = random_state(robot, rng)
    turn = robot.random(rng)[3:7]
    R = _matrix(turn)
    gravity = " ".join(repr(x) for x in (R @ robot.gravity).tolist())
    turned = flexdyn_ros.load(
        robot.description.text, options={"gravity": [float(x) for x in gravity.split()]}
    )
    q2 = q.copy()
    q2[:3], q2[3:7] = R @ q[:3], _product(turn, q[3:7])
    q2[3:7] /= np.linalg.norm(q2[3:7])
    T = np.eye(robot.nv)
    T[:3, :3] = T[3:6, 3:6] = R
    tau = robot.inverse_dynamics(q, v, a)
    assert_near(turned.inverse_dynamics(q2, T @ v, T @ a), T @ tau, 1e-12)
    assert_near(turned.mass_matrix(q2), T @ robot.mass_matrix(q) @ T.T, 1e-12)
    energy, same = robot.energy(q, v), turned.energy(q2, T @ v)
    assert_near(same.kinetic, energy.kinetic, 1e-12)
    assert abs(same.gravity - energy.gravity) <= 1e-12 * robot.mass * 100


def _product(a, b):
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by + ay * bw + az * bx - ax * bz,
            aw * bz + az * bw + ax * by - ay * bx,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def _matrix(quaternion):
    axes = [_product(_product(quaternion, [*e, 0.0]), quaternion * [-1, -1, -1, 1])[:3] for e in np.eye(3)]
    return np.array(axes).T


@given(trees(resistance=True, kinds=KINDS), states())
def test_integrate_and_difference_are_inverse(robot, rng):
    q, v, _ = random_state(robot, rng)
    there = robot.integrate(q, v, 0.5)
    assert_near(robot.difference(q, there), 0.5 * v, 1e-12)
    assert_near(robot.integrate(there, v, -0.5) * _sign(robot, q, v), q, 1e-12)
    for i in quaternions(robot):
        assert abs(np.linalg.norm(there[i : i + 4]) - 1.0) <= 1e-15


def quaternions(robot):
    """Where each quaternion begins in q."""
    return [i for i, name in enumerate(robot.q_names) if name.endswith("/qx")]


def _sign(robot, q, v):
    """Quaternions stand for the same attitude with both signs."""
    back = robot.integrate(robot.integrate(q, v, 0.5), v, -0.5)
    sign = np.ones(robot.nq)
    for i in quaternions(robot):
        sign[i : i + 4] = np.sign(back[i : i + 4] @ q[i : i + 4])
    return sign


@given(trees(resistance=True, kinds=KINDS), states())
def test_prescribed_accelerations_are_kept_and_their_efforts_found(robot, rng):
    q, v, tau = random_state(robot, rng)
    chosen = rng.random(robot.nv) < 0.5
    wanted = {
        name: float(rng.uniform(-3, 3)) for name, take in zip(robot.v_names, chosen, strict=True) if take
    }
    a = robot.forward_dynamics(q, v, tau, prescribed=wanted)
    for name, value in wanted.items():
        assert a[robot.index(name)] == value
    found = robot.inverse_dynamics(q, v, a)
    scale = max(
        np.abs(robot.mass_matrix(q) @ a).max(), np.abs(robot.bias_forces(q, v)).max(), np.abs(tau).max()
    )
    assert np.abs((found - tau)[~chosen]).max(initial=0.0) <= 1e-11 * scale


@given(trees(resistance=True, kinds=KINDS), states())
def test_free_unactuated_coordinates_take_no_effort(robot, rng):
    q, v, a = random_state(robot, rng)
    actuated = np.array([c.actuated for c in robot.coordinates])
    ignored = np.where(actuated, a, np.nan)
    tau = robot.inverse_dynamics(q, v, ignored, unactuated="free")
    assert not tau[~actuated].any()
    moved = robot.forward_dynamics(q, v, tau)
    scale = max(np.abs(tau).max(), np.abs(robot.bias_forces(q, v)).max())
    M = robot.mass_matrix(q)
    # judged by efforts: accelerations are as uncertain as M is ill-conditioned
    agree = np.where(actuated, a - moved, 0.0)
    assert np.abs(agree).max() <= 1e-11 * np.linalg.cond(M) ** 0.5 * (scale + np.abs(a).max())


@given(trees(resistance=True, kinds=KINDS), states())
def test_coriolis_matrix_gives_the_bias_and_is_passive(robot, rng):
    q, v, _ = random_state(robot, rng)
    C = robot.coriolis_matrix(q, v)
    scale = np.abs(C).max() * np.abs(v).max()
    assert np.abs(C @ v - robot.bias_terms(q, v).velocity).max() <= 1e-12 * scale + 1e-15
    ahead, behind = (robot.mass_matrix(robot.integrate(q, v, s)) for s in (SMALL, -SMALL))
    S = (ahead - behind) / (2 * SMALL) - 2 * C
    assert np.abs(S + S.T).max() <= 1e-6 * (np.abs(C).max() + np.abs(ahead).max())


@given(trees(resistance=True, kinds=KINDS), states())
def test_wrenches_act_through_the_jacobian(robot, rng):
    q, v, a = random_state(robot, rng)
    names = {str(name) for name in rng.choice(robot.frame_names, 3)}
    wrenches = {name: rng.uniform(-20, 20, 6) for name in names}
    push = sum(robot.jacobian(q, name).T @ w for name, w in wrenches.items())
    plain = robot.inverse_dynamics(q, v, a)
    scale = np.abs(plain).max() + np.abs(push).max()
    assert np.abs(robot.inverse_dynamics(q, v, a, wrenches) - (plain - push)).max() <= 1e-12 * scale
    moved = robot.forward_dynamics(q, v, plain - push, wrenches)
    terms = np.abs(robot.mass_matrix(q) @ moved).max() + scale
    assert np.abs(robot.inverse_dynamics(q, v, moved) - plain).max() <= 1e-11 * terms
