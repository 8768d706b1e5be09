"""Seconds from `import flexdyn_ros` to the first inverse dynamics, in fresh processes, kernels in the cache.

python benchmarks/bench_startup.py [--runs N] [--quick] [ROBOT ...]
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median

import program

PROGRAM = """
import sys, time
start = time.perf_counter(), time.process_time()
import flexdyn_ros
robot = flexdyn_ros.load(sys.argv[1])
robot.inverse_dynamics(robot.neutral(), [0.0] * robot.nv, [0.0] * robot.nv)
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""
#: shipped robots measured if none are named
ROBOTS = ("seven_joint_arm", "canadarm2")


def first_answer(robot: str) -> tuple[float, float]:
    """Seconds by the clock and of the processor, in a process of its own."""
    run = subprocess.run([sys.executable, "-c", PROGRAM, robot], capture_output=True, text=True, check=True)
    clock, processor = map(float, run.stdout.split())
    return clock, processor


def main() -> None:
    parser = program.parser(__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS), metavar="ROBOT")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.robots = 1, options.robots[:1]

    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    table = Table(title=f"import, load, first inverse dynamics: {options.runs} fresh processes")
    for heading in ("robot", "median \\[s]", "least", "most", "processor, median \\[s]"):
        table.add_column(heading, justify="left" if heading == "robot" else "right")
    for robot in options.robots:
        first_answer(robot)  # compiles what is not in the cache yet, and fills the cache of the disk
        runs = [first_answer(robot) for _ in track(range(options.runs), robot, transient=True)]
        clock, processor = zip(*runs, strict=True)
        figures = (median(clock), min(clock), max(clock), median(processor))
        table.add_row(robot, *(f"{figure:.2f}" for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    main()
