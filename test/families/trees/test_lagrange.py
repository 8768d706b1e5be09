# ruff: noqa: E501
"""The Lagrangian path on robots that are loaded from URDF equals the articulated path, which is Newton-Euler."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from flexdyn_ros import load
from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.families.trees.lagrange.kernels import affine
from flexdyn_ros.families.trees.lagrange.model import build_lagrange, equations
from flexdyn_ros.families.trees.rigid.model import build_tree

MIXED = """
<robot name="mixed">
  <link name="world_link"/>
  <link name="a"><inertial><origin xyz="0.1 0.2 -0.1" rpy="0.3 0.2 0.1"/><mass value="1.3"/>
    <inertia ixx="0.03" ixy="0.002" ixz="-0.001" iyy="0.04" iyz="0.003" izz="0.05"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.0 0.1 0.2"/><mass value="0.7"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
  <link name="c"><inertial><origin xyz="-0.1 0 0.05"/><mass value="0.4"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="d"><inertial><mass value="0.9"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="world_link"/><child link="a"/><origin xyz="0.1 0 0.4" rpy="0.4 0 1"/>
    <axis xyz="0.2 -0.4 0.7"/><limit lower="-2" upper="2" effort="10" velocity="1"/><dynamics damping="0.3" friction="0.2"/></joint>
  <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0 0.3 0" rpy="0 0.8 0"/>
    <axis xyz="1 1 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
  <joint name="follow" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0 0.2" rpy="1 0 0"/>
    <axis xyz="0 0 -1"/><mimic joint="swing" multiplier="-1.7" offset="0.2"/></joint>
  <joint name="side" type="continuous"><parent link="a"/><child link="d"/><origin xyz="0 -0.3 0.1"/><axis xyz="1 0 0"/></joint>
  <flexdyn><gravity>0.5 -1 -9.7</gravity>BASE</flexdyn>
  <flexdyn reference="slide"><rotor inertia="0.001" gear_ratio="20"/><joint_spring stiffness="30" reference="0.1"/></flexdyn>
</robot>
"""


def example(name):
    share = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots" / name
    if not share.exists():
        pytest.skip("the robots of example-robot-data are not installed")
    return str(share)


def compare(robot, *, seed, states=6):
    model = build_lagrange(build_tree(robot.description).model)
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(states)])
    v, a = rng.uniform(-2, 2, (2, states, robot.nv))
    e = equations(model, q, v)
    M, tau = robot.mass_matrix(q), robot.inverse_dynamics(q, v, a)
    ours = np.einsum("nij,nj->ni", e.M, a) + e.h
    assert np.abs(e.M - M).max() < 1e-10 * np.abs(M).max()
    assert np.abs(ours - tau).max() < 1e-10 * np.abs(tau).max()
    energy = robot.energy(q, v)
    assert e.kinetic == pytest.approx(energy.kinetic, rel=1e-10)
    still = equations(model, robot.neutral(), v[0])
    change = robot.energy(robot.neutral(), v[0])
    # masses that are fixed to the world add a constant to the potential of one path
    assert e.gravitational - still.gravitational == pytest.approx(
        energy.gravity - change.gravity, rel=1e-10, abs=1e-9 * np.abs(energy.gravity).max()
    )
    assert e.strain == pytest.approx(energy.elastic, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("base", ["", "<base type='floating'/>", "<base type='planar' rpy='0.1 0.2 0.3'/>"])
def test_mixed_tree_equals_newton_euler(base):
    compare(load(MIXED.replace("BASE", base)), seed=1)


@pytest.mark.parametrize("kind", ["floating", "ball"])
def test_a_body_that_is_free_inside_a_tree_and_carries_one_equals_newton_euler(kind):
    joint = '<joint name="side" type="{}"><parent link="a"/><child link="d"/><origin xyz="0 -0.3 0.1"'
    free = MIXED.replace(joint.format("continuous"), joint.format("floating") + ' rpy="0.5 0.2 -0.7"')
    assert free != MIXED
    more = """<link name="e"><inertial><origin xyz="0.05 0.1 -0.2"/><mass value="0.6"/>
      <inertia ixx="0.03" ixy="0.001" ixz="0.002" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
      <joint name="on" type="continuous"><parent link="d"/><child link="e"/><origin xyz="0.2 0.1 -0.3" rpy="0 0.4 0.3"/>
      <axis xyz="0.3 0.1 1"/></joint>"""
    if kind == "ball":
        more += '<flexdyn reference="side"><joint_type>ball</joint_type></flexdyn>'
    compare(load(free.replace("BASE", "").replace("</robot>", f"{more}</robot>")), seed=6)


@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_flexible_links_whose_joints_follow_another_equal_newton_euler(stiffening):
    """One beam turns on a body, the other on the tip of the first."""
    beam = """<flexdyn reference="{0}"><beam length="0.8" mass_per_length="0.6" EIy="40" EIz="30" GJ="20"
      polar_inertia="2e-3"/><modes bending_y="1" bending_z="1" torsion="1"/></flexdyn>"""
    text = MIXED.replace("BASE", f'<formulation method="METHOD" stiffening="{stiffening}"/>')
    more = """<link name="whip"/><link name="lash"/>
      <joint name="bend" type="continuous"><parent link="d"/><child link="whip"/><origin xyz="0.2 0.1 -0.3" rpy="0 0.4 0.3"/>
      <axis xyz="0.3 0.1 1"/><mimic joint="side" multiplier="0.6" offset="-0.1"/></joint>
      <joint name="turn" type="continuous"><parent link="whip"/><child link="lash"/><origin xyz="0.8 0 0" rpy="0.2 0 0.5"/>
      <axis xyz="0.1 1 0.2"/><mimic joint="swing" multiplier="-1.8"/></joint>"""
    text = text.replace("</robot>", f"{more}{beam.format('whip')}{beam.format('lash')}</robot>")
    ours, other = (load(text.replace("METHOD", method)) for method in ("lagrange", "articulated"))
    rng = np.random.default_rng(7)
    for _ in range(3):
        q, v = 0.1 * rng.uniform(-1.0, 1.0, ours.nq), rng.normal(size=ours.nv)
        M, terms = other.mass_matrix(q), other.bias_terms(q, v)
        assert np.abs(ours.mass_matrix(q) - M).max() < 1e-12 * np.abs(M).max()
        for found, expected in zip(ours.bias_terms(q, v), terms, strict=True):
            assert np.abs(found - expected).max() < 1e-11 * max(np.abs(expected).max(), 1.0)
        energy = other.energy(q, v)
        assert ours.energy(q, v) == pytest.approx(energy, rel=1e-11)


def test_tree_with_motors_behind_springs_equals_newton_euler():
    """Also the first joint has one, whose spring is wound by the difference of two coordinates."""
    more = "".join(
        f'<flexdyn reference="{joint}"><rotor inertia="2e-3" gear_ratio="{ratio}"/>'
        f'<joint_elasticity stiffness="{stiffness}" damping="0.3"/></flexdyn>'
        for joint, ratio, stiffness in (("swing", 9, 80.0), ("side", 7, 50.0))
    )
    robot = load(MIXED.replace("BASE", "").replace("</robot>", f"{more}</robot>"))
    assert robot.v_names[0] == "swing"
    compare(robot, seed=4)


@pytest.mark.parametrize(
    "urdf",
    ["panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"],
)
def test_known_arms_equal_newton_euler(urdf):
    compare(load(example(urdf)), seed=2)


def test_floating_humanoid_equals_newton_euler():
    text = Path(example("talos_data/robots/talos_reduced.urdf")).read_text()
    text = text.replace("</robot>", "<flexdyn><base type='floating'/></flexdyn></robot>")
    compare(load(text), seed=3, states=3)


def unit_first(rng, first):
    """A transform (first = 1) or a derivative of one (0): unit-first, its other entries at random."""
    X = rng.standard_normal((4, 4))
    X[0] = first, 0.0, 0.0, 0.0
    return X


@pytest.mark.parametrize(("left", "right"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
def test_products_of_unit_first_matrices_are_those_of_matrices(left, right):
    rng = np.random.default_rng(3)
    X, Y, Z, was = unit_first(rng, left), unit_first(rng, right), *rng.standard_normal((2, 4, 4))
    for function, arguments, expected in (
        (affine.product, (X, Y), X @ Y),
        (affine.apply_left, (X, Z), X @ Z),
        (affine.apply_right_transposed, (Z, X), Z @ X.T),
    ):
        out = np.full((4, 4), np.nan)  # all of it is written
        function(*arguments, out)
        assert np.allclose(out, expected, rtol=0.0, atol=1e-13)
    for function, arguments, expected in (
        (affine.add_product, (X, Y, 0.7), 0.7 * X @ Y),
        (affine.add_scaled, (Z, -0.4), -0.4 * Z),
    ):
        out = was.copy()
        function(*arguments, out)
        assert np.allclose(out, was + expected, rtol=0.0, atol=1e-13)
    assert affine.trace_of_product(X, Z) == pytest.approx(np.trace(X @ Z), abs=1e-13)
    assert affine.trace_of_sandwich(X, Z, Y) == pytest.approx(np.trace(X @ Z @ Y.T), abs=1e-13)


@pytest.mark.parametrize("x", [0.0, 1e-6, 0.5, 1.99, 2.01, 7.0, 40.0])
def test_the_exponential_and_its_coefficients_slopes(x):
    """Rodrigues' formula in x = t.t equals the matrix exponential; slopes are differences, on both sides of x = 2."""
    t, h = np.sqrt(x) * np.array([2.0, -1.0, 2.0]) / 3.0, 1e-5
    K = np.cross(np.eye(3), -t)
    a, b, *slopes = affine.exponential_coefficients(x)
    assert np.allclose(np.eye(3) + a * K + b * K @ K, scipy.linalg.expm(K), rtol=0.0, atol=1e-13)
    behind, ahead = (affine.exponential_coefficients(x + s) for s in (-h, h))
    if x > h:
        found = (np.array(ahead) - behind)[:4] / (2.0 * h)
        assert np.allclose(slopes, found, rtol=1e-7, atol=1e-9)


def test_affine_frames_of_states_that_are_no_numbers_are_refused():
    robot = load("flexible_two_link", options={"formulation.preset": "paper"})
    q, v = np.full((2, robot.nq), 0.1), np.zeros((2, robot.nv))
    for bad in (np.nan, np.inf):
        q[1, 2] = bad
        for ask in (
            lambda: robot.frames(q, "tool0"), lambda: robot.frames(q, ["link_2", "tool0"]),
            lambda: robot.jacobian(q, "tool0"), lambda: robot.frame_velocity(q, v, "tool0"),
            lambda: robot.center_of_mass(q), lambda: robot.momentum(q, v), lambda: robot.energy(q, v),
            lambda: robot.mass_matrix(q), lambda: robot.bias_forces(q, v),
            lambda: robot.forward_dynamics(q, v), lambda: robot.inverse_dynamics_derivatives(q, v, v),
        ):  # fmt: skip
            with pytest.raises(StateError, match=rf"q\[2\] of sample 1 is {bad}"):
                ask()


@pytest.mark.parametrize("frame", ["so3", "affine"])
def test_slopes_of_efforts_of_a_bent_arm_are_differences(frame):
    """Also under a force at a station; those by accelerations are the mass matrix."""
    robot = load(
        "flexible_two_link",
        options={"formulation.method": "lagrange", "formulation.frame": frame, "gravity": [0.3, -9, 2]},
    )
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(2)])
    v, a = rng.uniform(-1.0, 1.0, (2, 2, robot.nv))
    push = {"link_2@0.6": np.array([0.0, 0.0, 0.0, 3.0, -2.0, 5.0])}
    h = 1e-6 * np.eye(robot.nv)
    for wrenches in (None, push):
        found = robot.inverse_dynamics_derivatives(q, v, a, wrenches=wrenches)
        for n in range(2):

            def slopes(dq, dv, n=n, wrenches=wrenches):
                ahead = robot.inverse_dynamics(q[n] + dq, v[n] + dv, a[n], wrenches=wrenches)
                behind = robot.inverse_dynamics(q[n] - dq, v[n] - dv, a[n], wrenches=wrenches)
                return (ahead - behind).T / 2e-6

            for computed, expected in zip(
                found, (slopes(h, 0.0 * h), slopes(0.0 * h, h), robot.mass_matrix(q[n])), strict=True
            ):
                assert np.abs(computed[n] - expected).max() < 1e-8 * max(1.0, np.abs(expected).max())


def test_slopes_of_affine_frames_are_those_of_a_fixed_base():
    options = {"formulation.method": "lagrange", "formulation.frame": "affine", "base.type": "floating"}
    robot = load("flexible_two_link", options=options)
    still = np.zeros(robot.nv)
    with pytest.raises(UnsupportedError, match="fixed base only"):
        robot.inverse_dynamics_derivatives(robot.neutral(), still, still)


@pytest.mark.parametrize("frame", ["so3", "affine"])
def test_jacobians_of_several_frames_are_differences_of_their_poses(frame):
    options = {"formulation.method": "lagrange", "formulation.frame": frame}
    robot = load("flexible_two_link", options=options)
    rng, names = np.random.default_rng(3), ["link_2@0.4", "link_1", "tool0"]
    q = np.array([robot.random(rng) for _ in range(2)])
    J, h = robot.jacobian(q, names), 1e-6
    for k in range(robot.nv):
        ahead, behind = (robot.frames(q + sign * h * np.eye(robot.nv)[k], names) for sign in (1.0, -1.0))
        moved = (ahead - behind) / (2.0 * h)
        assert J[:, :, 3:, k] == pytest.approx(moved[..., :3, 3], abs=1e-8)
    for i, name in enumerate(names):
        np.testing.assert_allclose(robot.jacobian(q, name), J[:, i], rtol=1e-13, atol=1e-14)
