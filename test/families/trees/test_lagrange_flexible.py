"""The Lagrangian path on flexible arms: printed numbers, a numerical Lagrangian, symmetries, energy,
limits."""

import numpy as np
import pytest
from reference.serial_examples import (
    WORKED_STATE,
    bending,
    cantilever,
    flexible_tree,
    torsion,
    worked_example,
)
from reference.serial_lagrangian import SerialLagrangian, rpy
from scipy.integrate import solve_ivp
from serial_format import read_serial

from flexdyn_ros.families.trees.lagrange.kernels.equations import lagrange_frame, lagrange_jacobian
from flexdyn_ros.families.trees.lagrange.model import equations

PAPER = {"rotary": "paper", "frame": "affine"}
CONSISTENT = {"rotary": "consistent", "frame": "so3"}
SHORTENED = {**CONSISTENT, "foreshortening": True}
OPTIONS = [
    PAPER,
    CONSISTENT,
    SHORTENED,
    {"rotary": "paper", "frame": "so3"},
    {**PAPER, "foreshortening": True},
]


def name(options):
    return "-".join(str(value) for value in options.values())


def tree_state(n, seed=0, size=0.05):
    """A state of flexible_tree with moderate deflections."""
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-1.5, 1.5, n), rng.uniform(-1.0, 1.0, n)
    for rows in read_serial(flexible_tree()).mode_v:
        q[list(rows)] *= size
    return q, v


# ---------------------------------------- check 4: printed numbers

M_PAPER = [
    [2.6182039332, 2.7875491641, 0.0373533187, 0.5777160785, 0.6377224053, -0.0160718802],
    [0, 3.0295257842, 0.0709673103, 0.6887927852, 0.7658903966, -0.0181006247],
    [0, 0, 2.9347530524, 0.3405863398, 0.3776476406, 0.0347386378],
    [0, 0, 0, 0.2845144171, 0.3283099713, -0.0000391760],
    [0, 0, 0, 0, 0.3871673810, -0.0000492335],
    [0, 0, 0, 0, 0, 0.0028095874],
]
PRINTED = {
    "paper-affine": {
        "M": np.diag(M_PAPER),
        "velocity": [-0.4283141856, -0.6781152340, 0.0895712761, -0.3251361575, -0.3596598985, 0.0059795536],
        "gravity": [20.3040631571, 21.0258420167, 0.6404080416, 3.9970566403, 4.2997311609, -0.0813480901],
        "energy": (0.9427418366742894, 7.3344918153483425, 0.42341392329056954),
    },
    "consistent-so3": {
        "M": [2.6160242748, 3.0603176456, 2.9579112506, 0.2843856436, 0.3826285879, 0.0027968483],
        "velocity": [-0.4034783408, -0.6191154931, 0.0595528100, -0.3269963726, -0.3613910518, 0.0067720288],
        "gravity": [20.2916059281, 21.0409977022, 0.7768393912, 3.9889393729, 4.2705098331, -0.0980661417],
        "energy": (0.9479518649577318, 7.331706198039813, 0.42341392329056954),
    },
    "consistent-so3-True": {
        "M": [2.6070825871, 3.0307585865, 2.9707299048, 0.2836738083, 0.3878032220, 0.0027968483],
        "velocity": [-0.3983694855, -0.5110097547, -0.0040627806, -0.3406989418, -0.3487421330, 0.0066951227],
        "gravity": None,
        "energy": (0.9415963090528656, 7.320270308437578, 0.42341392329056954),
    },
}


@pytest.mark.parametrize("options", OPTIONS[:3], ids=name)
def test_worked_example_equals_the_printed_numbers(options):
    e = equations(read_serial(worked_example(), **options).model, *WORKED_STATE)
    printed = PRINTED[name(options)]
    # ten decimals are printed: half a unit of the last, or 1e-9 relative where that is more
    assert np.diag(e.M) == pytest.approx(printed["M"], rel=1e-9, abs=6e-11)
    assert e.velocity == pytest.approx(printed["velocity"], rel=1e-9, abs=6e-11)
    if printed["gravity"] is not None:
        assert e.gravity == pytest.approx(printed["gravity"], rel=1e-9, abs=6e-11)
    assert (float(e.kinetic), float(e.gravitational), float(e.strain)) == pytest.approx(
        printed["energy"], rel=1e-9
    )


def test_worked_example_has_the_printed_mass_matrix_accelerations_and_tip():
    arm = read_serial(worked_example(), **PAPER)
    e = equations(arm.model, *WORKED_STATE)
    assert np.triu(e.M) == pytest.approx(np.array(M_PAPER), rel=1e-9, abs=6e-11)
    assert e.elastic == pytest.approx(
        [0, 6.1811816842, -3.7087090105, 0, 6.0363102384, 1.8505508252], rel=1e-9
    )
    a = [399.4870514998, -468.8264943539, -24.8717437337, 1468.6782922453, -977.6378481058, -1056.1379458387]
    assert np.linalg.solve(e.M, -e.h) == pytest.approx(a, rel=1e-9)
    pose = np.empty((4, 4))
    frame = np.array(arm.frames[1])
    model = arm.model
    lagrange_frame(model.ints, model.floats, *WORKED_STATE, model.work(), frame, arm.tip[1], pose)
    assert pose[1:, 0] == pytest.approx([1.6556090897, 0.3400161186, -0.2887476844], abs=6e-11)


@pytest.mark.parametrize("options", [CONSISTENT, SHORTENED], ids=name)
def test_jacobian_is_the_derivative_of_the_tip_frames(options):
    arm = read_serial(flexible_tree(), **options)
    model = arm.model
    q, v = tree_state(model.nv, 3)
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


# ---------------------------------------- check 3: against a Lagrangian that shares nothing with ours


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_tree_equals_a_numerical_lagrangian(options):
    data = flexible_tree()
    model = read_serial(data, **options).model
    q, v = tree_state(model.nv)
    e = equations(model, q, v)
    M, c, g, k, K, V, U = SerialLagrangian(data, **options).equations(q, v)
    for ours, theirs in ((e.M, M), (e.velocity, c), (e.gravity, g), (e.elastic, k)):
        assert np.abs(ours - theirs).max() < 1e-9 * np.abs(theirs).max()
    assert [e.kinetic, e.gravitational, e.strain] == pytest.approx([K, V, U], rel=1e-12)


# ---------------------------------------- checks 5, 6: mass matrix


@pytest.mark.parametrize("options", OPTIONS[:3], ids=name)
def test_mass_matrix_is_symmetric_positive_definite_and_carries_the_kinetic_energy(options):
    rng = np.random.default_rng(11)
    for data in (worked_example(), flexible_tree()):
        arm = read_serial(data, **options)
        model, n = arm.model, 500
        q, v = rng.uniform(-3, 3, (n, model.nv)), rng.uniform(-2, 2, (n, model.nv))
        for rows in arm.mode_v:
            q[:, list(rows)] *= 0.03  # section rotations below 0.3 rad
        e = equations(model, q, v)
        size = np.abs(e.M).max(axis=(1, 2))
        assert (np.abs(e.M - np.swapaxes(e.M, 1, 2)).max(axis=(1, 2)) <= 1e-12 * size).all()
        assert np.linalg.eigvalsh(e.M).min() > 0.0
        K = 0.5 * np.einsum("ni,nij,nj->n", v, e.M, v)
        assert e.kinetic == pytest.approx(K, rel=1e-12)


# ---------------------------------------- check 7: inverse dynamics of forward dynamics, wrenches at the tips


def damped(data):
    data["links"][0]["damping"] = {"type": "rayleigh", "alpha": 0.3, "beta": 1e-3}
    data["links"][-1 if data["links"][-1].get("modes") else 2]["damping"] = {
        "type": "modal",
        "zeta": [0.02, 0.05],
    }
    return data


def test_wrench_on_a_tip_accelerates_as_the_numerical_lagrangian_with_that_potential():
    """A constant force on d of the last link is the potential -f.p: its generalised force is J^T f."""
    data = damped(flexible_tree())
    arm = read_serial(data, **CONSISTENT)
    model = arm.model
    q, v = tree_state(model.nv, 4)
    f = np.array([2.0, -3.0, 5.0])
    J = np.empty((6, model.nv))
    lagrange_jacobian(model.ints, model.floats, q, v, model.work(), np.array(arm.frames[3]), arm.tip[3], J)
    reference = SerialLagrangian(data, **CONSISTENT)
    work = reference.gradient(lambda z: f @ reference.positions(z)[2][3][0], q)
    assert J[3:].T @ f == pytest.approx(work, rel=1e-9, abs=1e-10)
    e = equations(model, q, v)
    a = np.linalg.solve(e.M, J[3:].T @ f - e.h)
    M, c, g, k = reference.equations(q, v)[:4]
    R = work - c - g - k - e.damping
    assert np.abs(M @ a - R).max() < 1e-9 * np.abs(R).max()


# ---------------------------------------- checks 12, 13: energy


def fall(model, q, v, duration, rtol):
    n = model.nv

    def rate(_, y):
        e = equations(model, y[:n], y[n:])
        return np.concatenate([y[n:], np.linalg.solve(e.M, -e.h)])

    return solve_ivp(rate, (0.0, duration), np.concatenate([q, v]), method="DOP853", rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("options", OPTIONS[:3], ids=name)
def test_undamped_arm_keeps_its_energy_in_free_fall(options):
    data = worked_example()
    data["links"][1]["beam"]["GJ"] = [3.0]  # slower twist, so that half a second takes fewer steps
    model = read_serial(data, **options).model
    n = model.nv
    run = fall(model, np.array([0.4, 0.0, 0.0, -0.7, 0.0, 0.0]), np.zeros(n), 0.5, 1e-10)
    e = equations(model, run.y[:n].T, run.y[n:].T)
    total = e.kinetic + e.gravitational + e.strain
    assert np.abs(total - total[0]).max() < 1e-9 * e.kinetic.max()


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_power_balance(options):
    """dE/dt = tau.v - v.D v, the left side by a complex step along the motion."""
    data = damped(flexible_tree())
    model = read_serial(data, **options).model
    q, v = tree_state(model.nv, 6)
    tau = np.random.default_rng(7).normal(size=model.nv) * 3.0
    e = equations(model, q, v)
    a = np.linalg.solve(e.M, tau - e.h)
    moved = equations(model, q + 1e-30j * v, v + 1e-30j * a)
    rate = (moved.kinetic + moved.gravitational + moved.strain).imag / 1e-30
    assert np.abs(e.damping).max() > 0.0
    assert rate == pytest.approx(tau @ v - e.damping @ v, rel=1e-9)


# ---------------------------------------- check 14: rigid limit


def quasi_static(model, rigid_v, modal_v, q, v, tau):
    """Joint accelerations with the modes at their quasi-static deflection (fixed point), at rest in the
    modes."""
    q, v = q.copy(), v.copy()
    v[modal_v] = 0.0
    K = equations(model, q, v)
    e = np.eye(model.nv)
    stiffness = np.array([equations(model, e[i], v * 0).elastic for i in modal_v])[:, modal_v]
    for _ in range(60):
        K = equations(model, q, v)
        r = np.ix_(rigid_v, rigid_v)
        h = K.h - K.elastic
        a = np.linalg.solve(K.M[r], (tau - h)[rigid_v])
        load = -(K.M[np.ix_(modal_v, rigid_v)] @ a + h[modal_v])
        q[modal_v] = np.linalg.solve(stiffness, load)
    return a


def test_stiff_arm_tends_to_the_rigid_arm_as_one_over_the_stiffness():
    q, v, tau = np.array([0.4, -0.7]), np.array([0.9, -1.1]), np.array([1.0, 0.5])
    rigid = worked_example()
    for link in rigid["links"]:
        link["modes"] = []
    e = equations(read_serial(rigid).model, q, v)
    exact = np.linalg.solve(e.M, tau - e.h)
    scales, errors = np.array([1e2, 1e3, 1e4, 1e5, 1e6]), []
    for s in scales:
        data = worked_example()
        for link in data["links"]:
            for key in ("EIy", "EIz", "GJ"):
                link["beam"][key] = [s * link["beam"][key][0]]
        arm = read_serial(data)
        joints, modes = list(arm.joint_v), [i for rows in arm.mode_v for i in rows]
        z, rate, effort = (np.zeros(arm.model.nv) for _ in range(3))
        z[joints], rate[joints], effort[joints] = q, v, tau
        errors.append(np.abs(quasi_static(arm.model, joints, modes, z, rate, effort) - exact).max())
    slope = np.polyfit(np.log(scales), np.log(errors), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.02)


# ---------------------------------------- checks 15, 16: pendulum, angular momentum


def test_stiff_uniform_link_swings_as_a_physical_pendulum():
    length = 1.3
    data = cantilever([{"field": "y", "shape": bending(1)}], length=length, EIz=23.0e8, EIy=37.0e8)
    data["gravity"] = [0, -9.81, 0]
    model = read_serial(data).model
    q = np.array([-np.pi / 2, 0.0])
    k = 1e-30
    M = equations(model, q, np.zeros(2)).M
    stiffness = np.array([equations(model, q + 1j * k * e, np.zeros(2)).h.imag / k for e in np.eye(2)]).T
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, stiffness)).real.min())
    # rotary inertia of the sections lengthens the period by Jzz/(mu L^2/3), about 1e-3 of 1e-3 here
    assert 2 * np.pi / omega == pytest.approx(2 * np.pi * np.sqrt(2 * length / (3 * 9.81)), rel=1e-3)
    thin = read_serial(data, rotary="none").model
    M = equations(thin, q, np.zeros(2)).M
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, stiffness)).real.min())
    assert 2 * np.pi / omega == pytest.approx(2 * np.pi * np.sqrt(2 * length / (3 * 9.81)), rel=1e-4)


@pytest.mark.parametrize("options", [CONSISTENT, SHORTENED], ids=name)
def test_angular_momentum_about_a_vertical_first_axis_is_conserved(options):
    """Without gravity and effort the momentum of a cyclic coordinate, row 1 of M v, stays."""
    data = worked_example()
    data["gravity"] = [0, 0, 0]
    data["links"][1]["beam"]["GJ"] = [3.0]
    model = read_serial(data, **options).model
    q, v = WORKED_STATE
    run = fall(model, q, v, 0.05, 1e-11)
    e = equations(model, run.y[: model.nv].T, run.y[model.nv :].T)
    L = np.einsum("nj,nj->n", e.M[:, 0], run.y[model.nv :].T)
    assert np.abs(L - L[0]).max() < 1e-9 * np.abs(L[0])
    assert np.ptp(run.y[model.nv]) > 0.1  # the joint rate itself does change


# ---------------------------------------- checks 17, 18, 19: options and invariance


def test_paper_and_consistent_agree_without_rotary_inertia():
    data = flexible_tree()
    for link in data["links"]:
        if "beam" in link:
            link["beam"].update(Jx=[0.0], Jyy=[0.0], Jzz=[0.0])
    data["links"][0]["tip_bodies"] = [
        {"mass": 0.1, "inertia": [0.003, 0.002, 0.001, 0, 0, 0]}
    ]  # mass for the twist
    q, v = tree_state(read_serial(data).model.nv, 9)
    paper = equations(read_serial(data, rotary="paper").model, q, v)
    consistent = equations(read_serial(data, rotary="consistent").model, q, v)
    assert pytest.approx(consistent.M, rel=1e-12) == paper.M
    assert paper.h == pytest.approx(consistent.h, rel=1e-12)


def test_affine_and_rotated_frames_differ_by_the_orders_they_should():
    affine, so3 = (read_serial(worked_example(), rotary="paper", frame=frame) for frame in ("affine", "so3"))
    joints = np.ix_(so3.joint_v, so3.joint_v)
    q = WORKED_STATE[0].copy()
    modes = [i for rows in so3.mode_v for i in rows]
    rigid, whole = [], []
    sizes = np.array([0.4, 0.2, 0.1])
    for size in sizes:
        z = q.copy()
        z[modes] *= size
        difference = equations(affine.model, z, 0 * q).M - equations(so3.model, z, 0 * q).M
        rigid.append(np.abs(difference[joints]).max())
        whole.append(np.abs(difference).max())
    assert np.polyfit(np.log(sizes), np.log(rigid), 1)[0] == pytest.approx(2.0, abs=0.1)
    assert np.polyfit(np.log(sizes), np.log(whole), 1)[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("options", OPTIONS[:3], ids=name)
def test_turning_base_and_gravity_together_changes_nothing(options):
    data, turned = flexible_tree(), flexible_tree()
    angles = [0.7, -0.4, 1.9]
    R = rpy(*angles)
    first = data["links"][0]["joint"]["pre"]
    # the base is turned by putting a fixed link before the arm
    turned["links"] = [{"parent": -1, "joint": {"type": "fixed", "pre": {"rpy": angles}}}, *turned["links"]]
    for i, link in enumerate(turned["links"][1:]):
        link["parent"] = link.get("parent", i - 1) + 1
    turned["gravity"] = list(R @ np.asarray(data["gravity"]))
    assert first["p"] != [0, 0, 0]
    model, other = read_serial(data, **options).model, read_serial(turned, **options).model
    q, v = tree_state(model.nv, 10)
    a, b = equations(model, q, v), equations(other, q, v)
    assert np.abs(a.M - b.M).max() < 1e-12 * np.abs(a.M).max()
    assert np.abs(a.h - b.h).max() < 1e-12 * np.abs(a.h).max()


def test_last_link_twist_without_inertia_is_refused():
    data = cantilever([{"field": "twist", "shape": torsion(1)}], Jx=0.0)
    with pytest.raises(ValueError, match=r"mode 1 .torsion. of link '0' has no mass"):
        read_serial(data, rotary="paper")


# ---------------------------------------- kernels


def test_evaluation_does_not_allocate():
    """Kernels write where they are told: repeated calls leave Numba's allocation counter alone."""
    from numba.core.runtime import _nrt_python, rtsys

    from flexdyn_ros.families.trees.lagrange.kernels.equations import equations_of_lagrange

    model = read_serial(flexible_tree(), **SHORTENED).model
    q, v = (np.ascontiguousarray(np.tile(x, (50, 1))) for x in tree_state(model.nv))
    n = model.nv
    M, h, e, w = np.empty((50, n, n)), np.empty((50, 4, n)), np.empty((50, 3)), model.work()
    equations_of_lagrange(model.ints, model.floats, q[:1], v[:1], w, M[:1], h[:1], e[:1])
    _nrt_python.memsys_enable_stats()
    try:
        counts = [rtsys.get_allocation_stats().alloc]
        for n in (1, 50):
            equations_of_lagrange(model.ints, model.floats, q[:n], v[:n], w, M[:n], h[:n], e[:n])
            counts.append(rtsys.get_allocation_stats().alloc)
    finally:
        _nrt_python.memsys_disable_stats()
    assert counts[2] - counts[1] == counts[1] - counts[0]
