"""Cost of a simulation step: compiled loop, one call per step, and a control law in Python.

python benchmarks/bench_simulation.py [--repeat 7]; medians, microseconds per step of 1 ms, one core.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import flexdyn_ros
from flexdyn_ros.simulation.stepper import METHODS, Stepper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

STEPS = 2000


def timed(call, repeat: int) -> float:
    """Median time of a call per step [us]."""
    spent = []
    for _ in range(repeat):
        began = perf_counter()
        call()
        spent.append((perf_counter() - began) / STEPS * 1e6)
    return median(spent)


def costs(robot: flexdyn_ros.Robot, method: str, repeat: int) -> tuple[float, float, float]:
    """Compiled loop, `advance(1, tau)` from Python, and simulate with a Python law [us per step]."""
    q0, tau = robot.neutral(), np.zeros(robot.nu)
    stepper = Stepper(robot, method=method, q0=q0)

    def loop() -> None:
        stepper.set_state(q0, np.zeros(robot.nv))
        stepper.advance(STEPS)

    def calls() -> None:
        stepper.set_state(q0, np.zeros(robot.nv))
        for _ in range(STEPS):
            stepper.advance(1, tau)

    def law() -> None:
        flexdyn_ros.simulate(
            robot, STEPS * 1e-3, q0, control=lambda t, q, v: tau, method=method, record_every=STEPS, record=()
        )

    loop(), law()
    return timed(loop, repeat), timed(calls, repeat), timed(law, repeat)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    from models import QUADRUPED, real_robot
    from pendulums import double_pendulum

    robots = [double_pendulum(), flexdyn_ros.load("seven_joint_arm"), real_robot(QUADRUPED, True)]
    print(f"{'robot':18s}{'method':22s}{'compiled':>12s}{'call a step':>14s}{'Python law':>13s}   [us/step]")
    for robot in robots:
        for method in METHODS:
            figures = costs(robot, method, repeat)
            print(
                f"{robot.name:18.17s}{method:22s}"
                + "".join(f"{x:{w}.2f}" for x, w in zip(figures, (12, 14, 13)))
            )


if __name__ == "__main__":
    main()
