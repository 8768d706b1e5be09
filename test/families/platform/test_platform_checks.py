"""Acceptance checks of the parallel specification, section 11, for the mechanism; hydraulics have their own.

Robots are random: off-axis masses, tilted universal joints, skew joint frames, a base that stands askew
(test/platforms.py). Tolerances are those of the specification, relative to the largest entry.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from platforms import GRAVITY, random_motion, random_platform
from reference import platform_newton_euler as reference
from scipy.spatial.transform import Rotation

import flexdyn_ros

SEEDS = range(5)


@cache
def pair(seed: int):
    """A robot and its numbers."""
    text, numbers = random_platform(seed)
    return flexdyn_ros.load(text), numbers


def close(found, expected, tolerance, scale=None):
    """True to a tolerance relative to the largest entry."""
    size = np.abs(expected).max() if scale is None else scale
    error = np.abs(np.asarray(found) - expected).max() / size
    assert error <= tolerance, f"{error:.3g} > {tolerance:g}"


def moved(robot, q, v, a, t):
    """Pose and twist after a short time t on a motion with twist v and its rate a (to second order)."""
    return robot.integrate(q, v * t + 0.5 * a * t * t, 1.0), v + a * t


@pytest.mark.parametrize("seed", SEEDS)
def test_1_the_jacobian_maps_twists_to_rates(seed):
    robot, _ = pair(seed)
    q, v, _ = random_motion(robot, np.random.default_rng(seed))
    rates = robot.inverse_kinematics(q, v).rate
    close(robot.leg_jacobian(q) @ v, rates, 1e-12)
    h = 1e-6
    ahead, behind = (robot.inverse_kinematics(robot.integrate(q, v, s * h)).length for s in (1, -1))
    close((ahead - behind) / (2 * h), rates, 1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_2_motion_of_legs_equals_automatic_derivatives_of_positions(seed):
    robot, numbers = pair(seed)
    q, v, a = random_motion(robot, np.random.default_rng(seed))
    states, legs = robot.leg_states(q, v, a), robot.inverse_kinematics(q, v, a)
    for i in range(6):
        length, s, E, _ = reference.leg_motion(numbers, i, q, v, a)
        w, alpha = reference.turning(E)
        close([legs.length[i], legs.rate[i], legs.acceleration[i]], np.array(length), 1e-11)
        close(legs.direction[i], s[0], 1e-11)
        close(states.angular_velocity[i], w, 1e-11)
        close(states.angular_acceleration[i], alpha, 1e-11)
        close(states.spin[i], w @ s[0], 1e-11, np.abs(w).max())
    accelerations = [x[2] for _, x, _ in reference.motions(numbers, q, v, a)]
    close(states.com_acceleration[:, 0], np.array(accelerations[1:7]), 1e-11)
    close(states.com_acceleration[:, 1], np.array(accelerations[7:]), 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_3_all_reactions_solve_the_78_newton_euler_equations(seed):
    robot, numbers = pair(seed)
    rng = np.random.default_rng(seed)
    q, v, a = random_motion(robot, rng)
    wrench = rng.normal(size=6) * 300
    guides = [leg.shortest for leg in robot.legs]
    f_b, f_p, n_p, f_a, moment = reference.all_reactions(numbers, q, v, a, wrench, guides)
    found = robot.joint_reactions(q, v, a, {"platform": wrench})
    s = robot.inverse_kinematics(q).direction
    close(found.drive, np.einsum("ij,ij->i", f_p, s), 1e-10)
    close(robot.inverse_dynamics(q, v, a, {"platform": wrench}), found.drive, 1e-14)
    for got, expected in ((found.f_b, f_b), (found.f_p, f_p), (found.f_a, f_a), (found.n_p, n_p)):
        close(got, expected, 1e-10)
    close(np.linalg.norm(found.moment_a, axis=1), np.abs(moment), 1e-10)
    close(found.guide_torque, np.einsum("ij,ij->i", n_p, s), 1e-10, np.abs(n_p).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_3_with_wrenches_on_cylinders_and_rods(seed):
    robot, numbers = pair(seed)
    rng = np.random.default_rng(seed)
    q, v, a = random_motion(robot, rng)
    names = {"leg_2_cylinder": 2, "leg_5_cylinder": 5, "leg_2_rod": 8, "leg_6_rod": 12}
    wrenches = {name: rng.normal(size=6) * 200 for name in names}
    pulls = {body: [(wrenches[name], robot.frames(q, name)[:3, 3])] for name, body in names.items()}
    wrenches["platform"] = rng.normal(size=6) * 300
    guides = [leg.shortest for leg in robot.legs]
    f_b, f_p, n_p, f_a, moment = reference.all_reactions(
        numbers, q, v, a, wrenches["platform"], guides, pulls
    )
    found = robot.joint_reactions(q, v, a, wrenches)
    s = robot.inverse_kinematics(q).direction
    close(found.drive, np.einsum("ij,ij->i", f_p, s), 1e-10)
    close(robot.inverse_dynamics(q, v, a, wrenches), found.drive, 1e-12)
    for got, expected in ((found.f_b, f_b), (found.f_p, f_p), (found.f_a, f_a), (found.n_p, n_p)):
        close(got, expected, 1e-10)
    close(np.linalg.norm(found.moment_a, axis=1), np.abs(moment), 1e-10)
    batch = robot.joint_reactions(np.array([q, q]), v, a, wrenches)
    close(batch.n_p[1], found.n_p, 1e-14)


@pytest.mark.parametrize("seed", range(2))
def test_4_dynamics_equal_the_lagrangian_differentiated_automatically(seed):
    robot, numbers = pair(seed)
    q, v, a = random_motion(robot, np.random.default_rng(seed))
    M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
    close(M @ a + h, reference.lagrange(numbers, q, v, a), 1e-10)
    close(M @ a + h, reference.virtual_power(numbers, q, v, a), 1e-10)
    close(robot.actuation_matrix(q) @ robot.inverse_dynamics(q, v, a), M @ a + h, 1e-10)
    still = reference.lagrange(numbers, q, np.zeros(6), np.zeros(6))
    columns = [reference.lagrange(numbers, q, np.zeros(6), e) - still for e in np.eye(6)]
    close(M, np.array(columns).T, 1e-10)
    energy = robot.energy(q, v)
    assert energy.kinetic == pytest.approx(reference.kinetic_energy(numbers, q, v), rel=1e-10)
    assert energy.gravity == pytest.approx(reference.potential_energy(numbers, q), rel=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_5_the_mass_matrix_is_definite_and_its_columns_are_inverse_dynamics(seed):
    robot, _ = pair(seed)
    q = robot.random(np.random.default_rng(seed))
    M, B, zero = robot.mass_matrix(q), robot.actuation_matrix(q), np.zeros(6)
    close(M, M.T, 1e-15)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    columns = robot.inverse_dynamics(q, zero, np.eye(6)) - robot.inverse_dynamics(q, zero, zero)
    close(B @ columns.T, M, 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_6_forward_dynamics_undoes_inverse_dynamics(seed):
    robot, _ = pair(seed)
    rng = np.random.default_rng(seed)
    q, v, a = random_motion(robot, rng)
    load = {"platform": rng.normal(size=6) * 300, "leg_3_rod": rng.normal(size=6) * 50}
    tau = robot.inverse_dynamics(q, v, a, load)
    close(robot.forward_dynamics(q, v, tau, load), a, 1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_7_virtual_work_and_power(seed):
    robot, _ = pair(seed)
    rng = np.random.default_rng(seed)
    q, v, a = random_motion(robot, rng)
    wrench = rng.normal(size=6) * 300
    tau = robot.inverse_dynamics(q, v, a, {"platform": wrench})
    required = robot.mass_matrix(q) @ a + robot.bias_forces(q, v) - wrench
    close(robot.actuation_matrix(q) @ tau, required, 1e-11)
    h = 1e-4
    ahead, behind = (robot.energy(*moved(robot, q, v, a, s * h)).total for s in (1, -1))
    power = tau @ robot.inverse_kinematics(q, v).rate + wrench @ v
    assert (ahead - behind) / (2 * h) == pytest.approx(power, rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_8_work_over_a_smooth_motion_equals_the_change_of_energy(seed):
    robot, _ = pair(seed)
    rng = np.random.default_rng(seed)
    home, amplitude, phase = robot.neutral(), rng.uniform(-0.08, 0.08, 6), rng.uniform(0, 6, 6)
    rates = rng.uniform(1.0, 4.0, 6)

    def motion(t):
        """Position by sines; attitude exp(z) exp(y) exp(x) of three sines, with its exact rates."""
        x, dx, ddx = (
            amplitude * np.sin(rates * t + phase),
            amplitude * rates * np.cos(rates * t + phase),
            -amplitude * rates**2 * np.sin(rates * t + phase),
        )
        R, w, al = Rotation.identity(), np.zeros(3), np.zeros(3)
        for n, axis in enumerate(np.eye(3)[::-1]):
            # R <- R exp(angle axis): w <- w + R axis angle', alpha likewise, with the axis carried by R
            carried = R.apply(axis)
            al = al + carried * ddx[n] + np.cross(w, carried) * dx[n]
            w = w + carried * dx[n]
            R = R * Rotation.from_rotvec(axis * x[n])
        turn = R * Rotation.from_quat(home[3:])
        pose = np.concatenate([home[:3] + x[3:], turn.as_quat()])
        return pose, np.concatenate([w, dx[3:]]), np.concatenate([al, ddx[3:]])

    nodes, weights = np.polynomial.legendre.leggauss(60)
    t = 0.75 * (nodes + 1.0)
    q, v, a = (np.array(x) for x in zip(*(motion(s) for s in t), strict=True))
    power = np.einsum("ni,ni->n", robot.inverse_dynamics(q, v, a), robot.inverse_kinematics(q, v).rate)
    change = robot.energy(*motion(1.5)[:2]).total - robot.energy(*motion(0.0)[:2]).total
    close(0.75 * weights @ power, change, 1e-10, np.abs(power).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_9_the_ground_carries_the_weight_at_rest(seed):
    robot, numbers = pair(seed)
    zero, q = np.zeros(6), robot.random(np.random.default_rng(seed))
    found = robot.joint_reactions(q, zero, zero)
    bodies = [(body.mass, x[0]) for body, x, _ in reference.motions(numbers, q, zero, zero)]
    weight = sum(mass for mass, _ in bodies) * GRAVITY
    close(found.f_a.sum(axis=0), -weight, 1e-11)
    moment = sum(mass * np.cross(x, GRAVITY) for mass, x in bodies)
    ground = np.cross(numbers.A, found.f_a).sum(axis=0) + found.moment_a.sum(axis=0)
    close(ground, -moment, 1e-11)


def test_10_symmetry_of_the_example():
    robot, zero = flexdyn_ros.load("stewart_1t"), np.zeros(6)
    tau = robot.inverse_dynamics(robot.neutral(), zero, zero)
    close(tau, np.full(6, tau[0]), 1e-11)
    rng = np.random.default_rng(10)
    q, v, a = random_motion(robot, rng)
    third = Rotation.from_euler("z", 120, degrees=True)
    turned = np.concatenate([third.apply(q[:3]), (third * Rotation.from_quat(q[3:]) * third.inv()).as_quat()])
    twist, rate = (np.concatenate([third.apply(x[:3]), third.apply(x[3:])]) for x in (v, a))
    close(np.roll(robot.inverse_dynamics(q, v, a), 2), robot.inverse_dynamics(turned, twist, rate), 1e-11)


def test_11_legs_matter_in_proportion_to_their_mass():
    q, v, a = random_motion(pair(0)[0], np.random.default_rng(11))
    bare, differences = None, []
    for factor in (0.0, 0.01, 0.02):
        text, numbers = random_platform(0)
        robot = with_leg_masses(text, numbers, factor)
        tau = robot.inverse_dynamics(q, v, a)
        if bare is None:
            bare = tau
            body = numbers.platform
            R = Rotation.from_quat(q[3:]).as_matrix()
            c, I = R @ body.com, R @ body.inertia @ R.T
            w, alpha = v[:3], a[:3]
            force = body.mass * (a[3:] + np.cross(alpha, c) + np.cross(w, np.cross(w, c)) - GRAVITY)
            moment = I @ alpha + np.cross(w, I @ w) + np.cross(c, force)
            alone = np.linalg.solve(robot.actuation_matrix(q), np.concatenate([moment, force]))
            close(bare, alone, 1e-11)
        else:
            differences.append(tau - bare)
    close(differences[1], 2.0 * differences[0], 0.01)


def with_leg_masses(text, numbers, factor):
    """The robot with masses and inertias of its legs times a factor."""
    from lxml import etree

    root = etree.fromstring(text)
    for link in root.findall("link"):
        name, inertial = link.get("name"), link.find("inertial")
        if inertial is None or not name.endswith(("cylinder", "rod")):
            continue
        if factor == 0.0:
            link.remove(inertial)
            continue
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        mass.set("value", repr(factor * float(mass.get("value"))))
        for key, value in inertia.attrib.items():
            inertia.set(key, repr(factor * float(value)))
    return flexdyn_ros.load(etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("seed", SEEDS)
def test_12_turning_world_gravity_and_robot_together_changes_nothing(seed):
    from lxml import etree

    robot, _ = pair(seed)
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(rng.normal(size=3))
    root = etree.fromstring(random_platform(seed)[0])
    base, gravity = root.find("flexdyn/base"), root.find("flexdyn/gravity")
    xyz, rpy = (np.array([float(x) for x in base.get(key).split()]) for key in ("xyz", "rpy"))
    base.set("xyz", numbers_text(turn.apply(xyz)))
    base.set("rpy", numbers_text((turn * Rotation.from_euler("xyz", rpy)).as_euler("xyz")))
    gravity.text = numbers_text(turn.apply(GRAVITY))
    other = flexdyn_ros.load(etree.tostring(root, encoding="unicode"))
    q, v, a = random_motion(robot, rng)
    q2 = np.concatenate([turn.apply(q[:3]), (turn * Rotation.from_quat(q[3:])).as_quat()])
    v2, a2 = (np.concatenate([turn.apply(x[:3]), turn.apply(x[3:])]) for x in (v, a))
    close(other.inverse_dynamics(q2, v2, a2), robot.inverse_dynamics(q, v, a), 1e-11)


def numbers_text(x):
    return " ".join(repr(float(value)) for value in x)


@pytest.mark.parametrize("seed", SEEDS)
def test_13_poses_survive_their_lengths(seed):
    robot, _ = pair(seed)
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(60)])
    off = rng.normal(size=(2, 60, 3))
    off *= 0.1 / np.linalg.norm(off, axis=2, keepdims=True)
    start = robot.integrate(q, np.concatenate([off[0], off[1]], axis=1), 1.0)
    found = robot.forward_kinematics(robot.inverse_kinematics(q).length, start)
    assert found.converged.all()
    assert found.iterations.max() <= 6
    assert np.abs(robot.difference(found.q, q)).max() <= 1e-9


def test_13_from_home_to_everywhere_in_the_workspace():
    robot = flexdyn_ros.load("stewart_1t")
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(1000)])
    found = robot.forward_kinematics(robot.inverse_kinematics(q).length, rates=np.ones(6))
    assert found.converged.all()
    assert np.abs(robot.difference(found.q, q)).max() <= 1e-9
    close(np.einsum("nij,nj->ni", robot.leg_jacobian(q), found.v), np.ones((1000, 6)), 1e-9)


def test_14_every_wrong_assembly_is_refused():
    """Starts off by 0.5 m and 0.7 rad: some end, to the last digit, on poses of another assembly."""
    robot = flexdyn_ros.load("stewart_1t")
    rng = np.random.default_rng(14)
    q = np.array([robot.random(rng) for _ in range(600)])
    off = rng.normal(size=(2, 600, 3))
    off *= np.array([0.7, 0.5])[:, None, None] / np.linalg.norm(off, axis=2, keepdims=True)
    start = robot.integrate(q, np.concatenate([off[0], off[1]], axis=1), 1.0)
    lengths = robot.inverse_kinematics(q).length
    found = robot.forward_kinematics(lengths, start, strict=False)
    right = np.abs(robot.difference(found.q, q)).max(axis=1) < 1e-6
    met = found.residual < 1e-9
    # wrong poses that meet all lengths occur, and not one of them is accepted
    assert (met & ~found.converged).sum() > 5
    assert not (found.converged & ~right).any()
    assert np.array_equal(found.q[~found.converged], start[~found.converged])
    assert right[found.converged].all()
    assert found.converged.mean() > 0.9


def test_14_jumps_and_singular_poses_are_refused():
    robot = flexdyn_ros.load("stewart_1t")
    home = robot.neutral()
    far = robot.integrate(home, np.array([0, 0, 0, 0.0, 0.0, 0.15]), 1.0)
    lengths = robot.inverse_kinematics(far).length
    assert robot.forward_kinematics(lengths, home, max_distance=0.2).converged
    refused = robot.forward_kinematics(lengths, home, max_distance=0.1, strict=False)
    assert not refused.converged
    assert np.array_equal(refused.q, home)
    with pytest.raises(flexdyn_ros.errors.ConvergenceError, match="max_distance") as caught:
        robot.forward_kinematics(lengths, home, max_distance=0.1)
    assert caught.value.iterations > 0
    strict = flexdyn_ros.load("stewart_1t", options={"platform.min_singular_value": 1.2})
    with pytest.raises(flexdyn_ros.errors.ConvergenceError, match="singularity"):
        strict.forward_kinematics(lengths)


def mirrored(q):
    """Poses below the base with the same lengths: base and platform joints of this robot lie in planes."""
    return q * np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0])


def test_14_the_mode_chooses_the_side_of_singularities():
    robot = flexdyn_ros.load("stewart_1t")
    rng = np.random.default_rng(3)
    q = np.array([robot.random(rng) for _ in range(200)])
    below = mirrored(q)
    lengths = robot.inverse_kinematics(q).length
    assert robot.inverse_kinematics(below).length == pytest.approx(lengths, abs=1e-14)
    start = robot.integrate(below, 0.05 * rng.normal(size=(200, 6)), 1.0)
    for mode in ("guess", "any"):
        found = robot.forward_kinematics(lengths, start, mode=mode)
        assert np.abs(robot.difference(found.q, below)).max() < 1e-9
        assert (found.refusal == "").all()
        assert robot.forward_kinematics(lengths, mode=mode).q == pytest.approx(
            robot.forward_kinematics(lengths).q, abs=1e-12
        )
    refused = robot.forward_kinematics(lengths, start, strict=False)
    assert not refused.converged.any()
    assert all("determinant changed its sign" in text for text in refused.refusal)


def test_14_refusals_say_what_was_found_and_expected():
    robot = flexdyn_ros.load("stewart_1t")
    home = robot.neutral()
    lengths = robot.inverse_kinematics(home).length

    def reason(lengths=lengths, **options):
        with pytest.raises(flexdyn_ros.errors.ConvergenceError) as caught:
            robot.forward_kinematics(lengths, **options)
        return str(caught.value)

    text = reason(guess=mirrored(home))
    assert "another assembly" in text
    assert "it is -5.6 there and positive at home" in text
    assert "mode='guess'" in text
    short = lengths.copy()
    short[2] = 0.4
    assert "leg 'leg_3' is to be 0.4 m long, expected 1.1 to 1.7 m" in reason(short)
    assert "the pose is 0.12" in reason(lengths + 0.1, max_distance=0.05)
    with pytest.raises(flexdyn_ros.errors.UnknownNameError, match="mode"):
        robot.forward_kinematics(lengths, mode="upside")


@pytest.mark.parametrize("seed", range(4))
def test_15_pinocchios_constrained_dynamics_agree(seed):
    pin = pytest.importorskip("pinocchio")
    from platform_oracle import ClosedTree

    robot, _ = pair(seed)
    rng = np.random.default_rng(seed)
    q, v, _ = random_motion(robot, rng)
    tau = rng.uniform(1000.0, 4000.0, 6)
    oracle = ClosedTree(pin, random_platform(seed)[0])
    a, forces = oracle.forward_dynamics(robot, q, v, tau)
    found = robot.forward_dynamics(q, v, tau)
    close(found, a, 1e-9)
    close(robot.joint_reactions(q, v, found).f_b, forces, 1e-9)


def test_18_six_frequencies_on_closed_valves():
    """The specification's example at 1.2 GPa; check 18 against the coupled oil is with the hydraulics."""
    fluid = {"platform.hydraulics.fluid": {"bulk_modulus": 1.2e9, "model": "constant"}}
    robot = flexdyn_ros.load("stewart_1t", options=fluid)
    expected = [14.281, 14.281, 27.639, 29.532, 35.324, 35.324]
    np.testing.assert_allclose(robot.modes(robot.neutral()).frequency, expected, atol=6e-4)
