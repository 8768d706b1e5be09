"""Canadarm2 on ROS 2 nodes, its booms flexible and rigid: dropped on the ground, and slewed in orbit.

ground_drop: released from rest under 9.81 m/s2 with torque, rate and position limits off, the study of
Zhang (2009). orbit_slew: no gravity, published torque and rate limits on, slewed by the nodes `input_shaper`
and `pd_controller`. These send positions and velocities to the servos of the joints: the undamped booms
cannot be held by torques that another process computes from samples, at no rate up to 1 kHz
(`control.sampled_feedback`). Every simulator and controller is a process of its own. The slew is stepped: a
controller answers each state before its simulator goes on, so that the motion is the same on a busy machine;
the pace is kept where the machine can, and told. Writes pictures and arrays to out/demo, the picture of the
drop before the slew begins, and ends by itself.

    canadarm2_demo.py [--scenario ground_drop|orbit_slew] [--speed SIMULATED_SECONDS_PER_SECOND]
                      [--slew SECONDS]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", str(40 + os.getpid() % 60))

import numpy as np
import rclpy
from canadarm2_report import JOINTS, SETTLED, Run, draw, print_tables, save
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

try:  # newer and several times cheaper
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

import flexdyn_ros
from flexdyn_interfaces.msg import DynamicsState, Energy
from flexdyn_interfaces.srv import Step

ROBOT = "canadarm2"
RELEASE = (-0.6, 1.0, -0.4, 0.3, 0.0)
# seconds simulated. After some 3 s the drop says little: three, four and five modes a boom part (example 04)
DROP, SLEW = 3.0, 18.0
RATE = {"ground_drop": 100.0, "orbit_slew": 50.0}  # states, and with them commands, per simulated second
STEP = 0.001  # s, of the simulators
LOST = 5.0  # seconds after which the answer of a controller is taken for lost
RISE, CRUISE = 2.0, 5.0  # seconds in which the slew speeds up (and slows down), and goes on evenly
SPEEDS = (0.040, -0.045, 0.030, 0.020, 0.030)  # rad/s of the joints then; their limit is 0.0698
BANDWIDTH = 4.0  # rad/s, of the joints' servos: above the lowest vibration with the joints locked, 2.3
BEGIN = 1.5  # simulated seconds between sending the trajectory and its start
OUT = Path(__file__).resolve().parents[1] / "out" / "demo"

console = Console()


@dataclass(frozen=True)
class Arm:
    """A simulated arm in a namespace of its own, and what controls it."""

    name: str
    scenario: str
    flexible: bool
    controller: str = ""

    @property
    def options(self) -> dict[str, object]:
        """Settings of the robot's description."""
        options: dict[str, object] = {} if self.scenario == "ground_drop" else {"gravity": [0.0, 0.0, 0.0]}
        return options if self.flexible else options | {"formulation.flexible": False}


ARMS = (
    Arm("drop_flexible", "ground_drop", True),
    Arm("drop_rigid", "ground_drop", False),
    Arm("slew_flexible", "orbit_slew", True, "input_shaper"),
    Arm("slew_rigid", "orbit_slew", False, "input_shaper"),
    Arm("slew_unshaped", "orbit_slew", True, "pd_controller"),
)


# ---- processes ----


def start_node(module: str, arm: Arm, parameters: dict[str, object]) -> subprocess.Popen:
    """A node of ours in the namespace of an arm."""
    settings = ",".join(f"'{key}={str(value).lower()}'" for key, value in arm.options.items())
    command = [sys.executable, "-m", f"flexdyn_ros.nodes.{module}", "--ros-args", "-r", f"__ns:=/{arm.name}"]
    command += ["-r", "/clock:=clock", "--log-level", "warn", "-p", f"description_file:={ROBOT}"]
    if settings:
        command += ["-p", f"options:=[{settings}]"]
    for key, value in parameters.items():
        command += ["-p", f"{key}:={value}"]
    return subprocess.Popen(command, start_new_session=True)


def start_arm(arm: Arm, speed: float) -> list[subprocess.Popen]:
    """The simulator of an arm, paused, and its controller."""
    parameters: dict[str, object] = {
        "start_paused": "true",
        "step": STEP,
        "real_time_factor": speed,
        "command_timeout": 0.0,
        # three simulators on two cores: with real-time priority they would leave their controllers nothing
        "thread_priority": 0,
        **{f"initial.positions.{name}": float(x) for name, x in zip(JOINTS, RELEASE, strict=True)},
    }
    if arm.scenario == "ground_drop":
        parameters |= {"saturate": "false", "limits": "report"}
        parameters |= {"publish_rate_hz": RATE[arm.scenario], "deflection_rate_hz": 10.0}
    else:
        # stepped: what is published is the state after the steps of a request
        parameters |= {"publish_rate_hz": 0.1, "deflection_rate_hz": 0.1}
        parameters |= {"before_first_command": "hold", "servo.extrapolation": "true"}
        parameters |= servo_gains("servo.stiffness.{}", "servo.damping.{}")
    started = [start_node("simulator", arm, parameters)]
    if arm.controller:
        own = {
            "command_interface": "position",
            "velocity_limits": "refuse",
            **servo_gains("gains.{}.p", "gains.{}.d"),
        }
        started.append(start_node(arm.controller, arm, own))
    return started


def servo_gains(stiffness: str, damping: str) -> dict[str, object]:
    """Gains of the joints' servos, under parameters named so: BANDWIDTH and critical damping with what each
    has to move when the others hold."""
    robot = flexdyn_ros.load(ROBOT, options={"formulation.flexible": False})
    inertia = dict(zip(JOINTS, np.diagonal(robot.mass_matrix(np.array(RELEASE))).tolist(), strict=True))
    p = {stiffness.format(name): m * BANDWIDTH**2 for name, m in inertia.items()}
    return p | {damping.format(name): 2.0 * m * BANDWIDTH for name, m in inertia.items()}


def end_nodes(nodes: Iterable[subprocess.Popen]) -> None:
    """Interrupt the nodes as Ctrl-C would; kill what does not end."""
    nodes = list(nodes)
    for node in nodes:
        node.send_signal(signal.SIGINT)
    for node in nodes:
        try:
            if node.wait(10.0) != 0:
                console.print(f"[yellow]{node.args[2]} ended with exit code {node.returncode}[/]")
        except subprocess.TimeoutExpired:
            console.print(f"[yellow]{node.args[2]} did not end by itself and was killed[/]")
            node.kill()
            node.wait()


# ---- recording ----


@dataclass
class Recorder:
    """What an arm publishes; times in simulated seconds."""

    arm: Arm
    speed: float
    until: float
    t: list[float] = field(default_factory=list)
    q: list[np.ndarray] = field(default_factory=list)
    v: list[np.ndarray] = field(default_factory=list)
    tau: list[np.ndarray] = field(default_factory=list)
    energy: list[tuple[float, ...]] = field(default_factory=list)
    begun: tuple[float, float] | None = None
    wall: float = 0.0
    commands: int = 0
    #: stamp [s] of the state that the controller answered last, and how many it did not answer
    answered: float = -1.0
    missed: int = 0
    reference: np.ndarray = field(default_factory=lambda: np.array(RELEASE))
    start: float = 0.0
    now: float = 0.0
    ended: bool = False

    def on_state(self, message: DynamicsState) -> None:
        t = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        self.ended = self.ended or t >= self.until - 1e-6
        if (self.t and t <= self.t[-1]) or t > self.until + 1e-6:
            return
        if self.begun is None:
            self.begun = (time.perf_counter(), t)
        self.t.append(t)
        self.q.append(np.array(message.positions))
        self.v.append(np.array(message.velocities))
        self.tau.append(np.array(message.efforts))
        self.wall = time.perf_counter() - self.begun[0]

    def on_energy(self, message: Energy) -> None:
        t = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if t <= self.until:
            self.energy.append(
                (t, message.kinetic, message.total - message.work + message.dissipated, message.total)
            )

    def on_controller(self, message: JointTrajectory) -> None:
        self.commands += 1
        self.answered = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        self.reference = np.array(message.points[0].positions)

    def restart_clock(self) -> None:
        """The real-time factor counts from the next state."""
        self.begun = None

    @property
    def has_answered(self) -> bool:
        """Whether the controller has answered the newest state."""
        return abs(self.answered - self.now) < 1e-6

    @property
    def is_complete(self) -> bool:
        return self.ended

    def run(self) -> Run:
        """What was recorded, as arrays; time counts from the release, or from the start of the slew."""
        robot = flexdyn_ros.load(ROBOT, options=self.arm.options)
        assert self.begun is not None
        return Run(
            name=self.arm.name,
            robot=robot,
            t=np.array(self.t) - self.start,
            q=np.array(self.q),
            v=np.array(self.v),
            tau=np.array(self.tau),
            energy=np.array(self.energy),
            real_time_factor=(self.t[-1] - self.begun[1]) / self.wall,
            asked_factor=self.speed,
            controller=self.arm.controller,
            commands=self.commands,
            missed=self.missed,
        )


class Director(Node):
    """Resumes the simulators, sends the trajectory, records."""

    def __init__(self, arms: Iterable[Arm], speed: float, length: float) -> None:
        super().__init__("canadarm2_demo")
        self.length = length
        many = QoSProfile(depth=500)
        self.executor_ = Executor()
        self.executor_.add_node(self)
        self.recorders = {}
        self.speed = speed
        self.services_, self.steps, self.trajectories = {}, {}, {}
        for arm in arms:
            recorder = Recorder(arm, speed, DROP if arm.scenario == "ground_drop" else np.inf)
            self.recorders[arm.name] = recorder
            topic = f"/{arm.name}/simulator"
            if not arm.controller:
                self.create_subscription(DynamicsState, f"{topic}/state", recorder.on_state, many)
            self.create_subscription(Energy, f"{topic}/energy", recorder.on_energy, many)
            for what in ("pause", "resume"):
                self.services_[arm.name, what] = self.create_client(Trigger, f"{topic}/{what}")
            if arm.controller:
                self.steps[arm.name] = self.create_client(Step, f"{topic}/step")
                own = f"/{arm.name}/{arm.controller}"
                self.trajectories[arm.name] = self.create_publisher(
                    JointTrajectory, f"{own}/joint_trajectory", 10
                )
                self.create_subscription(
                    JointTrajectory, f"{own}/controller_state", recorder.on_controller, many
                )

    def until(self, condition: Callable[[], bool], what: str, patience: float = 60.0) -> None:
        """Spin until a condition holds."""
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"{what} within {patience:g} s; see the messages of the nodes above")
            self.executor_.spin_once(timeout_sec=0.02)

    def wait_for_nodes(self) -> None:
        """Until every simulator can be resumed and every controller listens."""
        for client in [*self.services_.values(), *self.steps.values()]:
            self.until(client.service_is_ready, f"{client.srv_name} did not appear", 120.0)
        for publisher in self.trajectories.values():
            self.until(lambda p=publisher: p.get_subscription_count() > 0, "no controller listens", 120.0)

    def tell(self, scenario: str, what: str) -> list[Recorder]:
        """Pause or resume the simulators of a scenario."""
        chosen = [r for r in self.recorders.values() if r.arm.scenario == scenario]
        for recorder in chosen:
            self.insist(self.services_[recorder.arm.name, what], Trigger.Request())
        return chosen

    def drop(self, show: Callable[[float], None]) -> None:
        """The first scenario."""
        for recorder in self.recorders.values():
            recorder.restart_clock()
        self.watch(self.tell("ground_drop", "resume"), show)
        self.tell("ground_drop", "pause")

    def slew(self, show: Callable[[float], None]) -> None:
        """The second, step by step: hold, then one trajectory for all, to begin at one simulated time."""
        # a server may know a new client late; that these answer to a pause does not tell that they know
        # the client of steps, but a request for none that is refused does
        chosen = self.tell("orbit_slew", "pause")
        for recorder in chosen:
            self.insist(self.steps[recorder.arm.name], Step.Request(steps=0))
        deadline = time.monotonic() + 120.0
        while not all(r.commands > 2 for r in chosen):
            self.advance(chosen, patience=0.5)
            if time.monotonic() > deadline:
                raise SystemExit("the controllers do not answer; see the messages of the nodes above")
        # time stands still meanwhile, so that no controller gets the trajectory too late
        start = max(r.t[-1] for r in chosen) + BEGIN
        message = slew_trajectory(start)
        for recorder in chosen:
            recorder.start, recorder.until = start, start + self.length
        # more than once: one that has come already is the same again
        for _ in range(3):
            for recorder in chosen:
                self.trajectories[recorder.arm.name].publish(message)
            self.executor_.spin_until_future_complete(rclpy.Future(), 0.3)
        for recorder in chosen:
            recorder.missed = 0
            recorder.restart_clock()
        due = time.monotonic()
        while not all(r.is_complete for r in chosen):
            self.advance(chosen)
            show(max(chosen[0].t[-1] - start, 0.0))
            # the pace; what is late is not caught up
            due = max(due + 1.0 / (RATE["orbit_slew"] * self.speed), time.monotonic())
            while (left := due - time.monotonic()) > 0.0:
                self.executor_.spin_once(timeout_sec=left)
        goal = message.points[-1].positions
        for recorder in chosen:
            if np.abs(recorder.reference - goal).max() > 1e-6:
                raise SystemExit(f"{recorder.arm.controller} of {recorder.arm.name} did not come to its goal")

    def advance(self, chosen: list[Recorder], patience: float = LOST) -> None:
        """One period of the controllers: simulators take their steps, controllers answer the new states."""
        steps = round(1.0 / (RATE["orbit_slew"] * STEP))
        futures = [self.steps[r.arm.name].call_async(Step.Request(steps=steps)) for r in chosen]
        self.until(lambda: all(future.done() for future in futures), "a simulator did not step", 120.0)
        for recorder, future in zip(chosen, futures, strict=True):
            if not future.result().success:
                raise SystemExit(f"{recorder.arm.name}: {future.result().message}")
            recorder.now = future.result().time
            recorder.on_state(future.result().state)
        deadline = time.monotonic() + patience
        while not all(r.has_answered for r in chosen) and time.monotonic() < deadline:
            self.executor_.spin_once(timeout_sec=0.02)
        for recorder in chosen:
            recorder.missed += not recorder.has_answered

    def insist(self, client: object, request: object) -> object:
        """The answer to a request that may be asked again: first answers can be lost."""
        for _ in range(5):
            future = client.call_async(request)
            self.executor_.spin_until_future_complete(future, 10.0)
            if future.done():
                return future.result()
        raise SystemExit(f"no answer from {client.srv_name}")

    def runs(self, scenario: str) -> dict[str, Run]:
        """What was recorded of a scenario that is over."""
        return {name: r.run() for name, r in self.recorders.items() if r.arm.scenario == scenario}

    def watch(self, chosen: list[Recorder], show: Callable[[float], None]) -> None:
        """Until everything is recorded."""

        def told() -> bool:
            show(min(r.t[-1] if r.t else 0.0 for r in chosen))
            return all(r.is_complete for r in chosen)

        self.until(told, "the simulators did not come to the end", 480.0)


def slew_trajectory(start: float) -> JointTrajectory:
    """Joint speeds that rise evenly, stay, and fall evenly; from the simulated time `start` on."""
    message = JointTrajectory(joint_names=list(JOINTS))
    message.header.stamp.sec, message.header.stamp.nanosec = int(start), int(1e9 * (start % 1.0))
    way = 0.0
    for at, speed, gone in (
        (0.0, 0.0, 0.0),
        (RISE, 1.0, 0.5 * RISE),
        (RISE + CRUISE, 1.0, CRUISE),
        (2.0 * RISE + CRUISE, 0.0, 0.5 * RISE),
    ):
        way += gone
        point = JointTrajectoryPoint(
            positions=[q + way * s for q, s in zip(RELEASE, SPEEDS, strict=True)],
            velocities=[speed * s for s in SPEEDS],
        )
        point.time_from_start.sec, point.time_from_start.nanosec = int(at), int(1e9 * (at % 1.0))
        message.points.append(point)
    return message


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Canadarm2 dropped on the ground, and slewed in orbit")
    parser.add_argument("--scenario", choices=("ground_drop", "orbit_slew"), help="this one only")
    parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds per second")
    told = "simulated seconds of the slew, 9 of which are its motion"
    parser.add_argument("--slew", type=float, default=SLEW, help=told)
    asked = parser.parse_args()
    if asked.scenario != "ground_drop" and asked.slew <= SETTLED[0]:
        parser.error(f"--slew {asked.slew:g}: the swing is measured after {SETTLED[0]:g} s, expected more")
    return asked


def main() -> None:
    """Start the nodes, run the scenarios, tell the result."""
    begun = time.monotonic()
    asked = arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    arms = [arm for arm in ARMS if asked.scenario in (None, arm.scenario)]
    runs: dict[str, Run] = {}
    nodes = [node for arm in arms for node in start_arm(arm, asked.speed)]
    rclpy.init()
    director = Director(arms, asked.speed, asked.slew)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f} of {task.total:g}"),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(f"starting {len(nodes)} nodes", total=1)
            director.wait_for_nodes()
            progress.update(task, completed=1)
            for name, scenario, length in (
                ("ground_drop", director.drop, DROP),
                ("orbit_slew", director.slew, asked.slew),
            ):
                if asked.scenario in (None, name):
                    task = progress.add_task(f"{name} \\[s]", total=length)
                    scenario(lambda t, task=task: progress.update(task, completed=t))
                    runs |= director.runs(name)
                    tell(f"picture: {shown(draw(name, runs, OUT))}", begun)
    except (KeyboardInterrupt, ExternalShutdownException):
        raise SystemExit(130) from None
    finally:
        director.executor_.shutdown()
        rclpy.try_shutdown()
        end_nodes(nodes)
    print_tables(console, runs)
    tell(f"arrays: {shown(save(runs, OUT))}", begun)


def shown(path: Path) -> Path:
    """A path as seen from the working directory."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def tell(text: str, begun: float) -> None:
    """A line with the seconds since the start."""
    console.print(f"{text}   ({time.monotonic() - begun:.0f} s)", soft_wrap=True)


if __name__ == "__main__":
    main()
