"""How well the simulator keeps real time: a 7-joint arm at 1 kHz, publishing at 100 Hz and at 1 kHz.

    python benchmarks/bench_realtime.py [--robot ROBOT] [--set PATH=VALUE] [--seconds 60] [--rates 100 1000]
        [--quick]

A wheeled arm on a random road of class C: --robot mobile_arm, and per --set one of road.kind=iso8608,
road.class=C, road.amplitude=null and so on for offset, wavelength, phase, start.

The figures are the node's own, from its diagnostics; a listener in this process counts what it publishes.
Lateness is that of a tick's wake-up behind its time. Let the machine rest meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import program


def main() -> int:
    parser = program.parser(__doc__)
    parser.add_argument("--robot", default="seven_joint_arm")
    parser.add_argument("--set", action="append", default=[], dest="options", metavar="PATH=VALUE")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rates", type=float, nargs="+", default=[100.0, 1000.0])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds, arguments.rates = 1.0, [1000.0]
    results = [
        measure(arguments.robot, rate, arguments.seconds, arguments.options) for rate in arguments.rates
    ]
    if arguments.json:
        print(json.dumps(results))
        return 0
    print(f"{arguments.robot}, step 1 ms, {arguments.seconds:g} s; must hold: factor >= 0.999, late <= 0.5 %")
    for r in results:
        print(
            f"  publishing {r['publish_rate_hz']:6.0f} Hz: real-time factor {r['real_time_factor']:.5f}, "
            f"{r['late_percent']:.3f} % of {r['ticks']} ticks more than 2 ms late, lateness median "
            f"{r['lateness_median_us']:.0f} us, p99 {r['lateness_p99_us']:.0f} us, overruns {r['overruns']}, "
            f"{r['received']} states received, {r['cpu_percent']:.0f} % of a core"
        )
    return 0


def measure(robot: str, rate: float, seconds: float, options: list[str]) -> dict[str, float]:
    """Figures of one run."""
    command = [sys.executable, "-m", "flexdyn_ros.nodes.simulator", "--ros-args"]
    command += ["-p", f"description_file:={robot}", "-p", f"publish_rate_hz:={rate}"]
    if options:
        command += ["-p", f"options:={json.dumps(options)}"]
    process = subprocess.Popen(command)
    try:
        return listen(process.pid, rate, seconds)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def listen(pid: int, rate: float, seconds: float) -> dict[str, float]:
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("bench_realtime", context=context)
    reports: list[dict[str, str]] = []
    received = [0]

    def on_diagnostics(message) -> None:
        for status in message.status:
            if status.name == "simulator: simulation":
                reports.append({pair.key: pair.value for pair in status.values})

    def on_states(message) -> None:
        received[0] += 1

    node.create_subscription(DiagnosticArray, "/diagnostics", on_diagnostics, 10)
    node.create_subscription(JointState, "joint_states", on_states, 10)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while not reports:
        executor.spin_once(timeout_sec=1.0)
    first, start, cpu = reports[-1], time.monotonic(), cpu_seconds(pid)
    received[0] = 0
    while time.monotonic() < start + seconds + 1.5:
        executor.spin_once(timeout_sec=0.5)
    last, elapsed, cpu = reports[-1], time.monotonic() - start, cpu_seconds(pid) - cpu
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    ticks, late = (int(last[key]) - int(first[key]) for key in ("ticks", "late_ticks"))
    return {
        "publish_rate_hz": rate,
        "real_time_factor": float(last["real_time_factor_mean"]),
        "ticks": ticks,
        "late_percent": 100.0 * late / ticks,
        "lateness_median_us": float(last["lateness_median"].split()[0]),
        "lateness_p99_us": float(last["lateness_p99"].split()[0]),
        "overruns": int(last["overruns"]),
        "received": received[0],
        "cpu_percent": 100.0 * cpu / elapsed,
    }


def cpu_seconds(pid: int) -> float:
    """Processor time of a process until now [s] (Linux)."""
    import os

    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
