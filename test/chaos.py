"""Nodes that are killed, stopped, reset, flooded and told wrong times at random, and whether they recover.

Two robots in namespaces of their own: a platform (simulator with a recording, hydraulic_actuators) and an arm
(simulator with a recording, pd_controller). A `Storm` draws events from a seed; `calm` then asks whether all
goes on, or says what it waits for.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import patch

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from node_process import PATIENCE, Client, NodeProcess
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState
from flexdyn_interfaces.srv import Step
from flexdyn_ros.simulation import records

#: seconds within which a node must go on, or say what it waits for
SOON = 2.0
#: what each may say instead of going on, in diagnostics or log
WAITING = {
    "simulator": re.compile(r"the simulation pauses|waits for reset|expected reset|stopped: "),
    "hydraulic_actuators": re.compile(r"waiting for|no leg state|until reset"),
    "pd_controller": re.compile(r"waiting for"),
}
LEGS = [f"leg_{i}" for i in range(1, 7)]
PLATFORM, ARM = "/platform", "/arm"
#: events, and how often each is drawn
EVENTS = {"kill": 4, "restart": 3, "reset": 4, "stop": 4, "flood": 3, "clock": 3, "pause": 1, "step": 1}
#: the topic that shows that a node goes on
SIGNS = {
    "platform/simulator": (JointState, f"{PLATFORM}/joint_states"),
    "platform/hydraulic_actuators": (HydraulicState, f"{PLATFORM}/hydraulic_actuators/hydraulic_state"),
    "arm/simulator": (JointState, f"{ARM}/joint_states"),
    "arm/pd_controller": (JointTrajectory, f"{ARM}/pd_controller/controller_state"),
}


class Node:
    """One node through its lives."""

    def __init__(self, name: str, arguments: list[str], folder: Path) -> None:
        self.name, self._arguments, self._folder = name, arguments, folder
        self.lives = 0
        self.is_stopped = False
        #: told to end by itself: at this time, and whether it had been ready
        self.told: float | None = None
        self.start()

    def start(self) -> None:
        self.lives += 1
        self.told, self.is_stopped, self._is_ready = None, False, False
        space, module = self.name.split("/")
        at = self._folder / f"{space}_{module}_{self.lives}"
        record = ["-p", f"record_file:={at}.mcap"] if module == "simulator" else []
        self.process = NodeProcess(module, *self._arguments, *record, log=at.with_suffix(".txt"))

    @property
    def is_ready(self) -> bool:
        self._is_ready = self._is_ready or "ready:" in self.process.text()
        return self._is_ready

    @property
    def alive(self) -> bool:
        return self.process.alive

    def kill(self) -> None:
        self.process.process.kill()
        self.process.process.wait()

    def signal(self, number: signal.Signals) -> None:
        self.process.process.send_signal(number)

    def waited(self) -> float:
        """Seconds that its threads stood in line for a processor: a busy machine is slow, not broken."""
        total = 0
        for path in Path(f"/proc/{self.process.process.pid}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[1])
            except (OSError, IndexError):
                continue
        return 1e-9 * total


class Storm:
    """The nodes and what happens to them.

    Parameters
    ----------
    client : Client
        Of the test.
    folder : Path
        For logs and recordings.
    seed : int
    lockstep : bool
        The platform waits for its forces; else everybody runs by the clock that this process publishes.
    """

    def __init__(self, client: Client, folder: Path, seed: int, lockstep: bool) -> None:
        self.client, self.folder, self.seed, self.lockstep = client, folder, seed, lockstep
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.slowest: dict[str, float] = {}
        self.said: Counter[str] = Counter()
        self.history: list[str] = []
        self._later: list[tuple[float, object]] = []
        self._jump = 0.0
        self._clock_due = 0.0
        self.nodes = {name: Node(name, self._arguments(name), folder) for name in SIGNS}
        self.statuses: dict[str, dict[str, tuple[float, object]]] = {}
        self._listen()

    def __enter__(self) -> Storm:
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.process.__exit__()

    def _arguments(self, name: str) -> list[str]:
        space, module = name.split("/")
        robot = "stewart_1t" if space == "platform" else "two_link"
        given = ["-r", f"__ns:=/{space}", "-r", "/diagnostics:=diagnostics"]
        parameters = {"description_file": robot}
        if module == "simulator":
            parameters |= {"publish_rate_hz": 50.0, "thread_priority": 0, "before_first_command": "hold"}
            parameters |= {"use_clock": str(self.lockstep).lower(), "command_timeout": 0.3}
        if space == "platform":
            parameters |= {"lockstep": str(self.lockstep).lower()}
            parameters |= {"hydraulics": "external"} if module == "simulator" else {}
        if module == "hydraulic_actuators":
            given += ["-r", "~/leg_state:=leg_states", "-r", "~/leg_force:=joint_commands"]
            parameters |= {"state_timeout": 0.2}
        if module == "pd_controller":
            parameters |= {"state_rate_hz": 50.0}
        # in lockstep each simulator owns a clock, and others go by it
        if self.lockstep:
            given += ["-r", "/clock:=clock"]
        if not self.lockstep or module != "simulator":
            parameters |= {"use_sim_time": "true"}
        return given + [text for key, value in parameters.items() for text in ("-p", f"{key}:={value}")]

    def _listen(self) -> None:
        for kind, topic in SIGNS.values():
            self.client.listen(kind, topic)
        for space in (PLATFORM, ARM):
            self.client.node.create_subscription(
                DiagnosticArray, f"{space}/diagnostics", partial(self._on_diagnostics, space), 10
            )
        create = self.client.node.create_publisher
        self._clocks = [
            create(Clock, f"{s}/clock" if self.lockstep else "/clock", 1) for s in (PLATFORM, ARM)
        ]
        self._valves = create(HydraulicCommand, f"{PLATFORM}/hydraulic_actuators/command", 10)
        self._joints = {space: create(JointState, f"{space}/joint_commands", 10) for space in (PLATFORM, ARM)}
        self._path = create(JointTrajectory, f"{ARM}/pd_controller/joint_trajectory", 10)
        self._services = {
            (kind, name): self.client.node.create_client(kind, name)
            for kind, name in (
                *((Trigger, f"/{n}/reset") for n in SIGNS if n != "arm/pd_controller"),
                *(
                    (Trigger, f"{s}/simulator/{verb}")
                    for s in (PLATFORM, ARM)
                    for verb in ("pause", "resume")
                ),
                *((Step, f"{s}/simulator/step") for s in (PLATFORM, ARM)),
            )
        }

    def _on_diagnostics(self, space: str, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.removeprefix(f"{space}/")
            self.statuses.setdefault(space, {})[name] = (time.monotonic(), status)

    # ---- time ----

    def spin(self, seconds: float) -> None:
        """Let time pass: messages come, what was put off happens, and the clock goes on."""
        end = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            due = [one for one in self._later if one[0] <= now]
            self._later = [one for one in self._later if one[0] > now]
            for _, act in due:
                act()
            self._look_after_the_told()
            if not self.lockstep and now >= self._clock_due:
                self._clock_due = now + 0.01
                self._publish_clock(now + self._jump)
                self._valves.publish(HydraulicCommand(values=[0.02] * 6))
            if now >= end:
                return
            self.client._executor.spin_once(timeout_sec=0.005)

    def _publish_clock(self, seconds: float) -> None:
        nanoseconds = round((1000.0 + seconds) * 1e9)
        stamp = Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        for publisher in self._clocks:
            publisher.publish(Clock(clock=stamp))

    def _in(self, seconds: float, act) -> None:
        self._later.append((time.monotonic() + seconds, act))

    def _look_after_the_told(self) -> None:
        """Nodes that were told to end start again, once they have; their exit code is looked at."""
        for node in self.nodes.values():
            if node.told is not None and not node.alive:
                code = node.process.process.returncode
                assert code == 0, self.complain(f"{node.name} ended with exit code {code}", node)
                node.start()
            elif node.told is not None:
                late = time.monotonic() - node.told > 30.0 + node.waited()
                assert not late, self.complain(f"{node.name} does not end", node)

    # ---- events ----

    def rage(self, events: int) -> None:
        """So many events, some of them while the last is not over."""
        for _ in range(events):
            event = self.random.choices(list(EVENTS), list(EVENTS.values()))[0]
            target = self.random.choice(list(self.nodes))
            self.counts[event] += 1
            self.history.append(f"{event} {target}")
            getattr(self, f"_{event}")(self.nodes[target])
            self.spin(self.random.choice((0.0, 0.05, 0.2, 0.5)))
            self._check_the_living()

    def _check_the_living(self) -> None:
        """Nobody ends who was not made to end."""
        for node in self.nodes.values():
            waits = any(getattr(act, "__self__", None) is node for _, act in self._later)
            assert node.alive or node.told is not None or waits, self.complain(
                f"{node.name} ended by itself with exit code {node.process.process.returncode}", node
            )

    def _kill(self, node: Node) -> None:
        if node.alive and node.told is None:
            node.kill()
            self._in(self.random.choice((0.0, 0.3, 1.5)), node.start)

    def _restart(self, node: Node) -> None:
        """Told to end once it is ready, where a signal is its business; else killed."""
        if not node.alive or node.told is not None:
            return
        if not node.is_ready or node.is_stopped:
            self._kill(node)
            return
        node.told = time.monotonic()
        for _ in range(self.random.choice((1, 2))):
            node.signal(self.random.choice((signal.SIGINT, signal.SIGTERM)))

    def _stop(self, node: Node) -> None:
        if not node.alive or node.is_stopped:
            return
        life = node.lives
        node.signal(signal.SIGSTOP)
        node.is_stopped = True

        def go_on() -> None:
            if node.lives == life and node.alive:
                node.signal(signal.SIGCONT)
                node.is_stopped = False

        self._in(self.random.choice((0.02, 0.2, 1.0)), go_on)

    def _reset(self, node: Node) -> None:
        name = node.name if node.name != "arm/pd_controller" else "arm/simulator"
        self._ask(Trigger, f"/{name}/reset")

    def _pause(self, node: Node) -> None:
        space = f"/{node.name.split('/')[0]}/simulator"
        self._ask(Trigger, f"{space}/pause")
        self._in(0.3, lambda: self._ask(Trigger, f"{space}/resume"))

    def _step(self, node: Node) -> None:
        space = f"/{node.name.split('/')[0]}/simulator"
        self._ask(Step, f"{space}/step", steps=self.random.choice((1, 50, 1000)))
        self._in(0.3, lambda: self._ask(Trigger, f"{space}/resume"))

    def _ask(self, kind, name: str, **fields) -> None:
        """A request whose answer nobody waits for."""
        client = self._services[kind, name]
        if client.service_is_ready():
            client.call_async(kind.Request(**fields))

    def _flood(self, node: Node) -> None:
        """Several hundred commands at once, most of them wrong."""
        nan, stamp = float("nan"), Time(sec=10**6)
        stale = JointState(name=LEGS, effort=[5e4] * 6)
        stale.header.stamp, stale.header.frame_id = stamp, "lockstep" if self.lockstep else "free_running"
        point = JointTrajectoryPoint(positions=[0.1, -0.1], velocities=[0.0, 0.0])
        point.time_from_start.nanosec = 500_000_000
        made = [
            lambda: self._joints[ARM].publish(JointState(name=["joint_1", "joint_2"], effort=[nan, 0.0])),
            lambda: self._joints[ARM].publish(JointState(name=["elsewhere"], effort=[1.0])),
            lambda: self._joints[PLATFORM].publish(JointState(name=LEGS, effort=[nan] * 6)),
            lambda: self._valves.publish(HydraulicCommand(values=[self.random.uniform(-0.1, 0.1)] * 6)),
            lambda: self._valves.publish(HydraulicCommand(values=[nan] * 5)),
            lambda: self._path.publish(JointTrajectory(joint_names=self.joints, points=[point])),
            lambda: self._path.publish(JointTrajectory(joint_names=["elsewhere"], points=[point])),
        ]
        if self.lockstep:
            # the answer to a leg state of another life
            made.append(lambda: self._joints[PLATFORM].publish(stale))
        for _ in range(self.random.choice((50, 400))):
            self.random.choice(made)()

    joints = ("shoulder", "elbow")

    def _clock(self, node: Node) -> None:
        """In lockstep a second clock speaks up for a moment; else the clock that all go by jumps."""
        jump = self.random.choice((-100.0, -1.0, -0.05, 0.05, 1.0, 100.0, 1e4))
        if self.lockstep:
            for k in range(5):
                self._publish_clock(jump + 0.1 * k)
        else:
            self._jump = max(self._jump + jump, -900.0 - time.monotonic())

    # ---- afterwards ----

    def calm(self) -> None:
        """All nodes start that have to, and then each goes on within two seconds, or says what it waits for
        and goes on once that is mended."""
        deadline = time.monotonic() + PATIENCE
        while self._later or not all(n.alive and n.is_ready and n.told is None for n in self.nodes.values()):
            self.spin(0.05)
            self._check_the_living()
            assert time.monotonic() < deadline, self.complain("nodes do not start")
        for space in (PLATFORM, ARM):
            self._insist_on_resuming(f"{space}/simulator/resume")
        silent = self._who_is_silent()
        if silent:
            for name in silent:
                self.said[name] += 1
            # what it says it waits for: after a fault that is a reset
            for name in ("platform/simulator", "platform/hydraulic_actuators", "arm/simulator"):
                self._insist(Trigger, f"/{name}/reset")
            silent = self._who_is_silent()
            assert not silent, self.complain(f"{', '.join(silent)}: no motion after a reset either")
        self._check_recordings()

    def _who_is_silent(self) -> dict[str, str]:
        """Nodes that do not go on, and what they say; AssertionError if one says nothing."""
        before = {name: self.client.last.get(topic) for name, (_, topic) in SIGNS.items()}
        began = time.monotonic()
        waited = {name: node.waited() for name, node in self.nodes.items()}
        left = set(SIGNS)
        while left:
            self.spin(0.02)
            elapsed = time.monotonic() - began
            for name in sorted(left):
                if self._moves(name, before[name]):
                    left.remove(name)
                    self.slowest[name] = max(self.slowest.get(name, 0.0), elapsed)
            standing = max(node.waited() - waited[name] for name, node in self.nodes.items())
            if elapsed > SOON + standing:
                break
        said = {name: self._says(name, began) for name in left}
        for name, text in said.items():
            assert WAITING[name.split("/")[1]].search(text), self.complain(
                f"{name} neither goes on nor says what it waits for within {SOON:g} s; it says {text!r}",
                self.nodes[name],
            )
        return said

    def _moves(self, name: str, before) -> bool:
        """Whether something later than before has come; simulated time may have begun anew."""
        now = self.client.last.get(SIGNS[name][1])
        if now is None or now is before:
            return False
        return before is None or now.header.stamp != before.header.stamp

    def _says(self, name: str, since: float) -> str:
        space, module = name.split("/")
        found = self.statuses.get(f"/{space}", {})
        told = [s.message for key, (at, s) in found.items() if key.startswith(f"{module}:") and at > since]
        return "; ".join([*told, *self.nodes[name].process.text().splitlines()[-1:]])

    def _insist(self, kind, name: str) -> None:
        """A request until it is answered: a service that has just begun may not know its client yet."""
        client = self._services[kind, name]
        deadline = time.monotonic() + PATIENCE
        while True:
            future = client.call_async(kind.Request())
            again = time.monotonic() + 3.0
            while not future.done() and time.monotonic() < again:
                self.spin(0.02)
            if future.done():
                return future.result()
            assert time.monotonic() < deadline, self.complain(f"no answer from {name}")

    def _insist_on_resuming(self, name: str) -> None:
        answer = self._insist(Trigger, name)
        if not answer.success:
            assert "expected reset" in answer.message, self.complain(answer.message)
            self.said["fault"] += 1
            self._insist(Trigger, name.replace("resume", "reset"))
            self._insist(Trigger, name)

    def _check_recordings(self) -> None:
        begin = time.monotonic()
        for space in (PLATFORM, ARM):
            node = self.nodes[f"{space[1:]}/simulator"]
            at, waited = 0.0, node.waited()
            while at < begin:
                at, status = self.statuses.get(space, {}).get("simulator: recording", (0.0, None))
                late = time.monotonic() - begin - (node.waited() - waited)
                assert late < 10.0, self.complain(f"{node.name} says nothing of its recording", node)
                self.spin(0.02)
            assert status.level == b"\x00", self.complain(f"{space}: {status.message}")

    def finish(self) -> None:
        """All nodes end with exit code 0; every recording is readable and, between resets, without gaps."""
        for node in self.nodes.values():
            code = node.process.end(signal.SIGINT)
            assert code == 0, self.complain(f"{node.name} ended with exit code {code}", node)
        for path in sorted(self.folder.glob("*.mcap")):
            stamps = [m.log_time for topic, m in records(path) if topic.endswith("/simulator/state")]
            if not self.lockstep:
                # stamps of a clock that jumps
                continue
            for a, b in zip(stamps, stamps[1:], strict=False):
                assert b <= a + 20_000_000, self.complain(f"{path.name}: {1e-9 * (b - a):.3f} s are missing")

    def complain(self, text: str, node: Node | None = None) -> str:
        """What a failure is to say: the seed, what happened last, and the log."""
        log = "" if node is None else f"\n{node.process.text()[-3000:]}"
        return f"seed {self.seed}, after {len(self.history)} events, {self.history[-12:]}: {text}{log}"

    def figures(self) -> str:
        lives = {name: node.lives for name, node in self.nodes.items()}
        went = {name: f"{seconds:.2f} s" for name, seconds in self.slowest.items()}
        return (
            f"seed {self.seed}, {len(self.history)} events {dict(self.counts)}; lives {lives}; went on "
            f"within {went}; waited and said so {dict(self.said)}"
        )


def storm(folder: Path, seed: int, lockstep: bool, events: int, between: int = 10) -> str:
    """Events, and after every few of them a calm in which all nodes must go on; the figures.

    Over UDP alone: a process that is killed while it makes a port of Fast DDS in shared memory leaves an
    empty file /dev/shm/fastdds_portN, and whoever on this machine opens that port waits for ever.
    """
    with (
        patch.dict(os.environ, FASTDDS_BUILTIN_TRANSPORTS="UDPv4"),
        Client("chaos") as client,
        Storm(client, folder, seed, lockstep) as chaos,
    ):
        chaos.calm()
        for begin in range(0, events, between):
            chaos.rage(min(between, events - begin))
            chaos.calm()
        chaos.finish()
        return chaos.figures()


#: of the tests; another one by the environment variable CHAOS_SEED
SEED = int(os.environ.get("CHAOS_SEED", "20261122"))
