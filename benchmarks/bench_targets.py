"""Exported robots beside the library: scalar C in a loop, robots compiled for this machine.

    python benchmarks/bench_targets.py

Medians of seven runs in one process. Library and native: one call from Python; C: one call in a loop of C.
"""

from __future__ import annotations

import ctypes
import subprocess
import time
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

import flexdyn_ros
from flexdyn_ros import export

ROBOTS = ("seven_joint_arm", "flexible_two_link", "canadarm2", "mobile_arm", "soft_arm_3", "stewart_1t")
VERBS = ("inverse_dynamics", "forward_dynamics")
LOOP = """#include "{name}.h"
#include <stddef.h>
void loop_{verb}(const double *q, const double *v, const double *x, double *y, double *work, int n)
{{
    int i;
    for (i = 0; i < n; i++) {{
        {name}_{verb}(q, v, x, NULL, y, work);
    }}
}}
"""


def per_call(function, calls: int) -> float:
    """Median time of a call [us]."""
    times = []
    for _ in range(7):
        start = time.process_time()
        function(calls)
        times.append((time.process_time() - start) / calls)
    return 1e6 * median(times)


def repeated(function):
    """The function, so many times."""

    def run(calls):
        for _ in range(calls):
            function()

    return run


def in_c(robot, q, v, x) -> dict[str, float]:
    """Time of a call [us] of every verb in a loop of C, and of generating and compiling [s]."""
    with TemporaryDirectory() as room:
        folder, start = Path(room), time.perf_counter()
        name = export.c(robot, folder, VERBS)[0].stem
        written = time.perf_counter() - start
        loops = "".join(LOOP.format(name=name, verb=verb) for verb in VERBS)
        (folder / "loop.c").write_text(loops)
        command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", f"{name}.c", "loop.c", "-o", "loop.so", "-lm"]
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True)
        found = {"generate": written, "compile": time.perf_counter() - start}
        library = ctypes.CDLL(str(folder / "loop.so"))
        y, work = np.zeros(robot.nv), np.zeros(100_000)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (q, v, x, y, work)]
        for verb in VERBS:
            function = getattr(library, f"loop_{verb}")
            found[verb] = per_call(lambda n, function=function: function(*pointers, n), 20_000)
    return found


def rows(name: str) -> list[str]:
    """Lines of the table."""
    robot = flexdyn_ros.load(name)
    native, rng = export.specialized(robot), np.random.default_rng(0)
    q, v, x = robot.random(rng), 0.1 * rng.standard_normal(robot.nv), np.zeros(robot.nu)
    compiled, found = in_c(robot, q, v, x), []
    for verb in VERBS:
        own, fast = (per_call(repeated(partial(getattr(r, verb), q, v, x)), 5000) for r in (robot, native))
        loop = compiled[verb]
        found.append(
            f"| {name} | {verb} | {own:.2f} | {fast:.2f} | {own / fast:.2f} | {loop:.2f} | {loop / own:.2f} |"
        )
    made = f"written in {compiled['generate']:.1f} s, compiled in {compiled['compile']:.1f} s"
    return [*found, f"| {name} | {made} | | | | | |"]


def main() -> None:
    """Print one table."""
    print("| robot | verb | library [us] | native [us] | ratio | C loop [us] | of the library |")
    print("|---|---|---|---|---|---|---|")
    for name in ROBOTS:
        print("\n".join(rows(name)), flush=True)


if __name__ == "__main__":
    main()
