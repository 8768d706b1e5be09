"""Trees with flexible links through the verbs: printed numbers, second formulation, energy, limits, frames.

Specification of serial arms, sections 5, 9 and 10; numbers of the checks are those of its section 10.
"""

import pickle

import numpy as np
import pytest
from flexible_robots import WORKED_EXAMPLE, WORKED_STATE, bent_state, branched, cantilever

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, FlexdynWarning, UnknownNameError, UnsupportedError

STIFFENINGS = ("none", "full")


def load(text, *, stiffening="full", rotary="consistent", **formulation):
    options = {"stiffening": stiffening, "rotary_inertia": rotary, **formulation}
    return flexdyn_ros.load(text, options={f"formulation.{key}": value for key, value in options.items()})


def largest(x):
    return np.abs(x).max()


# ---------------------------------------- check 4: printed numbers

PRINTED = {
    "none": {
        "M": [2.6160242748, 3.0603176456, 2.9579112506, 0.2843856436, 0.3826285879, 0.0027968483],
        "velocity": [-0.4034783408, -0.6191154931, 0.0595528100, -0.3269963726, -0.3613910518, 0.0067720288],
        "gravity": [20.2916059281, 21.0409977022, 0.7768393912, 3.9889393729, 4.2705098331, -0.0980661417],
        "energy": [0.9479518649577318, 7.331706198039813, 0.42341392329056954],
    },
    "full": {
        "M": [2.6070825871, 3.0307585865, 2.9707299048, 0.2836738083, 0.3878032220, 0.0027968483],
        "velocity": [-0.3983694855, -0.5110097547, -0.0040627806, -0.3406989418, -0.3487421330, 0.0066951227],
        "gravity": None,
        "energy": [0.9415963090528656, 7.320270308437578, 0.42341392329056954],
    },
}


@pytest.mark.parametrize("stiffening", PRINTED)
def test_worked_example_equals_the_printed_numbers(stiffening):
    robot = load(WORKED_EXAMPLE, stiffening=stiffening)
    printed = PRINTED[stiffening]
    terms = robot.bias_terms(*WORKED_STATE)
    # ten decimals are printed: half a unit of the last, or 1e-9 relative where that is more
    assert np.diag(robot.mass_matrix(WORKED_STATE[0])) == pytest.approx(printed["M"], rel=1e-9, abs=6e-11)
    assert terms.velocity == pytest.approx(printed["velocity"], rel=1e-9, abs=6e-11)
    if printed["gravity"] is not None:
        assert terms.gravity == pytest.approx(printed["gravity"], rel=1e-9, abs=6e-11)
    assert terms.elastic == pytest.approx(
        [0, 6.1811816842, -3.7087090105, 0, 6.0363102384, 1.8505508252], rel=1e-9
    )
    energy = robot.energy(*WORKED_STATE)
    assert [float(e) for e in energy] == pytest.approx(printed["energy"], rel=1e-9)


# ---------------------------------------- check 8: two formulations


@pytest.mark.parametrize("stiffening", STIFFENINGS)
@pytest.mark.parametrize("rotary", ["consistent", "paper"])
@pytest.mark.parametrize("base", ["fixed", "floating", "planar"])
def test_tree_equals_the_lagrangian_path(stiffening, rotary, base):
    text = branched(base=base)
    robot = load(text, stiffening=stiffening, rotary=rotary)
    second = load(text, stiffening=stiffening, rotary=rotary, method="lagrange")
    for seed in range(4):
        q, v, a = bent_state(robot, seed, 3.0)
        M, h = second.mass_matrix(q), second.bias_forces(q, v)
        assert largest(robot.mass_matrix(q) - M) < 1e-13 * largest(M)
        assert largest(robot.bias_forces(q, v) - h) < 1e-12 * largest(h)
        for ours, theirs in zip(robot.bias_terms(q, v), second.bias_terms(q, v)):
            assert largest(ours - theirs) < 1e-11 * largest(h)
        tau = second.inverse_dynamics(q, v, a)
        assert largest(robot.inverse_dynamics(q, v, a) - tau) < 1e-12 * largest(tau)
        # modes of 1e-4 kg beside a mass of 10 kg: 1e-9 relative is what the check asks for
        assert largest(robot.forward_dynamics(q, v, tau) - a) < 1e-9 * largest(a)


def test_prescribed_joints_of_affine_frames_leave_the_other_efforts_as_they_are():
    robot = flexdyn_ros.load("flexible_two_link", options={"formulation.preset": "paper"})
    rng = np.random.default_rng(2)
    q, v, tau = 0.01 * robot.random(rng), *rng.uniform(-1.0, 1.0, (2, robot.nv))
    a = robot.forward_dynamics(q, v, tau, prescribed={"elbow": 0.7})
    i = robot.index("elbow")
    assert a[i] == 0.7
    left = np.delete(robot.inverse_dynamics(q, v, a) - tau, i)
    assert largest(left) < 1e-9 * largest(robot.mass_matrix(q) @ a)


@pytest.mark.parametrize("stiffening", STIFFENINGS)
def test_a_body_between_root_and_tip_equals_the_lagrangian_path(stiffening):
    robot, second = (
        load(branched(middle=True), stiffening=stiffening, method=method)
        for method in ("articulated", "lagrange")
    )
    q, v, _ = bent_state(robot, 1, 3.0)
    assert largest(robot.mass_matrix(q) - second.mass_matrix(q)) < 1e-13 * largest(robot.mass_matrix(q))
    h = second.bias_forces(q, v)
    assert largest(robot.bias_forces(q, v) - h) < 1e-12 * largest(h)


# ---------------------------------------- checks 5, 6, 7, 13


@pytest.mark.parametrize("stiffening", STIFFENINGS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_mass_matrix_and_the_two_dynamics_agree(stiffening, base):
    robot = load(branched(middle=True, base=base), stiffening=stiffening)
    for seed in range(40):
        q, v, a = bent_state(robot, seed, 2.0)
        M = robot.mass_matrix(q)
        assert largest(M - M.T) <= 1e-12 * largest(M)
        assert np.linalg.eigvalsh(M)[0] > 0.0
        assert 0.5 * v @ M @ v == pytest.approx(robot.energy(q, v).kinetic, rel=1e-12)
        tau = robot.inverse_dynamics(q, v, a)
        assert largest(M @ a + robot.bias_forces(q, v) - tau) < 1e-11 * largest(tau)
        back = robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, tau))
        assert largest(back - tau) < 1e-10 * largest(tau)


@pytest.mark.parametrize("stiffening", STIFFENINGS)
def test_power_of_efforts_less_dissipation_is_the_rate_of_energy(stiffening):
    """Check 13: d/dt of the energy along the motion, by central differences of order ten.

    Their error at steps of 5 ms is of the tenth derivative, (5e-3)^10, and of rounding, 1e-16 / 5e-3.
    """
    robot = load(branched(middle=True), stiffening=stiffening)
    steps, weights = 5e-3 * np.arange(1, 6), np.array([5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260]) / 5e-3
    for seed in range(5, 10):
        q, v, a = bent_state(robot, seed, 3.0)
        tau = robot.inverse_dynamics(q, v, a)
        t = np.concatenate([steps, -steps])[:, None]
        energy = robot.energy(q + t * v + 0.5 * t * t * a, v + t * a).total
        rate = weights @ (energy[:5] - energy[5:])
        lost = robot.bias_terms(q, v).damping @ v
        assert lost > 0.0
        assert rate == pytest.approx(tau @ v - lost, rel=1e-9)


@pytest.mark.parametrize("option", [*(f"stiffening={s}" for s in STIFFENINGS), "preset=paper"])
def test_free_fall_keeps_its_energy(option):
    """Check 12: two flexible links, gravity, undamped, 0.5 s."""
    from scipy.integrate import solve_ivp

    name, value = option.split("=")
    robot = flexdyn_ros.load(WORKED_EXAMPLE, options={f"formulation.{name}": value})
    n = robot.nv

    def rate(_, y):
        return np.concatenate([y[n:], robot.forward_dynamics(y[:n], y[n:])])

    start = np.concatenate([WORKED_STATE[0], np.zeros(n)])
    run = solve_ivp(rate, (0.0, 0.5), start, method="DOP853", rtol=1e-10, atol=1e-12)
    energy = robot.energy(run.y[:n].T, run.y[n:].T)
    assert largest(energy.total - energy.total[0]) < 1e-9 * energy.kinetic.max()


def test_a_tumbling_robot_keeps_its_momentum():
    """Floating base, no gravity, no damping: momentum about the world origin along an accurate motion."""
    robot = flexdyn_ros.load(
        branched(base="floating"),
        options={"gravity": (0, 0, 0), "links": {"trunk": {"damping": {"ratio": 0}}}},
    )
    q, v, _ = bent_state(robot, 2, 1.0)
    first = robot.momentum(q, v)
    a = robot.forward_dynamics(q, v)

    def momentum(t):
        return robot.momentum(robot.integrate(q, v + 0.5 * t * a, t), v + t * a)

    # central difference: modal accelerations of 1e4 leave h^2 times a third derivative of 1e8
    h = 1e-7
    assert largest(momentum(h) - momentum(-h)) / (2 * h) < 1e-6 * largest(first)


# ---------------------------------------- check 14: rigid limit


def test_rigid_limit_is_approached_as_one_over_stiffness():
    rigid = load(WORKED_EXAMPLE, flexible=False)
    joints = [0, 3]
    qr, vr = WORKED_STATE[0][joints], WORKED_STATE[1][joints]
    exact = rigid.forward_dynamics(qr, vr)
    factors, errors = np.array([1e2, 1e3, 1e4, 1e5, 1e6]), []
    for s in factors:
        stiff = WORKED_EXAMPLE
        for name, values in (("EIy", ("40", "25")), ("EIz", ("40", "25")), ("GJ", ("30", "12"))):
            for value in values:
                stiff = stiff.replace(f'{name}="{value}"', f'{name}="{float(value) * s:.17g}"')
        robot = load(stiff)
        modal = [i for i in range(robot.nv) if i not in joints]
        q, v, a = np.zeros(6), np.zeros(6), np.zeros(6)
        q[joints], v[joints] = qr, vr
        # modal rows at rest: K delta = -(M a + h without elasticity), joints free of effort
        for _ in range(60):
            M, t = robot.mass_matrix(q), robot.bias_terms(q, v)
            h = t.velocity + t.gravity
            a[joints] = np.linalg.solve(M[np.ix_(joints, joints)], -h[joints])
            K = np.array([robot.bias_terms(q * 0 + e, v * 0).elastic for e in np.eye(6)]).T
            q[modal] = np.linalg.solve(K[np.ix_(modal, modal)], -(M @ a + h)[modal])
        errors.append(largest(a[joints] - exact))
    slope = np.polyfit(np.log(factors), np.log(errors), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.02)


def test_rigid_twin_has_the_mass_of_the_undeformed_robot():
    robot, rigid = load(branched(middle=True)), load(branched(middle=True), flexible=False)
    joints = [robot.index(name) for name in rigid.v_names]
    q, _v, _ = bent_state(robot, 3, 0.0)
    M = rigid.mass_matrix(q[joints])
    assert largest(robot.mass_matrix(q)[np.ix_(joints, joints)] - M) < 1e-12 * largest(M)
    assert rigid.mass == pytest.approx(robot.mass, rel=1e-14)
    assert rigid.center_of_mass(q[joints]) == pytest.approx(robot.center_of_mass(q), abs=1e-13)


# ---------------------------------------- stiffening


def test_stiffening_changes_how_forces_follow_small_deflections():
    """d tau / d q at zero deflection, spinning and accelerating: different without."""
    stiff = {s: load(branched(middle=True), stiffening=s) for s in STIFFENINGS}
    q, v, a = bent_state(stiff["full"], 4, 0.0)
    for c in stiff["full"].coordinates:
        if c.kind != "joint":
            v[c.v_index] = a[c.v_index] = 0.0
    dq = {s: robot.inverse_dynamics_derivatives(q, v, a)[0] for s, robot in stiff.items()}
    assert largest(dq["none"] - dq["full"]) > 1e-6 * largest(dq["full"])


@pytest.mark.parametrize("method", ["articulated", "lagrange"])
def test_geometric_stiffening_is_full_and_its_mass_matrix_positive_definite(method):
    """Tip deflections up to a third of the length, any velocity: kinetic energy is positive."""
    text = cantilever('bending_z="2"')
    with pytest.warns(FlexdynWarning, match="'geometric' is computed as 'full'"):
        robot = load(text, stiffening="geometric", method=method)
    full = load(text, stiffening="full", method=method)
    rng = np.random.default_rng(6)
    for size in (0.05, 0.1, 0.2, 0.33):
        for _ in range(20):
            q = np.array([0.3, *(size * 10.0 * rng.uniform(-1.0, 1.0, 2))])
            M = robot.mass_matrix(q)
            assert np.array_equal(M, full.mass_matrix(q))
            s = 1.0 / np.sqrt(np.diagonal(M))
            assert np.linalg.eigvalsh(M * np.outer(s, s)).min() > 1e-3


def test_the_stiffening_of_a_spinning_beam_is_its_centrifugal_stiffness():
    """K_G = Omega^2 int mu x S dx of a rotating uniform beam, by quadrature here."""
    spin, L, mu = 6.0, 10.0, 1.2
    texts = cantilever('bending_z="2"')
    with_K, without = (load(texts, stiffening=s, rotary="none") for s in ("full", "none"))
    v = np.array([spin, 0.0, 0.0])
    K = [r.inverse_dynamics_derivatives(np.zeros(3), v, np.zeros(3))[0][1:, 1:] for r in (with_K, without)]
    s = np.linspace(0.0, 1.0, 4001)
    slopes = -with_K.deflections(np.eye(3)[1:], s)["beam"].rotation[:, :, 1]
    half = 0.5 * mu * (L**2 - (L * s) ** 2)
    expected = spin**2 * L * np.trapezoid(half * slopes[:, None] * slopes[None, :], s, axis=-1)
    # trapezoidal rule with 4000 intervals: relative error of about 1e-6
    assert K[0] - K[1] == pytest.approx(expected, rel=1e-5, abs=1e-5 * largest(expected))


@pytest.mark.parametrize(
    ("field", "exact"), [("bending_z", 7.3604), ("bending_y", np.sqrt(7.3604**2 - 36.0))]
)
def test_rotating_beam_has_the_published_first_frequency(field, exact):
    """Check 20: uniform cantilever, hub radius 0, gamma = 6 (Wright, Smith, Thresher & Wang 1982), six
    modes."""
    robot = load(cantilever(f'{field}="6"'), stiffening="full", rotary="none")
    scale = np.sqrt(1.2 * 10.0**4 / 1.4e4)
    v = np.zeros(7)
    v[0] = 6.0 / scale
    K = robot.inverse_dynamics_derivatives(np.zeros(7), v, np.zeros(7))[0][1:, 1:]
    M = robot.mass_matrix(np.zeros(7))[1:, 1:]
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min()) * scale
    assert omega == pytest.approx(exact, abs=1e-3)


def test_spin_up_of_kane():
    """Check 20: largest lag of the tip with three modes; without stiffening the same beam diverges."""
    from scipy.integrate import solve_ivp

    def spin(t, final=6.0, rise=15.0):
        if t >= rise:
            return final, 0.0
        x = 2 * np.pi * t / rise
        return final / rise * (t - rise / (2 * np.pi) * np.sin(x)), final / rise * (1 - np.cos(x))

    def run(robot, end):
        def rate(t, y):
            w, wd = spin(t)
            q, v = np.array([0.0, *y[:3]]), np.array([w, *y[3:]])
            return np.concatenate([y[3:], robot.forward_dynamics(q, v, prescribed={"hub": wd})[1:]])

        t = np.arange(0.0, end, 0.01)
        y = solve_ivp(rate, (0, end), np.zeros(6), method="LSODA", rtol=1e-8, atol=1e-10, t_eval=t).y
        return t, y[:3].sum(axis=0)

    text = cantilever('bending_y="3"')
    t, tip = run(load(text, rotary="none"), 20.0)
    assert tip.min() == pytest.approx(-0.5759, abs=1e-3)
    assert t[tip.argmin()] == pytest.approx(6.75, abs=0.1)
    assert largest(tip[t > 16]) < 4e-3
    assert largest(run(load(text, stiffening="none", rotary="none"), 12.0)[1]) > 1e3


# ---------------------------------------- check 22: Canadarm2


def released_canadarm2(**formulation):
    """One mode per field and boom; the state of the specification's section 7, and where the joints are in
    v."""
    one = {"bending_y": 1, "bending_z": 1, "torsion": 1}
    options = {
        "formulation": {"stiffening": "none", "rotary_inertia": "paper", **formulation},
        "links": {"boom_1": {"modes": one}, "boom_2": {"modes": one}},
    }
    robot = flexdyn_ros.load("canadarm2", options=options)
    joints = [c.v_index for c in robot.coordinates if c.kind == "joint"]
    q = np.zeros(robot.nv)
    q[joints] = [-0.6, 1.0, -0.4, 0.3, 0.0]
    return robot, q, joints


def fall(robot, q, times, rtol=1e-8):
    """States (2 n, k) after free fall from rest."""
    from scipy.integrate import solve_ivp

    n = robot.nv

    def rate(_, y):
        return np.concatenate([y[n:], robot.forward_dynamics(y[:n], y[n:])])

    start = np.concatenate([q, np.zeros(n)])
    return solve_ivp(
        rate, (0, times[-1]), start, method="DOP853", rtol=rtol, atol=1e-2 * rtol, t_eval=times
    ).y


CANADARM2 = {
    0.5: ([0.46694, -0.14222, -0.08111, 0.21752, -0.08044], [-0.0041, 0.0014, 0.0000]),
    1.0: ([1.33331, -1.33002, 0.10839, -0.16112, -0.05590], [-0.0024, -0.0037, 0.0007]),
    1.2: ([2.02631, -2.52531, -0.41034, -1.18198, 0.23792], [0.0057, -0.0115, 0.0014]),
}


def test_canadarm2_in_free_fall_with_affine_frames():
    """Check 22, preset paper: joint rates to 1e-3, tip of boom 2 to its printed digits."""
    robot, q, joints = released_canadarm2(method="lagrange", frame="affine")
    tip = [robot.index(f"boom_2/{field}/1") for field in ("bending_y", "bending_z", "torsion")]
    y = fall(robot, q, np.array(sorted(CANADARM2)), rtol=1e-7)
    for i, (rates, bent) in enumerate(CANADARM2.values()):
        assert y[11:, i][joints] == pytest.approx(rates, abs=1e-3)
        assert y[:11, i][tip] == pytest.approx(bent, abs=1e-4)


def test_canadarm2_falls_as_by_the_lagrangian_path():
    """J(1,1) and the release are those of the specification's section 7, whose section frames are affine."""
    robot, q, joints = released_canadarm2()
    second, _, _ = released_canadarm2(method="lagrange")
    assert robot.nv == 11
    assert robot.mass_matrix(q)[0, 0] == pytest.approx(1.0797e5, rel=5e-5)
    assert robot.forward_dynamics(q, np.zeros(11))[joints] == pytest.approx(
        [6.70, 5.93, 1.06, 0.37, -0.38], abs=5.1e-3
    )
    times = np.array([0.25, 0.5])
    # two runs of tolerance 1e-8 over a few hundred steps
    assert fall(robot, q, times) == pytest.approx(fall(second, q, times), abs=1e-6)


def test_canadarm2_as_shipped():
    robot = flexdyn_ros.load("canadarm2")
    assert (robot.kind, robot.nq, robot.nv) == ("tree", 23, 23)
    assert robot.v_names[:5] == (
        "shoulder_pitch",
        "boom_1/bending_y/1",
        "boom_1/bending_y/2",
        "boom_1/bending_y/3",
        "boom_1/bending_z/1",
    )
    kinds = {c.name: (c.kind, c.unit, c.body, c.actuated) for c in robot.coordinates}
    assert kinds["boom_2/torsion/2"] == ("torsion", "rad", "boom_2", False)
    assert kinds["boom_2/bending_z/1"] == ("bending_z", "m", "boom_2", False)
    assert robot.mass == pytest.approx(314.743 + 279.171 + 2 * 105.98 + 243.66, abs=2e-3)


def test_canadarm2_vibrates_as_the_specification_says():
    """Locked joints, weightless: 0.37, 0.45, 2.1, 2.2 Hz (two digits, section 7)."""
    robot = flexdyn_ros.load("canadarm2", options={"gravity": (0, 0, 0)})
    q = robot.neutral()
    q[[0, 10, 20, 21]] = [-0.6, 1.0, -0.4, 0.3]
    frequency = robot.modes(q, lock="joints").frequency
    assert np.round(frequency[:2], 2) == pytest.approx([0.37, 0.45])
    assert np.round(frequency[2:4], 1) == pytest.approx([2.1, 2.2])


# ---------------------------------------- verbs


def test_frames_and_jacobians_follow_the_deformation():
    robot = load(branched(middle=True, base="floating"))
    q, v, _ = bent_state(robot, 6, 3.0)
    h = 1e-5
    for frame in (
        "trunk",
        "trunk/tip",
        "trunk@0.25",
        "arm_link@1.0",
        "sledge",
        "mast/tip",
        "stub_link",
        "tool",
    ):
        ahead, behind = (robot.frames(robot.integrate(q, v, s * h), frame) for s in (1, -1))
        rate = (ahead - behind) / (2 * h)
        W = rate[:3, :3] @ robot.frames(q, frame)[:3, :3].T
        twist = np.array([W[2, 1], W[0, 2], W[1, 0], *rate[:3, 3]])
        # central differences: h^2 times third derivatives of order ten
        assert robot.jacobian(q, frame) @ v == pytest.approx(twist, abs=1e-7)


def test_sections_are_frames_in_beam_axes():
    robot = load(branched())
    q = robot.neutral()
    root = robot.frames(q, "trunk")
    middle = np.linalg.inv(root) @ robot.frames(q, "trunk@0.5")
    # beam along link z: x = z, y = y, z = -x
    assert middle[:3, :3] == pytest.approx(np.array([[0, 0, -1.0], [0, 1, 0], [1, 0, 0]]), abs=1e-14)
    assert middle[:3, 3] == pytest.approx([0.02, 0.0, 0.05 + 0.45], abs=1e-14)
    assert robot.frames(q, ["trunk/tip"])[0] == pytest.approx(robot.frames(q, "trunk@1"), abs=1e-14)
    assert "trunk@0.5" not in robot.frame_names
    for name in ("trunk@1.5", "base@0.5", "trunk@x", "nothing"):
        with pytest.raises(UnknownNameError):
            robot.frames(q, name)


def test_undeformed_children_are_where_the_urdf_puts_them():
    robot, rigid = load(branched()), load(branched(), flexible=False)
    q, _, _ = bent_state(robot, 7, 0.0)
    joints = [robot.index(name) for name in rigid.v_names]
    for name in rigid.frame_names:
        assert robot.frames(q, name) == pytest.approx(rigid.frames(q[joints], name), abs=1e-13)


@pytest.mark.parametrize("frame", ["trunk@0.3", "trunk/tip", "sledge", "tool"])
def test_wrenches_do_the_work_of_their_frame(frame):
    robot = load(branched())
    q, v, a = bent_state(robot, 8, 3.0)
    w = np.array([1.0, -2.0, 3.0, -4.0, 5.0, 6.0])
    tau = robot.inverse_dynamics(q, v, a)
    loaded = robot.inverse_dynamics(q, v, a, {frame: w})
    assert largest(loaded - (tau - robot.jacobian(q, frame).T @ w)) < 1e-11 * largest(tau)
    assert robot.forward_dynamics(q, v, loaded, {frame: w}) == pytest.approx(a, abs=1e-9)


def test_free_coordinates_of_inverse_dynamics_need_no_effort():
    robot = load(branched())
    q, v, a = bent_state(robot, 9, 2.0)
    tau = robot.inverse_dynamics(q, v, a, unactuated="free")
    modal = [c.v_index for c in robot.coordinates if not c.actuated]
    assert largest(tau[modal]) == 0.0
    moved = robot.forward_dynamics(q, v, tau)
    joints = [c.v_index for c in robot.coordinates if c.actuated]
    assert moved[joints] == pytest.approx(a[joints], abs=1e-8)


def test_linearization_is_the_derivative_of_forward_dynamics():
    robot = load(branched(middle=True))
    q, v, a = bent_state(robot, 10, 2.0)
    tau = robot.inverse_dynamics(q, v, a)
    A = robot.linearize(q, v, tau).A[robot.nv :]
    h = 1e-6
    for i, e in enumerate(np.eye(robot.nv)):
        dq = (robot.forward_dynamics(q + h * e, v, tau) - robot.forward_dynamics(q - h * e, v, tau)) / (2 * h)
        dv = (robot.forward_dynamics(q, v + h * e, tau) - robot.forward_dynamics(q, v - h * e, tau)) / (2 * h)
        # central differences of accelerations of 1e5 modal stiffness over mass: cancellation 1e-16/1e-6
        assert largest(A[:, i] - dq) < 1e-6 * largest(A)
        assert largest(A[:, robot.nv + i] - dv) < 1e-6 * largest(A)


def test_tip_load_deflects_as_the_textbook_says():
    """F L^3 / 3 EI and F L^2 / 2 EI: a cubic, which two polynomial modes hold exactly."""
    robot = load(
        cantilever('bending_z="2" torsion="1" basis="polynomial"', EI=100.0, L=2.0), stiffening="none"
    )
    rest = robot.static_equilibrium(hold="joints", wrenches={"beam/tip": np.array([0, 0, 0, 0, 0, 0.5])})
    bent = robot.deflections(rest.q)["beam"]
    assert bent.displacement[-1] == pytest.approx([0, 0, 0.5 * 8 / 300], abs=1e-12)
    assert bent.rotation[-1] == pytest.approx([0, -0.5 * 4 / 200, 0], abs=1e-12)
    # bending moment F (L - x) about -y
    assert bent.moment[:, 1] == pytest.approx(-0.5 * 2.0 * (1.0 - bent.station), abs=1e-12)
    assert robot.frames(rest.q, "beam/tip")[:3, 3] == pytest.approx([2.0, 0, 0.5 * 8 / 300], abs=1e-12)


def test_strain_is_that_of_the_outer_fibre():
    beam = cantilever('bending_z="1"').replace(
        '<beam length="10.0" mass_per_length="1.2" EIy="14000.0" EIz="14000.0" GJ="1e3" EA="1e6"\n'
        '    polar_inertia="0.02"/>',
        '<beam length="10.0"><tube outer_radius="0.05" wall="0.002"/><material name="steel"/></beam>',
    )
    robot = load(beam)
    bent = robot.deflections(np.array([0.0, 0.1]))["beam"]
    assert bent.strain == pytest.approx(0.05 * np.abs(bent.curvature[:, 1]), rel=1e-14)
    I = np.pi / 4 * (0.05**4 - 0.048**4)
    assert bent.moment[:, 1] == pytest.approx(210e9 * I * bent.curvature[:, 1], rel=1e-12)


def test_batches_payloads_and_pickles():
    robot = load(branched())
    states = [bent_state(robot, seed) for seed in range(5)]
    q, v, a = (np.array(x) for x in zip(*states))
    tau = robot.inverse_dynamics(q, v, a)
    assert tau.shape == (5, robot.nv)
    for i in range(5):
        assert np.array_equal(tau[i], robot.inverse_dynamics(q[i], v[i], a[i]))
    assert robot.forward_dynamics(q, v, tau) == pytest.approx(a, abs=1e-8)
    again = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(again.inverse_dynamics(q, v, a), tau)
    loaded = robot.with_payload("trunk@0.5", 2.0, (0.1, 0.0, 0.0))
    assert loaded.mass == pytest.approx(robot.mass + 2.0)
    assert loaded.frame_names == robot.frame_names
    J = robot.jacobian(q[0], "trunk@0.5")
    R = robot.frames(q[0], "trunk@0.5")[:3, :3]
    c = R @ np.array([0.1, 0.0, 0.0])
    Jc = J[3:] - np.cross(c, J[:3], axisb=0).T
    assert loaded.mass_matrix(q[0]) - robot.mass_matrix(q[0]) == pytest.approx(2.0 * Jc.T @ Jc, abs=1e-11)
    assert robot.deflections(q)["mast"].displacement.shape == (5, 21, 3)


def test_simulation_by_verbs_and_by_compiled_steps():
    robot = load(WORKED_EXAMPLE)
    run = flexdyn_ros.simulate(robot, 0.05, WORKED_STATE[0], dt=0.01, method="dop853", rtol=1e-8)
    assert run.energy.total == pytest.approx(run.energy.total[0], rel=1e-8)
    steps = flexdyn_ros.simulate(robot, 0.05, WORKED_STATE[0], dt=1e-4, method="rosenbrock")
    # order two: h^2 times frequencies of 2e2 rad/s squared
    assert steps.q[-1] == pytest.approx(run.q[-1], abs=1e-3)


def test_loading_takes_work_in_proportion_to_the_number_of_links(monkeypatch):
    from flexdyn_ros.families.trees.flexible.beams import properties as beams

    def chain(n):
        parts = ['<link name="l0"/>']
        for i in range(1, n + 1):
            parts.append(
                f'<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
                f'<child link="l{i}"/><origin xyz="{0.5 * (i > 1)} 0 0"/></joint><flexdyn reference="l{i}">'
                '<beam length="0.5" mass_per_length="2" EIy="400" EIz="300"/><modes bending_y="1"/></flexdyn>'
            )
        return f'<robot name="chain">{"".join(parts)}</robot>'

    counts = []
    whole = beams.modal_integrals

    def counted(*arguments, **options):
        counts[-1] += 1
        return whole(*arguments, **options)

    monkeypatch.setattr(beams, "modal_integrals", counted)
    for n in (5, 10):
        counts.append(0)
        assert flexdyn_ros.load(chain(n)).nv == 2 * n
    assert 0 < counts[1] <= 2 * counts[0] + 2


# ---------------------------------------- what is refused


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (('basis="eigen"', 'boundary="free-free"'), UnsupportedError),
        (('polar_inertia="0.02"', 'polar_inertia="0"'), DescriptionError),
    ],
)
def test_what_is_not_computed_is_refused_by_name(change, error):
    text = cantilever('torsion="1" basis="eigen"')
    assert change[0] in text
    with pytest.raises(error, match="beam"):
        flexdyn_ros.load(text.replace(*change))


def test_preset_paper_equals_its_printed_numbers_and_its_tip_place():
    robot = flexdyn_ros.load(WORKED_EXAMPLE, options={"formulation.preset": "paper"})
    q, v = WORKED_STATE
    M = robot.mass_matrix(q)
    printed = [2.6182039332, 3.0295257842, 2.9347530524, 0.2845144171, 0.3871673810, 0.0028095874]
    assert np.diag(M) == pytest.approx(printed, rel=1e-9, abs=6e-11)
    energy = [0.9427418366762894, 7.3344918153483425, 0.42341392329056954]
    assert [float(e) for e in robot.energy(q, v)] == pytest.approx(energy, rel=1e-9)
    a = [399.4870514998, -468.8264943539, -24.8717437337, 1468.6782922453, -977.6378481058, -1056.1379458387]
    assert robot.forward_dynamics(q, v) == pytest.approx(a, rel=1e-9)
    A = robot.linearize(q, v).A[6:]
    h = 1e-6
    for i, e in enumerate(np.eye(6)):
        ahead, behind = robot.forward_dynamics(q + h * e, v), robot.forward_dynamics(q - h * e, v)
        # central differences of accelerations of 1e3: 1e-10 over 1e-6, beside slopes of 1e5
        assert A[:, i] == pytest.approx((ahead - behind) / (2 * h), abs=1e-6 * largest(A))
    # origin of d_2 in section 9
    tip = [1.6556090897, 0.3400161186, -0.2887476844]
    assert robot.frames(q, "two/tip")[:3, 3] == pytest.approx(tip, abs=1e-10)


def test_affine_frames_answer_positions_velocities_momentum_and_forces():
    robot = flexdyn_ros.load(WORKED_EXAMPLE, options={"formulation.preset": "paper"})
    q, v = WORKED_STATE
    h = 1e-6
    for name in ("two", "two/tip", "one@0.4"):
        ends = [robot.frames(q + s * v, name) for s in (h, -h)]
        rate, pose, J = (ends[0] - ends[1]) / (2 * h), robot.frames(q, name), robot.jacobian(q, name)
        assert (J @ v)[3:] == pytest.approx(rate[:3, 3], abs=1e-8)
        turn = rate[:3, :3] @ pose[:3, :3].T
        skew = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        assert (J @ v)[:3] == pytest.approx(skew, abs=1e-8)
    R = robot.frames(q, "two/tip")[:3, :3]
    assert np.abs(R.T @ R - np.eye(3)).max() > 1e-3  # no rotation, as documented
    # the centre of mass carries the weight, its rate the momentum
    up = robot.gravity / -9.81
    weight = [robot.energy(q + s * v, v).gravity for s in (h, -h)]
    ends = [robot.center_of_mass(q + s * v) for s in (h, -h)]
    drop = robot.mass * 9.81 * (ends[0] - ends[1]) @ up
    assert drop == pytest.approx(weight[0] - weight[1], rel=1e-6)
    momentum = robot.momentum(q, v)
    assert momentum[3:] == pytest.approx(robot.mass * (ends[0] - ends[1]) / (2 * h), abs=1e-7)
    # with the base at rest a turn of the first joint moves all as a rigid body: L about its axis is M_11
    first = robot.momentum(q, np.eye(6)[0])
    assert first[2] == pytest.approx(robot.mass_matrix(q)[0, 0], rel=1e-12)
    # a force does the work of its point; a moment is refused
    force = np.array([0.0, 0.0, 0.0, 1.0, -2.0, 0.5])
    change = robot.inverse_dynamics(q, v, 0 * v) - robot.inverse_dynamics(q, v, 0 * v, {"two/tip": force})
    assert change == pytest.approx(robot.jacobian(q, "two/tip")[3:].T @ force[3:], abs=1e-11)
    with pytest.raises(UnsupportedError, match="moments"):
        robot.forward_dynamics(q, v, None, {"two/tip": np.ones(6)})


def test_preset_paper_moves_in_compiled_steps():
    """Order two towards the adaptive motion by the verbs; energy, work and losses balance."""
    text = WORKED_EXAMPLE.replace('torsion="1"/>', 'torsion="1"/><damping ratio="0.02"/>')
    robot = flexdyn_ros.load(text, options={"formulation.preset": "paper"})
    q, tau, end = WORKED_STATE[0], np.array([1.0, 0.0, 0.0, -0.5, 0.0, 0.0]), 0.04
    exact = flexdyn_ros.simulate(robot, end, q, dt=end, method="dop853", control=tau, rtol=1e-10, atol=1e-12)
    errors = []
    for dt in (4e-4, 2e-4, 1e-4):
        run = flexdyn_ros.simulate(robot, end, q, dt=dt, method="auto", control=tau)
        assert run.method == "rosenbrock"
        errors.append(largest(run.q[-1] - exact.q[-1]))
    assert np.polyfit(np.log([4.0, 2.0, 1.0]), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.3)
    assert run.dissipated[-1] > 0.0
    assert run.dissipated[-1] == pytest.approx(exact.dissipated[-1], rel=0.02)
    balance = run.energy.total - run.work + run.dissipated
    assert largest(balance - balance[0]) < 1e-3 * largest(run.energy.kinetic)
    with pytest.raises(UnsupportedError, match="moments on affine"):
        flexdyn_ros.simulate(robot, end, q, dt=1e-3, method="rosenbrock", wrenches={"two/tip": np.ones(6)})


def test_forces_on_affine_frames_act_in_compiled_runs():
    """Work is force times way; the motion is that of the verbs."""
    robot = flexdyn_ros.load(WORKED_EXAMPLE, options={"formulation.preset": "paper"})
    q, end = WORKED_STATE[0], 0.04
    forces = {"two/tip": [0, 0, 0, 1.0, -2.0, 0.5], "one@0.4": [0, 0, 0, 3.0, 0.0, -1.0]}
    run = flexdyn_ros.simulate(robot, end, q, wrenches=forces, sample=end)
    way = {name: np.diff(robot.frames(run.q, name)[:, :3, 3], axis=0)[0] for name in forces}
    assert run.work[-1] == pytest.approx(sum(way[name] @ forces[name][3:] for name in forces), rel=1e-6)
    assert run.balance_error < 1e-6
    verbs = flexdyn_ros.simulate(robot, end, q, wrenches=forces, sample=end, method="lsoda", rtol=1e-9)
    assert run.q[-1] == pytest.approx(verbs.q[-1], abs=1e-7)


def test_slopes_of_affine_frames_know_the_forces_on_them():
    robot = flexdyn_ros.load(WORKED_EXAMPLE, options={"formulation.preset": "paper"})
    q, v = WORKED_STATE
    forces = {"two/tip": [0, 0, 0, 40.0, -20.0, 5.0], "one@0.4": [0, 0, 0, 3.0, 0.0, -10.0]}
    A, _ = robot.linearize(q, v, wrenches=forces)
    plain, _ = robot.linearize(q, v)
    h, nv = 1e-6, robot.nv
    assert largest(A - plain) > 1.0
    for i, e in enumerate(np.eye(nv)):
        ends = [robot.forward_dynamics(q + s * e, v, None, forces) for s in (h, -h)]
        assert A[nv:, i] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-6 * largest(A))
    with pytest.raises(UnsupportedError, match="moments on affine"):
        robot.linearize(q, v, wrenches={"two/tip": np.ones(6)})
