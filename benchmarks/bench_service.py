"""Round trip of InverseDynamics against an empty service of the same message sizes, each in its own process.

    python benchmarks/bench_service.py [--robot seven_joint_arm] [--calls 2000] [--samples 1] [--json]
        [--quick]
    python benchmarks/bench_service.py --behind-long-requests [--robot canadarm2] [--calls 2000] [--json]

The empty service has the same type, gets the same request and returns a response of the same size at once.
Calls alternate, so that whatever else the machine does meets both alike.

--behind-long-requests: the same call, due every 10 ms whether or not the one before has been answered, while
another process asks for the largest answers that the server makes (mass matrices, frames, deflections and a
simulation), energies of 200 states with static deflections, and modes, all the time; each kind must be
answered by the end. Latency counts from when a call is due. --quick runs both parts, and its long requests
ask for a twentieth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from array import array

import numpy as np
import program

EMPTY = """
import sys
from array import array
import rclpy
from flexdyn_interfaces.srv import InverseDynamics
rclpy.init()
node = rclpy.create_node("empty")
efforts = array("d", bytes(8 * {size}))
def answer(request, response):
    response.success, response.efforts = True, efforts
    return response
node.create_service(InverseDynamics, "~/inverse_dynamics", answer)
try:
    rclpy.spin(node)
except BaseException:
    sys.exit(0)
"""


#: seconds between two calls while long requests are worked on
EVERY = 0.01
#: what LONG asks for
LONG_KINDS = {"mass_matrix", "frames", "deflections", "compute_energy", "modes", "simulate"}
#: asks for long requests, one of each kind at a time, and tells what became of them
LONG = """
import os
import sys
from array import array
import rclpy
from rclpy.action import ActionClient
import flexdyn_ros
from flexdyn_interfaces import srv
from flexdyn_interfaces.action import Simulate
from flexdyn_ros.nodes.dynamics_server.requests import LARGEST_ANSWER, POSE, STATION
from flexdyn_ros.nodes.dynamics_server.services import STATIONS
robot = flexdyn_ros.load("{robot}")
rigid = [c.name for c in robot.coordinates if "/" not in c.name]
n = 200 // {share}
q, v = array("d", robot.neutral().tolist()), array("d", bytes(8 * n * robot.nv))
some = array("d", [q[robot.q_names.index(name)] for name in rigid]) * n
requests = {{
    "compute_energy": srv.ComputeEnergy.Request(
        samples=n, names=rigid, unlisted=2, positions=some, velocities=v
    ),
    "modes": srv.Modes.Request(samples=1, positions=q, locked=["joints"]),
}}
kinds = {{"compute_energy": srv.ComputeEnergy, "modes": srv.Modes}}
# answers of numbers, of poses and of vectors, as large as the server makes them
for name, kind, width, fields in (
    ("mass_matrix", srv.MassMatrix, robot.nv**2, {{}}),
    ("frames", srv.Frames, POSE, {{"frames": [robot.frame_names[-1]]}}),
    ("deflections", srv.Deflections, STATION * STATIONS * len(robot.deflections(robot.neutral())), {{}}),
):
    samples = LARGEST_ANSWER // width // {share}
    requests[name], kinds[name] = kind.Request(samples=samples, positions=q * samples, **fields), kind
if hasattr(os, "SCHED_IDLE"):
    # it converts answers of tens of megabytes: what the server leaves idle is the caller's
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
rclpy.init()
node = rclpy.create_node("long")
runs = ActionClient(node, Simulate, "/dynamics_server/simulate")
clients = {{name: node.create_client(kind, "/dynamics_server/" + name) for name, kind in kinds.items()}}
for client in clients.values():
    client.wait_for_service()
runs.wait_for_server()
longest = 1e-3 * (LARGEST_ANSWER // (1 + robot.nq + robot.nv) // {share} - 2)
def run():
    def answered(future):
        result = future.result().result
        print("simulate", result.success, len(result.positions) // robot.nq, "states", flush=True)
        run()
    def accepted(future):
        future.result().get_result_async().add_done_callback(answered)
    runs.send_goal_async(Simulate.Goal(duration=longest)).add_done_callback(accepted)
run()
def ask(name):
    def answered(future):
        answer = future.result()
        size = sum(len(getattr(answer, field, ())) for field in ("values", "poses", "deflections", "kinetic"))
        print(name, answer.success, answer.message or f"{{size}} entries", flush=True)
        ask(name)
    clients[name].call_async(requests[name]).add_done_callback(answered)
for name in clients:
    ask(name)
print("asked", flush=True)
try:
    rclpy.spin(node)
except BaseException:
    sys.exit(0)
"""


def main() -> int:
    arguments = parse()
    if arguments.behind_long_requests:
        return behind_long_requests(arguments)
    import flexdyn_ros

    robot = flexdyn_ros.load(arguments.robot)
    size = arguments.samples * robot.nv
    server = [sys.executable, "-m", "flexdyn_ros.nodes.dynamics_server", "--ros-args"]
    server += ["-p", f"description_file:={arguments.robot}"]
    commands = {"empty": [sys.executable, "-c", EMPTY.format(size=size)], "dynamics_server": server}
    processes = [subprocess.Popen(command) for command in commands.values()]
    try:
        times = measure(robot, arguments.samples, arguments.calls, tuple(commands))
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
    report(times, arguments)
    return behind_long_requests(arguments) if arguments.quick else 0


def parse() -> argparse.Namespace:
    parser = program.parser(__doc__)
    parser.add_argument("--robot", default="seven_joint_arm")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--behind-long-requests", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.calls = 10
    return arguments


def measure(robot, samples: int, calls: int, nodes: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Round trips [s] of each node, the first tenth left out."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from flexdyn_interfaces.srv import InverseDynamics

    rclpy.init()
    node = rclpy.create_node("bench_service")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    clients = {name: node.create_client(InverseDynamics, f"/{name}/inverse_dynamics") for name in nodes}
    for name, client in clients.items():
        if not client.wait_for_service(600.0):
            raise SystemExit(f"{name} does not answer")
    rng = np.random.default_rng(0)
    q = array("d", np.stack([robot.random(rng) for _ in range(samples)]).ravel().tolist())
    v = array("d", rng.standard_normal(samples * robot.nv).tolist())
    times: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(calls + calls // 10):
        for name, client in clients.items():
            request = InverseDynamics.Request(samples=samples, positions=q, velocities=v, accelerations=v)
            start = time.perf_counter()
            future = client.call_async(request)
            executor.spin_until_future_complete(future)
            times[name].append(time.perf_counter() - start)
            if not future.result().success:
                raise SystemExit(future.result().message)
    rclpy.shutdown()
    return {name: np.array(values[calls // 10 :]) for name, values in times.items()}


def behind_long_requests(arguments: argparse.Namespace) -> int:
    """Latency of single calls while long requests are worked on, and without them."""
    import flexdyn_ros

    name = "canadarm2" if arguments.robot == "seven_joint_arm" else arguments.robot
    robot = flexdyn_ros.load(name)
    server = [sys.executable, "-m", "flexdyn_ros.nodes.dynamics_server", "--ros-args"]
    processes = [subprocess.Popen([*server, "-p", f"description_file:={name}"])]
    figures: dict[str, dict[str, float]] = {}
    answers: list[str] = []
    try:
        with Caller(robot) as caller:
            figures["alone"] = latencies(caller, arguments.calls)
            long = [sys.executable, "-c", LONG.format(robot=name, share=20 if arguments.quick else 1)]
            processes.append(subprocess.Popen(long, stdout=subprocess.PIPE, text=True))
            while "asked" not in processes[-1].stdout.readline():
                pass
            threading.Thread(target=answers.extend, args=(processes[-1].stdout,), daemon=True).start()
            figures["behind_long_requests"] = latencies(caller, arguments.calls)
            meanwhile = len(answers)
            await_answers(answers)
    finally:
        for process in reversed(processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
    if arguments.json:
        print(json.dumps({"robot": name, "long_requests_answered": meanwhile} | figures))
        return 0
    print(f"{name}, one call of InverseDynamics every {1e3 * EVERY:g} ms, {arguments.calls} calls")
    for case, f in figures.items():
        print(
            f"  {case:22s} median {f['median_ms']:7.2f} ms   p99 {f['p99_ms']:7.2f} ms   longest"
            f" {f['longest_ms']:7.2f} ms"
        )
    print(f"  long requests answered meanwhile: {meanwhile} (p99 must be at most 50 ms on an idle core)")
    for answer in sorted(set(answers)):
        print(f"    {answers.count(answer)} x {answer.strip()}")
    return 0


def await_answers(answers: list[str], patience: float = 300.0) -> None:
    """Wait until every kind of long request has been answered; whatever is refused ends the program."""
    deadline = time.monotonic() + patience
    while missing := LONG_KINDS - {line.split()[0] for line in answers}:
        if time.monotonic() > deadline:
            raise SystemExit(f"no answer within {patience:g} s to {', '.join(sorted(missing))}")
        time.sleep(0.1)
    if refused := [line for line in answers if line.split()[1] != "True"]:
        raise SystemExit(f"refused: {refused[0].strip()}")


class Caller:
    """Calls InverseDynamics of one sample."""

    def __init__(self, robot) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import QoSProfile

        from flexdyn_interfaces.srv import InverseDynamics

        rclpy.init()
        node = rclpy.create_node("bench_service")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)
        # rclpy keeps 10 answers by default, and loses those beyond
        self.client = node.create_client(
            InverseDynamics, "/dynamics_server/inverse_dynamics", qos_profile=QoSProfile(depth=1000)
        )
        if not self.client.wait_for_service(600.0):
            raise SystemExit("the server does not answer")
        q, v = array("d", robot.neutral().tolist()), array("d", bytes(8 * robot.nv))
        self.request = InverseDynamics.Request(samples=1, positions=q, velocities=v, accelerations=v)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_) -> None:
        import rclpy

        rclpy.shutdown()


def latencies(caller: Caller, calls: int) -> dict[str, float]:
    """Time from when a call is due until its answer is there, calls being due at equal intervals."""
    took: list[float] = []
    start = time.perf_counter() + EVERY
    sent = 0
    while len(took) < calls:
        now = time.perf_counter()
        due = start + sent * EVERY
        if sent < calls and now >= due:
            future = caller.client.call_async(caller.request)
            future.add_done_callback(lambda _, due=due: took.append(time.perf_counter() - due))
            sent += 1
        else:
            caller.executor.spin_once(timeout_sec=max(0.0, min(due - now, EVERY)))
        if now > start + calls * EVERY + 60.0:
            raise SystemExit(f"{calls - len(took)} of {calls} calls were not answered")
    ms = 1e3 * np.array(took[calls // 10 :])
    return {
        "median_ms": float(np.median(ms)),
        "p99_ms": float(np.percentile(ms, 99)),
        "longest_ms": float(ms.max()),
    }


def report(times: dict[str, np.ndarray], arguments: argparse.Namespace) -> None:
    figures = {
        name: {"median_us": 1e6 * float(np.median(t)), "p99_us": 1e6 * float(np.percentile(t, 99))}
        for name, t in times.items()
    }
    ratio = figures["dynamics_server"]["median_us"] / figures["empty"]["median_us"]
    if arguments.json:
        print(json.dumps({"robot": arguments.robot, "samples": arguments.samples, "ratio": ratio} | figures))
        return
    print(f"{arguments.robot}, {arguments.samples} samples per request, {arguments.calls} calls each")
    for name, f in figures.items():
        print(f"  {name:16s} median {f['median_us']:8.1f} us   p99 {f['p99_us']:8.1f} us")
    print(f"  ratio of medians {ratio:.3f} (must hold: at most 1.5)")


if __name__ == "__main__":
    sys.exit(main())
