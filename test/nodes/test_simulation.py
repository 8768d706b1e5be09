"""A simulation without ROS: servo, safe behaviour, loads, faults, payload."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from pendulums import double_pendulum

pytestmark = pytest.mark.ros
pytest.importorskip("sensor_msgs.msg")

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes.simulator.health import simulator_health  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer  # noqa: E402
from flexdyn_ros.simulation.live.pace import Pace  # noqa: E402
from flexdyn_ros.simulation.live.simulation import Load, Simulation, default_gains  # noqa: E402

Q0 = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0])


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("seven_joint_arm")


def simulation(robot, **options):
    buffer = CommandBuffer(
        robot, timeout=options.pop("timeout", 0.0), on_stale=options.pop("on_stale", "hold")
    )
    k, d = default_gains(robot, Q0)
    settings = {"dt": 1e-3, "method": "auto", "limits": "spring", "saturate": True} | options
    return Simulation(robot, buffer, Q0, np.zeros(7), k, d, **settings)


def run(s, seconds):
    for _ in range(round(seconds / 1e-3)):
        assert s.tick(1)


def test_without_commands_it_falls_and_energy_is_accounted_for(robot):
    s = simulation(robot, dt=1e-4)
    for _ in range(3000):
        assert s.tick(1)
    assert np.abs(s.stepper.v).max() > 0.5
    # of the kinetic energy of the fall; dry friction, smoothed over 1e-3 rad/s, is steep for this step
    assert abs(s.energy_balance_error) < 1e-3 * s.stepper.energy().kinetic


def test_the_default_servo_reaches_a_position_and_stays_there(robot):
    s = simulation(robot)
    target = Q0 + 0.1
    s.buffer.take_joint_state(JointState(name=list(robot.v_names), position=target.tolist()), 0.0, 0.0)
    run(s, 3.0)
    # dry friction of 0.3 N m against gains above 870 N m/rad, 0.1 against 120 at the wrist: below 1 mrad
    np.testing.assert_allclose(s.stepper.q, target, atol=1e-3)
    assert np.abs(s.stepper.v).max() < 1e-3


def test_gains_follow_from_inertia_and_effort_limits(robot):
    k, d = default_gains(robot, Q0)
    M = np.diag(robot.mass_matrix(Q0))
    limit = np.array([c.effort_limit for c in robot.coordinates])
    np.testing.assert_allclose(k, np.maximum(M * (20 * np.pi) ** 2, limit / 0.1))
    np.testing.assert_allclose(d, 2 * np.sqrt(k * M))


def test_a_robot_that_loses_its_controller_holds_where_it_was(robot):
    s = simulation(robot, timeout=0.05)
    hold = robot.inverse_dynamics(Q0, np.zeros(7), np.zeros(7))
    s.buffer.take_joint_state(JointState(name=list(robot.v_names), effort=(hold + 1.0).tolist()), 0.0, -1e9)
    run(s, 0.1)
    assert s.buffer.stale == robot.v_names
    run(s, 2.0)
    before = s.stepper.q.copy()
    run(s, 1.0)
    np.testing.assert_allclose(s.stepper.q, before, atol=1e-4)


def test_a_load_pulls_until_its_time_is_over(robot):
    # without friction: what it takes changes within the first step
    robot = flexdyn_ros.load(re.sub("<dynamics[^>]*/>", "", robot.description.text))
    s = simulation(robot)
    s.set_load(Load("tool0", np.array([0, 0, 0, 0, 0, 10.0]), None, until=0.01))
    assert s.loads()["tool0"].tolist() == [0, 0, 0, 0, 0, 10.0]
    q, v = s.stepper.q.copy(), s.stepper.v.copy()
    pulled = robot.forward_dynamics(q, v, None, {"tool0": s.loads()["tool0"]})
    run(s, 0.001)
    # mean acceleration over a step of 1 ms against that at its start
    np.testing.assert_allclose(s.stepper.a, pulled, rtol=0.05, atol=0.2)
    run(s, 0.02)
    assert not s.loads()


def test_a_load_in_axes_of_a_link_turns_with_it(robot):
    s = simulation(robot)
    s.set_load(Load("tool0", np.array([0, 0, 0, 1.0, 0, 0]), "tool0"))
    R = robot.frames(s.stepper.q, "tool0")[:3, :3]
    np.testing.assert_allclose(s.loads()["tool0"][3:], R[:, 0])
    s.set_load(Load("tool0", np.zeros(6), "tool0"))
    assert not s.loads()


def test_a_fault_keeps_the_last_good_state_until_reset(robot):
    s = simulation(robot)
    s.set_state(Q0, np.full(7, 1e100))
    assert not s.tick(1)
    assert s.fault
    assert np.isfinite(s.stepper.q).all()
    assert not s.tick(1)
    s.reset()
    assert not s.fault
    assert s.stepper.q.tolist() == Q0.tolist()
    assert s.stepper.t == 0.0
    assert s.tick(1)


def test_efforts_are_clipped_to_their_limits(robot):
    s = simulation(robot)
    s.buffer.take_joint_state(JointState(name=["wrist_roll"], effort=[1e6]), 0.0, 0.0)
    run(s, 0.01)
    assert s.stepper.effort[6] == pytest.approx(12.0)
    assert s.stepper.saturated[6]


def test_a_payload_changes_the_robot_but_not_its_state(robot):
    s = simulation(robot)
    run(s, 0.1)
    q, t = s.stepper.q.copy(), s.stepper.t
    s.set_payload("tool0", 2.0, np.zeros(3), None)
    assert s.robot.mass == pytest.approx(robot.mass + 2.0)
    assert s.stepper.q.tolist() == q.tolist()
    assert s.stepper.t == pytest.approx(t)
    run(s, 0.01)


@pytest.mark.parametrize("ticks", [[200], [100, 100], [1] * 200, [7] * 28 + [4]])
def test_a_commanded_speed_moves_the_base_the_same_however_long_the_ticks_are(ticks):
    robot = flexdyn_ros.load("mobile_arm")
    q, v, none = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nu)
    v[0] = 0.3
    buffer = CommandBuffer(robot, timeout=0.0, on_stale="hold")
    s = Simulation(robot, buffer, q, v, none, none, dt=1e-3, method="auto", limits="spring")
    s.speed_servo.command(0.6)
    for steps in ticks:
        assert s.tick(steps)
    assert s.stepper.v[0] == pytest.approx(0.6 - 0.3 * np.exp(-0.2 / 0.1), abs=1e-12)
    one = Simulation(robot, buffer, q, v, none, none, dt=1e-3, method="auto", limits="spring")
    one.speed_servo.command(0.6)
    assert one.tick(200)
    assert np.array_equal(s.stepper.q, one.stepper.q)
    assert np.array_equal(s.stepper.v, one.stepper.v)
    # another state forgets the command
    s.set_state(q, v)
    assert s.tick(50)
    assert s.stepper.v[0] == pytest.approx(0.3, abs=1e-14)


def health_of(robot, step, seconds):
    """Level and message of the status of a simulation that falls for a while."""
    none = np.zeros(robot.nv)
    buffer = CommandBuffer(robot, timeout=0.0, on_stale="hold")
    s = Simulation(robot, buffer, robot.neutral(), none, none, none, dt=step, method="auto", limits="report")
    for _ in range(round(seconds / step)):
        assert s.tick(1)
    settings = SimpleNamespace(step=step, real_time_factor=1.0, on_stale_command="hold")
    return s, simulator_health("arm", s, Pace(lambda steps: True, step, 1.0), settings)[0]


def test_diagnostics_warn_of_energy_that_is_off_with_the_step_that_would_do():
    robot = flexdyn_ros.load("soft_arm")
    s, status = health_of(robot, 1e-3, 0.05)
    assert s.balance_share > 1e-2
    assert status.level == DiagnosticStatus.WARN
    step = float(re.search(r"a step of (\S+) s would do", status.message)[1])
    assert step < 1e-3
    finer, fine = health_of(robot, step, 0.05)
    assert finer.balance_share < 1e-2
    assert fine.level == DiagnosticStatus.OK


@pytest.mark.parametrize("damping", ["", '<dynamics damping="0.3"/>'])
def test_the_share_of_energy_that_is_off_is_of_the_largest_kinetic_energy_and_rounding_is_none(damping):
    robot, none = double_pendulum(damping), np.zeros(2)
    for step, counts in ((1e-3, False), (2e-2, True)):
        buffer = CommandBuffer(robot, timeout=0.0, on_stale="hold")
        q = np.array([1.0, 0.5])
        s = Simulation(robot, buffer, q, none, none, none, dt=step, method="rk4", limits="report")
        assert s.balance_share == 0.0
        largest = 0.0
        for _ in range(round(0.8 / step)):
            assert s.tick(1)
            largest = max(largest, robot.energy(s.stepper.q, s.stepper.v).kinetic)
        now, before = (robot.energy(*state).total for state in ((s.stepper.q, s.stepper.v), (q, none)))
        off = abs(now + s.stepper.dissipated - s.stepper.work - before)
        assert off > 0.0
        assert robot.energy(s.stepper.q, s.stepper.v).kinetic < 0.9 * largest
        assert s.balance_share == (pytest.approx(off / largest, rel=1e-6) if counts else 0.0)
