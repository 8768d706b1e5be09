"""`hydraulic_actuators` in lockstep through resets and restarts, and beside a simulator that disagrees."""

import time

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import HydraulicCommand  # noqa: E402
from flexdyn_ros.nodes import HydraulicActuators, ParameterError  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import time_message  # noqa: E402
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters, steps_per_force  # noqa: E402
from flexdyn_ros.simulation import Stepper  # noqa: E402
from flexdyn_ros.simulation.live.external_drive import ExternalDrive, ForceGate  # noqa: E402

NAMES = [f"leg_{i}" for i in range(1, 7)]
MILLISECOND = 1_000_000


class Cylinders:
    """The node without an executor: the test calls what topics would call, and keeps what it sends."""

    def __init__(self, node):
        self.node, self.forces, self.reports = node, [], []
        node._force_out.publish = lambda m: self.forces.append(m.header.stamp)
        node._state_out.publish = lambda m: None
        node.diagnostics.publish = lambda m: self.reports.append(m.status[0].level)

    @property
    def valve(self):
        return float(self.node._actuation.cylinders["valve_command"][0])

    def see(self, milliseconds, length=1.4, word="", names=NAMES):
        """Number of forces that answer a leg state."""
        before = len(self.forces)
        position, velocity, effort = ([x] * len(names) for x in (length, 0.0, 2260.0))
        state = JointState(name=names, position=position, velocity=velocity, effort=effort)
        state.header.stamp, state.header.frame_id = time_message(milliseconds * MILLISECOND), word
        self.node._on_leg_state(state)
        return len(self.forces) - before

    def tell(self, opening):
        self.node._on_command(HydraulicCommand(mode=HydraulicCommand.VALVE, values=[opening] * 6))


@pytest.fixture
def cylinders():
    context = rclpy.Context()
    rclpy.init(context=context)
    made = [Parameter("description_file", value="stewart_1t"), Parameter("autostart", value=False)]
    node = HydraulicActuators(context=context, parameter_overrides=made)
    node.trigger_configure()
    node.trigger_activate()
    yield Cylinders(node)
    node.destroy_node()
    context.try_shutdown()


def test_a_command_that_came_before_the_simulator_does_not_drive_the_legs_for_good(cylinders):
    cylinders.tell(0.3)
    assert all(cylinders.see(k) == 1 for k in range(90))
    assert cylinders.valve == 0.3
    assert all(cylinders.see(k) == 1 for k in range(90, 200))
    assert cylinders.valve == 0.0


def test_a_simulator_that_begins_again_is_answered_without_a_new_command(cylinders):
    cylinders.tell(0.3)
    assert all(cylinders.see(k) == 1 for k in range(5000, 5050))
    # reset, or another process: the commands before are over
    assert cylinders.see(0) == 1
    assert cylinders.see(0) == 1
    assert cylinders.see(1) == 1
    assert cylinders.valve == 0.0
    cylinders.tell(0.2)
    assert cylinders.see(2) == 1
    assert cylinders.valve == 0.2


def test_legs_that_are_elsewhere_at_the_same_time_fill_the_cylinders_anew(cylinders):
    cylinders.tell(0.3)
    for k in range(50):
        cylinders.see(k)
    first = cylinders.node._actuation.cylinders
    assert cylinders.see(49) == 1
    assert cylinders.node._actuation.cylinders is first
    assert cylinders.see(49, length=1.5) == 1
    assert cylinders.node._actuation.cylinders is not first
    assert cylinders.valve == 0.0


def test_the_next_leg_state_after_a_reset_of_the_node_is_answered(cylinders):
    cylinders.tell(0.3)
    for k in range(50):
        cylinders.see(k)
    assert cylinders.node._on_reset(None, Trigger.Response()).success
    assert cylinders.see(49) == 1
    assert cylinders.valve == 0.0


def test_a_simulator_that_runs_freely_is_told_at_once(cylinders):
    assert cylinders.see(0, word="lockstep") == 1
    assert not cylinders.reports
    cylinders.see(1, word="free_running")
    assert [ord(level) for level in cylinders.reports] == [2]
    assert "lockstep is true here and false at the simulator" in cylinders.node._disagreement
    cylinders.see(2, word="free_running")
    assert len(cylinders.reports) == 1
    cylinders.see(3, word="lockstep")
    assert not cylinders.node._disagreement


def answering(gate, asked):
    """A gate that has sent the legs of so many nanoseconds."""
    gate.newest_sent = asked
    return gate


def test_an_answer_to_a_simulator_that_ran_before_this_one_does_not_stop_time():
    gate = answering(ForceGate(("a",)), 0)
    # a stopped process goes on and answers a leg state of 500 s, which is nobody's now
    gate.take(500 * 10**9, {"a": 9.0}, is_answer=True)
    assert gate.fresh(0.0) is None
    for k in range(3):
        answering(gate, k).take(k, {"a": float(k)}, is_answer=True)
        np.testing.assert_array_equal(gate.fresh(0.0), [float(k)])
        # the same leg state again, the same answer again
        gate.take(k, {"a": float(k)}, is_answer=True)
        assert gate.fresh(0.0) is None
    assert (gate.taken, gate.late) == (3, 4)


def test_a_sender_whose_own_clock_jumps_back_is_heard_at_once():
    gate = ForceGate(("a",))
    day = 86_400 * 10**9
    for stamp in (day, day + MILLISECOND):
        gate.take(stamp, {"a": 1.0})
        assert gate.fresh(0.0) is not None
    gate.take(day, {"a": 1.0})
    assert gate.fresh(0.0) is None, "a millisecond late is late"
    gate.take(day - 100 * 10**9, {"a": 2.0})
    np.testing.assert_array_equal(gate.fresh(0.0), [2.0])
    gate.clear()
    gate.take(day - 200 * 10**9, {"a": 3.0})
    np.testing.assert_array_equal(gate.fresh(0.0), [3.0])


def test_cylinders_without_a_simulator_say_so_within_two_seconds(cylinders):
    node = cylinders.node
    told = []
    node.diagnostics.publish = lambda m: told.append(m.status[0])
    node.is_active = True
    for k in range(3):
        cylinders.see(k)
    node.report()
    assert "waiting" not in told[-1].message
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    begin = time.monotonic()
    while time.monotonic() < begin + 2.0 and "waiting for leg states" not in told[-1].message:
        executor.spin_once(timeout_sec=0.05)
    executor.shutdown()
    assert "waiting for leg states, none for" in told[-1].message
    assert "the simulation pauses" in told[-1].message
    assert told[-1].level == b"\x01"
    cylinders.see(3)
    node.report()
    assert "waiting" not in told[-1].message


def test_leg_states_that_are_another_period_apart_are_refused_with_the_reason(cylinders):
    assert cylinders.see(0) == 1
    assert cylinders.see(1) == 1
    # the simulator takes two milliseconds, the cylinders would take one
    assert cylinders.see(3) == 0
    assert cylinders.see(3) == 0
    assert [ord(level) for level in cylinders.reports] == [2]
    said = cylinders.node._disagreement
    assert "leg states are 2 ms of simulated time apart, rate_hz 1000 asks for 1 ms" in said
    assert cylinders.node._on_reset(None, Trigger.Response()).success
    assert cylinders.see(3) == 1
    assert cylinders.see(4) == 1
    assert not cylinders.node._disagreement


def test_leg_states_that_are_missing_in_a_recording_are_told_and_it_goes_on(cylinders):
    assert [cylinders.see(k) for k in (0, 1)] == [1, 1]
    # 2 and 3 are missing; so is one cylinder of 7, and 10 to 99
    assert [cylinders.see(k) for k in (4, 5, 6)] == [0, 1, 1]
    assert cylinders.see(7, names=NAMES[1:]) == 0
    assert [cylinders.see(k) for k in (8, 9)] == [1, 1]
    assert [cylinders.see(k) for k in (100, 101, 102)] == [0, 1, 1]
    node = cylinders.node
    assert not node._disagreement
    assert node._actuation.counters.missing_leg_states == 3 + 1 + 91
    (status,) = node._health("cylinders")
    assert status.level == b"\x01"
    assert "95 leg states were missing: gone through by cubic motions" in status.message


@pytest.mark.parametrize(("rate", "steps"), [(0.0, 1), (1000.0, 1), (500.0, 2), (100.0, 10)])
def test_in_lockstep_a_force_is_held_for_the_steps_of_its_period(robot, rate, steps):
    held = steps_per_force(settings(lockstep_rate_hz=rate))
    assert held == steps
    drive = ExternalDrive(robot, robot.effort_names, np.zeros(6), steps_per_force=held)
    stepper, beside = (Stepper(robot, 1e-3, "semi_implicit_euler") for _ in range(2))
    sent = []

    def send():
        sent.append(round(stepper.t * 1e9))
        drive.gate.newest_sent = sent[-1]

    drive.send = send
    drive.begin(stepper)
    weight = stepper.tau.copy()
    for k in range(4):
        # nobody answers: time stands still
        assert drive.advance(stepper, None, 1, None) == 0
        force = dict(zip(robot.effort_names, weight + 100.0 * k, strict=True))
        drive.gate.take(sent[-1], force, is_answer=True)
        for _ in range(steps):
            drive.advance(stepper, None, 1, None)
        # nor does it go on beyond the period
        drive.advance(stepper, None, 1, None)
        beside.tau[:] = weight + 100.0 * k
        beside.advance(steps)
        np.testing.assert_array_equal(stepper.q, beside.q)
    assert stepper.steps == 4 * steps
    assert sorted(set(sent)) == [k * steps * MILLISECOND for k in range(5)]


@pytest.mark.parametrize(
    ("name", "rate", "near"), [("lockstep_rate_hz", 300.0, 333.333), ("publish_rate_hz", 2000.0, 1000)]
)
def test_rates_of_the_lockstep_that_do_not_divide_that_of_the_steps_are_refused(name, rate, near):
    with pytest.raises(ParameterError, match=rf"{name} is {rate:g} Hz, expected .* 1000 Hz, .* as {near} Hz"):
        steps_per_force(settings(**{name: rate}))
    # without others that wait there is nothing to divide
    assert steps_per_force(settings(hydraulics="fused", **{name: rate})) == 1
    assert steps_per_force(settings(lockstep=False, **{name: rate})) == 1


def settings(**given):
    return SimulatorParameters(**{"hydraulics": "external", **given})


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("stewart_1t")


def test_forces_for_the_time_before_a_reset_do_not_block_those_after_it():
    gate = ForceGate(("a",))
    for k in range(3):
        gate.newest_sent = 1000 + k
        gate.take(1000 + k, {"a": float(k)})
        assert gate.fresh(0.0) is not None
    gate.newest_sent = 1003
    gate.clear()
    gate.newest_sent = 0
    # the answer to the last question before the reset comes now
    gate.take(1003, {"a": 9.0})
    assert gate.fresh(0.0) is None
    for k in range(3):
        gate.newest_sent = k
        gate.take(k, {"a": float(k)})
        assert gate.fresh(0.0) is not None
    # senders with a clock of their own are heard after a reset as before
    gate.clear()
    gate.newest_sent = 0
    gate.take(5000, {"a": 1.0})
    assert gate.fresh(0.0) is not None
