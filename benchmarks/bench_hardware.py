"""Time of a step of robots as hardware of ros2_control (docs/how-to/ros2_control.md): the generated core in a
C++ loop, under position commands, and the generated step of a platform by its valves; medians of runs.

    python benchmarks/bench_hardware.py [--quick]
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

import program

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.export.tracing.hydraulics import Oil

ROBOTS = ("seven_joint_arm", "canadarm2", "stewart_electric")
FLAGS = ("-O2", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
STEPS = 20_000

LOOP = """
#include <chrono>
#include <cstdio>
#include "{package}/core.hpp"
int main()
{{
  {package}::Core core;
  for (int j = 0; j < {package}::model::joints; ++j) {{
    core.set_mode(j, {package}::Mode::position);
    core.command_position[j] = core.position[j] + 0.01;
  }}
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < {steps}; ++i) {{
    if (!core.advance(core.step)) {{ std::puts(core.message()); return 1; }}
  }}
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%.9g\\n", taken.count() / {steps});
}}
"""


def seconds_of_a_step(name: str, folder: Path, turns: int) -> float:
    """Median of several runs [s]."""
    export.ros2_control(flexdyn_ros.load(name), folder)
    package = next(folder.glob("*_hardware.xml")).stem
    (folder / "loop.cpp").write_text(LOOP.format(package=package, steps=STEPS))
    source, made = next((folder / "src").glob("*.c")), folder / "loop"
    subprocess.run(["gcc", "-std=c99", *FLAGS, "-c", source, "-o", folder / "robot.o"], check=True)
    parts = [folder / "loop.cpp", folder / "src/core.cpp", folder / "src/model.cpp", folder / "robot.o"]
    include = [f"-I{folder / 'include'}", f"-I{folder / 'src'}"]
    subprocess.run(["g++", "-std=c++17", *FLAGS, *include, *parts, "-lm", "-o", made], check=True)
    runs = [subprocess.run([made], capture_output=True, text=True, check=True) for _ in range(turns)]
    return statistics.median(float(run.stdout) for run in runs)


#: a C program whose openings move all legs; steps have a varying number of sub-steps
VALVES = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "stewart_1t.h"
static double work[STEWART_1T_WORK], seconds[{steps}];
static double now(void)
{{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}}
static int order(const void *a, const void *b)
{{
  return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b);
}}
int main(void)
{{
  double q[] = {{{q}}}, v[6] = {{0}}, oil[] = {{{oil}}}, valves[6];
  for (int k = 0; k < {steps}; ++k) {{
    for (int i = 0; i < 6; ++i) {{ valves[i] = 0.6 * sin(8.17e-3 * k + i); }}
    const double start = now();
    if (stewart_1t_hydraulic_step(q, v, oil, valves, NULL, 1e-3, work) != 0) {{ return 1; }}
    seconds[k] = now() - start;
  }}
  qsort(seconds, {steps}, sizeof(double), order);
  printf("%.9g %.9g\\n", seconds[{steps} / 2], seconds[{steps} * 999 / 1000]);
  return 0;
}}
"""


def seconds_by_valves(folder: Path, turns: int) -> tuple[float, ...]:
    """Medians over several runs of the median and the 99.9th percentile of a step of `stewart_1t`, processor
    time [s]."""
    robot = flexdyn_ros.load("stewart_1t")
    export.c(robot, folder, ["hydraulic_step"])
    numbers = {"q": robot.neutral(), "oil": Oil(robot).start(robot.neutral())}
    texts = {name: ", ".join(map(repr, x.tolist())) for name, x in numbers.items()}
    (folder / "main.c").write_text(VALVES.format(steps=STEPS, **texts))
    sources = [folder / "main.c", folder / "stewart_1t.c"]
    made = folder / "valves"
    subprocess.run(["gcc", "-std=gnu99", *FLAGS, *sources, "-lm", "-o", made], check=True)
    runs = [subprocess.run([made], capture_output=True, text=True, check=True) for _ in range(turns)]
    rows = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    return tuple(statistics.median(row) for row in rows)


def main() -> None:
    parser = program.parser(__doc__)
    quick = parser.parse_args().quick
    for name in ROBOTS:
        with tempfile.TemporaryDirectory() as folder:
            taken = seconds_of_a_step(name, Path(folder), 1 if quick else 5)
            print(f"{name}: {1e6 * taken:.1f} us a step")
    with tempfile.TemporaryDirectory() as folder:
        median, most = seconds_by_valves(Path(folder), 1 if quick else 5)
        print(f"stewart_1t by its valves: {1e6 * median:.1f} us a step, 99.9 % within {1e6 * most:.1f}")


if __name__ == "__main__":
    main()
