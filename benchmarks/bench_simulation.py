"""Cost of a simulation step: compiled loop, one call per step, and a control law in Python.

    python benchmarks/bench_simulation.py [--repeat 7] [--quick]

Medians, microseconds per step of 1 ms, one core. The method of platforms with cylinders, staggered, is timed
by bench_hydraulics.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.simulation.stepper import METHODS, Stepper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

STEPS = 2000


def timed(call, repeat: int, steps: int) -> float:
    """Median time of a call per step [us]."""
    spent = []
    for _ in range(repeat):
        began = perf_counter()
        call()
        spent.append((perf_counter() - began) / steps * 1e6)
    return median(spent)


def costs(robot: flexdyn_ros.Robot, method: str, repeat: int, steps: int) -> tuple[float, float, float]:
    """Compiled loop, `advance(1, tau)` from Python, and simulate with a Python law [us per step]."""
    q0, tau = robot.neutral(), np.zeros(robot.nu)
    stepper = Stepper(robot, method=method, q0=q0)

    def loop() -> None:
        stepper.set_state(q0, np.zeros(robot.nv))
        stepper.advance(steps)

    def calls() -> None:
        stepper.set_state(q0, np.zeros(robot.nv))
        for _ in range(steps):
            stepper.advance(1, tau)

    def law() -> None:
        flexdyn_ros.simulate(
            robot,
            steps * 1e-3,
            q0,
            dt=1e-3,
            control=lambda t, q, v: tau,
            method=method,
            record_every=steps,
            record=(),
        )

    loop(), law()
    return timed(loop, repeat, steps), timed(calls, repeat, steps), timed(law, repeat, steps)


def main() -> None:
    """Print the table."""
    parser = program.parser(__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    repeat, steps = (1, 10) if options.quick else (options.repeat, STEPS)
    from models import QUADRUPED, example_robot_data, real_robot
    from pendulums import double_pendulum

    robots = [double_pendulum(), flexdyn_ros.load("seven_joint_arm")]
    if example_robot_data() is None:
        print("example-robot-data is not installed: its quadruped is left out", file=sys.stderr)
    else:
        robots.append(real_robot(QUADRUPED, True))
    methods = [method for method in METHODS if method != "staggered"]
    print(f"{'robot':18s}{'method':22s}{'compiled':>12s}{'call a step':>14s}{'Python law':>13s}   [us/step]")
    for robot in robots:
        for method in methods:
            figures = costs(robot, method, repeat, steps)
            print(
                f"{robot.name:18.17s}{method:22s}"
                + "".join(f"{x:{w}.2f}" for x, w in zip(figures, (12, 14, 13)))
            )


if __name__ == "__main__":
    main()
