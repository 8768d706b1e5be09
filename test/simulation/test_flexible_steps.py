"""Compiled steps of trees with flexible links, against adaptive integrators and the verbs."""

import numpy as np
import pytest
from flexible_robots import bent_state, branched, cantilever

import flexdyn_ros
from flexdyn_ros.simulation import OK, Stepper
from flexdyn_ros.simulation.steps.stiffness import allowed_errors, displacements

#: a steel link of 0.5 m whose only mode, with the joints free, is above 1 kHz
STIFF_LINK = """
<robot name="stiff_link"><link name="base"/><link name="upper"/>
  <link name="tool"><inertial><origin xyz="0.1 0 0"/><mass value="0.4"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="tool"/><origin xyz="0.5 0 0"/>
    <axis xyz="0 1 0"/></joint>
  <flexdyn reference="upper">
    <beam><tube outer_radius="0.035" wall="0.002"/><material name="steel"/></beam><modes bending_z="1"/>
  </flexdyn>
</robot>
"""


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("canadarm2")


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_stepper_accelerates_as_the_verbs_do(base):
    robot = flexdyn_ros.load(branched(base=base))
    q, v, tau = bent_state(robot)
    wrenches = {"tool": np.arange(1.0, 7.0), "trunk@0.35": -np.arange(1.0, 7.0), "arm_link": np.ones(6)}
    stepper = Stepper(robot)
    stepper.set_efforts(tau)
    stepper.set_wrenches(wrenches)
    stepper.set_state(q, v)
    expected = robot.forward_dynamics(q, v, tau, wrenches)
    # modal accelerations are differences of large elastic forces
    np.testing.assert_allclose(stepper.a, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert stepper.energy().total == pytest.approx(robot.energy(q, v).total, rel=1e-12)


def test_auto_takes_the_implicit_method_where_links_bend(arm):
    assert Stepper(arm).method == "rosenbrock"
    assert flexdyn_ros.simulate(arm, 0.002, dt=1e-3).method == "rosenbrock"
    rigid = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False})
    assert Stepper(rigid).method == "rk4"


def test_steps_approach_the_adaptive_solution_with_order_two():
    robot = flexdyn_ros.load(branched())
    q, v, tau = bent_state(robot, size=0.1)
    v[[robot.index(c.name) for c in robot.coordinates if c.kind != "joint"]] = 0.0
    options = {"control": 0.5 * tau, "wrenches": {"tool": np.full(6, 0.3)}}
    exact = flexdyn_ros.simulate(robot, 0.02, q, v, method="dop853", rtol=1e-11, atol=1e-13, **options)
    errors = []
    for h in (4e-5, 2e-5, 1e-5):
        got = flexdyn_ros.simulate(robot, 0.02, q, v, dt=h, method="rosenbrock", **options)
        errors.append(np.abs(got.q[-1] - exact.q[-1]).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.8).all(), (errors, orders)


@pytest.mark.parametrize("duration", [0.3, pytest.param(5.0, marks=pytest.mark.slow)])
def test_a_kilohertz_mode_leaves_joint_angles_right_at_a_step_of_a_millisecond(duration):
    robot = flexdyn_ros.load(STIFF_LINK)
    q0 = robot.neutral()
    q0[robot.index("shoulder")] = 0.3
    assert robot.modes(q0).frequency.max() > 1000.0
    stepped = flexdyn_ros.simulate(robot, duration, q0, dt=1e-3, record_every=50)
    exact = flexdyn_ros.simulate(robot, duration, q0, dt=0.05, method="dop853", rtol=1e-9)
    joints = [robot.index("shoulder"), robot.index("elbow")]
    assert stepped.method == "rosenbrock"
    # the bound is that of the requirement [rad]
    assert np.abs(stepped.q - exact.q)[:, joints].max() < 1e-3


def test_work_and_losses_account_for_the_energy():
    robot = flexdyn_ros.load(branched())
    q, v, tau = bent_state(robot, size=0.1)
    v[[robot.index(c.name) for c in robot.coordinates if c.kind != "joint"]] = 0.0
    gaps = []
    for h in (4e-5, 2e-5):
        run = flexdyn_ros.simulate(robot, 0.05, q, v, dt=h, control=tau, wrenches={"tool": np.full(6, 2.0)})
        assert abs(run.work[-1]) > 0.01
        assert run.dissipated[-1] > 1e-3
        gap = run.energy.total - run.work + run.dissipated
        gaps.append(np.ptp(gap))
    # the balance closes with the order of the method
    assert gaps[1] < 1e-2 * run.dissipated[-1]
    assert gaps[0] / gaps[1] > 3.0


def test_explicit_and_implicit_methods_agree_on_damped_links():
    robot = flexdyn_ros.load(
        cantilever("bending_y='1'", mu=3.0, EI=2e3, L=2.0, extra="<damping ratio='0.1'/>")
    )
    q0, v0 = np.array([0.0, 0.05]), np.array([1.0, 0.0])
    exact = flexdyn_ros.simulate(robot, 0.5, q0, v0, method="dop853", rtol=1e-11)
    for method, bound in (("rk4", 1e-8), ("rosenbrock", 2e-5), ("semi_implicit_euler", 2e-3)):
        got = flexdyn_ros.simulate(robot, 0.5, q0, v0, dt=2e-4, method=method)
        assert np.abs(got.q[-1] - exact.q[-1]).max() < bound, method
        assert got.dissipated[-1] == pytest.approx(exact.dissipated[-1], rel=2e-2)


@pytest.mark.parametrize(
    "text",
    [
        cantilever('axial="1" bending_y="3" bending_z="2" torsion="1"', joint="fixed"),
        cantilever('bending_y="2" bending_z="1" boundary="clamped-pinned"', joint="fixed", L=0.8),
        branched(base="floating"),
    ],
)
def test_modes_count_by_what_a_unit_of_them_does_to_the_tip(text):
    robot = flexdyn_ros.load(text)
    sizes = displacements(robot)
    for c in robot.coordinates:
        moved, link = 1.0, c.name.split("/")[0]
        if c.kind not in ("base", "joint"):
            q = robot.neutral()
            q[c.q_index] = 1e-6
            tip = robot.deflections(q, [1.0])[link]
            moved = 1e6 * max(np.abs(tip.displacement).max(), np.abs(tip.rotation).max())
        assert sizes[c.v_index] == pytest.approx(moved, rel=1e-6), c.name
    # errors that are allowed by default are the same displacement of all, and of speeds no less
    allowed = allowed_errors(robot, robot.neutral(), None).reshape(2, -1)
    assert allowed[0] * sizes == pytest.approx(np.full(robot.nv, 1e-9))
    assert (allowed[1] >= allowed[0]).all()
    assert (allowed_errors(robot, robot.neutral(), 2e-5)[: robot.nv] == 2e-5).all()


@pytest.mark.parametrize("basis", ["", 'basis="finite_element" elements="3"'])
def test_modes_of_a_beam_that_is_clamped_at_both_ends_are_as_exact_as_asked(basis):
    modes = f'bending_y="2" bending_z="1" boundary="clamped-clamped" {basis}'
    robot = flexdyn_ros.load(cantilever(modes, joint="fixed"))
    assert displacements(robot).tolist() == [1.0, 1.0, 1.0]
    start, t = np.array([1e-5, 4e-6, -2e-5]), 0.05
    run = flexdyn_ros.simulate(robot, t, start, dt=t, method="dop853", rtol=1e-9)
    # without gravity and at small deflections the modes are oscillators
    M, K = robot.mass_matrix(robot.neutral()), np.empty((3, 3))
    for i, unit in enumerate(np.eye(3)):
        K[:, i] = robot.inverse_dynamics(unit, np.zeros(3), np.zeros(3))
    values, vectors = np.linalg.eig(np.linalg.solve(M, K))
    expected = vectors @ (np.cos(np.sqrt(values) * t) * np.linalg.solve(vectors, start))
    assert run.q[-1] == pytest.approx(expected, abs=1e-10)
    assert np.ptp(run.energy.total) < 1e-8 * run.energy.total[0]


def test_servos_stops_and_limits_act_on_the_joints_of_a_bending_arm(arm):
    q0 = arm.neutral()
    elbow = arm.index("elbow_pitch")
    stepper = Stepper(arm, limits="spring", saturate=True, q0=q0)
    gains = np.zeros(arm.nv)
    joints = [i for i, c in enumerate(arm.coordinates) if c.kind == "joint"]
    gains[joints] = 2e5
    stepper.set_servo(gains, 0.4 * gains)
    stepper.target_q[elbow] = 0.1
    assert stepper.advance(2000) == OK
    assert stepper.saturated.any()
    assert np.abs(stepper.effort).max() <= 2332.0 * (1.0 + 1e-12)
    assert np.isfinite(stepper.q).all()
    q0[elbow] = 4.9
    stepper.set_servo()
    stepper.set_state(q0, np.zeros(arm.nv))
    assert stepper.at_stop[elbow]
    assert stepper.a[elbow] < -1.0


def test_mimic_joints_step_by_the_mass_matrix():
    text = branched().replace(
        '<joint name="wrist" type="continuous">', '<joint name="wrist" type="continuous"><mimic joint="arm"/>'
    )
    robot = flexdyn_ros.load(text)
    assert robot.nv == flexdyn_ros.load(branched()).nv - 1
    q, v, tau = bent_state(robot, size=0.1)
    stepper = Stepper(robot)
    stepper.set_efforts(tau)
    stepper.set_state(q, v)
    np.testing.assert_allclose(stepper.a, robot.forward_dynamics(q, v, tau), rtol=1e-7, atol=1e-5)
    v[[robot.index(c.name) for c in robot.coordinates if c.kind != "joint"]] = 0.0
    exact = flexdyn_ros.simulate(robot, 0.01, q, v, method="dop853")
    got = flexdyn_ros.simulate(robot, 0.01, q, v, dt=1e-5, method="rosenbrock")
    assert np.abs(got.q[-1] - exact.q[-1]).max() < 1e-5


def test_inverse_dynamics_of_the_simulated_motion_returns_the_torques(arm):
    tau = np.zeros(arm.nv)
    tau[[arm.index("shoulder_pitch"), arm.index("wrist_roll")]] = 300.0, -40.0
    run = flexdyn_ros.simulate(arm, 1.0, control=tau, record_every=20)
    a = arm.forward_dynamics(run.q, run.v, run.tau)
    back = arm.inverse_dynamics(run.q, run.v, a)
    # the bound is that of the requirement, relative to the torque
    assert np.abs(back - tau).max() < 1e-9 * 300.0


@pytest.mark.slow
def test_energy_of_the_falling_arm_is_kept_by_the_adaptive_integrator(arm):
    run = flexdyn_ros.simulate(arm, 20.0, dt=0.02, method="dop853", rtol=1e-10, atol=1e-12)
    total = run.energy.total - run.work + run.dissipated
    # the bound is that of the requirement
    assert np.ptp(total) < 1e-6 * run.energy.kinetic.max()
