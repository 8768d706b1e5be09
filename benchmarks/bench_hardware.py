"""Time of a step of robots as hardware of ros2_control (docs/how-to/ros2_control.md): the generated core in a
C++ loop, under position commands or with valves that move all cylinders; medians of runs, processor time.

    python benchmarks/bench_hardware.py [--quick]
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import warnings
from pathlib import Path

import program

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import FlexdynWarning

#: robots, and whether the oil of their cylinders is part of them
ROBOTS = (
    ("seven_joint_arm", False),
    ("canadarm2", False),
    ("stewart_electric", False),
    ("hexapod_arm", False),
    ("delta", False),
    ("excavator", False),
    ("boom", True),
    ("excavator", True),
    ("stewart_1t", True),
)
FLAGS = ("-O2", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
#: quick: the compiler takes most of the time
QUICK = ("-O0",)
STEPS = 20_000

#: steps of cylinders have a varying number of sub-steps: each of them is measured
LOOP = """
#include <time.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include "{package}/core.hpp"
using namespace {package};
static std::array<double, {steps}> seconds;
static double now()
{{
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}}
int main()
{{
  Core core;
  for (int j = 0; j < model::joints; ++j) {{
    core.set_mode(j, model::joint[j].valve < 0 ? Mode::position : Mode::valve);
    core.command_position[j] = core.position[j] + 0.01;
  }}
  const double begin = now();
  for (int i = 0; i < {steps}; ++i) {{
    if (model::valves > 0) {{
      for (int j = 0; j < model::joints; ++j) {{ core.command_valve[j] = 0.6 * std::sin(8.17e-3 * i + j); }}
      seconds[i] = now();
    }}
    if (!core.advance(core.step)) {{ std::puts(core.message()); return 1; }}
    if (model::valves > 0) {{ seconds[i] = now() - seconds[i]; }}
  }}
  const double taken = now() - begin;
  if (model::valves > 0) {{
    std::sort(seconds.begin(), seconds.end());
    std::printf("%.9g %.9g\\n", seconds[{steps} / 2], seconds[{steps} * 999L / 1000]);
  }} else {{
    std::printf("%.9g\\n", taken / {steps});
  }}
}}
"""


def seconds_of_a_step(name: str, cylinders: bool, folder: Path, quick: bool) -> tuple[float, ...]:
    """Mean of a step, with cylinders its median and 99.9th percentile; medians of several runs [s]."""
    flags, steps, turns = (QUICK, 500, 1) if quick else (FLAGS, STEPS, 5)
    robot = flexdyn_ros.load(name)
    with warnings.catch_warnings():
        # oil is left out where that is asked for
        warnings.simplefilter("ignore", FlexdynWarning)
        export.ros2_control(robot, folder, cylinders=cylinders)
    package = next(folder.glob("*_hardware.xml")).stem
    (folder / "loop.cpp").write_text(LOOP.format(package=package, steps=steps))
    source, made = next((folder / "src").glob("*.c")), folder / "loop"
    subprocess.run(["gcc", "-std=c99", *flags, "-c", source, "-o", folder / "robot.o"], check=True)
    parts = [folder / "loop.cpp", folder / "src/core.cpp", folder / "src/model.cpp", folder / "robot.o"]
    include = [f"-I{folder / 'include'}", f"-I{folder / 'src'}"]
    subprocess.run(["g++", "-std=c++17", *flags, *include, *parts, "-lm", "-o", made], check=True)
    runs = [subprocess.run([made], capture_output=True, text=True, check=True) for _ in range(turns)]
    rows = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    return tuple(statistics.median(row) for row in rows)


def main() -> None:
    parser = program.parser(__doc__)
    quick = parser.parse_args().quick
    # quick: an arm, legs beside joints, a boom by its valves
    for name, cylinders in ROBOTS[::3] if quick else ROBOTS:
        with tempfile.TemporaryDirectory() as folder:
            taken, *most = seconds_of_a_step(name, cylinders, Path(folder), quick)
            within = f", 99.9 % within {1e6 * most[0]:.1f} us" if most else ""
            print(f"{name}{' by its valves' if cylinders else ''}: {1e6 * taken:.1f} us a step{within}")


if __name__ == "__main__":
    main()
