"""Uses of an arm on a hexapod beside its methods: steps, exports, pictures, live simulations, nodes."""

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled, exchanged_error, fmu_motion, residual
from mounted_platforms import ARM, CARRIAGE, with_arm

import flexdyn_ros as fd
from flexdyn_ros import export
from flexdyn_ros.expanding import expand
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = pytest.mark.usefixtures("quick_compiler")
STANDS = pytest.mark.parametrize("more", [ARM, CARRIAGE + ARM], ids=["world", "carriage"])


def pushed(robot):
    """Neutral pose, and efforts that hold the robot there but for a push of each leg."""
    q, still = robot.neutral(), np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, still, still, actuators="all")
    tau[-6:] += [3.0, -2.0, 1.0, 2.0, -3.0, 1.5]
    return q, tau


@STANDS
@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("semi_implicit_euler", 1), ("rosenbrock", 2)])
def test_fixed_steps_converge_with_their_order(more, method, order):
    robot = fd.load(with_arm(more))
    q, tau = pushed(robot)
    exact = fd.simulate(robot, 0.08, q0=q, control=tau, rtol=1e-12).q[-1]
    steps = (8e-3, 4e-3)
    first, second = (
        np.abs(fd.simulate(robot, 0.08, q0=q, control=tau, method=method, dt=dt).q[-1] - exact).max()
        for dt in steps
    )
    assert first / second == pytest.approx(2.0**order, rel=0.25)
    stepper = Stepper(robot, 4e-3, q0=q, method=method)
    assert stepper.advance(20, tau) == 0
    assert np.abs(stepper.q - exact).max() == pytest.approx(second, rel=1e-6, abs=1e-13)


@STANDS
def test_derivatives_are_those_of_differences(more):
    robot = fd.load(with_arm(more))
    q, v, _, tau = at_random(robot, 4)
    A = robot.linearize(q, v, tau).A[robot.nv :]
    for k in range(robot.nv):
        ends = []
        for h in (1e-5, -1e-5):
            step = np.zeros(robot.nv)
            step[k] = h
            ends.append(
                (
                    robot.forward_dynamics(robot.integrate(q, step, 1.0), v, tau),
                    robot.forward_dynamics(q, v + step, tau),
                )
            )
        for i, column in enumerate((A[:, k], A[:, robot.nv + k])):
            found = (ends[0][i] - ends[1][i]) / 2e-5
            assert np.abs(found - column).max() <= 1e-6 * np.abs(A).max()


@STANDS
def test_regressor_and_parameters_of_legs(more):
    robot = fd.load(with_arm(more))
    q, v, a, _ = at_random(robot, 2)
    names = [p.name for p in robot.parameters]
    assert {"leg_1/barrel_mass", "leg_6/inertia_xz", "platform/mass"} <= {*names}
    Y, rest = robot.regressor(q, v, a)
    values = np.array([p.value for p in robot.parameters])
    needed = robot.inverse_dynamics(q, v, a)
    assert np.abs(Y @ values + rest - needed).max() <= 1e-9 * np.abs(needed).max()
    heavy = robot.with_parameters({"leg_2/barrel_mass": 4.0})
    assert heavy.mass == pytest.approx(robot.mass + 2.4)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@STANDS
def test_c_computes_and_steps_the_same(more, tmp_path):
    robot = fd.load(with_arm(more))
    export.c(robot, tmp_path, ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "step"))
    arm, nv = compiled(tmp_path, robot.name), robot.nv
    q, v, a, tau = at_random(robot, 3)
    expected = robot.inverse_dynamics(q, v, a)
    found = arm.call("inverse_dynamics", q, v, a, sizes=[robot.nu])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    M = arm.call("mass_matrix", q, sizes=[nv * nv]).reshape(nv, nv)
    assert np.abs(M - robot.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()
    found = arm.call("forward_dynamics", q, v, tau, sizes=[nv])
    assert residual(robot, q, v, tau, found, robot.forward_dynamics(q, v, tau)) <= 1e-12
    q, tau = pushed(robot)
    v = np.zeros(nv)
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(50, tau) == 0
    for _ in range(50):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-8


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_fmus_move_as_simulate_does(tmp_path):
    pytest.importorskip("fmpy")
    robot = fd.load("hexapod_arm")
    q, tau = pushed(robot)
    tau[[name not in robot.actuators for name in robot.effort_names]] = 0.0
    export.fmu(robot, tmp_path / "steps.fmu", q0=q)
    expected = fd.simulate(robot, 0.1, q, control=tau, dt=1e-3, record_every=10)
    found = fmu_motion(tmp_path / "steps.fmu", robot, tau, "CoSimulation", 1e-2, 0.1, step_size=1e-2)
    assert np.abs(found - expected.q).max() <= 1e-9
    assert exchanged_error(robot, q, np.zeros(robot.nv), tau, tmp_path / "rates.fmu") <= 1e-6


@STANDS
def test_pictures_stand_where_the_robot_is(more):
    """All links of the expanded description, also those of legs: rods end at their anchors."""
    robot = fd.load(with_arm(more))
    shown = expand(robot)
    picture = fd.load(shown.urdf)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v = robot.random(rng), rng.standard_normal(robot.nv)
        at = dict(zip(shown.joint_names, shown.joint_positions(q), strict=True))
        pose = np.array([at[name] for name in picture.q_names])
        for name in robot.frame_names:
            assert picture.frames(pose, name) == pytest.approx(robot.frames(q, name), abs=1e-9)
        platform = robot.frames(q, "platform")
        for leg in robot.description.platform.legs:
            rod = picture.frames(pose, leg.slider.replace("_slide", "_rod"))
            assert rod[:3, 3] == pytest.approx((platform @ [*leg.anchor, 1.0])[:3], abs=1e-9)
        h = 1e-6
        ahead, behind = (shown.joint_positions(robot.integrate(q, v, s * h)) for s in (1, -1))
        assert shown.joint_velocities(q, v) == pytest.approx((ahead - behind) / (2 * h), abs=1e-5, rel=1e-5)


def test_what_it_carries_is_a_payload():
    robot = fd.load("hexapod_arm")
    q, still = robot.neutral(), np.zeros(robot.nv)
    bare, loaded = (
        r.inverse_dynamics(q, still, still, actuators="all") for r in (robot, robot.with_payload("tool", 2.0))
    )
    lines = robot.actuation_matrix(q)[:6, -6:]
    more = lines @ (loaded - bare)[-6:]
    assert more[3:] == pytest.approx([0.0, 0.0, 2.0 * 9.80665], abs=1e-9)
    reaction = robot.joint_reactions(q, still, still, tau=bare).of("shoulder_yaw")
    assert reaction[3:] == pytest.approx([0.0, 0.0, 5.3 * 9.80665], abs=1e-9)


def test_check_of_the_shipped_robot():
    report = fd.check("hexapod_arm")
    assert report.warnings == ()
    notes = "\n".join(report.notes)
    assert "stands on 'base_link'" in notes
    assert "leg forces at rest" in notes
    assert report.mass == pytest.approx(37.9)
    assert report.mobility.coordinates == 10


def test_servos_of_joints_and_legs_hold_it_in_a_live_simulation():
    """PD on joint angles and leg lengths, as the simulator node has it, in a loop of steps."""
    robot = fd.load("hexapod_arm")
    q, still = robot.neutral(), np.zeros(robot.nv)
    hold = robot.inverse_dynamics(q, still, still, actuators="all")
    home = robot.cylinder_states(q, still).length
    stepper = Stepper(robot, 1e-3, q0=q, method="rosenbrock")
    for _ in range(400):
        states = robot.cylinder_states(stepper.q, stepper.v)
        tau = hold.copy()
        tau[-6:] += 2e4 * (home - states.length) - 300.0 * states.rate
        tau[6:10] += 200.0 * (0.3 - stepper.q[7:11]) - 20.0 * stepper.v[6:10]
        assert stepper.advance(1, tau) == 0
    assert stepper.q[7:11] == pytest.approx(np.full(4, 0.3), abs=0.08)
    assert robot.cylinder_states(stepper.q, stepper.v).length == pytest.approx(home, abs=2e-3)
