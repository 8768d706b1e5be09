"""Exported robots beside the library and Pinocchio: C in a loop, robots compiled for this machine, batches.

    python benchmarks/bench_targets.py [--quick] [--write]

The first table is that of the README (--write puts it there): the Panda of example-robot-data, without mimic,
damping and friction for both, one thread; all ways take turns, medians of fifteen turns. The second has the
robots that are shipped: one call from Python of the library and of `export.specialized`, one call in a loop
of C, medians of seven runs.
"""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import program
from bench_dynamics import both, panda, pin, plain, seconds_per_call

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.robot import set_batch_threads

ROBOTS = ("seven_joint_arm", "flexible_two_link", "canadarm2", "mobile_arm", "soft_arm_3", "stewart_1t")
VERBS = ("inverse_dynamics", "forward_dynamics")
#: those that the page of C recommends: none of them lets sums be taken in another order
FLAGS = ("-std=c99", "-O2", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- speed: benchmarks/bench_targets.py --write -->", "<!-- speed ends -->"
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


# ---- the Panda beside Pinocchio ----


def in_turn(ways: dict[str, Callable[[], object]], calls: int, turns: int) -> dict[str, float]:
    """Median time of a call [us] of each way; they take turns."""
    for call in ways.values():
        call()
    times = [{name: seconds_per_call(call, calls) for name, call in ways.items()} for _ in range(turns)]
    return {name: 1e6 * median(turn[name] for turn in times) for name in ways}


def beside_pinocchio(quick: bool) -> list[str]:
    """Lines of the table of the README."""
    text = None if (given := panda()) is None else plain(given)
    if text is None or pin is None:
        return []
    robot, model, order = both(text)
    native, data, rng = export.specialized(robot), model.createData(), np.random.default_rng(1)
    q, v, a = robot.random(rng), *rng.uniform(-1, 1, (2, robot.nv))
    calls, turns, batch = (1, 1, 8) if quick else (2000, 15, 4096)
    theirs = {"inverse_dynamics": pin.rnea, "forward_dynamics": pin.aba}
    lines = ["| Panda, 9 velocities | Pinocchio | flexdyn_ros | specialized |", "|---|---|---|---|"]
    for verb in VERBS:
        ways = {
            "theirs": partial(theirs[verb], model, data, q[order], v[order], a[order]),
            "ours": partial(getattr(robot, verb), q, v, a),
            "native": partial(getattr(native, verb), q, v, a),
        }
        found = in_turn(ways, calls, turns)
        title = f"{verb.replace('_', ' ')}, one call"
        lines.append(f"| {title} | {' | '.join(f'{found[way]:.2f} µs' for way in ways)} |")
    set_batch_threads(1)
    rows = np.array([robot.random(rng) for _ in range(batch)]), *rng.uniform(-1, 1, (2, batch, robot.nv))
    theirs_rows = [np.ascontiguousarray(x[:, order]) for x in rows]
    for verb in VERBS:

        def loop(function=theirs[verb]):
            for x, y, z in zip(*theirs_rows, strict=True):
                function(model, data, x, y, z)

        ways = {"theirs": loop, "ours": partial(getattr(robot, verb), *rows)}
        ways["native"] = partial(getattr(native, verb), *rows)
        found = in_turn(ways, 1, turns)
        title = f"{verb.replace('_', ' ')}, per state in a batch of {batch}"
        lines.append(f"| {title} | {' | '.join(f'{found[way] / batch:.3f} µs' for way in ways)} |")
    set_batch_threads(None)
    return lines


def write(lines: list[str]) -> None:
    """Put the table into the README."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    told = "*One thread of a virtual machine, `python benchmarks/bench_targets.py`. Pinocchio is called from "
    told += "Python, one state at a time.*"
    table = "\n".join([BEGIN, *lines, "", told, END])
    README.write_text(before + table + rest.partition(END)[2], encoding="utf-8")


# ---- the shipped robots ----


def per_call(function: Callable[[int], object], calls: int) -> float:
    """Median time of a call [us]."""
    times = []
    for _ in range(7):
        start = time.process_time()
        function(calls)
        times.append((time.process_time() - start) / calls)
    return 1e6 * median(times)


def repeated(function: Callable[[], object]) -> Callable[[int], None]:
    """The function, so many times."""

    def run(calls: int) -> None:
        for _ in range(calls):
            function()

    return run


def in_c(robot, q, v, x, calls: int) -> dict[str, float]:
    """Time of a call [us] of every verb in a loop of C, and of writing and compiling [s]."""
    with TemporaryDirectory() as room:
        folder, start = Path(room), time.perf_counter()
        name = export.c(robot, folder, VERBS)[0].stem
        written = time.perf_counter() - start
        loops = "".join(LOOP.format(name=name, verb=verb) for verb in VERBS)
        (folder / "loop.c").write_text(loops)
        start = time.perf_counter()
        subprocess.run(
            ["cc", *FLAGS, "-shared", "-fPIC", f"{name}.c", "loop.c", "-o", "loop.so", "-lm"],
            cwd=folder,
            check=True,
        )
        found = {"write": written, "compile": time.perf_counter() - start}
        library = ctypes.CDLL(str(folder / "loop.so"))
        y, work = np.zeros(robot.nv), np.zeros(100_000)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (q, v, x, y, work)]
        for verb in VERBS:
            found[verb] = per_call(partial(getattr(library, f"loop_{verb}"), *pointers), calls)
    return found


def shipped(name: str, quick: bool) -> list[str]:
    """Lines of the second table."""
    robot = flexdyn_ros.load(name)
    native, rng = export.specialized(robot), np.random.default_rng(0)
    q, v, x = robot.random(rng), 0.1 * rng.standard_normal(robot.nv), np.zeros(robot.nu)
    calls = 1 if quick else 5000
    compiled, found = in_c(robot, q, v, x, 4 * calls), []
    for verb in VERBS:
        own, fast = (per_call(repeated(partial(getattr(r, verb), q, v, x)), calls) for r in (robot, native))
        loop = compiled[verb]
        found.append(
            f"| {name} | {verb} | {own:.2f} | {fast:.2f} | {own / fast:.2f} | {loop:.2f} | {loop / own:.2f} |"
        )
    made = f"written in {compiled['write']:.1f} s, compiled in {compiled['compile']:.1f} s"
    return [*found, f"| {name} | {made} | | | | | |"]


def main() -> None:
    """Print both tables."""
    parser = program.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="put the first table into the README")
    options = parser.parse_args()
    lines = beside_pinocchio(options.quick)
    print("\n".join(lines), flush=True)
    if options.write and lines and not options.quick:
        write(lines)
    print("\n| robot | verb | library [us] | native [us] | ratio | C loop [us] | of the library |")
    print("|---|---|---|---|---|---|---|")
    for name in ROBOTS[:1] if options.quick else ROBOTS:
        print("\n".join(shipped(name, options.quick)), flush=True)


if __name__ == "__main__":
    main()
