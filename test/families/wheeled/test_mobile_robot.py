"""Wheeled arms by floating frames against the general tree, and what the verbs promise each other."""

import pickle
from functools import wraps

import numpy as np
import pytest
from implicit_steps import left_over
from mobile_arms import arm, chain, efforts, state

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, StateError, UnsupportedError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation import Stepper

#: formulation of the general tree that has the same physics as the floating frames' default
SAME = {"formulation": {"method": "articulated", "rotary_inertia": "none", "stiffening": "none"}}
SINE = '<road kind="sine" amplitude="0.03" offset="0.03" wavelength="0.4" phase="1.0"/>'


def pair(text, **options):
    """The robot by floating frames and by the general tree."""
    both = {name.replace("__", "."): value for name, value in options.items()}
    tree = {f"formulation.{k}": v for k, v in SAME["formulation"].items()}
    return flexdyn_ros.load(text, options=both), flexdyn_ros.load(text, options={**both, **tree})


def random_state(robot, rng):
    """Large deflections, any angles, near the ground."""
    q = robot.random(rng)
    q[1], q[2] = 0.25 + 0.05 * q[1], 0.3 * q[2]
    v = rng.normal(size=robot.nv)
    for c in robot.coordinates:
        if c.kind in ("axial", "bending_z"):
            v[c.v_index] *= 0.1
        if c.kind == "hub":
            q[c.q_index] = 0.21 + 0.01 * rng.normal()
    return q, v


ROBOTS = {
    "flexible": (chain(), {}),
    "rigid": (chain(), {"formulation__flexible": False}),
    "rigid_flexible": (chain((False, True)), {}),
    "flexible_rigid": (chain((True, False)), {}),
    "one link": (chain((True,)), {}),
    "three links": (chain((True, False, True)), {}),
    "sine road": (chain(road=SINE), {}),
    "exact suspension": (chain(road=SINE, mount_z=-0.1), {"formulation__suspension": "exact"}),
    "tyres": (chain((True,), tyres=True, road=SINE), {}),
    "unilateral": (chain((True,), road=SINE), {"road__contact": "unilateral"}),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_floating_frames_and_general_tree_agree(name):
    text, options = ROBOTS[name]
    frames, tree = pair(text, **options)
    assert frames.v_names == tree.v_names
    rng = np.random.default_rng(3)
    for _ in range(4):
        q, v = random_state(frames, rng)
        tau = np.zeros(frames.nv)
        tau[3:] = rng.normal(size=frames.nv - 3)
        one, two = frames.forward_dynamics(q, v, tau), tree.forward_dynamics(q, v, tau)
        assert np.abs(one - two).max() <= 1e-9 * np.abs(two).max()
        assert frames.drive_force(q, v, tau) == pytest.approx(tree.drive_force(q, v, tau), rel=1e-8)
        assert np.allclose(frames.mass_matrix(q), tree.mass_matrix(q), rtol=1e-12, atol=1e-12)
        h = tree.bias_forces(q, v)
        assert np.allclose(frames.bias_forces(q, v), h, rtol=1e-11, atol=1e-11 * np.abs(h).max())
        assert np.allclose(frames.wheel_forces(q, v).normal, tree.wheel_forces(q, v).normal, rtol=1e-11)
        assert np.allclose(frames.energy(q, v).total, tree.energy(q, v).total, rtol=1e-12)
        assert np.allclose(frames.jacobian(q, "cart"), tree.jacobian(q, "cart"), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["flexible", "tyres", "three links", "exact suspension"])
def test_inverse_dynamics_undoes_forward_dynamics_and_terms_add_up(name):
    text, options = ROBOTS[name]
    robot = pair(text, **options)[0]
    rng = np.random.default_rng(1)
    q, v = random_state(robot, rng)
    tau = np.zeros(robot.nv)
    tau[3:] = rng.normal(size=robot.nv - 3)
    a = robot.forward_dynamics(q, v, tau)
    back = robot.inverse_dynamics(q, v, a)
    assert np.allclose(back[1:], tau[1:], rtol=0.0, atol=1e-10)
    assert back[0] == pytest.approx(robot.drive_force(q, v, tau), rel=1e-10)
    h = robot.bias_forces(q, v)
    assert np.allclose(sum(robot.bias_terms(q, v)), h, rtol=1e-12, atol=1e-12 * np.abs(h).max())
    M = robot.mass_matrix(q)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    assert np.allclose(M @ a + h, back, rtol=0.0, atol=1e-10 * np.abs(M @ a).max())


@pytest.mark.parametrize("name", ["tyres", "three links"])
def test_energy_changes_by_the_powers_of_drive_road_and_dampers(name):
    text, options = ROBOTS[name]
    robot = pair(text, **options)[0]
    q, v = random_state(robot, np.random.default_rng(2))
    v[[c.v_index for c in robot.coordinates if c.kind == "axial"]] *= 1e-3
    a = robot.forward_dynamics(q, v)
    h = 1e-6
    rate = (
        robot.energy(q + h * v + 0.5 * h * h * a, v + h * a).total
        - robot.energy(q - h * v + 0.5 * h * h * a, v - h * a).total
    ) / (2.0 * h)
    given, taken = robot.wheel_powers(q, v)
    power = robot.drive_force(q, v) * v[0] + given - taken - v @ robot.bias_terms(q, v).damping
    assert rate == pytest.approx(power, rel=1e-4)


def test_linearization_is_the_derivative_of_the_accelerations():
    robot = arm()
    q, v = state(robot)
    tau = efforts(robot, 10.0, 2.0)
    A, B = robot.linearize(q, v, tau)
    n, h = robot.nv, 1e-7
    for i in range(n):
        e = np.zeros(n)
        e[i] = h
        dq = (robot.forward_dynamics(q + e, v, tau) - robot.forward_dynamics(q - e, v, tau)) / (2 * h)
        dv = (robot.forward_dynamics(q, v + e, tau) - robot.forward_dynamics(q, v - e, tau)) / (2 * h)
        assert np.allclose(A[n:, i], dq, rtol=1e-5, atol=1e-6 * np.abs(A[n:]).max())
        assert np.allclose(A[n:, n + i], dv, rtol=1e-5, atol=1e-6 * np.abs(A[n:]).max())
    assert np.abs(A[n]).max() == np.abs(B[n]).max() == 0.0
    direction = efforts(robot, 1.0, -0.5)
    change = robot.forward_dynamics(q, v, tau + direction) - robot.forward_dynamics(q, v, tau)
    assert np.allclose(B[n:] @ direction, change, rtol=1e-9, atol=1e-8 * np.abs(change).max())


def test_wrenches_are_those_of_the_jacobian():
    robot = arm()
    q, v = state(robot)
    w = np.array([0.3, -0.2, 0.1, 4.0, 5.0, -6.0])
    for frame in ("link_1", "link_2/tip", "base_link", "link_1@0.4"):
        load = robot.bias_forces(q, v) - robot.inverse_dynamics(q, v, np.zeros(robot.nv), {frame: w})
        assert np.allclose(load, robot.jacobian(q, frame).T @ w, rtol=0.0, atol=1e-11)
    eye = (
        '<link name="eye"/><joint name="bolt" type="fixed"><parent link="{}"/><child link="eye"/>'
        '<origin xyz="0.2 0.3 0.1"/></joint>'
    )
    for link in ("cart", "l1"):
        beside = flexdyn_ros.load(chain((False,), extra=eye.format(link)))
        at = beside.random(np.random.default_rng(5))
        load = beside.bias_forces(at, 0 * at) - beside.inverse_dynamics(at, 0 * at, 0 * at, {"eye": w})
        assert np.allclose(load, beside.jacobian(at, "eye").T @ w, rtol=0.0, atol=1e-11)
    a = robot.forward_dynamics(q, v, efforts(robot, 1, 2), {"link_2/tip": w})
    tau = robot.inverse_dynamics(q, v, a, {"link_2/tip": w})
    assert np.allclose(tau[1:], efforts(robot, 1, 2)[1:], rtol=0.0, atol=1e-10)


def test_a_force_on_the_pin_of_a_joint_counts_with_either_of_its_links():
    robot = arm()
    q, v = state(robot)
    w = np.array([0.0, 0.0, 0.0, 40.0, 0.0, -60.0])
    inner, outer = (
        robot.constraint_forces(q, v, efforts(robot, 10.0, 2.0), {frame: w})
        for frame in ("link_1/tip", "link_2")
    )
    assert np.allclose(inner - outer, [40.0, -60.0, 0.0, 0.0, 0.0], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("stiffening", ["none", "geometric"])
def test_gravity_and_forces_are_those_of_the_frames_whatever_stiffens(stiffening):
    robot = flexdyn_ros.load("mobile_arm", options={"formulation.stiffening": stiffening})
    q, still = robot.random(np.random.default_rng(0)), np.zeros(robot.nv)
    w = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 2.0])
    load = robot.bias_forces(q, still) - robot.inverse_dynamics(q, still, still, {"link_2/tip": w})
    assert np.allclose(load, robot.jacobian(q, "link_2/tip").T @ w, rtol=0.0, atol=1e-11)
    weight = robot.mass * robot.gravity
    assert robot.energy(q, still).gravity == pytest.approx(-weight @ robot.center_of_mass(q), rel=1e-12)


def test_a_driving_force_is_an_actuator():
    pushed = flexdyn_ros.load("mobile_arm", options={"drive.type": "force", "drive.speed": None})
    assert pushed.actuators[0] == "base/x"
    assert "base/x" not in flexdyn_ros.load("mobile_arm").actuators
    q, still = pushed.neutral(), np.zeros(pushed.nv)
    run = flexdyn_ros.simulate(pushed, 0.02, q, still, control={"base/x": 10.0})
    assert (
        run["base/x", "velocity"][-1] > flexdyn_ros.simulate(pushed, 0.02, q, still)["base/x", "velocity"][-1]
    )


def test_driving_force_is_what_the_horizontal_momentum_needs():
    robot = arm()
    q, v = state(robot)
    tau = efforts(robot, 10.0, 2.0)
    a = robot.forward_dynamics(q, v, tau)
    h = 1e-6
    ahead = robot.momentum(q + h * v + 0.5 * h * h * a, v + h * a)[3]
    behind = robot.momentum(q - h * v + 0.5 * h * h * a, v - h * a)[3]
    assert robot.drive_force(q, v, tau) == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)
    slope = robot.drive_force(q, v, tau, slope=True) - robot.drive_force(q, v, tau)
    X = q[0] + np.array([-0.35, 0.35])
    grades = 0.03 * 2 * np.pi / 0.4 * np.cos(2 * np.pi * (X + 0.35) / 0.4 + np.pi)
    assert slope == pytest.approx(robot.wheel_forces(q, v).normal @ grades, rel=1e-12)


def test_cantilever_droops_under_its_own_weight_as_a_beam_does():
    robot = flexdyn_ros.load(chain((True,)))
    rest = robot.static_equilibrium(hold=("base/z", "base/pitch", "j1"))
    m, L, EI, g = 1.3, 0.8, 200.0, 9.8
    _, droop, slope = rest.q[4:7]
    assert droop == pytest.approx(-m * g * L**3 / (8 * EI), rel=1e-12)
    assert slope == pytest.approx(-m * g * L**2 / (6 * EI), rel=1e-12)


def test_two_bending_functions_have_the_known_clamped_frequencies():
    robot = flexdyn_ros.load(chain((True,)))
    found = robot.modes(robot.neutral(), lock=("base/z", "base/pitch", "j1"))
    scale = np.sqrt(200.0 / 1.625) / 0.8**2 / (2 * np.pi)
    assert found.frequency[0] / scale == pytest.approx(3.5327, abs=5e-5)
    assert found.frequency[1] / scale == pytest.approx(34.807, abs=5e-4)


def test_payload_at_the_tip_is_carried():
    robot = flexdyn_ros.load(chain()).with_payload("l2/tip", 0.7, (0.05, 0.0, 0.02), 1e-3 * np.eye(3))
    tree = flexdyn_ros.load(chain(), options=SAME).with_payload(
        "l2/tip", 0.7, (0.05, 0.0, 0.02), 1e-3 * np.eye(3)
    )
    q, v = random_state(robot, np.random.default_rng(4))
    a, b = robot.forward_dynamics(q, v), tree.forward_dynamics(q, v)
    assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max()


def test_a_body_inside_a_beam_is_carried():
    # a point mass: the tree turns bodies between the ends of a beam by small angles only
    body = (
        '<flexdyn reference="l1"><body name="motor" station="0.6"><mass value="0.4"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></body>'
        '<remainder station="none"/></flexdyn>'
    )
    text = chain((True,), extra=body).replace('<mass value="1.3"/>', '<mass value="1.7"/>')
    robot, tree = pair(text)
    q, v = random_state(robot, np.random.default_rng(4))
    a, b = robot.forward_dynamics(q, v), tree.forward_dynamics(q, v)
    assert np.abs(a - b).max() <= 1e-9 * np.abs(b).max()


def test_batches_pickles_and_bad_arguments():
    robot = arm()
    q, v = state(robot)
    batch = np.tile(q, (3, 1))
    single = robot.forward_dynamics(q, v)
    assert np.abs(robot.forward_dynamics(batch, v)[1] - single).max() < 1e-13 * np.abs(single).max()
    again = pickle.loads(pickle.dumps(robot))
    assert again.kind == "mobile"
    assert np.array_equal(again.forward_dynamics(q, v), robot.forward_dynamics(q, v))
    with pytest.raises(StateError):
        robot.wheel_forces(q * np.nan, v)
    force = {"drive": {"type": "force", "speed": None, "start": None}}
    free = flexdyn_ros.load("mobile_arm", options=force)
    with pytest.raises(UnsupportedError, match="drive"):
        free.drive_force(q, v)


def test_modes_that_leave_the_plane_are_refused():
    with pytest.raises(DescriptionError, match="plane"):
        flexdyn_ros.load("mobile_arm", options={"links.link_1.modes.bending_y": 1})


def test_single_calls_on_general_trees_do_without_their_general_way(monkeypatch):
    robot = flexdyn_ros.load("mobile_arm_spatial")
    q, v = robot.neutral(), np.linspace(-0.2, 0.2, robot.nv)
    a, tau = np.linspace(0.3, -0.1, robot.nv), np.linspace(-1.0, 2.0, robot.nu)
    given = {"inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, tau), "linearize": (q, v, tau)}
    given |= dict.fromkeys(("energy", "bias_forces", "bias_terms"), (q, v))
    general = {verb: getattr(Robot, verb)(robot, *arguments) for verb, arguments in given.items()}
    for verb in given:
        fails = wraps(getattr(Robot, verb))(lambda *_, verb=verb, **options: pytest.fail(verb))
        monkeypatch.setattr(Robot, verb, fails)
    robot = flexdyn_ros.load("mobile_arm_spatial")
    for verb, arguments in given.items():
        found, expected = (
            np.concatenate([np.ravel(x) for x in (y if isinstance(y, tuple) else (y,))])
            for y in (getattr(robot, verb)(*arguments), general[verb])
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("tyres", [False, True])
def test_accelerations_of_an_implicit_step_solve_its_equation(tyres):
    """Where the springs of the wheels have their free length: their forces are linear there."""
    text = chain((True, False), tyres=tyres).replace('type="speed" speed="0.3"', 'type="force"')
    robot = flexdyn_ros.load(text)
    rng = np.random.default_rng(3)
    q, v = 0.1 * rng.standard_normal((2, robot.nv))
    q[robot.index("base/z")], q[robot.index("base/pitch")] = 0.26, 0.0
    if tyres:
        q[robot.index("base/z")] += 0.2
        q[-2:] = 0.2
    for h in (0.02, 0.0):
        assert left_over(robot, q, v, h) < 1e-9


@pytest.mark.parametrize("name", ["tyres", "three links", "exact suspension"])
def test_wrenches_accelerate_a_run_as_they_do_in_a_call(name):
    """Wheels that have coordinates of their own feel nothing of wrenches on links."""
    text, options = ROBOTS[name]
    robot = pair(text.replace('type="speed" speed="0.3"', 'type="force"'), **options)[0]
    q, v = random_state(robot, np.random.default_rng(8))
    wrenches = {
        "l1": np.array([3.0, -2.0, 5.0, 7.0, 6.0, -4.0]),
        "cart": np.array([1.0, 9.0, 2.0, -8.0, 3.0, 5.0]),
    }
    stepper = Stepper(robot)
    stepper.set_wrenches(wrenches)
    stepper.set_state(q, v)
    expected = robot.forward_dynamics(q, v, np.zeros(robot.nv), wrenches)
    np.testing.assert_allclose(stepper.a, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
    assert np.abs(expected - robot.forward_dynamics(q, v, np.zeros(robot.nv))).max() > 0.1
