"""Time of a step of robots as hardware of ros2_control (docs/how-to/ros2_control.md): the generated core in a
C++ loop, under position commands; medians of runs.

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

ROBOTS = ("seven_joint_arm", "canadarm2")
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


def main() -> None:
    parser = program.parser(__doc__)
    quick = parser.parse_args().quick
    for name in ROBOTS:
        with tempfile.TemporaryDirectory() as folder:
            taken = seconds_of_a_step(name, Path(folder), 1 if quick else 5)
            print(f"{name}: {1e6 * taken:.1f} us a step")


if __name__ == "__main__":
    main()
