"""Whether all nodes run for an hour at 1 kHz: memory, lost samples, drift.

    python benchmarks/bench_hour.py [--robot ROBOT] [--platform PLATFORM] [--seconds 3600] [--folder FOLDER]
        [--domain ROS_DOMAIN_ID] [--json FILE] [--quick]

An arm: simulator with a recording, pd_controller, state_publisher and dynamics_server; a platform: simulator
with a recording and hydraulic_actuators, in lockstep. Steps, states, commands and leg forces at 1 kHz;
meanwhile the arm gets trajectories, the cylinders valve commands and the server requests.

Must hold, however busy the machine: every node runs to the end, and ends with exit code 0; both simulators
go on all the time; no state is
missing in a recording; every step of the platform has a force of its own; memory that is no mapped file grows
by less than 4 MB/h (a byte a sample) after the first fifth of the run. Depend on the machine, and are told:
simulated per wall time, late ticks, states that a listener misses, states that the controller leaves out.
Exit code 1 if something does not hold.
"""

from __future__ import annotations

import json
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import program
import yaml

#: bounds of the figures: growth of memory [MB/h], and of that fit the share of the run that is left out first
MOST_GROWTH, SETTLING = 4.0, 0.2
#: time of a file of a recording [s]: their indices are in memory until they end
SPLIT = 300.0
#: seconds without an advance of simulated time, between two reports, that no busy machine explains
LONGEST_STANDSTILL = 20.0
#: seconds between samples of memory, and what runs at least for a fit that is judged
INTERVAL, SHORTEST = 5.0, 600.0
PERIOD_NS = 1_000_000


def main() -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--robot", default="seven_joint_arm")
    parser.add_argument("--platform", default="stewart_1t")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--folder", type=Path, help="where recordings and logs are kept; default: nowhere")
    parser.add_argument("--domain", type=int, help="ROS_DOMAIN_ID of the nodes")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds = 3.0
    if arguments.domain is not None:
        os.environ["ROS_DOMAIN_ID"] = str(arguments.domain)
    with tempfile.TemporaryDirectory(prefix="bench_hour_") as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = run(arguments.robot, arguments.platform, arguments.seconds, folder)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return tell(figures)


# ---- the nodes ----


def commands(robot: str, platform: str, folder: Path) -> dict[str, list[str]]:
    """The command line of each node, by a name for it."""

    def node(space: str, module: str, description: str, *more: str) -> list[str]:
        command = [sys.executable, "-m", f"flexdyn_ros.nodes.{module}", "--ros-args", "-r", f"__ns:=/{space}"]
        # apart, so that what is told of one robot does not wait behind the other
        return [*command, "-r", "/diagnostics:=diagnostics", "-p", f"description_file:={description}", *more]

    def simulator(space: str, description: str, *more: str) -> list[str]:
        given = ["-p", "publish_rate_hz:=1000.0", "-p", f"record_file:={folder / space}"]
        given += ["-p", f"record_split_duration:={SPLIT}"]
        # ordinary scheduling, and a clock of its own: the others on this machine go on
        given += ["-p", "thread_priority:=0", "-r", "/clock:=clock"]
        return node(space, "simulator", description, *given, *more)

    wiring = ["-r", "~/leg_state:=leg_states", "-r", "~/leg_force:=joint_commands"]
    return {
        "arm/simulator": simulator("arm", robot, "-p", "before_first_command:=hold"),
        "arm/pd_controller": node("arm", "pd_controller", robot, "-p", "state_rate_hz:=1000.0"),
        "arm/state_publisher": node("arm", "state_publisher", robot),
        "arm/dynamics_server": node("arm", "dynamics_server", robot),
        "platform/simulator": simulator("platform", platform, "-p", "hydraulics:=external"),
        "platform/hydraulic_actuators": node("platform", "hydraulic_actuators", platform, *wiring),
    }


@contextmanager
def running(name: str, command: list[str], folder: Path) -> Iterator[subprocess.Popen]:
    """A node; killed when the block ends."""
    with (folder / f"{name.replace('/', '_')}.txt").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def run(robot: str, platform: str, seconds: float, folder: Path) -> dict[str, Any]:
    """Figures of one run."""
    with ExitStack() as stack:
        nodes = {
            name: stack.enter_context(running(name, command, folder))
            for name, command in commands(robot, platform, folder).items()
        }
        watch = stack.enter_context(Watch(robot))
        watch.wait_until_ready(nodes)
        memory, cpu, elapsed = observe(watch, nodes, seconds)
        alive = {name: node.poll() is None for name, node in nodes.items()}
        for node in nodes.values():
            node.send_signal(signal.SIGINT)
        codes = {name: node.wait(60) for name, node in nodes.items()}
    return {
        "seconds": seconds,
        "memory": {name: growth(samples, seconds) for name, samples in memory.items()},
        "cpu_percent": {name: 100.0 * cpu[name] / elapsed for name in nodes},
        "alive": alive,
        "exit_codes": codes,
        "pace": watch.pace(),
        "forces": watch.forces(),
        "listener": {"received": watch.received, "missing": watch.missing},
        "controller": {"states": watch.received, "commands": watch.commands},
        "server": {"asked": watch.asked, "answered": watch.answered},
        "recordings": {
            space: recording(folder / space, f"/{space}/simulator/state") for space in ("arm", "platform")
        },
    }


def observe(
    watch: Watch, nodes: dict[str, subprocess.Popen], seconds: float
) -> tuple[dict[str, list[tuple[float, float]]], dict[str, float], float]:
    """Memory (time [s], [MB]) of each process and of this one, processor time [s] of each, and wall time."""
    memory: dict[str, list[tuple[float, float]]] = {name: [] for name in [*nodes, "this program"]}
    pids = {name: node.pid for name, node in nodes.items()} | {"this program": os.getpid()}
    before = {name: cpu_seconds(pid) for name, pid in pids.items() if name in nodes}
    begin = time.monotonic()
    interval = min(INTERVAL, seconds / 10.0)
    watch.begin()
    due = begin
    while (now := time.monotonic()) < begin + seconds:
        if now >= due:
            due += interval
            for name, pid in pids.items():
                if name == "this program" or nodes[name].poll() is None:
                    memory[name].append((now - begin, megabytes(pid)))
        watch.act()
        watch.spin()
    watch.end()
    cpu = {
        name: cpu_seconds(pids[name]) - before[name] if node.poll() is None else math.nan
        for name, node in nodes.items()
    }
    return memory, cpu, time.monotonic() - begin


class Watch:
    """A node that keeps the others busy, hears what they say, and counts."""

    def __init__(self, robot: str) -> None:
        import rclpy
        from builtin_interfaces.msg import Duration
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        import flexdyn_ros
        from flexdyn_interfaces.msg import DynamicsState, HydraulicCommand
        from flexdyn_interfaces.srv import InverseDynamics

        arm = flexdyn_ros.load(robot)
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node("bench_hour", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        deep = QoSProfile(depth=5000)
        listen = self._node.create_subscription
        for space in ("arm", "platform"):
            listen(DiagnosticArray, f"/{space}/diagnostics", partial(self._on_diagnostics, space), 100)
        listen(DynamicsState, "/arm/simulator/state", self._on_state, deep, raw=True)
        listen(JointState, "/arm/joint_commands", self._on_command, deep, raw=True)
        self._valves = self._node.create_publisher(
            HydraulicCommand, "/platform/hydraulic_actuators/command", 10
        )
        self._paths = self._node.create_publisher(JointTrajectory, "/arm/pd_controller/joint_trajectory", 10)
        self._server = self._node.create_client(InverseDynamics, "/arm/dynamics_server/inverse_dynamics")
        joints = [c for c in arm.coordinates if c.actuated]
        self._trajectories = []
        for share in (0.1, 0.0):
            point = JointTrajectoryPoint(
                positions=[share] * len(joints),
                velocities=[0.0] * len(joints),
                time_from_start=Duration(sec=4),
            )
            self._trajectories.append(JointTrajectory(joint_names=[c.name for c in joints], points=[point]))
        self._make_valves = lambda x: HydraulicCommand(mode=HydraulicCommand.VALVE, values=[x] * 6)
        zeros = np.zeros(arm.nv).tolist()
        self._request = InverseDynamics.Request(
            samples=1, positions=arm.neutral().tolist(), velocities=zeros, accelerations=zeros
        )
        self._answer: Any = None
        self._due = {"valves": 0.0, "path": 0.0, "request": 0.0}
        self._last = -1
        self.received = self.missing = self.commands = self.asked = self.answered = 0
        self._statuses: dict[tuple[str, str], dict[str, str]] = {}
        self._first: dict[tuple[str, str], dict[str, str]] = {}
        self._reports: dict[str, int] = {}
        self._moved: dict[str, tuple[str, float]] = {}
        self.standstill: dict[str, float] = {}

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def wait_until_ready(self, nodes: dict[str, subprocess.Popen], patience: float = 300.0) -> None:
        """Until every node does its work."""
        deadline = time.monotonic() + patience
        while not self._is_working():
            for name, node in nodes.items():
                if node.poll() is not None:
                    raise RuntimeError(f"{name} ended with exit code {node.returncode} before it was ready")
            if time.monotonic() > deadline:
                raise RuntimeError(f"not ready within {patience:g} s: {self._statuses}")
            self.act()
            self.spin()

    def begin(self) -> None:
        """Count from now on."""
        self._hear_reports()
        self.received = self.missing = self.commands = 0
        self.standstill.clear()
        self._first, self._begun = dict(self._statuses), time.monotonic()

    def end(self) -> None:
        """Count until now."""
        self._hear_reports()
        self._wall = time.monotonic() - self._begun

    def _hear_reports(self) -> None:
        """One more of each simulator; they come once a second."""
        deadline, before = time.monotonic() + 10.0, dict(self._reports)
        while time.monotonic() < deadline and any(
            self._reports.get(space, 0) <= before.get(space, 0) for space in ("arm", "platform")
        ):
            self.act()
            self.spin()

    def spin(self) -> None:
        self._executor.spin_once(timeout_sec=0.01)

    def act(self) -> None:
        """Send what is due: valve commands at 50 Hz, requests at 10 Hz, a trajectory every five seconds."""
        now = time.monotonic()
        if self._is_due("valves", now, 0.02):
            self._valves.publish(self._make_valves(0.05 * math.sin(2.0 * math.pi * 0.5 * now)))
        if self._is_due("path", now, 5.0):
            self._trajectories.reverse()
            self._paths.publish(self._trajectories[0])
        if self._is_due("request", now, 0.1) and self._server.service_is_ready():
            self._ask(now)

    def _ask(self, now: float) -> None:
        """One request at a time; one that is not answered within ten seconds is given up."""
        if self._answer is not None and not self._answer.done() and now < self._given_up:
            return
        self._answer, self._given_up = self._server.call_async(self._request), now + 10.0
        self._answer.add_done_callback(self._on_answer)
        self.asked += 1

    def _is_due(self, what: str, now: float, interval: float) -> bool:
        if now < self._due.setdefault(what, 0.0):
            return False
        self._due[what] = now + interval
        return True

    # ---- what comes in ----

    def _on_answer(self, future: Any) -> None:
        if future.result().success:
            self.answered += 1

    def _on_state(self, message: bytes) -> None:
        stamp = _stamp(message)
        if self._last >= 0:
            self.missing += max(0, round((stamp - self._last) / PERIOD_NS) - 1)
        self._last = stamp
        self.received += 1

    def _on_command(self, message: bytes) -> None:
        self.commands += 1

    def _on_diagnostics(self, space: str, message: Any) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            name = status.name.removeprefix(f"/{space}/")
            self._statuses[space, name] = values
            if name == "simulator: simulation":
                self._reports[space] = self._reports.get(space, 0) + 1
                self._note_time(space, values["time"])

    def _note_time(self, space: str, simulated: str) -> None:
        """How long simulated time stood still at most."""
        now = time.monotonic()
        before, since = self._moved.get(space, ("", now))
        if simulated != before:
            self._moved[space] = (simulated, now)
        self.standstill[space] = max(self.standstill.get(space, 0.0), now - since)

    # ---- figures ----

    def _is_working(self) -> bool:
        legs = self._statuses.get(("platform", "simulator: legs"), {})
        return (
            ("arm", "simulator: simulation") in self._statuses
            and int(legs.get("forces_taken", 0)) > 100
            and min(self.received, self.commands) > 100
            and self._server.service_is_ready()
        )

    def pace(self) -> dict[str, dict[str, float]]:
        """How each simulator kept to wall time since `begin`."""
        out = {}
        for space in ("arm", "platform"):
            first, last = (one[space, "simulator: simulation"] for one in (self._first, self._statuses))
            change = {key: int(last[key]) - int(first[key]) for key in ("ticks", "late_ticks", "overruns")}
            simulated = _number(last["time"]) - _number(first["time"])
            out[space] = change | {
                "simulated": simulated,
                "wall": self._wall,
                "standstill": self.standstill[space],
                "messages_lost": int(last["messages_lost"]),
                "lateness_median_us": _number(last["lateness_median"]),
                "lateness_p99_us": _number(last["lateness_p99"]),
                "energy_balance_error": _number(last["energy_balance_error"]),
            }
        return out

    def forces(self) -> dict[str, int]:
        """Steps of the platform, and forces that it took for them, since its start."""
        simulation = self._statuses["platform", "simulator: simulation"]
        legs = self._statuses["platform", "simulator: legs"]
        return {
            "steps": round(_number(simulation["time"]) / _number(simulation["step"])),
            "taken": int(legs["forces_taken"]),
            "repeated_or_late": int(legs["forces_repeated_or_late"]),
        }


def _number(text: str) -> float:
    """Of "12.5 us"."""
    return float(text.split()[0])


def _stamp(message: bytes) -> int:
    """Stamp [ns] of a message in CDR that begins with a header."""
    seconds, nanoseconds = struct.unpack_from("<iI", message, 4)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


# ---- measures (Linux) ----


def megabytes(pid: int) -> float:
    """Memory of a process that is no file: what it has made itself, and what it shares with others [MB]."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if line.startswith(("RssAnon", "RssShmem")))
    return sum(int(text.split()[0]) for text in found.values()) / 1024.0


def cpu_seconds(pid: int) -> float:
    """Processor time of a process until now [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def growth(samples: list[tuple[float, float]], seconds: float) -> dict[str, float]:
    """Memory [MB] when it has settled, at the end and at most, and its growth since then [MB/h]."""
    t, m = np.array(samples).T
    settled = t >= SETTLING * seconds
    slope = np.polyfit(t[settled], m[settled], 1)[0] if settled.sum() > 2 else math.nan
    return {
        "first": float(m[0]),
        "settled": float(m[settled][0]) if settled.any() else math.nan,
        "last": float(m[-1]),
        "largest": float(m.max()),
        "growth_per_hour": float(3600.0 * slope),
    }


def recording(folder: Path, topic: str) -> dict[str, Any]:
    """States in a split recording, and how many are missing between the first and the last; from the index of
    its chunks, unpacking none."""
    listed = yaml.safe_load((folder / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    files = [folder / name for name in listed["relative_file_paths"]]
    stamps = [times for file in files for times in _stamps(file, topic)]
    t = np.concatenate(stamps)
    # the state at activation comes before the first tick
    steps = np.diff(t.astype(np.int64))[2:]
    wrong = steps[steps != PERIOD_NS]
    return {
        "states": len(t),
        "missing": int(np.maximum(np.round(wrong / PERIOD_NS) - 1, 1).sum()) if len(wrong) else 0,
        "seconds": float((t[-1] - t[0]) * 1e-9),
        "megabytes": sum(file.stat().st_size for file in files) / 1e6,
    }


def _stamps(path: Path, topic: str) -> Iterator[np.ndarray]:
    """Times [ns] of the messages of a topic, chunk by chunk."""
    from mcap.reader import make_reader

    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
        channel = next(c.id for c in summary.channels.values() if c.topic == topic)
        for chunk in summary.chunk_indexes:
            at = chunk.message_index_offsets.get(channel)
            if at is None:
                continue
            file.seek(at)
            # opcode, length of the record, channel, length of the array of (time, offset)
            _, _, _, size = struct.unpack("<BQHI", file.read(15))
            yield np.frombuffer(file.read(size), dtype="<u8")[::2]


# ---- the table ----


def tell(figures: dict[str, Any]) -> int:
    """Print the figures; the exit code."""
    is_judged = figures["seconds"] >= SHORTEST
    faults = []
    print(f"{figures['seconds']:g} s at 1 kHz, all nodes")
    print("  memory [MB]                     settled    last  largest   growth/h     CPU")
    for name, m in figures["memory"].items():
        cpu = figures["cpu_percent"].get(name)
        share = f"{cpu:5.1f} %" if cpu is not None and math.isfinite(cpu) else "      -"
        rate = f"{m['growth_per_hour']:8.2f}" if is_judged else "       -"
        print(f"  {name:30s} {m['settled']:8.1f} {m['last']:7.1f} {m['largest']:8.1f}   {rate}   {share}")
        if is_judged and name != "this program" and not m["growth_per_hour"] < MOST_GROWTH:
            faults.append(f"memory of {name} grows by {m['growth_per_hour']:.2f} MB/h")
    for space, p in figures["pace"].items():
        print(
            f"  {space}: {p['simulated']:.2f} s simulated in {p['wall']:.2f} s "
            f"({p['simulated'] / p['wall']:.4f} of real time), {100.0 * p['late_ticks'] / p['ticks']:.2f} % "
            f"of {p['ticks']} ticks more than 2 ms late, {p['overruns']} overruns, lateness median "
            f"{p['lateness_median_us']:.0f} us, p99 {p['lateness_p99_us']:.0f} us; longest standstill "
            f"{p['standstill']:.1f} s, {p['messages_lost']} messages refused by the middleware"
        )
        if p["standstill"] > LONGEST_STANDSTILL:
            faults.append(f"the {space} stood still for {p['standstill']:.0f} s")
    for space, r in figures["recordings"].items():
        print(
            f"  recording of {space}: {r['states']} states, {r['missing']} missing; {r['megabytes']:.0f} MB"
        )
        if r["missing"]:
            faults.append(f"{r['missing']} states are missing in the recording of {space}")
    f = figures["forces"]
    print(
        f"  platform in lockstep: {f['steps']} steps, {f['taken']} forces taken, {f['repeated_or_late']} "
        "repeated or late"
    )
    if f["steps"] != f["taken"]:
        faults.append(f"{f['steps']} steps of the platform took {f['taken']} forces")
    listener, controller, server = figures["listener"], figures["controller"], figures["server"]
    print(f"  a listener: {listener['received']} states received, {listener['missing']} missing")
    print(f"  pd_controller: {controller['commands']} commands for {controller['states']} states")
    print(f"  dynamics_server: {server['answered']} of {server['asked']} requests answered")
    faults += [f"{name} ended early" for name, alive in figures["alive"].items() if not alive]
    faults += [f"{name} ended with exit code {c}" for name, c in figures["exit_codes"].items() if c]
    print("  holds" if not faults else "  DOES NOT HOLD: " + "; ".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
