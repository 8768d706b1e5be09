"""Every verb against Pinocchio: real robots, and random trees of every joint type.

Tolerances: both sides work in double precision on up to forty bodies, and differ in the order of their
sums: 1e-10 of the largest entry leaves room for the accumulated rounding and for nothing else.
"""

import models
import numpy as np
import pytest
from models import assert_near, random_state, real_robot
from pinocchio_oracle import Oracle, model_of, pin

import flexdyn_ros

TREES = 200


def real(name, floating):
    robot = real_robot(name, floating)
    path = models.example_robot(name)
    model = (
        pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    )
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    model.armature = np.zeros(model.nv)
    return robot, Oracle(robot, model, "root_joint")


def tree(seed):
    robot = flexdyn_ros.load(models.random_tree(seed))
    return robot, Oracle(robot, model_of(robot.description))


REAL = [pytest.param(*entry, id=entry[0].split("/")[-1]) for entry in models.REAL_ROBOTS]


def compare_dynamics(robot, oracle, rng):
    """All of the dynamics at one random state."""
    q, v, a = random_state(robot, rng)
    resistance = robot.bias_terms(q, v).damping
    tau = oracle.inverse_dynamics(q, v, a)
    assert_near(robot.inverse_dynamics(q, v, a) - resistance, tau, 1e-10, "inverse dynamics")
    M = oracle.mass_matrix(q)
    assert_near(robot.mass_matrix(q), M, 1e-10, "mass matrix")
    h = oracle.inverse_dynamics(q, v, 0 * a)
    assert_near(robot.bias_forces(q, v) - resistance, h, 1e-10, "bias")
    effort = rng.uniform(-10, 10, robot.nv)
    acceleration = robot.forward_dynamics(q, v, effort)
    # the residual, by the oracle's numbers: a itself is as uncertain as M is ill-conditioned
    terms = (np.abs(M @ acceleration).max(), np.abs(h + resistance).max(), np.abs(effort).max())
    residual = np.abs(M @ acceleration + h + resistance - effort).max()
    assert residual <= 1e-11 * max(terms), f"residual {residual / max(terms):.3g}"


def compare_kinematics(robot, oracle, rng):
    q, v, a = random_state(robot, rng)
    names = robot.frame_names
    for name in {names[0], names[-1], *rng.choice(names, min(3, len(names)))}:
        assert_near(robot.frames(q, str(name)), oracle.pose(q, name), 1e-12, f"pose of {name}")
        J = oracle.jacobian(q, name)
        assert_near(robot.jacobian(q, str(name)), J, 1e-10, f"Jacobian of {name}")
        velocity, acceleration = oracle.frame_motion(q, v, a, name)
        assert_near(robot.frame_velocity(q, v, str(name)), velocity, 1e-10, f"velocity of {name}")
        found = robot.frame_acceleration(q, v, a, str(name))
        assert_near(found, acceleration, 1e-10, f"acceleration of {name}")
    kinetic, potential = oracle.energies(q, v)
    energy = robot.energy(q, v)
    rotors = sum(0.5 * _armature(robot, c.name) * v[c.v_index] ** 2 for c in robot.coordinates)
    assert_near(energy.kinetic - rotors, kinetic, 1e-10, "kinetic energy")
    assert abs(energy.gravity - potential) <= 1e-10 * _potential_scale(robot, q), "potential energy"
    if robot.nv:
        assert_near(robot.center_of_mass(q), oracle.center_of_mass(q), 1e-10, "centre of mass")
    assert_near(robot.momentum(q, v), oracle.momentum(q, v), 1e-10, "momentum")


def _armature(robot, name):
    rotor = next((j.rotor for j in robot.description.joints if j.name == name), None)
    return 0.0 if rotor is None else rotor.gear_ratio**2 * rotor.inertia


def _potential_scale(robot, q):
    return robot.mass * np.linalg.norm(robot.gravity) * max(1.0, np.abs(robot.center_of_mass(q)).max())


@pytest.mark.parametrize(("name", "floating"), REAL)
def test_dynamics_of_real_robots(name, floating):
    robot, oracle = real(name, floating)
    rng = np.random.default_rng(1)
    for _ in range(20):
        compare_dynamics(robot, oracle, rng)


@pytest.mark.parametrize(("name", "floating"), REAL)
def test_kinematics_energy_and_momentum_of_real_robots(name, floating):
    robot, oracle = real(name, floating)
    rng = np.random.default_rng(2)
    for _ in range(10):
        compare_kinematics(robot, oracle, rng)


@pytest.mark.parametrize("block", range(8))
def test_random_trees_of_every_joint_type(block):
    for seed in range(block * TREES // 8, (block + 1) * TREES // 8):
        robot, oracle = tree(seed)
        if robot.nv == 0:
            continue
        rng = np.random.default_rng(seed)
        try:
            compare_dynamics(robot, oracle, rng)
            compare_kinematics(robot, oracle, rng)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_random_trees_cover_every_joint_type():
    seen = set()
    for seed in range(TREES):
        description = flexdyn_ros.load(models.random_tree(seed)).description
        seen |= {j.type for j in description.joints} | {f"base {description.base.type}"}
        seen |= {"mimic" for j in description.joints if j.mimic}
    assert seen >= {
        "revolute",
        "continuous",
        "prismatic",
        "fixed",
        "floating",
        "mimic",
        "base fixed",
        "base floating",
    }


def test_batches_equal_pinocchio_sample_by_sample():
    robot, oracle = real(models.QUADRUPED, True)
    q, v, a = random_state(robot, np.random.default_rng(3), (37,))
    tau = robot.inverse_dynamics(q, v, a) - robot.bias_terms(q, v).damping
    M = robot.mass_matrix(q)
    for i in range(37):
        assert_near(tau[i], oracle.inverse_dynamics(q[i], v[i], a[i]), 1e-10)
        assert_near(M[i], oracle.mass_matrix(q[i]), 1e-10)


@pytest.mark.parametrize(("name", "floating"), REAL)
def test_forward_dynamics_equals_the_articulated_body_algorithm(name, floating):
    robot, oracle = real(name, floating)
    if any(j.mimic for j in robot.description.joints):
        robot = flexdyn_ros.load(models.without_mimic_and_resistance(models.example_robot(name)))
        oracle = Oracle(robot, oracle.model)
    rng = np.random.default_rng(4)
    q, v, _ = random_state(robot, rng)
    tau = rng.uniform(-10, 10, robot.nv)
    resistance = robot.bias_terms(q, v).damping
    reference = oracle.forward_dynamics(q, v, tau - resistance)
    # accelerations differ by rounding times the condition of M
    assert_near(
        robot.forward_dynamics(q, v, tau), reference, 1e-14 * np.linalg.cond(robot.mass_matrix(q)) + 1e-11
    )


def test_wrenches_equal_pinocchio():
    for seed in range(30):
        robot, oracle = tree(seed)
        if robot.nv == 0:
            continue
        rng = np.random.default_rng(seed)
        q, v, a = random_state(robot, rng)
        names = [str(name) for name in rng.choice(robot.frame_names, 2, replace=False)]
        wrenches = {name: rng.uniform(-20, 20, 6) for name in names}
        tau = oracle.inverse_dynamics(q, v, a, wrenches)
        scale = np.abs(oracle.inverse_dynamics(q, v, a)).max() + np.abs(tau).max() + 20
        assert np.abs(robot.inverse_dynamics(q, v, a, wrenches) - tau).max() <= 1e-10 * scale
        pushed = sum(robot.jacobian(q, name).T @ w for name, w in wrenches.items())
        plain = robot.inverse_dynamics(q, v, a)
        assert np.abs(robot.inverse_dynamics(q, v, a, wrenches) - (plain - pushed)).max() <= 1e-12 * scale


def test_rotor_inertia_is_pinocchios_armature():
    text = models.random_tree(5, base="fixed", joints=6, mimic=False, floating=False, resistance=True)
    robot = flexdyn_ros.load(text)
    model = model_of(robot.description)
    oracle = Oracle(robot, model)
    armature = np.zeros(model.nv)
    for joint, _, iv, _, _ in oracle.axes:
        armature[joint.idx_v] = _armature(robot, robot.v_names[iv])
    assert armature.max() > 0
    model.armature = armature
    q, _, _ = random_state(robot, np.random.default_rng(6))
    assert_near(robot.mass_matrix(q), oracle.mass_matrix(q), 1e-12)


@pytest.mark.parametrize("name", [models.PANDA, models.UR5])
def test_linearize_equals_pinocchios_analytic_derivatives(name):
    _, oracle = real(name, False)
    stripped = flexdyn_ros.load(models.without_mimic_and_resistance(models.example_robot(name)))
    oracle = Oracle(stripped, oracle.model)
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, v, _ = random_state(stripped, rng)
        tau = rng.uniform(-20, 20, stripped.nv)
        G = oracle.G(q)  # a permutation: no free joints here
        pin.computeABADerivatives(oracle.model, oracle.data, oracle.q(q), G @ v, G @ tau)
        d = oracle.data
        n = stripped.nv
        linear = stripped.linearize(q, v, tau)
        Minv = np.triu(d.Minv) + np.triu(d.Minv, 1).T
        assert_near(linear.A[n:, :n], G.T @ d.ddq_dq @ G, 1e-9, "da/dq")
        assert_near(linear.A[n:, n:], G.T @ d.ddq_dv @ G, 1e-9, "da/dv")
        assert_near(linear.B[n:], G.T @ Minv @ G, 1e-9, "da/dtau")


@pytest.mark.parametrize(("name", "floating"), REAL)
def test_derivatives_of_inverse_dynamics_equal_pinocchios(name, floating):
    _, oracle = real(name, floating)
    text = models.without_mimic_and_resistance(models.example_robot(name))
    robot = flexdyn_ros.load(text, options={"base.type": "floating"} if floating else None)
    oracle = Oracle(robot, oracle.model, "root_joint")
    rng = np.random.default_rng(8)
    for _ in range(3):
        q, v, a = random_state(robot, rng)
        for found, expected in zip(
            robot.inverse_dynamics_derivatives(q, v, a), oracle.inverse_derivatives(q, v, a), strict=True
        ):
            assert_near(found, expected, 1e-9)


def test_all_urdfs_of_example_robot_data_load():
    folder = models.example_robot_data()
    if folder is None:
        pytest.skip("the data files of the package example-robot-data are not installed")
    # one file of the collection (ur3.urdf) is an empty <robot>
    files = [file for file in sorted(folder.rglob("*.urdf")) if b"<link" in file.read_bytes()]
    assert len(files) >= 60
    for file in files:
        robot = flexdyn_ros.load(str(file))
        q = robot.random(np.random.default_rng(1))
        M = robot.mass_matrix(q)
        assert np.isfinite(M).all(), file
        assert np.array_equal(M, M.T), file
