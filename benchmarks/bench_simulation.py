"""Cost of a simulation step, and of a run to a wanted error, method by method.

    python benchmarks/bench_simulation.py [--repeat 7] [--precision] [--picture FILE] [--quick]

First: compiled loop, one call per step, and a control law in Python; medians, microseconds per step of 1 ms,
one core. The method of platforms with cylinders, staggered, is timed by bench_hydraulics.py.

--precision: processor time of whole runs against their error, of a robot of every family and all methods,
those of scipy too, each with several tolerances or steps; and the default run beside fixed steps of 1 ms.
--picture draws it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, SimulationError
from flexdyn_ros.simulation import Stepper, figure_style
from flexdyn_ros.simulation.plan import make_plan
from flexdyn_ros.simulation.plots.style import COLOURS
from flexdyn_ros.simulation.steps.adaptive import run_adaptive
from flexdyn_ros.simulation.steps.stepper import METHODS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

STEPS = 2000
#: a robot of every family and the seconds that it is simulated
SPANS = {
    "seven_joint_arm": 0.5,
    "canadarm2": 0.25,
    "mobile_arm": 0.1,
    "soft_arm_3": 0.25,
    "stewart_electric": 0.25,
}
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
SHORTER = (1.0, 0.25, 1.0 / 16.0, 1.0 / 64.0)
CONTROLLED = ("dop853", "extrapolated")
FIXED = ("rk4", "rosenbrock")
BY_SCIPY = ("DOP853", "LSODA", "Radau")


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


# ---- time against error ----


def start(robot: flexdyn_ros.Robot) -> np.ndarray:
    """A state that moves: joints 0.3 rad away from neutral."""
    q = robot.neutral()
    for c in robot.coordinates:
        if c.kind == "joint" and c.unit == "rad" and not c.prescribed:
            q[c.q_index] += 0.3
    return q


def run_by(robot: flexdyn_ros.Robot, span: float, method: str, knob: float):
    """A run with a tolerance, or with steps of `knob` milliseconds."""
    q0 = start(robot)
    if method in FIXED:
        return flexdyn_ros.simulate(robot, span, q0, dt=1e-3 * knob, sample=1e-3, method=method, record=())
    if method in CONTROLLED:
        return flexdyn_ros.simulate(robot, span, q0, method=method, rtol=knob, atol=1e-3 * knob, record=())
    asked = SimpleNamespace(
        robot=robot, duration=span, q0=q0, v0=None, states0=None, t0=0.0, dt=None, sample=None,
        method=method.lower(), rtol=knob, atol=1e-3 * knob, control=None, wrenches=None, prescribed=None,
        events=(), limits="report", saturate=False, record_every=1, record=(), progress=False,
    )  # fmt: skip
    return run_adaptive(make_plan(asked))


def precision(quick: bool) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """By robot and method: (largest error of a coordinate / motion range, processor time [s])."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name, span in SPANS.items():
        robot = flexdyn_ros.load(name)
        span = 0.01 if quick else span
        exact = flexdyn_ros.simulate(robot, span, start(robot), method="dop853", rtol=1e-12, atol=1e-14)
        moved = np.abs(exact.q - exact.q[0]).max(axis=0)
        scale = np.maximum(moved, 1e-3 * moved.max())
        found[name] = {}
        for method in (*CONTROLLED, *FIXED, *BY_SCIPY):
            # Radau asks for slopes by differences: a tight tolerance takes minutes
            knobs = SHORTER if method in FIXED else TOLERANCES[: 2 if method == "Radau" else 4]
            for knob in knobs[: 1 if quick else None]:
                try:
                    run_by(robot, 0.002, method, knob)
                    began = process_time()
                    run = run_by(robot, span, method, knob)
                    spent = process_time() - began
                except SimulationError:
                    continue
                error = float((np.abs(run.q - exact.q) / scale).max())
                found[name].setdefault(method, []).append((error, spent))
    return found


def print_precision(found: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
    """The table, and the default run beside fixed steps."""
    print(f"{'robot':18s}{'method':14s}  error: processor time [ms]")
    for name, methods in found.items():
        for method, points in methods.items():
            print(f"{name:18s}{method:14s}" + "".join(f"  {e:.0e}: {1e3 * t:.1f}" for e, t in points))


def print_default(quick: bool) -> None:
    """Processor time of `simulate(robot, span)` beside that of fixed steps of 1 ms, medians of five.

    Each as it is called, with energies, and without them: fixed steps book what they damp where energies are
    recorded.
    """
    print(f"{'processor time [ms]':20s}{'fixed':>10s}{'default':>10s}{'ratio':>8s}   without energies")
    for name in SPANS:
        robot, span = flexdyn_ros.load(name), 0.01 if quick else 0.25
        line = f"{name:20s}"
        for options in ({}, {"record": ()}):
            fixed, default = in_turns(robot, span, 1 if quick else 5, options)
            line += f"{1e3 * fixed:10.1f}{1e3 * default:10.1f}{default / fixed:8.1f}   "
        print(line)


def in_turns(
    robot: flexdyn_ros.Robot, span: float, turns: int, options: dict[str, Any]
) -> tuple[float, float]:
    """Processor time [s] of fixed steps of 1 ms and of the default run, medians."""
    for step in (None, 1e-3):
        flexdyn_ros.simulate(robot, 0.002, dt=step, **options)
    fixed, default = [], []
    for _ in range(turns):
        began = process_time()
        flexdyn_ros.simulate(robot, span, start(robot), dt=1e-3, **options)
        between = process_time()
        flexdyn_ros.simulate(robot, span, start(robot), **options)
        fixed.append(between - began), default.append(process_time() - between)
    return median(fixed), median(default)


def draw(found: dict[str, dict[str, list[tuple[float, float]]]], path: Path) -> None:
    """Error over time, a panel a robot."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.style.use(figure_style())
    figure, axes = pyplot.subplots(2, 3, figsize=(9.5, 6), sharey=True)
    marks = dict(zip((*CONTROLLED, *FIXED, *BY_SCIPY), "osD^v<>", strict=True))
    for axis, (name, methods) in zip(axes.flat, found.items()):
        for i, (method, mark) in enumerate(marks.items()):
            points = methods.get(method)
            if points:
                error, spent = zip(*((max(e, 1e-14), t) for e, t in points))
                label = f"{method} (scipy)" if method in BY_SCIPY else method
                style = "--" if method in BY_SCIPY else "-"
                axis.loglog(
                    error, 1e3 * np.array(spent), style, marker=mark, color=COLOURS[i], ms=4, label=label
                )
        axis.set_title(f"{name}, {SPANS[name]:g} s")
        axis.set_xlim(10.0, 1e-12)
    for axis in axes[:, 0]:
        axis.set_ylabel("processor time [ms]")
    for axis in (*axes[1, :2], axes[0, 2]):
        axis.set_xlabel("largest error / motion range")
    axes.flat[-1].axis("off")
    handles = {h.get_label(): h for axis in axes.flat for h in axis.get_legend_handles_labels()[0]}
    axes.flat[-1].legend(handles.values(), handles.keys(), loc="center")
    figure.savefig(path)
    print(f"wrote {path}")


def main() -> None:
    """Print the tables."""
    parser = program.parser(__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--precision", action="store_true", help="time against error instead")
    parser.add_argument("--picture", type=Path, help="draw time against error")
    options = parser.parse_args()
    if options.precision or options.picture or options.quick:
        warnings.simplefilter("ignore", FlexdynWarning)
        found = precision(options.quick)
        print_precision(found)
        print_default(options.quick)
        if options.picture:
            draw(found, options.picture)
        if not options.quick:
            return
    print_steps(1 if options.quick else options.repeat, 10 if options.quick else STEPS)


def print_steps(repeat: int, steps: int) -> None:
    """What a step costs."""
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
