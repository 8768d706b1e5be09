"""Loads, stops, payloads and options of soft arms, and how their robot answers."""

import pickle

import numpy as np
import pytest
from soft_arms import (
    NO_ROTARY,
    Q2,
    TAU2,
    V2,
    Q,
    V,
    chain,
    one,
    random_states,
    relative,
)

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError

# ---- loads, stops, payloads, options ----


def test_wrenches_act_through_the_jacobian(two):
    rng = np.random.default_rng(14)
    frames = ("tip", "plate", "first@0.3", "second@0.8", "base")
    for frame, q, v, tau in zip(frames, *random_states(6, 5, 14), strict=True):
        w = rng.uniform(-1, 1, 6)
        a = two.forward_dynamics(q, v, tau, {frame: w})
        b = two.forward_dynamics(q, v, tau + two.jacobian(q, frame).T @ w)
        assert np.abs(a - b).max() < 1e-10 * np.abs(b).max()
        found = two.inverse_dynamics(q, v, b, {frame: w})
        assert np.abs(found - tau).max() < 1e-11 * np.abs(tau).max()


def test_linear_equations_under_wrenches_are_differences(two):
    load = {"tip": np.linspace(-1.0, 0.8, 6), "first@0.5": np.linspace(0.7, -0.9, 6)}
    linear, h = two.linearize(Q2, V2, TAU2, load), 1e-6
    for k, step in enumerate(h * np.eye(6)):
        above, below = (two.forward_dynamics(Q2 + d, V2, TAU2, load) for d in (step, -step))
        assert (
            np.abs((above - below) / (2 * h) - linear.A[6:, k]).max() < 1e-6 * np.abs(linear.A[6:, :6]).max()
        )


def test_wrenches_on_arms_of_modal_kinematics_act_through_the_jacobian():
    """On both sections, beside and between their ends; Jacobians against differences of frames."""
    section = 'length="0.15" radius="0.0125" mass="0.15" stiffness="1700" damping="15" lower="0" upper="0.03"'
    modal = {"formulation.kinematics": "modal", "formulation.order": 20}
    robot = flexdyn_ros.load(chain(2, section), options=modal)
    rng, h = np.random.default_rng(14), 1e-6
    for frame in ("section_1@0.3", "section_2@0.8", "link_1", "link_2"):
        w, J = rng.uniform(-1, 1, 6), robot.jacobian(Q2, frame)
        for k, e in enumerate(h * np.eye(6)):
            rate = (robot.frames(Q2 + e, frame) - robot.frames(Q2 - e, frame)) / (2.0 * h)
            W = rate[:3, :3] @ robot.frames(Q2, frame)[:3, :3].T
            motion = [W[2, 1], W[0, 2], W[1, 0], *rate[:3, 3]]
            np.testing.assert_allclose(J[:, k], motion, rtol=1e-7, atol=1e-6)
        a = robot.forward_dynamics(Q2, V2, TAU2, {frame: w})
        b = robot.forward_dynamics(Q2, V2, TAU2 + J.T @ w)
        assert np.abs(a - b).max() < 1e-10 * np.abs(b).max()
        tau = robot.inverse_dynamics(Q2, V2, b, {frame: w})
        assert np.abs(tau - TAU2).max() < 1e-11 * np.abs(TAU2).max()


def test_momentum_is_that_of_the_jacobians_and_obeys_newton(two):
    q, v, h = Q2, V2, 1e-6
    rate = (two.center_of_mass(q + h * v) - two.center_of_mass(q - h * v)) / (2 * h)
    assert np.abs(two.momentum(q, v)[3:] - two.mass * rate).max() < 1e-9
    # a payload that weighs far more than the arm carries nearly all the momentum
    heavy = two.with_payload("tip", 1e9, (0.01, 0.02, 0.03), np.diag([1e5, 2e5, 2.5e5]))
    J, T = heavy.jacobian(q, "tip"), heavy.frames(q, "tip")
    w, u = (J @ v)[:3], (J @ v)[3:]
    c = T[:3, :3] @ [0.01, 0.02, 0.03]
    p = 1e9 * (u + np.cross(w, c))
    angular = np.cross(T[:3, 3] + c, p) + T[:3, :3] @ np.diag([1e5, 2e5, 2.5e5]) @ T[:3, :3].T @ w
    assert relative(np.r_[angular, p], heavy.momentum(q, v)) < 1e-8


def test_slices_that_turn_have_the_angular_momentum_of_discs():
    """m r^2/4 (w + (w.t) t) along the arm, of mass m and radius r; without rotary inertia it is not there."""
    whole, bare = (one(options=options) for options in ({}, NO_ROTARY))
    places, weights = np.polynomial.legendre.leggauss(7)
    slices = [f"section_1@{0.5 * (place + 1.0):.17g}" for place in places]
    turns, along = whole.frame_velocity(Q, V, slices)[:, :3], whole.frames(Q, slices)[:, :3, 2]
    spins = np.einsum("ki,ki->k", turns, along)[:, None]
    expected = 0.25 * 0.15 * 0.0125**2 * 0.5 * weights @ (turns + spins * along)
    found = (whole.momentum(Q, V) - bare.momentum(Q, V))[:3]
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_stops_push_back_smoothly_and_store_energy():
    robot = one(limit_stiffness=85_000.0, limit_damping=50.0)
    inside, v = np.full(3, 0.0299), np.array([0.1, 0.0, 0.0])
    assert not robot.bias_terms(inside, v).external.any()
    last = 0.0
    for depth in np.linspace(0, 1e-3, 20):
        q = np.array([0.03 + depth, 0.01, 0.01])
        force = robot.bias_terms(q, v).external
        assert force[0] >= last
        assert not force[1:].any()
        assert force[0] - last < 85_000 * 1e-3 / 19 + 5.0
        last = force[0]
    still = np.zeros(3)
    below = np.array([-0.001, 0.01, 0.01])
    assert robot.bias_terms(below, still).external[0] == pytest.approx(-85.0)
    free = one()
    stored = robot.energy(below, still).elastic - free.energy(below, still).elastic
    assert stored == pytest.approx(0.5 * 85_000 * 1e-6)
    assert one().bias_terms(below, still).external[0] == 0.0


def test_bending_stiffness_adds_its_energy():
    robot = one(bending_stiffness=0.1)
    theta = robot.arc_parameters(Q)[0, 1]
    more = robot.energy(Q, V).elastic - one().energy(Q, V).elastic
    assert more == pytest.approx(0.5 * 0.1 * (theta / 2) ** 2, rel=1e-12)


def test_payload_within_a_section_is_refused_by_name(two):
    section = two.section_names[0]
    said = f"a payload within a section, at '{section}@0.5', is not computed.*tip"
    with pytest.raises(UnsupportedError, match=said):
        two.with_payload(f"{section}@0.5", 0.1)


def test_payload_may_be_carried_and_put_down(two):
    loaded = two.with_payload("tip", 0.3, (0, 0, 0.01))
    assert loaded.mass == pytest.approx(two.mass + 0.3)
    assert np.array_equal(loaded.with_payload("tip", 0.0).mass_matrix(Q2), two.mass_matrix(Q2))
    assert loaded.mass_matrix(Q2)[0, 0] > two.mass_matrix(Q2)[0, 0]


def test_modal_dynamics_agree_with_exact_ones_within_the_error_of_the_pose(arm):
    robot = one(options={"formulation.kinematics": "modal", "formulation.order": 11})
    q, v, tau = random_states(3, 100, 15)
    assert relative(arm.mass_matrix(q), robot.mass_matrix(q)) < 1e-6
    assert relative(arm.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau)) < 1e-5
    fine = one(options={"formulation.kinematics": "modal", "formulation.order": 24})
    assert relative(arm.mass_matrix(q), fine.mass_matrix(q)) < 1e-13
    assert relative(arm.bias_terms(q, v).velocity, fine.bias_terms(q, v).velocity) < 1e-11
    C, M, h = robot.coriolis_matrix(Q, V), robot.mass_matrix(Q), 1e-5
    Md = (robot.mass_matrix(Q + h * V) - robot.mass_matrix(Q - h * V)) / (2 * h)
    assert np.abs(Md - C - C.T).max() < 1e-7 * np.abs(M).max()


def test_single_states_batches_and_threads_agree(two):
    q, v, tau = random_states(6, 700, 16)
    a = two.forward_dynamics(q, v, tau)
    for i in (0, 333, 699):
        # samples on lanes are rounded differently
        assert np.abs(two.forward_dynamics(q[i], v[i], tau[i]) - a[i]).max() < 1e-13 * np.abs(a[i]).max()
        assert np.array_equal(two.mass_matrix(q[i]), two.mass_matrix(q)[i])
    out = np.empty((700, 6))
    assert two.inverse_dynamics(q, v, a, out=out) is out
    assert np.abs(out - tau).max() < 1e-9
    assert two.forward_dynamics(np.zeros((0, 6)), v[:1], tau[:1]).shape == (0, 6)
    assert two.jacobian(q.reshape(7, 100, 6), "tip").shape == (7, 100, 6, 6)


def test_bad_arguments_are_refused(two):
    with pytest.raises(DimensionError):
        two.forward_dynamics(np.zeros(5), np.zeros(6))
    with pytest.raises(StateError, match=r"q\[2\]"):
        two.forward_dynamics([0, 0, np.nan, 0, 0, 0], np.zeros(6))
    bad = np.zeros((5, 6))
    bad[3, 1] = np.inf
    with pytest.raises(StateError, match="sample 3"):
        two.energy(bad, np.zeros(6))
    with pytest.raises(UnknownNameError):
        two.forward_dynamics(Q2, V2, None, {"hand": np.zeros(6)})
    with pytest.raises(UnsupportedError, match="base"):
        flexdyn_ros.load(chain(1, 'preset="bai2022" length="0.15"', base='<base type="floating"/>'))


def test_a_prescribed_acceleration_is_kept_and_the_others_follow(two):
    force, load = np.linspace(-2.0, 3.0, 6), {two.frame_names[-1]: [0.1, 0, 0, 0, 0, -2.0]}
    a = two.forward_dynamics(Q2, V2, force, load, prescribed={"second/actuator_2": 0.4})
    assert a[4] == 0.4
    tau = two.inverse_dynamics(Q2, V2, a, load)
    others = [0, 1, 2, 3, 5]
    # forces of some 10 N, a mass matrix of condition 1e4
    assert tau[others] == pytest.approx(force[others], abs=1e-10)
    assert abs(tau[4] - force[4]) > 1e-3


def test_a_robot_is_immutable_and_pickles(two):
    again = pickle.loads(pickle.dumps(two.with_payload("tip", 0.1)))
    assert np.array_equal(again.mass_matrix(Q2), two.with_payload("tip", 0.1).mass_matrix(Q2))
    with pytest.raises(AttributeError, match="immutable"):
        two.name = "other"


def test_check_tells_what_presets_filled_and_where_that_comes_from():
    found = flexdyn_ros.check(chain(1, 'preset="bai2022" length="0.15" mass="0.2"', "0 0 9.81"))
    (note,) = [note for note in found.notes if "section" in note]
    assert "preset bai2022" in note
    assert "stiffness 1700 N/m (ASSUMED)" in note
    assert "upper 0.03 m (published)" in note
    # said beside the preset
    assert note.index("mass 0.2 kg") > note.index("(published)")
    assert not found.warnings
    (note,) = [
        n for n in flexdyn_ros.check(chain(1, 'preset="robio2011" length="0.15"')).notes if "section" in n
    ]
    assert "bending_stiffness 0.1 N m/rad2 (Godage et al. 2011, Table I)" in note


def test_check_warns_of_arms_that_buckle():
    section = 'preset="bai2022" length="0.15"'
    (warning,) = flexdyn_ros.check(chain(3, section, "0 0 -9.81")).warnings
    assert "buckles" in warning
    assert "-1.4" in warning
    assert not flexdyn_ros.check(chain(3, section, "0 0 9.81")).warnings


@pytest.mark.parametrize("bending", [0.5, 1.6, 3.0, 4.5, 6.2])
def test_the_number_of_quadrature_nodes_follows_from_the_strokes(bending):
    """Two sections at the ends of their strokes: M and bias within 1e-10 of those with 40 nodes."""
    stroke = 1.5 * 0.0125 * bending
    section = (
        f'length="0.15" radius="0.0125" mass="0.15" stiffness="1700" lower="{-0.3 * stroke!r}" '
        f'upper="{0.7 * stroke!r}"'
    )
    arm, fine = (flexdyn_ros.load(chain(2, section + more)) for more in ("", ' quadrature="40"'))
    assert arm.description.sections[0].quadrature == 6 + np.ceil(1.1 * bending)
    ends = np.array([-0.3, -0.3, 0.7, 0.7, -0.3, 0.7]) * stroke
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, v = rng.permutation(ends.reshape(2, 3), axis=1).ravel(), rng.normal(size=6)
        M, h = fine.mass_matrix(q), fine.bias_forces(q, v)
        s = 1.0 / np.sqrt(np.diagonal(M))
        assert np.abs((arm.mass_matrix(q) - M) * np.outer(s, s)).max() < 1e-10
        assert np.abs(arm.bias_forces(q, v) - h).max() < 1e-10 * np.abs(h).max()
