"""Round trip of InverseDynamics against an empty service of the same message sizes, each in its own process.

    python benchmarks/bench_service.py [--robot seven_joint_arm] [--calls 2000] [--samples 1] [--json]
        [--quick]

The empty service has the same type, gets the same request and returns a response of the same size at once.
Calls alternate, so that whatever else the machine does meets both alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
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


def main() -> int:
    arguments = parse()
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
    return 0


def parse() -> argparse.Namespace:
    parser = program.parser(__doc__)
    parser.add_argument("--robot", default="seven_joint_arm")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=1)
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
