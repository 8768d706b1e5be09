"""The Lagrangian path on rigid trees: closed form, Newton-Euler, mimic joints, free bodies."""

import numpy as np
import pytest
from reference import newton_euler
from reference.serial_examples import random_rigid, two_point_masses
from reference.two_link import closed_form
from serial_format import read_serial

from flexdyn_ros.families.trees.flexible.beams.modal_integrals import pseudo_inertia
from flexdyn_ros.families.trees.lagrange.kernels.equations import lagrange_frame, lagrange_jacobian
from flexdyn_ros.families.trees.lagrange.kernels.views import PRISMATIC, REVOLUTE
from flexdyn_ros.families.trees.lagrange.model import Body, assemble, equations, resistance, transform
from flexdyn_ros.families.trees.rigid.kernels import views as tree
from flexdyn_ros.numerics.algebra.manifold import FREE

WORKED = (np.array([0.3, -0.8]), np.array([1.1, -0.7]))


def test_two_link_arm_equals_its_closed_form():
    model = read_serial(two_point_masses()).model
    rng = np.random.default_rng(1)
    for q, v in [WORKED, *rng.uniform(-3, 3, (20, 2, 2))]:
        e = equations(model, q, v)
        M, c, g, K, U = closed_form(q, v)
        scale = max(np.abs(x).max() for x in (M, c, g))
        for ours, exact in ((e.M, M), (e.velocity, c), (e.gravity, g), (e.kinetic, K), (e.gravitational, U)):
            assert np.abs(ours - exact).max() < 1e-13 * scale  # check 1


def test_two_link_arm_equals_the_printed_numbers():
    e = equations(read_serial(two_point_masses()).model, *WORKED)
    assert pytest.approx(np.array([[2.5899546, 0.6249773], [0.6249773, 0.324]]), abs=5e-8) == e.M
    assert np.linalg.solve(e.M, -e.h) == pytest.approx([-11.24869504, 8.50694305], abs=5e-9)
    assert (e.kinetic, e.gravitational) == (
        pytest.approx(1.1650700113, abs=5e-11),
        pytest.approx(3.4903218647, abs=5e-11),
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_equal_newton_euler(seed):
    rng = np.random.default_rng(seed)
    data = random_rigid(rng, int(rng.integers(2, 9)), branches=seed % 2 == 1)
    model = read_serial(data).model
    n = model.nv
    q, v = rng.uniform(-3, 3, n), rng.uniform(-3, 3, n)
    e = equations(model, q, v)
    zero, unit = np.zeros(n), np.eye(n)
    h = newton_euler.inverse_dynamics(data, q, v, zero)
    still = newton_euler.inverse_dynamics(data, q, zero, zero)
    M = np.array([newton_euler.inverse_dynamics(data, q, zero, unit[i]) - still for i in range(n)]).T
    # two algorithms in double precision on up to eight bodies: 1e-12 of the largest term leaves two decades
    assert np.abs(e.M - M).max() < 1e-12 * np.abs(M).max()
    assert np.abs(e.gravity - still).max() < 1e-12 * np.abs(still).max()
    assert np.abs(e.h - h).max() < 1e-12 * max(np.abs(h).max(), np.abs(h - still).max())


def free_body(mass=2.3):
    inertia = [0.02, 0.05, 0.04, 0.003, -0.004, 0.002]
    com = np.array([0.1, -0.2, 0.05])
    tensor = np.array([[0.02, 0.003, -0.004], [0.003, 0.05, 0.002], [-0.004, 0.002, 0.04]])
    body = Body(-1, FREE, second_moments=0.5 * pseudo_inertia(mass, com, inertia), q_index=0, v_index=0)
    return body, mass, com, tensor


def rotation(quaternion):
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_free_body_obeys_newton_and_euler_about_its_origin():
    body, mass, com, tensor = free_body()
    g = np.array([0.3, -0.7, -9.0])
    model = assemble([body], 7, 6, gravity=g)
    rng = np.random.default_rng(5)
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    q, v, a = np.concatenate([rng.normal(size=3), quaternion]), rng.normal(size=6), rng.normal(size=6)
    e = equations(model, q, v)
    R = rotation(quaternion)
    w, alpha, c, I = v[:3], a[:3], R @ com, R @ tensor @ R.T
    force = mass * (a[3:] + np.cross(alpha, c) + np.cross(w, np.cross(w, c)) - g)
    moment = I @ alpha + np.cross(w, I @ w) + np.cross(c, force)
    assert e.M @ a + e.h == pytest.approx(np.concatenate([moment, force]), abs=1e-13)
    rate = v[3:] + np.cross(w, c)
    assert e.kinetic == pytest.approx(0.5 * mass * rate @ rate + 0.5 * w @ I @ w, rel=1e-14)


def test_scaling_the_quaternion_changes_nothing():
    model = assemble([free_body()[0]], 7, 6, gravity=(0, 0, -9.81))
    q, v = np.array([0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5]), np.linspace(-1, 1, 6)
    longer = q.copy()
    longer[3:] *= -1.0000005
    assert pytest.approx(equations(model, q, v).M, abs=1e-14) == equations(model, longer, v).M


def crank(ratio, offset, *, independent):
    """A revolute joint and a prismatic one on it; the second follows the first unless independent."""
    P = pseudo_inertia(1.2, (0.3, 0.1, -0.05), (0.02, 0.03, 0.04, 0.001, 0.002, -0.003))
    second = 1 if independent else 0
    how = {} if independent else {"ratio": ratio, "offset": offset}
    tilt = transform(rotation(np.array([0.5, 0.5, -0.5, 0.5])), (0.4, 0.1, 0.0))
    bodies = [
        Body(-1, REVOLUTE, axis=(0.6, 0.0, 0.8), second_moments=0.5 * P, q_index=0, v_index=0),
        Body(0, PRISMATIC, pre=tilt, second_moments=P, q_index=second, v_index=second, **how),
    ]
    return assemble(bodies, second + 1, second + 1, gravity=(1.0, -2.0, -9.0))


def test_mimic_joint_equals_the_constrained_pair():
    ratio, offset = -0.7, 0.25
    q, v = np.array([0.8]), np.array([1.3])
    G = np.array([[1.0], [ratio]])
    whole = equations(
        crank(ratio, offset, independent=True), np.array([q[0], ratio * q[0] + offset]), (G @ v)
    )
    tied = equations(crank(ratio, offset, independent=False), q, v)
    assert pytest.approx(G.T @ whole.M @ G, rel=1e-14) == tied.M
    assert tied.velocity == pytest.approx(G.T @ whole.velocity, rel=1e-13)
    assert tied.gravity == pytest.approx(G.T @ whole.gravity, rel=1e-14)
    assert tied.kinetic == pytest.approx(whole.kinetic, rel=1e-14)


def test_jacobian_of_a_tree_is_the_derivative_of_its_frames():
    data = random_rigid(np.random.default_rng(4), 7, branches=True)
    arm = read_serial(data)
    model, rng = arm.model, np.random.default_rng(8)
    q, v = rng.uniform(-2, 2, model.nv), rng.uniform(-2, 2, model.nv)
    for frame, tip in zip(arm.frames, arm.tip, strict=True):
        J, pose, moved = np.empty((6, model.nv)), np.empty((4, 4)), np.empty((4, 4), complex)
        frame = np.array(frame)
        lagrange_jacobian(model.ints, model.floats, q, v, model.work(), frame, tip, J)
        lagrange_frame(model.ints, model.floats, q, v, model.work(), frame, tip, pose)
        lagrange_frame(
            model.ints, model.floats, q + 1e-30j * v, 0j * v, model.work(complex), frame, tip, moved
        )
        rate = moved.imag / 1e-30
        W = rate[1:, 1:] @ pose[1:, 1:].T
        assert J @ v == pytest.approx([W[2, 1], W[0, 2], W[1, 0], *rate[1:, 0]], abs=1e-13)


def test_joint_resistances_are_those_of_the_tree_model():
    dof = resistance(
        1,
        armature=[0.3],
        damping=[0.2],
        coulomb=[1.5],
        static=[2.0],
        stribeck=[0.1],
        stiffness=[4.0],
        reference=[0.5],
    )
    body = Body(-1, REVOLUTE, second_moments=np.diag([0.5, 0.01, 0.01, 0.01]), q_index=0, v_index=0)
    model = assemble([body], 1, 1, gravity=(0, 0, 0), dof=dof)
    e = equations(model, np.array([0.9]), np.array([0.05]))
    level = 1.5 + 0.5 * np.exp(-0.25)
    assert e.M[0, 0] == pytest.approx(0.3 + 0.04)
    assert e.elastic[0] == pytest.approx(4.0 * 0.4)
    assert e.damping[0] == pytest.approx(0.2 * 0.05 + level * np.tanh(0.05 / 1e-3))
    assert (e.kinetic, e.strain) == (pytest.approx(0.5 * 0.34 * 0.05**2), pytest.approx(0.5 * 4.0 * 0.4**2))
    assert dof.shape == (1, tree.DOF_NUMBERS)


def test_batches_equal_single_states():
    model = read_serial(random_rigid(np.random.default_rng(2), 5)).model
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-2, 2, (3, 1, model.nv)), rng.uniform(-2, 2, (4, model.nv))
    e = equations(model, q, v)
    assert e.M.shape == (3, 4, model.nv, model.nv)
    assert e.h.shape == (3, 4, model.nv)
    assert np.array_equal(e.h[2, 1], equations(model, q[2, 0], v[1]).h)
