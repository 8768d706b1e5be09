"""Cylinders inside the simulator against cylinders in another process, in lockstep and running freely.

    python benchmarks/bench_hydraulic_exchange.py [--seconds 10] [--watch 4] [--quick]

Needs ROS 2. Fused: steps of the compiled loop. Lockstep: the nodes simulator and hydraulic_actuators, one
exchange of leg states and forces per step of 1 ms. Freely: both by their own clocks at 1 kHz, the platform
pushed once on closed valves; how its motion grows or dies is measured for oil columns of several stiffnesses,
beside what a delay of one or two ticks does without processes. A mode grows unless w h < 2 zeta / ticks.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.simulation import FusedHydraulics, Stepper

SPACE = "/exchange"
STEP = 1e-3
#: bulk moduli of the oil [Pa], constant, that are tried freely
MODULI = (1.2e9, 7.5e7, 2e7, 5e6)
NO_FRICTION = "platform.hydraulics.friction.coulomb=0.0", "platform.hydraulics.friction.static=0.0"


def main() -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated seconds in lockstep; 0: none")
    parser.add_argument("--watch", type=float, default=4.0, help="seconds that free runs are watched")
    arguments = parser.parse_args()
    fused_seconds, delayed_seconds, moduli = 60.0, 2.0, MODULI
    if arguments.quick:
        arguments.seconds, arguments.watch = 0.1, 1.0
        fused_seconds, delayed_seconds, moduli = 0.5, 0.1, MODULI[:1]
    fused = steps_fused(round(fused_seconds / STEP))
    say(f"fused: {fused:.0f} steps/s of 1 ms, {1e6 / fused:.1f} us a step")
    if arguments.seconds > 0.0:
        found = steps_in_lockstep(arguments.seconds)
        say(f"lockstep: {found:.0f} steps/s, {1e6 / found:.0f} us an exchange; fused {fused / found:.0f}x")
    say("freely at 1 kHz, closed valves, friction viscous only; rate of growth of the legs' speeds:")
    for beta in moduli:
        rate, seen, fastest = free_run(beta, arguments.watch)
        one, two = (delayed(beta, ticks, delayed_seconds) for ticks in (1, 2))
        # a tick of delay more adds w^2 h / 2 to the rate of growth
        ticks = 1.0 + (rate - one) / (0.5 * fastest**2 * STEP)
        say(
            f"  beta {beta:.2g} Pa, fastest mode {fastest / 2 / np.pi:.1f} Hz: {rate:+.1f} 1/s between "
            f"processes ({seen}), as a delay of {ticks:.0f} ticks makes it; {one:+.1f} with one tick, "
            f"{two:+.1f} with two"
        )
    return 0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


# ---- in one process ----


def steps_fused(steps: int) -> float:
    """Steps a second of the compiled loop with cylinders, force control."""
    robot = flexdyn_ros.load("stewart_1t")
    rest = np.zeros(6)
    stepper = Stepper(robot, STEP)
    cylinders = FusedHydraulics(stepper)
    cylinders.command(robot.inverse_dynamics(robot.neutral(), rest, rest))
    stepper.advance(100)
    begin = time.perf_counter()
    if stepper.advance(steps):
        raise SystemExit(stepper.message)
    return steps / (time.perf_counter() - begin)


def options(beta: float) -> list[str]:
    """Overrides `path=value` for oil of one bulk modulus, without dry friction."""
    fluid = "platform.hydraulics.fluid"
    return [
        f"{fluid}.model=constant",
        f"{fluid}.air_fraction=null",
        f"{fluid}.bulk_modulus={beta}",
        *NO_FRICTION,
    ]


def soft(beta: float):
    import yaml

    return flexdyn_ros.load(
        "stewart_1t", options={k: yaml.safe_load(v) for k, v in (o.split("=") for o in options(beta))}
    )


def delayed(beta: float, ticks: int, seconds: float) -> float:
    """Rate of growth [1/s] of the motion when forces reach the platform so many ticks late."""
    robot = soft(beta)
    hydraulics, rest = robot.hydraulics, np.zeros(6)
    stepper = Stepper(robot, STEP, "rk4", v0=push(robot))
    hold = robot.inverse_dynamics(robot.neutral(), rest, rest)
    state = hydraulics.initial(hold)
    waiting, speeds = [hold] * ticks, []
    for _ in range(round(seconds / STEP)):
        legs = robot.inverse_kinematics(stepper.q.copy(), stepper.v.copy())
        speeds.append(np.linalg.norm(legs.rate))
        state = hydraulics.step(state, legs.length, legs.rate, rest, STEP)
        waiting.append(state.force)
        if stepper.advance(1, waiting.pop(0)) or speeds[-1] > 1.0:
            break
    return growth(STEP * np.arange(len(speeds)), np.array(speeds))


def push(robot) -> np.ndarray:
    """A small speed (6,) of the fastest mode."""
    shape = robot.modes(robot.neutral()).shape[:, -1]
    return 0.02 * shape / abs(shape).max()


def growth(t: np.ndarray, speed: np.ndarray) -> float:
    """Slope [1/s] of the logarithm of the largest speeds in tenths of the time."""
    parts = np.array_split(np.arange(t.size), 10)
    top = np.array([speed[p].max() for p in parts])
    return float(np.polyfit([t[p].mean() for p in parts], np.log(np.maximum(top, 1e-12)), 1)[0])


# ---- between processes ----


class Nodes:
    """simulator and hydraulic_actuators with parameters, and a node that talks to them; killed at the end."""

    def __init__(self, lockstep: bool, simulator: list[str], both: list[str]) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        self._folder = tempfile.TemporaryDirectory()
        common = ["--ros-args", "-r", f"__ns:={SPACE}", "-p", "description_file:=stewart_1t", *both]
        common += ["-p", f"lockstep:={str(lockstep).lower()}"]
        self._nodes = [
            self._start("simulator", [*common, "-p", "hydraulics:=external", *simulator]),
            self._start(
                "hydraulic_actuators",
                [*common, "-p", "command_timeout:=3600.0", "-r", "~/leg_state:=leg_states",
                 "-r", "~/leg_force:=joint_commands"],
            ),
        ]  # fmt: skip
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("bench_exchange", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def _start(self, name: str, arguments: list[str]) -> subprocess.Popen:
        log = (Path(self._folder.name) / f"{name}.txt").open("w")
        return subprocess.Popen(
            [sys.executable, "-m", f"flexdyn_ros.nodes.{name}", *arguments], stdout=log, stderr=log
        )

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_) -> None:
        for process in self._nodes:
            process.terminate()
        for process in self._nodes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()
        self._folder.cleanup()

    def call(self, kind, name: str, **fields):
        """The answer of a service of the nodes."""
        client = self.node.create_client(kind, f"{SPACE}/{name}")
        if not client.wait_for_service(120.0):
            raise SystemExit(f"no service {name}")
        # a server may come to know a client later than the client knows the server
        self.spin(0.3)
        future = client.call_async(kind.Request(**fields))
        self.executor.spin_until_future_complete(future, 600.0)
        return future.result()

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def tell_closed_valves(self) -> None:
        """A command, which the cylinders wait for."""
        from std_srvs.srv import SetBool

        from flexdyn_interfaces.msg import HydraulicCommand

        publisher = self.node.create_publisher(HydraulicCommand, f"{SPACE}/hydraulic_actuators/command", 1)
        while " 0 commands" in self.call(SetBool, "hydraulic_actuators/enable", data=True).message:
            publisher.publish(HydraulicCommand(values=[0.0] * 6))
            self.spin(0.1)


def steps_in_lockstep(seconds: float) -> float:
    """Steps a second when each needs an exchange between two processes."""
    from flexdyn_interfaces import srv

    with Nodes(True, ["-p", "start_paused:=true", "-p", "thread_priority:=0"], []) as nodes:
        nodes.tell_closed_valves()
        nodes.call(srv.Step, "simulator/step", steps=100)
        begin = time.perf_counter()
        answer = nodes.call(srv.Step, "simulator/step", steps=round(seconds / STEP))
        took = time.perf_counter() - begin - 0.3
    if not answer.success:
        raise SystemExit(answer.message)
    return seconds / STEP / took


def free_run(beta: float, seconds: float) -> tuple[float, str, float]:
    """Growth [1/s] of the legs' speeds with both nodes at 1 kHz, what was seen, and the fastest mode [rad/s].

    The platform rests on its cylinders until a push of 20 ms.
    """
    from builtin_interfaces.msg import Duration
    from geometry_msgs.msg import Vector3, Wrench
    from sensor_msgs.msg import JointState

    from flexdyn_interfaces import srv
    from flexdyn_interfaces.msg import ExternalWrench

    robot = soft(beta)
    samples: list[tuple[float, float]] = []

    def keep(message: JointState) -> None:
        stamp = message.header.stamp
        samples.append((stamp.sec + 1e-9 * stamp.nanosec, float(np.linalg.norm(message.velocity))))

    quoted = ", ".join(f"'{option}'" for option in options(beta))
    with Nodes(False, ["-p", "thread_priority:=0"], ["-p", f"options:=[{quoted}]"]) as nodes:
        nodes.tell_closed_valves()
        nodes.call(srv.GetState, "simulator/get_dynamics_state")
        nodes.node.create_subscription(JointState, f"{SPACE}/leg_states", keep, 10)
        kick = ExternalWrench(frame="platform", wrench=Wrench(force=Vector3(x=600.0, y=300.0, z=500.0)))
        brief = Duration(nanosec=20_000_000)
        nodes.call(srv.ApplyWrench, "simulator/apply_wrench", wrench=kick, duration=brief)
        nodes.spin(seconds)
    if len(samples) < 100:
        raise SystemExit(f"only {len(samples)} leg states came")
    t, speed = np.array(samples).T
    fastest = 2 * np.pi * float(robot.modes(robot.neutral()).frequency[-1])
    begin = int(np.argmax(speed > 2e-4))
    pushed = begin + int(np.searchsorted(t[begin:] - t[begin], 0.04))
    first, top = float(speed[begin:pushed].max()), float(speed[pushed:].max())
    # a motion that grows is followed to what the nodes still let pass, one that dies to its end
    end = pushed + int(np.argmax(speed[pushed:] > min(0.5, 0.9 * top))) if top > 3.0 * first else t.size
    t, speed = t[pushed : max(end, pushed + 20)], speed[pushed : max(end, pushed + 20)]
    seen = f"from {1e3 * first:.1f} to {1e3 * speed[-20:].max():.1f} mm/s in {t[-1] - t[0]:.2f} s"
    return growth(t, speed), seen, fastest


if __name__ == "__main__":
    sys.exit(main())
