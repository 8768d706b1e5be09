"""Simulator and cylinders of a platform as processes: together in lockstep, apart, disturbed, killed."""

import signal
import sys
import threading
import time

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import PoseStamped, Transform  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState  # noqa: E402
from flexdyn_ros.simulation import FusedHydraulics, Stepper  # noqa: E402

SPACE = "/rig"
NAMES = [f"leg_{i}" for i in range(1, 7)]


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("stewart_1t")


@pytest.fixture
def client():
    with Client("platform_client") as client:
        client.listen(DiagnosticArray, "/diagnostics")
        yield client


def simulator(tmp_path, *parameters):
    arguments = ["-r", f"__ns:={SPACE}", "-p", "description_file:=stewart_1t", "-p", "thread_priority:=0"]
    for parameter in parameters:
        arguments += ["-p", parameter]
    return NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt")


def actuators(tmp_path, force="joint_commands", log="actuators.txt"):
    arguments = ["-r", f"__ns:={SPACE}", "-p", "description_file:=stewart_1t", "-p", "lockstep:=true"]
    arguments += ["-p", "command_timeout:=3600.0"]
    arguments += ["-r", "~/leg_state:=leg_states"]
    arguments += ["-r", f"~/leg_force:={force}"]
    return NodeProcess("hydraulic_actuators", *arguments, log=tmp_path / log)


def status(client, name):
    def found():
        message = client.last.get("/diagnostics")
        return message is not None and any(s.name == name for s in message.status)

    client.last.pop("/diagnostics", None)
    client.until(found, f"no status {name}")
    return next(s for s in client.last["/diagnostics"].status if s.name == name)


class Pair:
    """The two processes, told and stepped, beside the same robot with its cylinders in the loop."""

    def __init__(self, client, robot):
        self.client, self.stepper = client, Stepper(robot, 1e-3, "semi_implicit_euler")
        self.fused = FusedHydraulics(self.stepper, "valve")
        self.told = self.ahead = 0
        self.worst = self.largest = 0.0

    def counts(self):
        """Commands and leg states that the cylinders have taken."""
        answer = self.client.call(SetBool, f"{SPACE}/hydraulic_actuators/enable", data=True)
        words = answer.message.split("; ")[1].split(" ")
        return int(words[0]), int(words[3])

    def tell(self, values, mode=HydraulicCommand.VALVE):
        """A command, once the cylinders have it; they have answered the last leg state then.

        So it acts from the next leg state on, but for the first command: the cylinders wait for that.
        """
        if self.told:
            self.client.until(lambda: self.counts()[1] == self.stepper.steps + 1, "leg states are missing")
            self.stepper.advance(1)
            self.ahead = 1
        message = HydraulicCommand(mode=mode, values=[float(x) for x in values])
        topic = f"{SPACE}/hydraulic_actuators/command"
        self.client.insist(
            HydraulicCommand, topic, message, lambda: self.counts()[0] > self.told, "command not taken", 5.0
        )
        self.told = self.counts()[0]
        self.fused.command(values, "force" if mode else "valve")

    def step(self, n):
        answer = self.client.call(srv.Step, f"{SPACE}/simulator/step", steps=n)
        assert answer.success, answer.message
        self.stepper.advance(n - self.ahead)
        self.ahead = 0
        forces = np.array(answer.state.efforts)
        self.worst = max(self.worst, abs(forces - self.stepper.effort).max())
        self.largest = max(self.largest, abs(forces).max())
        assert answer.time == pytest.approx(self.stepper.t, abs=1e-9)
        return answer.state


def motions(robot, rng, stepper):
    """Leg forces that hold the platform near home and push it about."""
    target = robot.neutral()
    a = 40.0 * robot.difference(stepper.q, target) - 12.0 * stepper.v + rng.normal(0, 0.3, 6)
    return np.clip(robot.inverse_dynamics(stepper.q.copy(), stepper.v.copy(), a), -20e3, 20e3)


def openings(robot, rng, stepper):
    """Valve openings that lead the legs to lengths within 3 cm of home."""
    home = robot.inverse_kinematics(robot.neutral()).length
    left = home + rng.uniform(-0.03, 0.03, 6) - robot.inverse_kinematics(stepper.q.copy()).length
    return np.clip(4.0 * left, -0.3, 0.3)


def run_pair(tmp_path, client, robot, blocks, steps, mode, tell=lambda text: None):
    """The pair after so many blocks of steps with a new command each, and seconds that each block took."""
    rng = np.random.default_rng(1)
    took = []
    with (
        simulator(
            tmp_path, "hydraulics:=external", "start_paused:=true", "method:=semi_implicit_euler"
        ) as plant,
        actuators(tmp_path) as cylinders,
    ):
        plant.wait_for_text("ready")
        cylinders.wait_for_text("ready")
        pair = Pair(client, robot)
        for block in range(blocks):
            command = motions if mode == HydraulicCommand.FORCE else openings
            pair.tell(command(robot, rng, pair.stepper), mode)
            begin = time.monotonic()
            pair.step(steps)
            took.append(time.monotonic() - begin)
            if block % 50 == 49:
                rate = steps / np.mean(took[-50:])
                off = f"{pair.worst:.2g} N of {pair.largest:.0f} N"
                tell(f"{pair.stepper.t:.0f} s: {rate:.0f} steps/s, {off}")
        assert cylinders.end(signal.SIGINT) == 0
        assert plant.end(signal.SIGINT) == 0
    return pair, np.array(took)


def test_half_a_second_in_lockstep_equals_the_fused_run(tmp_path, client, robot):
    pair, _ = run_pair(tmp_path, client, robot, 5, 100, HydraulicCommand.FORCE)
    assert pair.worst < 1e-6 * pair.largest


@pytest.mark.slow
def test_a_minute_in_lockstep_equals_the_fused_run(tmp_path, client, robot, capsys):
    """The forces to 1e-6; loop rate and latency are printed.

    Valves are told, 0.1 s each: under forces held for that long a platform falls over like a pendulum on its
    head, and rounding errors grow tenfold within 0.7 s.
    """

    def tell(text):
        with capsys.disabled():
            sys.stdout.write(f"\n{text}")
            sys.stdout.flush()

    pair, took = run_pair(tmp_path, client, robot, 600, 100, HydraulicCommand.VALVE, tell)
    latency = 1e6 * took / 100
    tell(
        f"60 s in lockstep: {1e6 / latency.mean():.0f} exchanges a second; one takes "
        f"{np.median(latency):.0f} us, {np.quantile(latency, 0.95):.0f} us in the slowest twentieth "
        f"(means of 100); largest difference {pair.worst:.3g} N of {pair.largest:.0f} N\n"
    )
    assert pair.worst < 1e-6 * pair.largest


class Disturber(threading.Thread):
    """Carries leg forces from one topic to another; drops, repeats and delays some of them."""

    def __init__(self):
        super().__init__(daemon=True)
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import QoSProfile, ReliabilityPolicy

        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("disturber", context=self.context, namespace=SPACE)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.rng = np.random.default_rng(0)
        self.counts = {"dropped": 0, "repeated": 0, "delayed": 0}
        self.late = []
        qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.out = self.node.create_publisher(JointState, "joint_commands", 10)
        self.node.create_subscription(JointState, "raw_forces", self.carry, qos)
        self.going = True

    def carry(self, message):
        for old in self.late:
            self.out.publish(old)
        self.late.clear()
        chance = self.rng.random()
        if chance < 0.05:
            self.counts["dropped"] += 1
        elif chance < 0.10:
            self.counts["delayed"] += 1
            self.late.append(message)
        else:
            self.out.publish(message)
            if chance < 0.20:
                self.counts["repeated"] += 1
                self.out.publish(message)

    def run(self):
        while self.going:
            self.executor.spin_once(timeout_sec=0.05)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.going = False
        self.join()
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.mark.slow
def test_dropped_delayed_and_repeated_forces_change_nothing_and_a_killed_node_is_told(
    tmp_path, client, robot
):
    rng = np.random.default_rng(2)
    with (
        Disturber() as disturber,
        simulator(
            tmp_path, "hydraulics:=external", "start_paused:=true", "method:=semi_implicit_euler"
        ) as plant,
    ):
        with actuators(tmp_path, "raw_forces") as cylinders:
            plant.wait_for_text("ready")
            cylinders.wait_for_text("ready")
            pair = Pair(client, robot)
            for _ in range(5):
                pair.tell(motions(robot, rng, pair.stepper), HydraulicCommand.FORCE)
                pair.step(100)
            assert min(disturber.counts.values()) > 5, disturber.counts
            assert pair.worst < 1e-6 * pair.largest
            cylinders.process.kill()
            cylinders.process.wait()
        before = pair.stepper.t
        answer = client.call(srv.Step, f"{SPACE}/simulator/step", steps=10)
        assert not answer.success
        assert "no leg forces" in answer.message
        assert client.call(Trigger, f"{SPACE}/simulator/resume").success
        seen = status(client, f"{SPACE}/simulator: legs")
        assert seen.level in (b"\x01", 1)
        assert "the simulation pauses" in seen.message
        assert client.call(
            srv.GetState, f"{SPACE}/simulator/get_dynamics_state"
        ).state.header.stamp.sec == int(before)
        with actuators(tmp_path, "raw_forces", "again.txt") as cylinders:
            cylinders.wait_for_text("ready")
            client.listen(PoseStamped, f"{SPACE}/simulator/platform_pose")
            pair.told = 0
            pair.tell(np.zeros(6))
            first = client.next(f"{SPACE}/simulator/platform_pose").header.stamp
            later = client.next(f"{SPACE}/simulator/platform_pose").header.stamp
            assert (later.sec, later.nanosec) > (first.sec, first.nanosec)
            assert cylinders.end(signal.SIGTERM) == 0
        assert plant.end(signal.SIGTERM) == 0


# ---- cylinders inside the simulator ----


def lift(seconds, height, robot):
    home = robot.neutral()
    message = MultiDOFJointTrajectory(joint_names=["platform"])
    point = MultiDOFJointTrajectoryPoint(transforms=[Transform()])
    t = point.transforms[0]
    t.translation.x, t.translation.y, t.translation.z = home[0], home[1], home[2] + height
    t.rotation.w = 1.0
    point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(seconds % 1 * 1e9)
    message.points = [point]
    return message


def test_a_platform_with_fused_cylinders_follows_a_trajectory_and_commands(tmp_path, client, robot):
    base = f"{SPACE}/simulator"
    for kind, topic in (
        (PoseStamped, f"{base}/platform_pose"),
        (JointState, f"{SPACE}/leg_states"),
        (JointState, f"{SPACE}/joint_states"),
        (HydraulicState, f"{base}/hydraulic_state"),
    ):
        client.listen(kind, topic)
    with simulator(tmp_path, "start_paused:=true") as plant:
        plant.wait_for_text("ready")
        heard = lambda: {f"{base}/hydraulic_state", f"{base}/platform_pose"} <= set(client.last)  # noqa: E731
        client.repeat(lambda: client.call(srv.Step, f"{base}/step", steps=1), heard, "no state")
        assert list(client.last[f"{base}/hydraulic_state"].names) == NAMES

        def height():
            return client.last[f"{base}/platform_pose"].pose.position.z - robot.neutral()[2]

        # closed valves leak: 1.5 mm/s
        assert abs(height()) < 1e-3
        assert client.call(Trigger, f"{base}/resume").success
        client.insist(
            MultiDOFJointTrajectory, f"{base}/platform_trajectory", lift(1.0, 0.05, robot),
            lambda: abs(height() - 0.05) < 1.5e-3, "the platform did not rise", every=5.0,
        )  # fmt: skip
        legs = client.next(f"{SPACE}/leg_states")
        assert list(legs.name) == NAMES
        assert np.allclose(legs.position, 1.4 + 0.05 * 0.8, atol=0.02)
        joints = client.next(f"{SPACE}/joint_states")
        assert len(joints.name) == 24
        assert np.isfinite(joints.position).all()
        # valve commands by name, then nothing: valves close
        for value, condition in ((-0.3, lambda: height() < 0.04),):
            message = HydraulicCommand(names=NAMES[::-1], values=[value] * 6)
            client.insist(
                HydraulicCommand, f"{base}/hydraulic_command", message, condition, "did not sink", 0.05
            )
        client.until(
            lambda: client.next(f"{base}/hydraulic_state").valve_command[0] == 0.0, "valves stay open"
        )
        # leg forces by name; malformed ones are refused
        client.publish(JointState, f"{SPACE}/joint_commands", JointState(name=["leg_9"], effort=[1.0]))
        lengths = JointState(name=NAMES, position=[1.45] * 6)
        reached = lambda: np.allclose(client.last[f"{SPACE}/leg_states"].position, 1.45, atol=5e-3)  # noqa: E731
        client.insist(JointState, f"{SPACE}/joint_commands", lengths, reached, "no servo", 0.05)
        assert "legs" in status(client, f"{SPACE}/simulator: legs").name
        assert plant.end(signal.SIGINT) == 0


# ---- lockstep through restarts ----


def advances(client):
    """Whether simulated time goes on; waits until it does."""
    topic = f"{SPACE}/simulator/platform_pose"
    first = client.next(topic).header.stamp
    client.until(lambda: client.next(topic).header.stamp != first, "time stands still")
    return True


@pytest.mark.slow
def test_either_process_may_start_again_and_time_goes_on(tmp_path, client):
    client.listen(PoseStamped, f"{SPACE}/simulator/platform_pose")
    with actuators(tmp_path) as cylinders:
        with simulator(tmp_path, "hydraulics:=external") as plant:
            assert advances(client)
            assert client.call(Trigger, f"{SPACE}/simulator/reset").success
            assert advances(client)
            cylinders.process.kill()
            cylinders.process.wait()
            with actuators(tmp_path, log="second.txt") as second:
                assert advances(client)
                assert second.end(signal.SIGINT) == 0
            plant.process.kill()
            plant.process.wait()
        with actuators(tmp_path, log="third.txt") as third:
            with simulator(tmp_path, "hydraulics:=external") as plant:
                assert advances(client)
                plant.process.kill()
                plant.process.wait()
            with simulator(tmp_path, "hydraulics:=external") as plant:
                assert advances(client)
                assert plant.end(signal.SIGINT) == 0
            assert third.end(signal.SIGINT) == 0


@pytest.mark.slow
@pytest.mark.parametrize("lockstep", ["true", "false"])
def test_processes_that_disagree_about_lockstep_say_so_within_a_second(tmp_path, client, lockstep):
    with (
        simulator(tmp_path, "hydraulics:=external", f"lockstep:={lockstep}") as plant,
        NodeProcess(
            "hydraulic_actuators", "-r", f"__ns:={SPACE}", "-p", "description_file:=stewart_1t",
            "-p", f"lockstep:={'false' if lockstep == 'true' else 'true'}",
            "-r", "~/leg_state:=leg_states", "-r", "~/leg_force:=joint_commands",
            log=tmp_path / "other.txt",
        ) as cylinders,
    ):  # fmt: skip
        plant.wait_for_text("ready")
        cylinders.wait_for_text("ready")
        begin = time.monotonic()
        cylinders.wait_for_text("expected the same: forces have no effect")
        assert time.monotonic() - begin < 1.0
        seen = status(client, f"{SPACE}/hydraulic_actuators: legs")
        assert seen.level in (b"\x02", 2)
        assert "parameter lockstep is" in seen.message
