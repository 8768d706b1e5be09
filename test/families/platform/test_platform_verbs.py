"""Verbs that platforms share with other robots, and what limits their workspace."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from lxml import etree
from platforms import random_motion, random_platform, with_link
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.families.platform.margins import segment_distance
from flexdyn_ros.robot import set_batch_threads


@cache
def skew_robot(seed: int = 0):
    """A robot without symmetry."""
    return flexdyn_ros.load(random_platform(seed)[0])


@pytest.fixture(scope="module")
def example():
    return flexdyn_ros.load("stewart_1t")


def as_open_tree(text: str):
    """The same URDF as a tree: a free platform beside six open legs."""
    root = etree.fromstring(text)
    for element in root.iter("platform", "formulation"):
        element.getparent().remove(element)
    return flexdyn_ros.load(etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("seed", range(3))
def test_momentum_and_centre_of_mass_are_those_of_the_open_tree(seed):
    robot, tree = skew_robot(seed), as_open_tree(random_platform(seed)[0])
    q, v, _ = random_motion(robot, np.random.default_rng(seed))
    joints, rates = robot.leg_joints(q, v)
    base = robot.frames(q, "base_link")
    home = base @ tree_home(robot)
    x, dx = np.zeros(tree.nq), np.zeros(tree.nv)
    pose = np.linalg.inv(home) @ robot.frames(q, "platform")
    at = tree.q_names.index("platform/x")
    x[at : at + 3], x[at + 3 : at + 7] = pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat()
    vt = tree.index("platform/wx")
    dx[vt : vt + 6] = np.concatenate([home[:3, :3].T @ v[:3], home[:3, :3].T @ v[3:]])
    for i, leg in enumerate(robot.legs):
        for n, name in enumerate(leg.joints):
            x[tree.q_names.index(name)], dx[tree.index(name)] = joints[i, n], rates[i, n]
    np.testing.assert_allclose(robot.momentum(q, v), tree.momentum(x, dx), rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(robot.center_of_mass(q), tree.center_of_mass(x), rtol=1e-12, atol=1e-13)
    assert robot.energy(q, v).kinetic == pytest.approx(tree.energy(x, dx).kinetic, rel=1e-12)
    assert robot.mass == pytest.approx(tree.mass)


def tree_home(robot):
    """Where the floating joint stands in the base."""
    joint = robot.description.joint("platform")
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_euler("xyz", joint.rpy).as_matrix(), joint.xyz
    return T


def test_linearize_equals_central_differences():
    robot, rng = skew_robot(), np.random.default_rng(3)
    q, v, _ = random_motion(robot, rng)
    tau = rng.uniform(1000, 3000, 6)
    loaded = ("platform", "leg_2_rod", "leg_4_cylinder", "leg_5_cross")
    wrenches = {name: rng.normal(size=6) * 100 for name in loaded}
    A, B = robot.linearize(q, v, tau, wrenches)
    h = 1e-6
    for i, e in enumerate(np.eye(6)):
        ahead, behind = (robot.integrate(q, s * h * e, 1.0) for s in (1, -1))
        slope = (robot.forward_dynamics(ahead, v, tau, wrenches)
                 - robot.forward_dynamics(behind, v, tau, wrenches)) / (2 * h)  # fmt: skip
        np.testing.assert_allclose(A[6:, i], slope, rtol=1e-6, atol=1e-6 * np.abs(A[6:]).max())
        ahead, behind = (robot.forward_dynamics(q, v + s * h * e, tau, wrenches) for s in (1, -1))
        slope = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(A[6:, 6 + i], slope, rtol=1e-6, atol=1e-6 * np.abs(A[6:]).max())
        push = robot.forward_dynamics(q, v, tau + e, wrenches) - robot.forward_dynamics(q, v, tau, wrenches)
        np.testing.assert_allclose(B[6:, i], push, rtol=1e-8, atol=1e-12)
    # the rate of a small turn: that of the difference of two motions
    d = rng.normal(size=6)
    q1, v1 = robot.integrate(q, h * d, 1.0), v + h * rng.normal(size=6)
    dt = 1e-6
    later = robot.difference(robot.integrate(q, v, dt), robot.integrate(q1, v1, dt))
    expected = A[:6] @ np.concatenate([h * d, v1 - v])
    np.testing.assert_allclose((later - h * d) / dt, expected, atol=2e-4 * np.abs(expected).max())


def test_statics_by_hold_and_by_leg_forces():
    robot, rng = skew_robot(), np.random.default_rng(4)
    q, zero = robot.random(rng), np.zeros(6)
    load = {"platform": rng.normal(size=6) * 100}
    rest = robot.static_equilibrium(q, hold=robot.v_names, wrenches=load)
    np.testing.assert_allclose(rest.tau, robot.inverse_dynamics(q, zero, zero, load), rtol=1e-14)
    assert np.array_equal(rest.q, q)
    start = robot.integrate(q, rng.normal(size=6) * 0.01, 1.0)
    found = robot.static_equilibrium(start, tau=rest.tau, wrenches=load)
    np.testing.assert_allclose(found.tau, rest.tau, rtol=1e-10)
    assert np.abs(robot.forward_dynamics(found.q, zero, found.tau, load)).max() < 1e-9
    part = robot.static_equilibrium(start, hold=robot.v_names[:5], tau=rest.tau, wrenches=load)
    assert np.abs(robot.difference(start, part.q)[:5]).max() < 1e-14
    residual = robot.bias_forces(part.q, zero) - robot.actuation_matrix(part.q) @ rest.tau
    assert abs(residual[5] - load["platform"][5]) < 1e-8 * np.abs(rest.tau).max()


@pytest.mark.parametrize("frame", ["platform", "leg_2_rod", "leg_3_cylinder"])
def test_a_payload_is_a_link_fixed_to_the_frame(frame):
    text, _ = random_platform(0)
    com, inertia = (0.1, -0.2, 0.3), np.diag([2.0, 3.0, 4.0])
    turning = '<inertia ixx="2" ixy="0" ixz="0" iyy="3" iyz="0" izz="4"/>'
    body = f'<inertial><origin xyz="0.1 -0.2 0.3"/><mass value="30"/>{turning}</inertial>'
    carried = with_link(text, frame, body)
    robot, other = skew_robot().with_payload(frame, 30.0, com, inertia), flexdyn_ros.load(carried)
    q, v, a = random_motion(other, np.random.default_rng(5))
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), rtol=1e-12)
    assert robot.mass == pytest.approx(skew_robot().mass + 30.0)
    np.testing.assert_allclose(other.frames(q, "load"), other.frames(q, frame), atol=1e-14)
    bare = robot.with_payload(frame, 0.0)
    assert np.array_equal(bare.mass_matrix(q), skew_robot().mass_matrix(q))


@pytest.mark.parametrize("frame", ["platform", "leg_1_rod", "leg_4_cylinder", "leg_6_cross", "base_link"])
def test_wrenches_act_through_the_jacobian_of_their_frame(frame):
    robot, rng = skew_robot(), np.random.default_rng(6)
    q, v, a = random_motion(robot, rng)
    w = rng.normal(size=6) * 100
    change = robot.inverse_dynamics(q, v, a, {frame: w}) - robot.inverse_dynamics(q, v, a)
    expected = -np.linalg.solve(robot.actuation_matrix(q), robot.jacobian(q, frame).T @ w)
    np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-8)


def test_batches_take_wrenches_on_all_frames_at_once():
    robot, rng = skew_robot(), np.random.default_rng(12)
    n, names = 11, robot.frame_names
    assert len(names) > 12
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a, tau = rng.normal(size=(3, n, 6))
    wrenches = {name: rng.normal(size=(n, 6)) * 100 for name in names}
    load = sum(np.einsum("nij,ni->nj", robot.jacobian(q, name), w) for name, w in wrenches.items())
    B, h, M = robot.actuation_matrix(q), robot.bias_forces(q, v), robot.mass_matrix(q)
    found = robot.inverse_dynamics(q, v, a, wrenches)
    expected = np.einsum("nij,nj->ni", M, a) + h - load
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.einsum("nij,nj->ni", B, found), expected, atol=1e-12 * scale)
    accelerations = robot.forward_dynamics(q, v, 1e3 * tau, wrenches)
    left = np.einsum("nij,nj->ni", M, accelerations) + h - load - 1e3 * np.einsum("nij,nj->ni", B, tau)
    assert np.abs(left).max() < 1e-12 * scale


INTERPRETED = """
import json, warnings
import numpy as np
import flexdyn_ros
robot, rng = flexdyn_ros.load("stewart_1t"), np.random.default_rng(1)
q = np.array([robot.random(rng), robot.random(rng)])
v, a = rng.normal(size=(2, 2, 6))
loads = {"platform": rng.normal(size=(2, 6)), "leg_2_rod": rng.normal(size=6)}
found = [robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.mass_matrix(q)]
found += [robot.inverse_dynamics(q, v, a, loads), robot.forward_dynamics(q, v, a, loads)]
found += [robot.inverse_dynamics(q[0], v[0], a[0]), robot.forward_dynamics(q[0], v[0], a[0])]
q[1, 2] = 0.0
q[1, :2], q[1, 3:] = 0.0, (0, 0, 0, 1)
warnings.simplefilter("ignore")
flat = robot.inverse_dynamics(q, v, a)
assert np.isnan(flat[1]).all() and np.isfinite(flat[0]).all()
print(json.dumps(np.concatenate([x.ravel() for x in found]).tolist()))
"""


def test_interpreted_kernels_give_the_same_for_rows_and_wrenches():
    results = []
    for off in "01":
        run = subprocess.run([sys.executable, "-c", INTERPRETED], capture_output=True, text=True, timeout=300,
                             env={**os.environ, "NUMBA_DISABLE_JIT": off}, check=True)  # fmt: skip
        results.append(np.array(json.loads(run.stdout)))
    np.testing.assert_allclose(*results, rtol=1e-9)


@pytest.mark.parametrize("spin", ["universal", "none"])
def test_both_paths_for_axisymmetric_legs_agree(spin):
    """The closed form of section 4.1 and the general one are two pieces of code."""
    robot = flexdyn_ros.load("stewart_1t", options={"formulation.leg_spin": spin})
    assert robot.functions.tables.axisymmetric
    general = robot.functions.open_to_parameters()
    rng = np.random.default_rng(7)
    q = np.array([robot.random(rng) for _ in range(50)])
    v, a = rng.normal(size=(2, 50, 6))
    tau = general.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, rtol=1e-11)
    required = np.einsum("nij,nj->ni", robot.mass_matrix(q), a) + robot.bias_forces(q, v)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", robot.actuation_matrix(q), tau), required, rtol=1e-9,
                               atol=1e-8)  # fmt: skip
    # power of the legs is the change of energy, without spin too
    h, one = 1e-5, 3
    ends = [robot.energy(robot.integrate(q[one], s * h * v[one] + 0.5 * h * h * a[one], 1.0),
                         v[one] + s * h * a[one]).total for s in (1, -1)]  # fmt: skip
    power = tau[one] @ robot.inverse_kinematics(q[one], v[one]).rate
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(power, rel=1e-6)


def test_batches_equal_single_samples_whatever_the_threads(example):
    rng = np.random.default_rng(8)
    q = np.array([example.random(rng) for _ in range(20)])[np.arange(1200) % 20]
    v, a = rng.normal(size=(2, 1200, 6))
    load = {"platform": rng.normal(size=(1200, 6))}
    set_batch_threads(1)
    try:
        alone = example.inverse_dynamics(q, v, a, load), example.forward_dynamics(q, v, a, load)
        set_batch_threads(3)
        spread = example.inverse_dynamics(q, v, a, load), example.forward_dynamics(q, v, a, load)
    finally:
        set_batch_threads(None)
    assert all(np.array_equal(x, y) for x, y in zip(alone, spread, strict=True))
    # samples on lanes are rounded differently
    np.testing.assert_allclose(
        example.inverse_dynamics(q, v, a)[7], example.inverse_dynamics(q[7], v[7], a[7]), rtol=1e-13
    )
    np.testing.assert_array_equal(example.mass_matrix(q)[9], example.mass_matrix(q[9]))
    out = np.empty((1200, 6))
    assert example.forward_dynamics(q, v, a, out=out) is out
    assert example.inverse_dynamics(q[:0], v[:0], a[:0]).shape == (0, 6)
    assert example.workspace_margins(q.reshape(40, 30, 7)).singular_values.shape == (40, 30, 6)


def test_bias_terms_sum_to_the_bias(example):
    q, v, _ = random_motion(example, np.random.default_rng(9))
    terms = example.bias_terms(q, v)
    np.testing.assert_allclose(sum(terms), example.bias_forces(q, v), rtol=1e-12)
    assert np.abs(terms.velocity).max() > 1.0
    np.testing.assert_allclose(terms.gravity, example.bias_forces(q, np.zeros(6)), rtol=1e-14)


# ---- workspace ----


def test_margins_say_what_limits_a_pose():
    robot = flexdyn_ros.load("stewart_electric")
    home = robot.neutral()
    assert robot.workspace_margins(home).mask == 0
    assert robot.workspace_margins(home).stroke == pytest.approx(0.075)

    def at(*step):
        return robot.workspace_margins(robot.integrate(home, np.array(step, dtype=float), 1.0))

    low, high = at(0, 0, 0, 0, 0, -0.12), at(0, 0, 0, 0, 0, 0.12)
    assert (low.mask & 3, high.mask & 3) == (1, 2)
    legs = robot.inverse_kinematics(robot.integrate(home, np.array([0, 0, 0, 0, 0, 0.12]), 1.0))
    assert high.stroke == pytest.approx(0.15 - legs.stroke.max(), abs=1e-12)
    turned = at(0, 0, 1.2, 0, 0, 0)
    assert turned.mask & 8
    assert turned.ball < 0.0
    assert at(0, 0, 0.1, 0, 0, 0).ball == pytest.approx(at(0, 0, -0.1, 0, 0, 0).ball, rel=1e-6)
    assert at(0, 0, 2.5, 0, 0, 0).mask & 16
    assert at(0, 0, 0, 0, 0, -0.33).mask & (4 | 32)


def test_the_determinant_changes_sign_along_a_line_through_a_singularity(example):
    """End points alone do not show it: the third sample is as regular as the first."""
    home = example.neutral()
    line = home + np.array([0.0, 1.0, 2.0])[:, None] * np.array([0, 0, -home[2], 0, 0, 0, 0])
    found = example.workspace_margins(line)
    assert found.determinant[0] * found.determinant[2] < 0.0
    assert found.singular_values[2, -1] == pytest.approx(found.singular_values[0, -1])
    assert [bool(bit) for bit in found.mask & 64] == [False, False, True]
    assert found.mask[1] & 32


def test_distance_of_segments_equals_a_search():
    rng = np.random.default_rng(10)
    a, b = rng.normal(size=(2, 40, 3))
    u, v = rng.normal(size=(2, 40, 3))
    v[:5] = 2.0 * u[:5]  # parallel ones
    s = np.linspace(0.0, 1.0, 401)
    for n in range(40):
        grid = (a[n] + s[:, None] * u[n])[:, None] - (b[n] + s[:, None] * v[n])[None]
        searched = np.linalg.norm(grid, axis=-1).min()
        found = segment_distance(a[n], u[n : n + 1], b[n], v[n : n + 1])[0]
        assert found <= searched + 1e-12
        assert found == pytest.approx(searched, abs=2e-2)


def test_random_poses_lie_within_the_limits(example):
    rng = np.random.default_rng(11)
    for robot in (example, flexdyn_ros.load("stewart_electric"), skew_robot()):
        q = np.array([robot.random(rng) for _ in range(20)])
        assert not (robot.workspace_margins(q).mask & ~np.int64(24)).any()


# ---- refusals ----


def text_of_example():
    return flexdyn_ros.load("stewart_1t").description.text


def test_spin_cannot_be_neglected_where_legs_are_not_round():
    text, _ = random_platform(0, leg_spin="none")
    with pytest.raises(DescriptionError, match="not axisymmetric") as caught:
        flexdyn_ros.load(text)
    assert caught.value.attribute == "leg_spin"


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ('<link name="leg_2_cross"/>',
         '<link name="leg_2_cross"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
         'iyz="0" izz="1"/></inertial></link>', DescriptionError, "cross of a universal joint has mass"),
        ('<joint name="leg_3_u2" type="revolute">',
         '<joint name="leg_3_u2" type="revolute"><dynamics damping="1"/>', UnsupportedError, "damping"),
    ],
)  # fmt: skip
def test_mechanisms_that_are_no_platform_are_refused(old, new, error, message):
    text = text_of_example()
    assert old in text
    with pytest.raises(error, match=message):
        flexdyn_ros.load(text.replace(old, new, 1))


def test_universal_joints_have_axes_at_right_angles():
    text = text_of_example()
    skew = re.sub(r'(<joint name="leg_1_u2".*?<axis xyz=")[^"]*', r"\g<1>0.1 1 0", text, flags=re.S)
    with pytest.raises(DescriptionError, match="not perpendicular"):
        flexdyn_ros.load(skew)


def test_names_and_numbers_that_are_wrong(example):
    q = example.neutral()
    with pytest.raises(UnknownNameError):
        example.with_payload("nowhere", 1.0)
    with pytest.raises(UnknownNameError):
        example.inverse_dynamics(q, np.zeros(6), np.zeros(6), {"nowhere": np.zeros(6)})
    with pytest.raises(StateError):
        example.forward_kinematics(np.array([1.4, 1.4, np.nan, 1.4, 1.4, 1.4]))
    with pytest.raises(UnsupportedError, match="cross"):
        example.joint_reactions(q, np.zeros(6), np.zeros(6), {"leg_1_cross": np.ones(6)})
    afloat = flexdyn_ros.load("stewart_1t", options={"base.type": "floating"})
    assert (afloat.kind, afloat.nv) == ("tree", 12)


def test_check_says_what_a_specialist_asks():
    report = flexdyn_ros.check("stewart_1t")
    text = "\n".join(report.notes)
    assert "condition 2.02" in text
    assert "leg forces at rest 2260 N" in text
    assert "oil columns" in text
    assert report.warnings == ()
    weak = text_of_example().replace('effort="25000"', 'effort="2000"', 1)
    (warning,) = flexdyn_ros.check(weak).warnings
    assert "leg_1" in warning
    assert "2260" in warning


def test_simulated_platforms_keep_the_account_of_energy():
    """Compiled steps against an adaptive integrator over the verbs; leg forces a little above rest."""
    robot = flexdyn_ros.load("stewart_electric")
    zero = np.zeros(6)
    tau = 1.01 * robot.inverse_dynamics(robot.neutral(), zero, zero)
    ours = flexdyn_ros.simulate(robot, 0.2, control=tau, dt=1e-3, limits="report")
    account = ours.energy.total - ours.work + ours.dissipated
    assert ours.work[-1] > 0.1
    assert np.ptp(account) < 1e-9 * ours.work[-1]
    adaptive = flexdyn_ros.simulate(robot, 0.2, control=tau, dt=1e-2, method="dop853", limits="report")
    np.testing.assert_allclose(ours.q[-1], adaptive.q[-1], atol=1e-8)


def test_viscous_friction_of_cylinders_damps_the_modes():
    robot = flexdyn_ros.load("stewart_1t")
    q = robot.neutral()
    modes, J = robot.modes(q), robot.leg_jacobian(q)
    D = J.T @ (600.0 * J)
    w = 2 * np.pi * modes.frequency
    for i in range(6):
        shape = modes.shape[:, i]
        # to first order: the modes are hardly coupled by so little damping
        assert modes.damping_ratio[i] == pytest.approx(shape @ D @ shape / (2 * w[i]), rel=1e-2)
    dry = flexdyn_ros.load("stewart_1t", options={"platform.hydraulics.friction": None})
    np.testing.assert_allclose(dry.modes(q).damping_ratio, 0.0, atol=1e-9)
