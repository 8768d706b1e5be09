"""Springs, dampers and cylinders between frames of trees, on wheels or not, on random mixtures: theorems."""

from functools import cache

import numpy as np
import pytest
from mixtures import random_mixture
from platform_mixtures import random_platform_mixture
from sampled import few
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.multibody.elements.kernels.lines import pulled
from flexdyn_ros.simulation import Stepper

SEEDS = few(range(100), 40)
FAMILIES = ("rigid", "flexible", "elastic", "wheeled")


@cache
def mixture(family, seed):
    """A random mixture, made once."""
    return flexdyn_ros.load(random_mixture(seed, family))


def state(robot, seed):
    """q, v, a, tau of a random motion."""
    rng = np.random.default_rng([11, seed])
    v, a, tau = (rng.standard_normal(n) for n in (robot.nv, robot.nv, robot.nu))
    if robot.functions.is_constrained:
        # their loops close in few poses
        return *robot.project(robot.neutral(), 0.1 * v), a, 5.0 * tau
    return robot.random(rng), 0.5 * v, a, 5.0 * tau


def largest(x):
    return max(1.0, float(np.abs(x).max(initial=0.0)))


def forces_are_the_gradient_of_the_energy(r, seed):
    q, _, _, _ = state(r, seed)
    still, h = np.zeros(r.nv), 1e-5
    at_rest = r.bias_terms(q, still)
    slope = []
    for step in h * np.eye(r.nv):
        ahead, behind = (r.energy(r.integrate(q, s * step, 1.0), still) for s in (1.0, -1.0))
        slope.append((ahead.gravity + ahead.elastic - behind.gravity - behind.elastic) / (2.0 * h))
    # what wheels do is external
    force = at_rest.gravity + at_rest.elastic + at_rest.external
    assert np.allclose(force, slope, rtol=0.0, atol=2e-6 * largest(slope))


def inverse_and_forward_dynamics_are_inverse(r, seed):
    q, v, _, tau = state(r, seed)
    frame = r.frame_names[-1]
    load = {frame: np.arange(6.0)}
    a = r.forward_dynamics(q, v, tau, load)
    force = r.actuation_matrix(q) @ tau
    assert np.allclose(r.inverse_dynamics(q, v, a, load)[: r.nv], force, rtol=0.0, atol=1e-9 * largest(a))


def power_is_the_rate_of_the_energy(r, seed):
    """d(T + V)/dt = v . B tau - what dampers take, and these take."""
    q, v, _, tau = state(r, seed)
    a, h = r.forward_dynamics(q, v, tau), 1e-6
    ahead, behind = (r.energy(r.integrate(q, v, s * h), v + s * h * a).total for s in (1.0, -1.0))
    terms, at_rest = r.bias_terms(q, v), r.bias_terms(q, np.zeros(r.nv))
    taken = v @ (terms.damping + terms.external - at_rest.external)
    power = v @ r.actuation_matrix(q) @ tau
    assert taken >= -1e-12
    assert (ahead - behind) / (2.0 * h) == pytest.approx(
        power - taken, abs=1e-6 * largest([power, taken, *a])
    )


def linearization_is_that_of_forward_dynamics(r, seed, h=1e-6):
    q, v, _, tau = state(r, seed)
    found, n = r.linearize(q, v, tau), r.nv
    by_q, by_v, by_tau = np.empty((n, n)), np.empty((n, n)), np.empty((n, r.nu))
    for i, step in enumerate(h * np.eye(n)):
        ahead, behind = (r.forward_dynamics(r.integrate(q, s * step, 1.0), v, tau) for s in (1.0, -1.0))
        by_q[:, i] = (ahead - behind) / (2.0 * h)
        by_v[:, i] = (r.forward_dynamics(q, v + step, tau) - r.forward_dynamics(q, v - step, tau)) / (2.0 * h)
    for i, step in enumerate(np.eye(r.nu)):
        by_tau[:, i] = (r.forward_dynamics(q, v, tau + step) - r.forward_dynamics(q, v, tau - step)) / 2.0
    A = found.A[n:]
    assert np.allclose(A[:, :n], by_q, rtol=0.0, atol=1e-5 * largest(A))
    assert np.allclose(A[:, n:], by_v, rtol=0.0, atol=1e-5 * largest(A))
    assert np.allclose(found.B[n:], by_tau, rtol=0.0, atol=1e-8 * largest(found.B))


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("stretch", [0.3, -0.2])
@pytest.mark.parametrize("rate", [0.1, -0.1, 20.0, -20.0])
def test_springs_and_ropes_have_the_slopes_of_their_force_and_energy(one_sided, stretch, rate):
    def found(e=0.0, r=0.0):
        return np.array(pulled(300.0, 7.0, stretch + e, rate + r, one_sided))

    h = 1e-5
    force, elastic, _, stiffness, damping = found()
    if one_sided:
        assert force >= 0.0
        assert (force > 0.0) == (stretch > 0.0 and 300.0 * stretch + 7.0 * rate > 0.0)
    by_stretch, by_rate = (found(h) - found(-h))[:3] / (2 * h), (found(r=h) - found(r=-h))[0] / (2 * h)
    assert (stiffness, damping) == pytest.approx((by_stretch[0], by_rate), abs=1e-6)
    assert elastic == pytest.approx(by_stretch[2], abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_and_forward_dynamics_of_mixtures_are_inverse(family, seed):
    r = mixture(family, seed)
    inverse_and_forward_dynamics_are_inverse(r, seed)
    M = r.mass_matrix(state(r, seed)[0])
    assert np.allclose(M, M.T, rtol=0.0, atol=1e-12 * largest(M))
    assert (np.linalg.eigvalsh(M) > 0.0).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_energies_of_mixtures_obey_the_theorems_of_mechanics(family, seed):
    forces_are_the_gradient_of_the_energy(mixture(family, seed), seed)
    power_is_the_rate_of_the_energy(mixture(family, seed), seed)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_mixtures_are_linearized(family, seed):
    linearization_is_that_of_forward_dynamics(mixture(family, seed), seed)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS[:10])
def test_a_batch_is_its_calls(family, seed):
    r = mixture(family, seed)
    states = [state(r, 100 * seed + k) for k in range(17)]
    q, v, a, tau = (np.array(x) for x in zip(*states, strict=True))
    for many, one in (
        (r.inverse_dynamics(q, v, a), [r.inverse_dynamics(*x[:3]) for x in states]),
        (r.forward_dynamics(q, v, tau), [r.forward_dynamics(x[0], x[1], x[3]) for x in states]),
        (r.linearize(q, v, tau).A, [r.linearize(x[0], x[1], x[3]).A for x in states]),
        (r.energy(q, v).elastic, [r.energy(x[0], x[1]).elastic for x in states]),
        (r.actuation_matrix(q), [r.actuation_matrix(x[0]) for x in states]),
    ):
        assert np.allclose(many, one, rtol=0.0, atol=1e-11 * largest(many))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", few(range(8), 4))
def test_mixtures_with_platforms_obey_the_same_theorems(family, seed):
    """On links of any kind, on wheels, one on another."""
    r = flexdyn_ros.load(random_platform_mixture(seed, family))
    assert len(r.mechanisms) == 1 + seed % 2
    inverse_and_forward_dynamics_are_inverse(r, seed)
    forces_are_the_gradient_of_the_energy(r, seed)
    power_is_the_rate_of_the_energy(r, seed)
    # of a ton on kilograms, whose accelerations round to 1e-8
    linearization_is_that_of_forward_dynamics(r, seed, 1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", few(range(6), 3))
def test_mixtures_with_platforms_and_loops_keep_their_energy(family, seed):
    r = flexdyn_ros.load(random_platform_mixture(seed, family, closed=True))
    q, v, _, tau = state(r, seed)
    a, h = r.forward_dynamics(q, v, tau), 1e-6
    power_is_the_rate_of_the_energy(r, seed)
    if r.functions.is_constrained:
        ahead, behind = (r.loop_jacobian(r.integrate(q, v, s * h)) @ (v + s * h * a) for s in (1.0, -1.0))
        assert np.abs(ahead - behind).max() / (2.0 * h) <= 1e-6 * largest(a)


@pytest.mark.parametrize("seed", range(10))
def test_a_cylinder_acts_along_its_length(seed):
    """B's column is the derivative of the length; its power is force times rate."""
    r = next(robot for k in range(seed, 50) if (robot := mixture(FAMILIES[k % 4], k)).nu > robot.nv)
    q, v, _, _ = state(r, seed)
    h, found = 1e-6, r.cylinder_states(q, v)
    ahead, behind = (r.cylinder_states(r.integrate(q, v, s * h), v).length for s in (1.0, -1.0))
    assert np.allclose((ahead - behind) / (2.0 * h), found.rate, rtol=1e-7, atol=1e-8)
    assert np.allclose(v @ r.actuation_matrix(q)[:, r.nv :], found.rate, rtol=1e-12, atol=1e-13)


def test_elements_without_loops_let_states_be():
    """Nothing projects the states of a tree with springs and cylinders: every pose is allowed."""
    functions = mixture("rigid", 0).functions
    assert not functions.is_constrained
    q, v, _, _ = state(mixture("rigid", 0), 0)
    assert all(np.array_equal(found, was) for found, was in zip(functions.project(q, v), (q, v), strict=True))


def test_more_masses_of_elements_than_coordinates_count_where_a_joint_mimics():
    """Two cylinders with mass, one on the world, on two coordinates: the equation of motion by its parts."""
    body = (
        '<inertial><origin xyz="0.2 0.1 0.05"/><mass value="{}"/>'
        '<inertia ixx="0.1" ixy="0.01" ixz="-0.02" iyy="0.2" iyz="0.03" izz="0.15"/></inertial>'
    )
    links = "".join(
        f'<link name="{name}">{body.format(mass)}</link>' for name, mass in zip("abc", (3, 2, 1), strict=True)
    )
    size = 'minimum_length="0.1" stroke="5"'
    r = flexdyn_ros.load(f"""<robot name="boom"><link name="ground"/>{links}
    <joint name="one" type="continuous"><parent link="ground"/><child link="a"/>
      <origin xyz="0.1 0 0.3" rpy="0.2 0.1 0"/><axis xyz="0.1 1 0.3"/></joint>
    <joint name="two" type="continuous"><parent link="a"/><child link="b"/>
      <origin xyz="0.8 0 0.1" rpy="0 0.4 0.3"/><axis xyz="0.3 1 0.2"/>
      <mimic joint="one" multiplier="-0.7"/></joint>
    <joint name="three" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0.6 0.1 0"/>
      <axis xyz="0 0.2 1"/></joint>
    <flexdyn>
      <cylinder name="hoist" base="world" base_xyz="0.5 0.9 -0.6" end="b" end_xyz="0.3 0 0.1" {size}><force/>
        <barrel mass="4" com="0.3" inertia="0.4" axis="1 0.2 0.1" axial_inertia="0.05"/>
        <rod mass="2" com="-0.3" inertia="0.2" axial_inertia="0.02"/></cylinder>
      <cylinder name="dip" base="a" base_xyz="0.1 0.2 0.5" end="c" end_xyz="0.3 0.1 0.2" {size}><force/>
        <barrel mass="3" com="0.2" inertia="0.3"/><rod mass="1.5" com="-0.2" inertia="0.1"/></cylinder>
      <spring name="coil" base="ground" base_xyz="1 1 1" end="c" stiffness="900" damping="20"
        free_length="0.3"/></flexdyn></robot>""")
    assert (r.nv, r.nu) == (2, 4)
    q, v, tau = np.array([0.3, -0.6]), np.array([0.8, 1.1]), np.array([2.0, -3.0, 40.0, -25.0])
    expected = np.linalg.solve(r.mass_matrix(q), r.actuation_matrix(q) @ tau - r.bias_forces(q, v))
    stepper = Stepper(r)
    stepper.set_efforts(tau)
    stepper.set_state(q, v)
    np.testing.assert_allclose(stepper.a, expected, rtol=1e-9)
    exact = flexdyn_ros.simulate(r, 0.05, q, v, control=tau, method="dop853", rtol=1e-10, atol=1e-12)
    for method, bound in (("rk4", 1e-8), ("rosenbrock", 1e-5)):
        run = flexdyn_ros.simulate(r, 0.05, q, v, control=tau, dt=5e-4, method=method)
        np.testing.assert_allclose(run.q[-1], exact.q[-1], rtol=0.0, atol=bound)


@pytest.mark.parametrize(("twist", "swing"), [(0.7, 0.4), (-1.1, 1.3), (2.9, -0.8)])
def test_a_torsion_spring_is_wound_by_the_twist_about_its_axis_whatever_swings_across_it(twist, swing):
    """The turn from base to end is a twist about the axis, then a swing about one across it."""
    stiffness, damping, reference = 30.0, 2.0, 0.3
    axis, base_rpy, end_rpy = np.array([0.2, -0.7, 0.5]), [0.4, -0.3, 0.9], [-0.5, 0.2, 0.6]
    told = {"axis": axis, "base_rpy": base_rpy, "end_rpy": end_rpy}
    turned = " ".join(f'{key}="{" ".join(map(str, value))}"' for key, value in told.items())
    mass = (
        '<inertial><origin xyz="0.1 -0.2 0.3"/><mass value="2"/><inertia ixx="0.2" ixy="0.01" ixz="0.02" '
        'iyy="0.5" iyz="-0.03" izz="0.6"/></inertial>'
    )
    r = flexdyn_ros.load(f"""<robot name="kite"><link name="body">{mass}</link><link name="tail">{mass}</link>
      <joint name="hip" type="floating"><parent link="body"/><child link="tail"/></joint>
      <flexdyn reference="hip"><joint_type>ball</joint_type></flexdyn>
      <flexdyn><gravity>0 0 0</gravity><base type="floating"/>
      <torsion_spring name="coil" base="body" end="tail" {turned} stiffness="{stiffness}" damping="{damping}"
        reference="{reference}"/></flexdyn></robot>""")
    n = axis / np.linalg.norm(axis)
    across = np.cross(n, [0.3, 0.1, 1.0])
    across *= swing / np.linalg.norm(across)
    base, end = (Rotation.from_euler("xyz", rpy) for rpy in (base_rpy, end_rpy))
    turn = base * Rotation.from_rotvec(across) * Rotation.from_rotvec(twist * n) * end.inv()
    q = np.array([0.3, -0.4, 0.2, 0.1, -0.5, 0.7, 0.5, *turn.as_quat()])
    wound = np.angle(np.exp(1j * (twist - reference)))
    assert r.energy(q, np.zeros(9)).elastic == pytest.approx(0.5 * stiffness * wound**2, rel=1e-12)
    v, h = np.array([0.4, -0.3, 0.8, 0.5, 1.1, -0.6, -0.9, 0.7, 0.2]), 1e-5
    ahead, behind = (r.energy(r.integrate(q, v, t), v).elastic for t in (h, -h))
    terms, power = r.bias_terms(q, v), (ahead - behind) / (2.0 * h)
    assert v @ terms.elastic == pytest.approx(power, rel=1e-8)
    assert v @ terms.damping == pytest.approx(damping * (power / (stiffness * wound)) ** 2, rel=1e-8)
