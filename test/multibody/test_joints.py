"""Joint types: against Pinocchio and closed forms, every verb by name, pictures."""

import models
import numpy as np
import pytest
from jointed_robots import BOTH, EVERY, NAMES, loaded, with_floating_joint, with_joint
from lxml import etree
from models import JOINT_TYPES, assert_near, joint, link, random_state, robot_text
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.errors import StateError

# ---- Pinocchio ----


@pytest.mark.parametrize("block", range(4))
def test_random_trees_of_all_types_equal_pinocchio(block):
    """Dynamics and kinematics to 1e-12 of the largest entry."""
    pytest.importorskip("pinocchio", reason="the test oracle Pinocchio (package pin) is not installed")
    from pinocchio_oracle import Oracle, model_of

    for seed in range(50 * block, 50 * block + 50):
        robot = flexdyn_ros.load(models.random_tree(seed, kinds=models.KINDS))
        if not robot.nv:
            continue
        oracle, rng = Oracle(robot, model_of(robot.description)), np.random.default_rng(seed)
        q, v, a = random_state(robot, rng)
        tau = oracle.inverse_dynamics(q, v, a)
        assert_near(robot.inverse_dynamics(q, v, a), tau, 1e-12, f"inverse dynamics, seed {seed}")
        M, h = oracle.mass_matrix(q), oracle.inverse_dynamics(q, v, 0 * a)
        assert_near(robot.mass_matrix(q), M, 1e-12, f"mass matrix, seed {seed}")
        # a itself is as uncertain as M is ill-conditioned: the residual, by the oracle's numbers
        found = robot.forward_dynamics(q, v, tau)
        largest = max(np.abs(M @ found).max(), np.abs(h).max(), np.abs(tau).max())
        assert np.abs(M @ found + h - tau).max() <= 1e-12 * largest, f"forward dynamics, seed {seed}"
        frame = str(rng.choice(robot.frame_names))
        assert_near(robot.frames(q, frame), oracle.pose(q, frame), 1e-12, f"pose, seed {seed}")
        assert_near(robot.jacobian(q, frame), oracle.jacobian(q, frame), 1e-12, f"Jacobian, seed {seed}")
        velocity, acceleration = oracle.frame_motion(q, v, a, frame)
        assert_near(robot.frame_velocity(q, v, frame), velocity, 1e-12, f"velocity, seed {seed}")
        moved = robot.frame_acceleration(q, v, a, frame)
        assert_near(moved, acceleration, 1e-12, f"acceleration, seed {seed}")
        assert_near(robot.momentum(q, v), oracle.momentum(q, v), 1e-12, f"momentum, seed {seed}")
        kinetic, _ = oracle.energies(q, v)
        assert_near(robot.energy(q, v).kinetic, kinetic, 1e-12, f"kinetic energy, seed {seed}")


def test_random_trees_draw_every_type():
    seen = set()
    for seed in range(200):
        description = flexdyn_ros.load(models.random_tree(seed, kinds=models.KINDS)).description
        seen |= {j.joint_type.type if j.joint_type else j.type for j in description.joints}
    assert seen >= set(models.KINDS)


# ---- closed forms ----


def single(kind, words="", axis=None, text=None):
    """One body, 2 kg, centre of mass 0.3 m along x, on a joint at the origin of the world."""
    return flexdyn_ros.load(
        robot_text(
            "single",
            link("ground", 0),
            link("body", 2.0, (0.3, 0, 0), (0.1, 0, 0, 0.2, 0, 0.25)),
            joint("J", "planar" if kind == "planar" else "floating", "ground", "body", axis=axis),
            f'<flexdyn reference="J"><joint_type {words}>{text or kind}</joint_type></flexdyn>',
            "<flexdyn><gravity>0 0 -9.81</gravity></flexdyn>",
        )
    )


def test_a_planar_joint_moves_along_the_triad_of_its_normal():
    robot = single("planar", axis=(0, 1, 0))
    # n = y: t1 = x, t2 = n x t1 = -z
    q = np.array([0.7, 0.4, 0.3])
    T = robot.frames(q, "body")
    np.testing.assert_allclose(T[:3, 3], [0.7, 0.0, -0.4], atol=1e-15)
    np.testing.assert_allclose(T[:3, :3], Rotation.from_rotvec([0, 0.3, 0]).as_matrix(), atol=1e-15)
    # weight along t2 = -z, and about y with the lever 0.3 cos(angle) along x
    h = robot.bias_forces(q, np.zeros(3))
    expected = [0.0, -2 * 9.81, -2 * 9.81 * 0.3 * np.cos(0.3)]
    np.testing.assert_allclose(h, expected, rtol=1e-13, atol=1e-13)
    along_x = single("planar", axis=(1, 0, 0))
    np.testing.assert_allclose(along_x.frames([0.7, 0.4, 0.0], "body")[:3, 3], [0, 0.7, 0.4], atol=1e-15)


def test_a_universal_joint_turns_about_two_axes_in_a_row():
    robot = single("universal", words='axis="0 0 2" second_axis="0 -3 0"')
    R = Rotation.from_rotvec([0, 0, 0.4]) * Rotation.from_rotvec([0, -0.7, 0])
    np.testing.assert_allclose(robot.frames([0.4, 0.7], "body")[:3, :3], R.as_matrix(), atol=1e-15)
    default = single("universal")
    R = Rotation.from_rotvec([0.4, 0, 0]) * Rotation.from_rotvec([0, 0.7, 0])
    np.testing.assert_allclose(default.frames([0.4, 0.7], "body")[:3, :3], R.as_matrix(), atol=1e-15)


def test_a_helical_joint_is_a_screw():
    """One body on a screw along z: inertia about z plus pitch^2 m, weight times pitch."""
    robot = single("helical", words='pitch="-0.02"')
    T = robot.frames([1.5], "body")
    np.testing.assert_allclose(T[:3, 3], [0, 0, -0.03], atol=1e-15)
    np.testing.assert_allclose(T[:3, :3], Rotation.from_rotvec([0, 0, 1.5]).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(robot.mass_matrix([1.5]), [[0.25 + 2 * 0.09 + 2 * 0.02**2]], rtol=1e-14)
    np.testing.assert_allclose(robot.bias_forces([1.5], [3.0]), [-2 * 9.81 * 0.02], rtol=1e-13)
    assert robot.nq == robot.nv == robot.nu == 1
    np.testing.assert_allclose(robot.jacobian([1.5], "body")[:, 0], [0, 0, 1, 0, 0, -0.02], atol=1e-15)


def test_helical_joints_go_by_the_recursion():
    """The articulated-body recursion of trees with screws, against the mass matrix."""
    for seed in range(5):
        text = models.random_tree(seed, kinds=("revolute", "prismatic", "helical"), mimic=False, joints=8)
        robot = flexdyn_ros.load(text)
        assert not robot.functions.by_mass_matrix
        rng = np.random.default_rng(seed)
        q, v, _ = random_state(robot, rng)
        tau = rng.normal(size=robot.nu)
        a = robot.forward_dynamics(q, v, tau)
        M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
        assert np.abs(M @ a + h - tau).max() <= 1e-12 * np.abs(M @ a).max()


def test_a_cylindrical_joint_turns_and_slides_along_one_axis():
    robot = single("cylindrical", words='axis="0 2 0"')
    T = robot.frames([0.5, 0.2], "body")
    np.testing.assert_allclose(T[:3, 3], [0, 0.2, 0], atol=1e-15)
    np.testing.assert_allclose(robot.mass_matrix([0.5, 0.2]), np.diag([0.2 + 2 * 0.09, 2.0]), atol=1e-13)


def test_a_ball_joint_has_the_equations_of_a_top():
    """M = R I R^T, h = w x R I R^T w + weight, about the centre of the joint, in the axes of its frame."""
    robot = single("ball")
    rng = np.random.default_rng(3)
    q, w, a = robot.random(rng), rng.standard_normal(3), rng.standard_normal(3)
    R = Rotation.from_quat(q).as_matrix()
    np.testing.assert_allclose(robot.frames(q, "body")[:3, :3], R, atol=1e-15)
    I = R @ np.diag([0.1, 0.2 + 2 * 0.09, 0.25 + 2 * 0.09]) @ R.T
    np.testing.assert_allclose(robot.mass_matrix(q), I, atol=1e-14)
    weight = np.cross(R @ [0.3, 0, 0], [0, 0, 2 * 9.81])
    expected = np.cross(w, I @ w) + weight
    np.testing.assert_allclose(robot.bias_forces(q, w), expected, atol=1e-13)
    np.testing.assert_allclose(robot.inverse_dynamics(q, w, a), I @ a + expected, atol=1e-13)
    np.testing.assert_allclose(robot.forward_dynamics(q, w, I @ a + expected), a, atol=1e-12)
    np.testing.assert_allclose(robot.jacobian(q, "body")[:3], np.eye(3), atol=1e-15)


# ---- every verb ----


@BOTH
@EVERY
def test_names_kinds_and_sizes(kind, flexible):
    robot = loaded(kind, flexible)
    own = [c for c in robot.coordinates if c.name == "J" or c.name.startswith("J/")]
    assert tuple(c.name for c in own) == NAMES[kind]
    assert {c.kind for c in own} == {"joint"}
    assert {c.body for c in own} == {"tool"}
    assert all(c.actuated and c.lower == -np.inf and c.effort_limit == np.inf for c in own)
    modes = ["upper/bending_y/1", "upper/bending_z/1", "upper/torsion/1"] if flexible else []
    before = ["first", *modes]
    assert list(robot.v_names[: len(before) + len(own)]) == [*before, *(c.name for c in own)]


def small_state(robot, seed, shape=()):
    rng = np.random.default_rng(seed)
    return random_state(robot, rng, shape)


@BOTH
@EVERY
def test_inverse_and_forward_dynamics_undo_each_other(kind, flexible):
    robot = loaded(kind, flexible, numbers=numbers_of(kind))
    q, v, a = small_state(robot, 1, (17,))
    wrenches = {"lower": np.random.default_rng(2).normal(size=6)}
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    assert_near(robot.forward_dynamics(q, v, tau, wrenches), a, 1e-8)
    for k in range(17):
        assert_near(robot.inverse_dynamics(q[k], v[k], a[k], wrenches), tau[k], 1e-12)
        one = robot.forward_dynamics(q[k], v[k], tau[k], wrenches)
        assert np.abs(robot.inverse_dynamics(q[k], v[k], one, wrenches) - tau[k]).max() <= 1e-11 * (
            np.abs(tau[k]).max() + 1.0
        )
    M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
    assert_near(np.einsum("kij,kj->ki", M, a) + h, robot.inverse_dynamics(q, v, a), 1e-11)
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert_near(sum(robot.bias_terms(q, v)), h, 1e-12)


def numbers_of(kind):
    """Damping and friction for each coordinate."""
    damping = " ".join(f"{0.1 * (k + 1)}" for k in range(JOINT_TYPES[kind]))
    return f'damping="{damping}" friction="{" ".join(["0.2"] * JOINT_TYPES[kind])}"'


@EVERY
def test_damping_and_friction_act_on_their_own_coordinates(kind):
    robot, free = loaded(kind, numbers=numbers_of(kind)), loaded(kind)
    q, v, _ = small_state(robot, 3)
    extra = robot.bias_forces(q, v) - free.bias_forces(q, v)
    own = [robot.index(name) for name in NAMES[kind]]
    rates = v[own]
    expected = 0.1 * np.arange(1, len(own) + 1) * rates + 0.2 * np.sign(rates)
    np.testing.assert_allclose(extra[own], expected, atol=2e-3)
    assert np.abs(np.delete(extra, own)).max() < 1e-12


@BOTH
@EVERY
def test_coriolis_energy_momentum_and_frames_follow_the_motion(kind, flexible):
    robot = loaded(kind, flexible)
    q, v, a = small_state(robot, 4)
    h = 1e-5

    def ahead(f, s):
        return f(robot.integrate(q, v, s * h), v + s * h * a)

    def rate(f):
        """df/dt along v, a, of fourth order."""
        return (8 * (ahead(f, 1) - ahead(f, -1)) - (ahead(f, 2) - ahead(f, -2))) / (12 * h)

    C, velocity = robot.coriolis_matrix(q, v), robot.bias_terms(q, v).velocity
    assert np.abs(C @ v - velocity).max() <= 1e-10 * max(1.0, np.abs(velocity).max())
    dM = rate(lambda q, v: robot.mass_matrix(q))
    assert np.abs(dM - C - C.T).max() <= 1e-7 * max(1.0, np.abs(dM).max())
    tau = robot.inverse_dynamics(q, v, a)
    power = rate(lambda q, v: robot.energy(q, v).total)
    lost = robot.bias_terms(q, v).damping @ v
    assert abs(power - (tau @ v - lost)) <= 1e-6 * max(1.0, np.abs(tau * v).max())
    J = robot.jacobian(q, "lower")
    twist = robot.frame_velocity(q, v, "lower")
    assert_near(J @ v, twist, 1e-12)
    moved = rate(lambda q, v: robot.frames(q, "lower"))
    np.testing.assert_allclose(moved[:3, 3], twist[3:], atol=1e-7)
    spin = moved[:3, :3] @ robot.frames(q, "lower")[:3, :3].T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], twist[:3], atol=1e-7)
    turned = rate(lambda q, v: robot.frame_velocity(q, v, "lower"))
    np.testing.assert_allclose(robot.frame_acceleration(q, v, a, "lower"), turned, atol=1e-5)
    linear = rate(lambda q, v: robot.mass * robot.center_of_mass(q))
    np.testing.assert_allclose(robot.momentum(q, v)[3:], linear, atol=1e-7)
    assert abs(0.5 * v @ robot.mass_matrix(q) @ v - robot.energy(q, v).kinetic) <= 1e-11 * (v @ v + 1.0) * 50


@EVERY
def test_integrate_and_difference_undo_each_other(kind):
    robot = loaded(kind)
    q, v, _ = small_state(robot, 5, (9,))
    v = 0.3 * v
    np.testing.assert_allclose(robot.difference(q, robot.integrate(q, v, 1.0)), v, atol=1e-12)


@BOTH
@EVERY
def test_the_regressor_is_the_inverse_dynamics(kind, flexible):
    robot = loaded(kind, flexible, numbers=numbers_of(kind))
    q, v, a = small_state(robot, 6)
    tau, found = robot.inverse_dynamics(q, v, a), robot.regressor(q, v, a)
    p = np.array([parameter.value for parameter in robot.parameters])
    assert_near(found.Y @ p + found.tau0, tau, 1e-9)
    damped = [p.name for p in robot.parameters if p.name.endswith("/damping")]
    assert {f"{name}/damping" for name in NAMES[kind]} <= set(damped)
    name = f"{NAMES[kind][0]}/damping"
    changed = robot.with_parameters({name: 3.0})
    step = changed.inverse_dynamics(q, v, a) - tau
    i = robot.index(NAMES[kind][0])
    assert abs(step[i] - 2.9 * v[i]) < 1e-9
    assert np.abs(np.delete(step, i)).max() < 1e-9


@BOTH
@EVERY
def test_derivatives_and_linearization_are_those_of_differences(kind, flexible):
    robot = loaded(kind, flexible, numbers=numbers_of(kind))
    q, v, a = small_state(robot, 7)
    tau = robot.inverse_dynamics(q, v, a)
    A, B = robot.linearize(q, v, tau)[:2]
    n, h = robot.nv, 2e-6
    for i in range(n):
        e = np.eye(n)[i]
        moved = [robot.forward_dynamics(robot.integrate(q, s * h * e, 1.0), v, tau) for s in (1, -1)]
        faster = [robot.forward_dynamics(q, v + s * h * e, tau) for s in (1, -1)]
        pushed = [robot.forward_dynamics(q, v, tau + s * h * e) for s in (1, -1)]
        scale = max(1.0, np.abs(A).max())
        assert np.abs((moved[0] - moved[1]) / (2 * h) - A[n:, i]).max() <= 1e-6 * scale
        assert np.abs((faster[0] - faster[1]) / (2 * h) - A[n:, n + i]).max() <= 1e-6 * scale
        assert np.abs((pushed[0] - pushed[1]) / (2 * h) - B[n:, i]).max() <= 1e-6 * max(1, np.abs(B).max())


@BOTH
@EVERY
def test_modes_and_static_equilibrium(kind, flexible):
    robot = loaded(kind, flexible)
    held = robot.static_equilibrium(robot.neutral(), hold="joints")
    assert held.residual < 1e-8
    own = robot.inverse_dynamics(held.q, np.zeros(robot.nv), np.zeros(robot.nv))
    np.testing.assert_allclose(held.tau, own, atol=1e-7)
    modes = robot.modes(held.q, lock="joints")
    assert modes.frequency.size == (6 if flexible else 0)
    free = robot.modes(held.q)
    assert free.frequency.size == robot.nv
    M = robot.mass_matrix(held.q)
    np.testing.assert_allclose(np.einsum("im,ij,jm->m", free.shape, M, free.shape), 1.0, rtol=1e-8)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rosenbrock", "rk4", "auto"])
@EVERY
def test_runs_keep_their_energy_balance_and_agree(kind, method):
    """Fixed, implicit and error-controlled steps, against a fine run."""
    robot = loaded(kind, numbers=f'damping="{" ".join(["0.3"] * JOINT_TYPES[kind])}"')
    rng = np.random.default_rng(8)
    q0, v0 = robot.random(rng), 0.5 * rng.standard_normal(robot.nv)
    end = 0.3
    fine = flexdyn_ros.simulate(robot, end, q0=q0, v0=v0, method="dop853", rtol=1e-10)
    if method == "auto":
        run = flexdyn_ros.simulate(robot, end, q0=q0, v0=v0)
        bound = 1e-5
    else:
        run = flexdyn_ros.simulate(robot, end, q0=q0, v0=v0, method=method, dt=1e-4)
        bound = {"semi_implicit_euler": 5e-3, "rosenbrock": 1e-5, "rk4": 1e-9}[method]
    error = np.abs(robot.difference(fine.q[-1], run.q[-1])).max()
    assert error <= bound * max(1.0, np.abs(fine.v).max())
    total = run.energy.total + run.dissipated - run.work
    loss = 0.0 if run.numerical_dissipation is None else run.numerical_dissipation
    assert np.abs(total + loss - total[0]).max() <= 100 * bound * max(1.0, np.abs(run.energy.kinetic).max())


@EVERY
def test_flexible_trees_run(kind):
    robot = loaded(kind, True, numbers=f'damping="{" ".join(["0.3"] * JOINT_TYPES[kind])}"')
    v0 = 0.3 * np.random.default_rng(9).standard_normal(robot.nv)
    for c in robot.coordinates:
        v0[c.v_index] *= c.kind == "joint"
    fine = flexdyn_ros.simulate(robot, 0.1, v0=v0, method="dop853", rtol=1e-10)
    for options in ({}, {"method": "rosenbrock", "dt": 1e-4}):
        run = flexdyn_ros.simulate(robot, 0.1, v0=v0, **options)
        assert np.abs(robot.difference(fine.q[-1], run.q[-1])).max() <= 2e-5


@pytest.mark.parametrize("kind", [kind for kind in JOINT_TYPES if kind != "ball"])
def test_limits_are_those_of_the_coordinates(kind):
    n = JOINT_TYPES[kind]
    row = [0.1 * (k + 1) for k in range(n)]
    written = " ".join(map(str, row))
    numbers = f'lower="{" ".join(str(-x) for x in row)}" upper="{written}" velocity="{written}"'
    robot = loaded(kind, numbers=f'{numbers} effort="{" ".join(["0", "7", "8"][:n])}"')
    own = [robot.coordinates[robot.index(name)] for name in NAMES[kind]]
    assert [c.lower for c in own] == [-x for x in row]
    assert [c.upper for c in own] == row
    assert [c.velocity_limit for c in own] == row
    assert [c.effort_limit for c in own] == [0.0, 7.0, 8.0][:n]
    assert [c.actuated for c in own] == [False, True, True][:n]
    q = np.array([robot.random(np.random.default_rng(k)) for k in range(50)])
    for c in own:
        assert c.lower <= q[:, c.q_index].min()
        assert q[:, c.q_index].max() <= c.upper
    run = flexdyn_ros.simulate(robot, 0.4, limits="stop" if kind != "helical" else "spring", dt=1e-3)
    for c in own:
        assert run.q[:, c.q_index].min() > c.lower - 0.05
        assert run.q[:, c.q_index].max() < c.upper + 0.05


def test_numbers_of_a_ball_joint():
    robot = loaded("ball", numbers='velocity="1 2 3" effort="0 5 6"')
    own = [robot.coordinates[robot.index(name)] for name in NAMES["ball"]]
    assert [c.velocity_limit for c in own] == [1.0, 2.0, 3.0]
    assert [c.actuated for c in own] == [False, True, True]
    assert [c.q_index for c in own] == [-1, -1, -1]
    first = robot.q_names.index("J/qx")
    assert robot.q_names[first : first + 4] == ("J/qx", "J/qy", "J/qz", "J/qw")
    assert [c.turn_index for c in own] == [first] * 3
    assert robot.neutral()[first : first + 4].tolist() == [0.0, 0.0, 0.0, 1.0]
    q = robot.random(np.random.default_rng(1))
    assert abs(np.linalg.norm(q[first : first + 4]) - 1.0) < 1e-15
    q[first] += 0.1
    with pytest.raises(StateError, match="quaternion"):
        robot.mass_matrix(q)


def test_an_implicit_step_takes_unequal_damping_of_a_ball_joint():
    """Heavy damping about one axis: an implicit step with 0.1 s is stable, and its slope is that of the
    joint: the body turns about the two other axes alone."""
    robot = flexdyn_ros.load(
        robot_text(
            "damped",
            link("ground", 0),
            link("body", 2.0, (0, 0, 0), (0.1, 0, 0, 0.1, 0, 0.1)),
            joint("J", "floating", "ground", "body", rpy=(0.3, 0.2, 0.1)),
            '<flexdyn reference="J"><joint_type damping="1000 0 0.5">ball</joint_type></flexdyn>',
            "<flexdyn><gravity>0 0 0</gravity></flexdyn>",
        )
    )
    run = flexdyn_ros.simulate(robot, 1.0, v0=[1.0, 0.7, -0.4], method="rosenbrock", dt=0.01)
    # a ball of inertia 0.1 in axes of the joint: dw/dt = -d w / 0.1 for each
    np.testing.assert_allclose(run.v[-1], [0.0, 0.7, -0.4 * np.exp(-5.0)], atol=1e-4)
    assert abs(run.v[1, 0]) < 0.1


# ---- what other programs see ----


@BOTH
@EVERY
def test_the_expanded_description_stands_where_the_robot_does(kind, flexible):
    """Its own kinematics, joint by joint: the links of the robot to 1e-9."""
    robot = loaded(kind, flexible)
    expanded = flexdyn_ros.expand(robot)
    q, v, _ = small_state(robot, 11)
    for c in robot.coordinates:
        if c.kind != "joint":
            q[c.q_index] *= 1e-3
    positions = dict(zip(expanded.joint_names, expanded.joint_positions(q), strict=True))
    shown = [name for name in expanded.joint_names if name == "J" or name.startswith("J/")]
    assert tuple(shown) == PICTURES.get(kind, NAMES[kind])
    poses = standing(expanded.urdf, positions)
    for name in ("tool", "lower") if not flexible else ("tool",):
        np.testing.assert_allclose(poses[name], robot.frames(q, name), atol=1e-9)
    h = 1e-6
    ahead, behind = (expanded.joint_positions(robot.integrate(q, v, s * h)) for s in (1, -1))
    np.testing.assert_allclose(expanded.joint_velocities(q, v), (ahead - behind) / (2 * h), atol=1e-6)
    efforts = dict(zip(expanded.joint_names, expanded.joint_efforts(np.arange(1.0, robot.nv + 1))))
    for name in NAMES[kind]:
        if name in efforts:
            assert efforts[name] == robot.index(name) + 1


PICTURES = {"helical": ("J", "J/displacement"), "ball": ("J/yaw", "J/pitch", "J/roll")}


def standing(urdf, positions):
    """Poses of all links of a plain URDF."""
    root = etree.fromstring(urdf.encode())
    children = {}
    for element in root.findall("joint"):
        children.setdefault(element.find("parent").get("link"), []).append(element)
    ends = {element.find("child").get("link") for element in root.findall("joint")}
    top = next(e.get("name") for e in root.findall("link") if e.get("name") not in ends)
    poses = {top: np.eye(4)}
    stack = [top]
    while stack:
        parent = stack.pop()
        for element in children.get(parent, ()):
            T = np.eye(4)
            origin = element.find("origin")
            if origin is not None:
                T[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
                rpy = [float(x) for x in origin.get("rpy", "0 0 0").split()]
                T[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
            if element.get("type") != "fixed":
                axis = np.array([float(x) for x in element.find("axis").get("xyz").split()])
                axis = axis / np.linalg.norm(axis)
                moved = np.eye(4)
                x = positions[element.get("name")]
                if element.get("type") == "prismatic":
                    moved[:3, 3] = x * axis
                else:
                    moved[:3, :3] = Rotation.from_rotvec(x * axis).as_matrix()
                T = T @ moved
            child = element.find("child").get("link")
            poses[child] = poses[parent] @ T
            stack.append(child)
    return poses


@EVERY
def test_joint_reactions_balance_the_weight(kind):
    robot = loaded(kind)
    q, v, a = small_state(robot, 12)
    found = robot.joint_reactions(q, v, a)
    assert set(found.names) == {"base", "first", "J", "last"}
    wrench = found.of("J")
    # power of the reaction along the joint's own rates is that of its efforts
    tau = robot.inverse_dynamics(q, v, a)
    relative = robot.jacobian(q, "tool") @ np.eye(robot.nv)[:, [robot.index(n) for n in NAMES[kind]]]
    np.testing.assert_allclose(relative.T @ wrench, tau[[robot.index(n) for n in NAMES[kind]]], atol=1e-10)


@EVERY
def test_a_robot_is_pickled_with_its_joint(kind):
    import pickle

    robot = loaded(kind)
    again = pickle.loads(pickle.dumps(robot))
    q, v, a = small_state(robot, 13)
    assert again.coordinates == robot.coordinates
    assert np.array_equal(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))


@BOTH
@EVERY
def test_check_reads_the_robot_without_complaint(kind, flexible):
    report = flexdyn_ros.check(with_joint(kind, flexible=flexible))
    assert set(NAMES[kind]) <= {c.name for c in report.coordinates}
    assert all(name in str(report) for name in NAMES[kind])
    assert not [text for text in report.warnings if "'J" in text or "tool" in text]


# ---- where joints may stand, and how they enter ----


@pytest.mark.parametrize("kind", ["planar", "universal", "cylindrical"])
def test_the_recursion_is_trusted_where_the_carried_body_has_inertia(kind):
    """Massless bodies within a joint take no slower path; a joint that carries next to nothing does."""
    assert not loaded(kind).functions.checked
    heavy = '<inertial><origin xyz="0.1 0.08 -0.05" rpy="0.0 0.0 0.0"/><mass value="0.9"/>'
    text = with_joint(kind)
    assert heavy in text
    light = text.replace(heavy, heavy.replace('"0.9"', '"1e-12"'))
    assert flexdyn_ros.load(light).functions.checked


def test_axes_of_a_universal_joint_may_be_nearly_parallel():
    text = with_joint("universal").replace('second_axis="0.1 1 0.3"', 'second_axis="1 0.201 0"')
    robot = flexdyn_ros.load(text)
    assert robot.functions.checked
    q, v, a = small_state(robot, 14)
    tau = robot.inverse_dynamics(q, v, a)
    found = robot.forward_dynamics(q, v, tau)
    assert np.abs(robot.inverse_dynamics(q, v, found) - tau).max() <= 1e-10 * np.abs(tau).max()


@BOTH
def test_floating_joints_stand_anywhere(flexible):
    """Behind another joint, on the tip of a beam: dynamics, picture, energy."""
    robot = flexdyn_ros.load(with_floating_joint(flexible=flexible))
    assert {"J/x", "J/qw"} <= set(robot.q_names)
    assert robot.description.base.type == "fixed"
    q, v, a = small_state(robot, 15)
    tau = robot.inverse_dynamics(q, v, a)
    assert_near(robot.forward_dynamics(q, v, tau), a, 1e-8)
    for c in robot.coordinates:
        if c.kind not in ("joint", "base"):
            q[c.q_index] *= 1e-3
    expanded = flexdyn_ros.expand(robot)
    positions = dict(zip(expanded.joint_names, expanded.joint_positions(q), strict=True))
    np.testing.assert_allclose(standing(expanded.urdf, positions)["tool"], robot.frames(q, "tool"), atol=1e-9)
    run = flexdyn_ros.simulate(robot, 0.1, v0=0.2 * v * [c.kind == "joint" for c in robot.coordinates])
    assert run.balance_error < 1e-6


def test_a_new_chain_is_a_module_and_a_word(monkeypatch):
    """A gimbal of three turns: what the registry does not know yet, from coordinates to the picture."""
    from flexdyn_ros.multibody.joints import registry
    from flexdyn_ros.multibody.joints.joint import (
        RESISTANCE,
        JointModel,
        JointType,
        Screw,
        stated_coordinates,
    )

    def model(joint):
        coordinates = stated_coordinates(joint, (("/yaw", "rad"), ("/pitch", "rad"), ("/roll", "rad")))
        axes = zip(coordinates, np.eye(3)[::-1].tolist(), strict=True)
        chain = tuple(Screw(c.name, tuple(axis), i) for i, (c, axis) in enumerate(axes))
        return JointModel(coordinates, chain)

    monkeypatch.setitem(registry.TYPES, "gimbal", JointType(model, RESISTANCE))
    text = with_joint("ball", numbers='damping="1 2 3"').replace(">ball<", ">gimbal<")
    robot, ball = flexdyn_ros.load(text), loaded("ball")
    q, v, _ = small_state(robot, 16)
    turned = ball.neutral()
    turned[[0, -1]] = q[[0, -1]]
    turned[1:5] = Rotation.from_euler("ZYX", q[1:4]).as_quat()
    np.testing.assert_allclose(robot.frames(q, "lower"), ball.frames(turned, "lower"), atol=1e-14)
    assert robot.energy(q, 0 * v).gravity == pytest.approx(ball.energy(turned, 0 * v).gravity, rel=1e-13)
    assert_near(robot.forward_dynamics(q, v, robot.bias_forces(q, v)) + 1.0, np.ones(robot.nv), 1e-9)
    shown = flexdyn_ros.expand(robot).joint_names
    assert {"J/yaw", "J/pitch", "J/roll"} <= set(shown)
    assert {"J/yaw/damping", "J/roll/friction"} <= {p.name for p in robot.parameters}
