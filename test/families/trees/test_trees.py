"""Trees against the same tree said otherwise: mimic joints, planar base, payloads, the Lagrangian path,
MuJoCo.
"""

from functools import partial

import models
import numpy as np
import pytest
from hypothesis import given, settings
from models import assert_near, joint, link, random_state, random_tree, robot_text
from strategies import states, trees

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError


@given(trees(mimic=True, resistance=True), states())
def test_mimic_joints_are_the_constrained_tree(robot, rng):
    """M_mimic = G^T M G with the joints made independent and dq = G dq_mimic."""
    description = robot.description
    if not any(j.mimic for j in description.joints):
        return
    import re

    whole = flexdyn_ros.load(re.sub(r"<mimic[^>]*/>", "", description.text))
    q, v, _ = random_state(robot, rng)
    G = np.zeros((whole.nv, robot.nv))
    q_whole = np.zeros(whole.nq)
    q_whole[[whole.q_names.index(n) for n in robot.q_names]] = q
    for c in whole.coordinates:
        ratio, offset, name = 1.0, 0.0, c.name
        record = next((j for j in description.joints if j.name == name), None)
        while record is not None and record.mimic is not None:
            offset += ratio * record.mimic.offset
            ratio *= record.mimic.multiplier
            record = description.joint(record.mimic.joint)
            name = record.name
        G[c.v_index, robot.index(name)] = ratio
        if name != c.name:
            q_whole[c.q_index] = ratio * q[robot.coordinates[robot.index(name)].q_index] + offset
    assert_near(robot.mass_matrix(q), G.T @ whole.mass_matrix(q_whole) @ G, 1e-12)
    ours, theirs = robot.bias_terms(q, v), whole.bias_terms(q_whole, G @ v)
    scale = max(np.abs(x).max() for x in theirs)
    for x, y in ((ours.velocity, theirs.velocity), (ours.gravity, theirs.gravity)):
        assert np.abs(x - G.T @ y).max() <= 1e-12 * scale


def planar_tree(base: str) -> str:
    """A body with an arm; its base is planar by `<base>`, or stands on explicit joints x, z, pitch."""
    inertia = (0.2, 0.01, 0.0, 0.3, -0.02, 0.25)
    parts = [
        link("body", 4.0, (0.1, 0.02, -0.05), inertia),
        link("arm", 1.0, (0.3, 0, 0.1), (0.02, 0, 0, 0.05, 0, 0.05)),
        joint("shoulder", "revolute", "body", "arm", (0.2, 0, 0.3), (0.1, 0.2, 0), axis=(0, -1, 0.2)),
    ]
    if base == "planar":
        parts.append('<flexdyn><base type="planar" xyz="0.5 0.1 0.7" rpy="0.2 0.1 -0.3"/></flexdyn>')
    else:
        parts += [
            link("ground", 0),
            link("a", 0),
            link("b", 0),
            joint("x", "prismatic", "ground", "a", (0.5, 0.1, 0.7), (0.2, 0.1, -0.3), axis=(1, 0, 0)),
            joint("z", "prismatic", "a", "b", axis=(0, 0, 1)),
            joint("pitch", "continuous", "b", "body", axis=(0, 1, 0)),
        ]
    return robot_text("planar", *parts)


def test_a_planar_base_is_three_joints():
    planar, explicit = (flexdyn_ros.load(planar_tree(base)) for base in ("planar", "explicit"))
    assert planar.v_names == ("base/x", "base/z", "base/pitch", "shoulder")
    assert [c.actuated for c in planar.coordinates] == [False, False, False, True]
    assert explicit.v_names == ("x", "z", "pitch", "shoulder")
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, v, a = rng.normal(size=(3, 4))
        assert_near(planar.mass_matrix(q), explicit.mass_matrix(q), 1e-13)
        assert_near(planar.inverse_dynamics(q, v, a), explicit.inverse_dynamics(q, v, a), 1e-13)
        assert_near(planar.frames(q, "arm"), explicit.frames(q, "arm"), 1e-14)


@settings(max_examples=25)
@given(trees(resistance=True), states())
def test_the_lagrangian_path_equals_newton_euler(robot, rng):
    twin = flexdyn_ros.load(robot.description.text, options={"formulation.method": "lagrange"})
    q, v, a = random_state(robot, rng, (3,))
    wrenches = {str(rng.choice(robot.frame_names)): rng.normal(size=6)}
    for verb in (
        lambda r: r.mass_matrix(q),
        lambda r: r.bias_forces(q, v),
        lambda r: r.inverse_dynamics(q, v, a),
        lambda r: r.inverse_dynamics(q, v, a, wrenches),
        lambda r: r.inverse_dynamics(q[0], v[0], a[0]),
    ):
        assert_near(verb(twin), verb(robot), 1e-10)
    b = twin.forward_dynamics(q[0], v[0], a[0], wrenches)
    scale = np.abs(twin.mass_matrix(q[0]) @ b).max() + np.abs(robot.bias_forces(q[0], v[0])).max() + 1.0
    assert np.abs(robot.inverse_dynamics(q[0], v[0], b, wrenches) - a[0]).max() <= 1e-10 * scale
    moved = twin.forward_dynamics(
        q[0], v[0], a[0], wrenches, prescribed=dict.fromkeys(robot.v_names[:1], 1.3)
    )
    assert (moved[:1] == 1.3).all()
    both = (one.linearize(q[0], v[0], a[0]).A[: robot.nv] for one in (twin, robot))
    np.testing.assert_allclose(*both, rtol=0.0, atol=1e-12)
    left = (robot.inverse_dynamics(q[0], v[0], moved, wrenches) - a[0])[1:]
    scale += np.abs(twin.mass_matrix(q[0]) @ moved).max()
    assert np.abs(left).max(initial=0.0) <= 1e-10 * scale
    terms, same = robot.bias_terms(q, v), twin.bias_terms(q, v)
    largest = max(np.abs(x).max() for x in terms)
    for x, y in zip(terms, same, strict=True):
        assert np.abs(x - y).max() <= 1e-10 * largest


def test_the_lagrangian_path_has_the_same_door():
    twin = flexdyn_ros.load(models.two_link_arm(), options={"formulation.method": "lagrange"})
    z = np.zeros(2)
    with pytest.raises(DimensionError, match="v has shape"):
        twin.inverse_dynamics(z, np.zeros(3), z)
    with pytest.raises(StateError, match=r"a\[1\] is nan"):
        twin.inverse_dynamics(z, z, np.array([0, np.nan]))
    with pytest.raises(StateError, match=r"q\[0\] of sample 1 is inf"):
        twin.mass_matrix(np.array([z, [np.inf, 0]]))
    assert twin.inverse_dynamics(np.empty((0, 2)), z, z).shape == (0, 2)


@pytest.mark.parametrize("seed", range(6))
def test_a_payload_is_a_link_on_a_fixed_joint(seed):
    text = random_tree(seed, joints=5)
    robot = flexdyn_ros.load(text)
    inertia = np.array([[0.03, 0.002, -0.001], [0.002, 0.04, 0.003], [-0.001, 0.003, 0.05]])
    frame, com = robot.frame_names[-1], (0.1, -0.05, 0.2)
    six = [inertia[i, j] for i in range(3) for j in range(i, 3)]
    extra = link("load", 1.5, com, six) + joint("hook", "fixed", frame, "load")
    explicit = flexdyn_ros.load(text.replace("</robot>", extra + "</robot>"))
    carrying = robot.with_payload(frame, 9.0).with_payload(frame, 1.5, com, inertia)
    rng = np.random.default_rng(seed)
    if robot.nv:
        q, v, a = random_state(robot, rng)
        assert_near(carrying.mass_matrix(q), explicit.mass_matrix(q), 1e-13)
        assert_near(carrying.inverse_dynamics(q, v, a), explicit.inverse_dynamics(q, v, a), 1e-13)
        removed = carrying.with_payload(frame, 0.0)
        assert np.array_equal(removed.mass_matrix(q), robot.mass_matrix(q))
    assert carrying.mass == pytest.approx(robot.mass + 1.5)
    assert robot.mass == pytest.approx(flexdyn_ros.load(text).mass)


def test_wrong_payloads_are_refused():
    arm = flexdyn_ros.load(models.two_link_arm())
    with pytest.raises(UnknownNameError, match="frame 'hand'"):
        arm.with_payload("hand", 1.0)
    with pytest.raises(StateError, match="mass is -1"):
        arm.with_payload("tip", -1.0)
    with pytest.raises(StateError, match="finite"):
        arm.with_payload("tip", np.nan)
    for moments in ([1.0, 1.0, 3.0], [3.0, 2.0, 0.5]):
        with pytest.raises(StateError, match="principal moments"):
            arm.with_payload("tip", 1.0, inertia=np.diag(moments))
    with pytest.raises(StateError, match="not symmetric"):
        arm.with_payload("tip", 1.0, inertia=np.eye(3) + np.eye(3, k=1))
    with pytest.raises(DimensionError, match=r"com has shape \(2,\)"):
        arm.with_payload("tip", 1.0, (0, 0))


def test_urdf_is_the_object_of_the_caller_or_urchins():
    urchin = pytest.importorskip("urchin")
    robot = flexdyn_ros.load(models.example_robot(models.PANDA))
    assert isinstance(robot.urdf, urchin.URDF)
    assert robot.urdf is robot.urdf
    again = flexdyn_ros.load(robot.urdf)
    assert again.urdf is robot.urdf
    assert again.with_payload("panda_hand", 1.0).urdf is robot.urdf
    q = again.random(np.random.default_rng(1))
    assert_near(again.mass_matrix(q), robot.mass_matrix(q), 1e-9)


@given(trees(resistance=True), states())
def test_linearize_equals_central_differences(robot, rng):
    q, v, tau = random_state(robot, rng)
    n, h = robot.nv, 1e-5
    # at rest or fast: the smoothed dry friction bends too sharply for differences in between
    v = np.where(np.abs(v) < 0.1, 0.1, v)
    A, B = robot.linearize(q, v, tau)

    def acceleration(dq, dv, du):
        return robot.forward_dynamics(robot.integrate(q, dq, 1.0), v + dv, tau + du)

    zero = np.zeros(n)
    columns = [
        (acceleration(h * dq, h * dv, h * du) - acceleration(-h * dq, -h * dv, -h * du)) / (2 * h)
        for dq, dv, du in (
            *((e, zero, zero) for e in np.eye(n)),
            *((zero, e, zero) for e in np.eye(n)),
            *((zero, zero, e) for e in np.eye(n)),
        )
    ]
    exact = np.hstack([A[n:], B[n:]])
    assert np.abs(np.array(columns).T - exact).max() <= 1e-6 * np.abs(exact).max()
    assert np.array_equal(A[:n, n:], np.eye(n))
    # neighbours with the same velocity: free bodies beside each other turn away from each other
    s, many = 1e-3, [np.tile(x, (n, 1)) for x in (q, v)]
    near = robot.integrate(many[0], s * np.eye(n), 1.0)
    ends = [robot.difference(robot.integrate(*many, t), robot.integrate(near, many[1], t)) for t in (s, -s)]
    rates = (ends[0] - ends[1]).T / (2.0 * s * s)
    assert np.abs(rates - A[:n, :n]).max() <= 1e-5 * max(1.0, np.abs(v).max()) ** 3


@pytest.mark.parametrize("seed", range(8))
def test_mujoco_agrees(seed):
    mujoco = pytest.importorskip("mujoco", reason="the second oracle MuJoCo is not installed")
    text = random_tree(
        seed, base="fixed", joints=5, mimic=False, floating=False, kinds=("revolute", "prismatic")
    )
    robot = flexdyn_ros.load(text)
    spec = text.split("<flexdyn>")[0] + "</robot>"
    compiler = '<mujoco><compiler balanceinertia="false" discardvisual="false" fusestatic="false"/></mujoco>'
    model = mujoco.MjModel.from_xml_string(spec.replace("</robot>", compiler + "</robot>"))
    model.opt.gravity[:] = robot.gravity
    data = mujoco.MjData(model)
    order = [model.joint(name).dofadr[0] for name in robot.v_names]
    q, v, _ = random_state(robot, np.random.default_rng(seed))
    data.qpos[order], data.qvel[order] = q, v
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:  # before MuJoCo 4
        mujoco.mj_fullM(model, M, data.qM)
    # MuJoCo keeps principal axes as quaternions: a few digits fewer than pure double arithmetic
    assert_near(robot.mass_matrix(q), M[np.ix_(order, order)], 1e-10)
    assert_near(robot.bias_forces(q, v), data.qfrc_bias[order], 1e-10)


def test_forward_dynamics_reads_nothing_that_other_verbs_left():
    robot = flexdyn_ros.load("seven_joint_arm")
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(3, robot.nv))
    expected = robot.forward_dynamics(q, v, tau)
    for look in (robot.mass_matrix, robot.frames, partial(robot.momentum, v=v), partial(robot.energy, v=v)):
        look(q + 1.0)
        robot.inverse_dynamics(q + 2.0, v, v)
        assert np.array_equal(robot.forward_dynamics(q, v, tau), expected)


@pytest.mark.parametrize("method", ["articulated", "lagrange"])
@pytest.mark.parametrize(("coulomb", "static"), [(0.0, 1.0), (1.0, 1.0), (1.0, 2.5), (0.4, 0.9)])
def test_static_friction_with_and_without_coulomb_friction_has_its_curve(coulomb, static, method):
    text = f"""<robot name="hub"><link name="base"/><link name="wheel"><inertial><mass value="1"/>
      <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 0 1"/>
        <dynamics damping="0.7" friction="{coulomb}"/></joint>
      <flexdyn reference="turn">
        <friction static="{static}" stribeck_velocity="0.1" smoothing_velocity="0.02"/></flexdyn></robot>"""
    robot = flexdyn_ros.load(text, options={"formulation.method": method})
    for v in (0.0, 0.01, -0.05, 0.2, -3.0):
        level = coulomb + (static - coulomb) * np.exp(-((v / 0.1) ** 2))
        resistance = 0.7 * v + level * np.tanh(v / 0.02)
        assert robot.inverse_dynamics([0.3], [v], [2.0])[0] == pytest.approx(0.6 + resistance, abs=1e-13)
        assert robot.forward_dynamics([0.3], [v], [2.0])[0] == pytest.approx(
            (2.0 - resistance) / 0.3, abs=1e-12
        )
