"""First light: a seven-joint arm simulated by a ROS 2 node, driven along a trajectory with and without a
model.

Starts `simulator` and `dynamics_server` in processes of their own, follows the same trajectory twice - once
with joint feedback alone, once with computed torque through the InverseDynamics service - and prints what
came of it. Writes out/demo/first_light.png and out/demo/first_light.npz and ends by itself within a minute.

    first_light_demo.py [--duration SECONDS_OF_EACH_RUN]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", str(40 + os.getpid() % 60))

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

try:  # newer and several times cheaper
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

import flexdyn_ros
from flexdyn_interfaces.msg import Energy
from flexdyn_interfaces.srv import GetState, InverseDynamics
from flexdyn_ros.simulation import figure_style

ROBOT = "seven_joint_arm"
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.0])
STROKE = np.array([0.9, 0.5, -0.6, 0.7, 0.8, 0.5, 1.0])
RATE = 250.0  # states, and with them commands, per simulated second
BANDWIDTH = 20.0  # rad/s, of the feedback
PATIENCE = 0.05  # seconds after which an answer is taken for lost
OUT = Path(__file__).resolve().parents[1] / "out" / "demo"

console = Console()


def reference(t: float, duration: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the trajectory at time t: there, back and there again,
    smoothly."""
    phase = 2.0 * np.pi * min(max(t, 0.0), duration) / duration
    rate = 2.0 * np.pi / duration
    blend, first, second = 1.0 - np.cos(phase), np.sin(phase), np.cos(phase)
    half, half_rate = 1.0 - np.cos(2.0 * phase), np.sin(2.0 * phase)
    q = START + STROKE * (0.5 * blend + 0.25 * half)
    v = STROKE * rate * (0.5 * first + 0.5 * half_rate)
    a = STROKE * rate**2 * (0.5 * second + np.cos(2.0 * phase))
    return q, v, a


def lightest_inertia(robot: flexdyn_ros.Robot, duration: float) -> np.ndarray:
    """Smallest inertia (7,) that a joint feels on the trajectory, the others being free: what sampled
    feedback can bear.
    """
    q = np.array([reference(t, duration)[0] for t in np.linspace(0.0, duration, 200)])
    return (1.0 / np.linalg.inv(robot.mass_matrix(q)).diagonal(axis1=1, axis2=2)).min(axis=0)


@dataclass
class Record:
    """What one run left behind; times in simulated seconds, latencies in seconds of the wall."""

    name: str
    duration: float
    t: list[float] = field(default_factory=list)
    q: list[np.ndarray] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    energy: list[tuple[float, float, float]] = field(default_factory=list)
    wall: float = 0.0
    diagnostics: dict[str, str] = field(default_factory=dict)

    @property
    def error(self) -> np.ndarray:
        """Tracking error (n, 7) [rad]."""
        return np.array(self.q) - np.array([reference(t, self.duration)[0] for t in self.t])

    @property
    def real_time_factor(self) -> float:
        return (self.t[-1] - self.t[0]) / self.wall

    @property
    def energy_balance(self) -> float:
        """Largest change of total - work + dissipated [J]."""
        total, work, dissipated = np.array(self.energy).T
        balance = total - work + dissipated
        return float(np.max(np.abs(balance - balance[0])))


class Driver(Node):
    """Answers every joint state with an effort command."""

    def __init__(self, duration: float) -> None:
        super().__init__("first_light_driver")
        self.duration = duration
        self.robot = flexdyn_ros.load(ROBOT)
        self.names = list(self.robot.v_names)
        inertia = lightest_inertia(self.robot, duration)
        self.kp, self.kd = inertia * BANDWIDTH**2, inertia * 2.0 * BANDWIDTH
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.commands = self.create_publisher(JointState, "joint_commands", newest)
        self.create_subscription(JointState, "joint_states", self.on_state, newest)
        self.create_subscription(Energy, "simulator/energy", self.on_energy, 10)
        self.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, 10)
        self.inverse_dynamics = self.create_client(InverseDynamics, "dynamics_server/inverse_dynamics")
        self.reset = self.create_client(Trigger, "simulator/reset")
        self.state = self.create_client(GetState, "simulator/get_dynamics_state")
        self.record: Record | None = None
        self.law: Callable[[float, np.ndarray, np.ndarray], None] = self.hold
        self.start: float | None = None
        self.started_at = 0.0
        self.waiting, self.asked = False, 0.0
        self.over = False

    # ---- control laws ----

    def hold(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """No command: the simulator's own servo holds the arm."""

    def feedback(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Joint feedback alone."""
        q_d, v_d, _ = reference(t, self.duration)
        self.send(self.kp * (q_d - q) + self.kd * (v_d - v))

    def computed_torque(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """The same feedback as accelerations, turned into efforts by the dynamics server."""
        if self.waiting and time.perf_counter() - self.asked < PATIENCE:
            return
        q_d, v_d, a_d = reference(t, self.duration)
        request = InverseDynamics.Request(samples=1)
        request.positions = array("d", q)
        request.velocities = array("d", v)
        request.accelerations = array("d", a_d + BANDWIDTH**2 * (q_d - q) + 2.0 * BANDWIDTH * (v_d - v))
        self.asked = asked = time.perf_counter()
        self.waiting = True
        self.inverse_dynamics.call_async(request).add_done_callback(
            lambda answer: self.on_efforts(answer, asked)
        )

    def on_efforts(self, answer: rclpy.task.Future, asked: float) -> None:
        self.waiting = False
        response = answer.result()
        if not response.success:
            self.get_logger().error(response.message)
            return
        if self.record is not None:
            self.record.latency.append(time.perf_counter() - asked)
        self.send(response.efforts)

    def send(self, efforts: np.ndarray | array) -> None:
        message = JointState(name=self.names)
        message.header.stamp = self.get_clock().now().to_msg()
        message.effort = array("d", efforts)
        self.commands.publish(message)

    # ---- what comes in ----

    def on_state(self, message: JointState) -> None:
        t = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if self.record is None:
            return
        if self.start is None:
            self.start, self.started_at = t, time.perf_counter()
        at = t - self.start
        if at > self.duration:
            self.over = True
            return
        index = {name: i for i, name in enumerate(message.name)}
        order = [index[name] for name in self.names]
        q, v = np.array(message.position)[order], np.array(message.velocity)[order]
        self.law(at, q, v)
        self.record.t.append(at)
        self.record.q.append(q)
        self.record.wall = time.perf_counter() - self.started_at

    def on_energy(self, message: Energy) -> None:
        if self.record is None or self.start is None or not self.record.t:
            return
        at = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec - self.start
        # one from before the reset may still be on its way: its time is not near that of the last state
        if abs(at - self.record.t[-1]) < 0.2:
            self.record.energy.append((message.total, message.work, message.dissipated))

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        if self.record is not None:
            for status in message.status:
                self.record.diagnostics.update({item.key: item.value for item in status.values})

    # ---- a run ----

    def run(self, name: str, law: Callable, executor: Executor, show: Callable) -> Record:
        """Reset the simulator and follow the trajectory with one control law."""
        call(self.reset, Trigger.Request(), executor)
        self.start, self.waiting, self.law, self.over = None, False, law, False
        self.record = record = Record(name, self.duration)
        known, deadline = 0, time.monotonic() + 30.0
        # a state at the very end may be lost on a busy machine; one after it says as much
        while not self.over and (not record.t or record.t[-1] < self.duration - 1.5 / RATE):
            executor.spin_once(timeout_sec=0.05)
            if len(record.t) > known:
                known, deadline = len(record.t), time.monotonic() + 30.0
            show(record.t[-1] if record.t else 0.0)
            if time.monotonic() > deadline:
                raise SystemExit("the simulator sends no states; see the messages of the nodes above")
        self.record, self.law = None, self.hold
        return record


def call(client, request, executor: Executor, timeout: float = 30.0):
    """The answer of a service."""
    if not client.wait_for_service(timeout):
        raise SystemExit(f"service {client.srv_name} did not appear within {timeout:g} s")
    # a server may know a new client later than the client knows the server; its first answer is then lost
    for _ in range(3):
        future = client.call_async(request)
        executor.spin_until_future_complete(future, timeout / 3)
        if future.done():
            return future.result()
    raise SystemExit(f"service {client.srv_name} did not answer within {timeout:g} s")


def start_nodes() -> dict[str, subprocess.Popen]:
    """Simulator and dynamics server, each in its own process."""
    initial = dict(zip(flexdyn_ros.load(ROBOT).v_names, START, strict=True))
    arguments = {
        "simulator": {
            "publish_rate_hz": RATE,
            "command_interface": "effort",
            **{f"initial.positions.{name}": float(value) for name, value in initial.items()},
        },
        "dynamics_server": {},
    }
    nodes = {}
    for name, parameters in arguments.items():
        command = [
            sys.executable,
            "-m",
            f"flexdyn_ros.nodes.{name}",
            "--ros-args",
            "-p",
            f"description_file:={ROBOT}",
        ]
        for key, value in parameters.items():
            command += ["-p", f"{key}:={value}"]
        nodes[name] = subprocess.Popen(command, start_new_session=True)
    return nodes


def end_nodes(nodes: dict[str, subprocess.Popen]) -> None:
    """Interrupt the nodes as Ctrl-C would; kill what does not end."""
    for node in nodes.values():
        node.send_signal(signal.SIGINT)
    for name, node in nodes.items():
        try:
            if node.wait(10.0) != 0:
                console.print(f"[yellow]{name} ended with exit code {node.returncode}[/]")
        except subprocess.TimeoutExpired:
            console.print(f"[yellow]{name} did not end by itself and was killed[/]")
            node.kill()
            node.wait()


def print_table(plain: Record, model: Record) -> None:
    """Tracking, timing and energy of both runs."""
    table = Table(
        "",
        plain.name,
        model.name,
        title="First light: a seven-joint arm on ROS 2 nodes",
        title_justify="left",
    )
    rms = [np.degrees(np.sqrt(np.mean(r.error**2))) for r in (plain, model)]
    peak = [np.degrees(np.max(np.abs(r.error))) for r in (plain, model)]
    table.add_row("tracking error, root mean square \\[deg]", *(f"{x:.4f}" for x in rms))
    table.add_row("tracking error, largest \\[deg]", *(f"{x:.4f}" for x in peak))
    table.add_row("real-time factor", *(f"{r.real_time_factor:.4f}" for r in (plain, model)))
    table.add_row("states per second", *(f"{len(r.t) / r.wall:.1f}" for r in (plain, model)))
    latency = 1e6 * np.array(model.latency)
    table.add_row("service calls", "-", str(len(latency)))
    table.add_row(
        "service latency, median / p99 \\[us]",
        "-",
        f"{np.median(latency):.0f} / {np.percentile(latency, 99):.0f}",
    )
    table.add_row("energy balance off by \\[J]", *(f"{r.energy_balance:.2e}" for r in (plain, model)))
    console.print(table)
    console.print(
        f"computed torque tracks {rms[0] / rms[1]:.0f} times better than joint feedback alone",
        highlight=False,
    )


def draw(plain: Record, model: Record, path: Path) -> None:
    """Joint angles against the trajectory, errors of both runs, latencies."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use(figure_style())
    names = list(flexdyn_ros.load(ROBOT).v_names)
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.3))
    t = np.array(model.t)
    target = np.degrees([reference(x, model.duration)[0] for x in t])
    for i, name in enumerate(names):
        axes[0, 0].plot(t, np.degrees(np.array(model.q)[:, i]), label=name)
        axes[0, 1].plot(plain.t, np.degrees(plain.error[:, i]))
        axes[1, 0].plot(t, np.degrees(model.error[:, i]))
    axes[0, 0].plot(t, target, ":", color="0.5", lw=1.0, label=[*[None] * (len(names) - 1), "trajectory"])
    axes[0, 0].set(
        title="computed torque",
        xlabel="time [s]",
        ylabel="joint angle [deg]",
    )
    axes[0, 1].set(title=f"tracking error, {plain.name}", xlabel="time [s]", ylabel="error [deg]")
    axes[1, 0].set(title=f"tracking error, {model.name}", xlabel="time [s]", ylabel="error [deg]")
    latency = 1e6 * np.array(model.latency)
    top = np.percentile(latency, 99.5)
    axes[1, 1].hist(np.clip(latency, None, top), bins=60, color="C4")
    axes[1, 1].axvline(
        np.median(latency), color="black", ls="-", lw=1.0, label=f"median {np.median(latency):.0f} µs"
    )
    axes[1, 1].axvline(
        np.percentile(latency, 99),
        color="C1",
        ls="--",
        lw=1.4,
        label=f"p99 {np.percentile(latency, 99):.0f} µs",
    )
    axes[1, 1].set(title="InverseDynamics service, round trip", xlabel="latency [µs]", ylabel="calls")
    axes[1, 1].legend()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4)
    figure.savefig(path)
    plt.close(figure)


def save(plain: Record, model: Record, path: Path) -> None:
    """Both runs as arrays."""
    np.savez_compressed(
        path,
        t_feedback=plain.t,
        q_feedback=plain.q,
        t_computed_torque=model.t,
        q_computed_torque=model.q,
        service_latency=model.latency,
    )


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="A seven-joint arm on ROS 2 nodes, with and without a model")
    parser.add_argument("--duration", type=float, default=8.0, help="seconds of each of the two runs")
    return parser.parse_args()


def main() -> None:
    """Start the nodes, run both controllers, tell the result."""
    begun = time.monotonic()
    asked = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    nodes = start_nodes()
    rclpy.init()
    driver = Driver(asked.duration)
    executor = Executor()
    executor.add_node(driver)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f} of {task.total:g} s"),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=console) as progress:
            waiting = progress.add_task("starting the nodes", total=1)
            for client in (driver.reset, driver.state, driver.inverse_dynamics):
                if not client.wait_for_service(45.0):
                    raise SystemExit(f"{client.srv_name} did not appear; see the messages of the nodes above")
            progress.update(waiting, completed=1)
            records = []
            for name, law in (
                ("joint feedback", driver.feedback),
                ("computed torque", driver.computed_torque),
            ):
                task = progress.add_task(f"following with {name}", total=asked.duration)
                records.append(
                    driver.run(name, law, executor, lambda t, task=task: progress.update(task, completed=t))
                )
    except (KeyboardInterrupt, ExternalShutdownException):
        raise SystemExit(130) from None
    finally:
        executor.shutdown()
        rclpy.try_shutdown()
        end_nodes(nodes)
    plain, model = records
    print_table(plain, model)
    draw(plain, model, OUT / "first_light.png")
    save(plain, model, OUT / "first_light.npz")
    here = Path.cwd()
    shown = OUT.relative_to(here) if OUT.is_relative_to(here) else OUT
    console.print(
        f"picture: {shown}/first_light.png   data: {shown}/first_light.npz   "
        f"({time.monotonic() - begun:.0f} s)"
    )


if __name__ == "__main__":
    main()
