"""Candidates for the implicit method with error control: passes that a wanted error takes.

    python benchmarks/bench_implicit.py [--cases NAME ...] [--picture FILE] [--quick]

"extrapolated" (the library's own compiled run, which counts them itself), two W-methods and
generalised-alpha (implicit_methods.py) move robots of every family, stiffly damped and hardly damped ones.
All take the same slopes into their forward dynamics. The table gives the passes (one forward dynamics each)
for errors of 1e-3, 1e-5 and 1e-7 of the excursion, interpolated over tolerances, and their ratio to those of
"extrapolated"; "dop853", which is explicit, stands beside them. Errors are those at ten times of the run
against dop853 with a tolerance of 1e-11. Some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from typing import NamedTuple

import numpy as np
import program
from implicit_methods import ROS34PW2, ROS34PW3, GeneralisedAlpha, WMethod, run
from implicit_robots import CASES, Case, MovedRobot

from flexdyn_ros.numerics.stepping import controlled, extrapolated, places
from flexdyn_ros.simulation import Stepper, figure_style
from flexdyn_ros.simulation.plots.style import COLOURS
from flexdyn_ros.simulation.steps.stiffness import allowed_errors

WANTED = (1e-3, 1e-5, 1e-7)
TOLERANCES = tuple(10.0 ** (-0.75 * i) for i in range(22))
REFERENCE = 1e-11
#: the default tolerance, one of them
DEFAULT = 1e-6
#: an error that ends the series of tolerances
ENOUGH = 5e-8
#: times at which errors are taken
TIMES = 10
#: ratio of passes for the smallest error beyond which none is given, and how much more a candidate is let do:
#: what the next tolerance takes a method of order three
MOST_RATIO, NEXT = 4.0, 1.8
#: a robot is called stiff where dop853 takes so many times the passes: there "auto" leaves it
STIFF = 2.0

OURS = ("extrapolated", "dop853")
CANDIDATES = {
    "ROS34PW2": WMethod(ROS34PW2),
    "ROS34PW2, one pass": WMethod(ROS34PW2, follows=True),
    "ROS34PW3": WMethod(ROS34PW3),
    "generalised-alpha": GeneralisedAlpha(),
}
#: cases of --quick
QUICK = ("rigid arm, damped", "soft arm")


# ---- runs ----


class Measured(NamedTuple):
    """Largest error of a run / motion range, its passes, its tolerance."""

    error: float
    passes: int
    rtol: float


Points = list[Measured]


def by_library(
    moved: MovedRobot, method: str, rtol: float, times: np.ndarray
) -> tuple[np.ndarray, int] | None:
    """Positions (n, nq) at the times, and the passes that the compiled run counts; None if it diverges."""
    robot, n = moved.robot, times.size
    kernels, of_stepper = (controlled, "rk4") if method == "dop853" else (extrapolated, "rosenbrock")
    stepper = Stepper(robot, 1e-5, of_stepper, q0=moved.q0, v0=moved.v0)
    stepper.set_servo(moved.case.stiffness, moved.case.damping)
    stepper.target_q[:] = moved.target
    stepper.tau[:] = 0.0
    control = np.zeros(places.CONTROL)
    control[[places.RTOL, places.LARGEST, places.OF_SPEEDS]] = rtol, np.inf, 1.0
    control[[places.PREVIOUS, places.OF_ENERGIES]] = controlled.LEAST, np.inf
    scale, work = (
        allowed_errors(robot, moved.q0, 1e-3 * rtol),
        np.zeros((kernels.WORK_ROWS, 2 * robot.nv + 2)),
    )
    q, v, effort, account = (np.zeros((n, m)) for m in (robot.nq, robot.nv, robot.nu, 3))
    path = np.zeros((0, robot.nq)), np.zeros((0, robot.nv))
    status = kernels.run_to.load()(
        stepper._steps, 0.0, float(times[-1]), 0, control, scale, work, times, q, v, effort, account, *path
    )
    if status != 8 * n:
        return None
    return q, int(control[places.EVALUATIONS])


def by_candidate(
    moved: MovedRobot, method: str, rtol: float, times: np.ndarray, most: int
) -> tuple[np.ndarray, int] | None:
    """The same by a method of this folder; None beyond so many passes."""
    moved.passes = 0
    sizes = allowed_errors(moved.robot, moved.q0, 1.0)
    found = run(moved, CANDIDATES[method], moved.q0, moved.v0, times, sizes, rtol, 1e-3 * rtol, most=most)
    return None if found is None else (found[0], moved.passes)


def measure(case: Case, quick: bool) -> dict[str, Points]:
    """By method: (error, passes) of every tolerance, loosest first."""
    moved = MovedRobot(case)
    times = np.linspace(0.0, 0.02 if quick else case.span, TIMES + 1)[1:]
    reference = by_library(moved, "dop853", REFERENCE, times)
    assert reference is not None, case
    exact = reference[0]
    excursion = np.abs(exact - moved.q0).max(axis=0)
    scale = np.maximum(excursion, 1e-3 * excursion.max())
    found: dict[str, Points] = {}
    most = 200
    for method in (*OURS, *CANDIDATES):
        points = found[method] = []
        for rtol in TOLERANCES[:: 4 if quick else 1]:
            if method in OURS:
                done = by_library(moved, method, rtol, times)
            else:
                done = by_candidate(moved, method, rtol, times, most)
            if done is None and moved.passes > most:
                break
            if done is not None:
                error = float((np.abs(done[0] - exact) / scale).max())
                points.append(Measured(error, done[1], rtol))
                if error < ENOUGH:
                    break
        if method == "extrapolated" and not quick:
            most = int(NEXT * MOST_RATIO * (passes_for(points, WANTED[-1]) or points[-1].passes))
    return found


def passes_for(points: Points, wanted: float) -> float | None:
    """Passes for an error, from which on all tighter tolerances keep it; None if they do not.

    Between two tolerances logarithms are interpolated.
    """
    if not points or points[-1].error > wanted:
        return None
    last = max((i for i, point in enumerate(points) if point.error > wanted), default=-1)
    if last < 0:
        return points[0].passes
    (e0, n0, _), (e1, n1, _) = points[last : last + 2]
    share = np.log(e0 / wanted) / np.log(e0 / max(e1, 1e-14))
    return float(n0 * (n1 / n0) ** share)


# ---- table and picture ----


def ratio_of(found: dict[str, Points], method: str, wanted: float) -> float | None:
    """Passes for an error as a multiple of those of "extrapolated"."""
    own, other = passes_for(found[method], wanted), passes_for(found["extrapolated"], wanted)
    return None if own is None or other is None else own / other


def print_table(results: dict[str, dict[str, Points]]) -> None:
    """Passes of "extrapolated" for each wanted error, and of the others as multiples of them."""
    names = ("dop853", *CANDIDATES)
    width = 8 * len(WANTED)
    print(" " * 22 + "".join(f"{n:>{width}s}" for n in ("extrapolated [passes]", *names)))
    print(f"{'largest error':22s}" + "".join(f"{e:8.0e}" for e in WANTED) * (len(names) + 1))
    for name, found in results.items():
        passes = (passes_for(found["extrapolated"], e) for e in WANTED)
        line = f"{name:22s}" + "".join(f"{'-' if n is None else round(n):>8}" for n in passes)
        for method in names:
            ratios = (ratio_of(found, method, e) for e in WANTED)
            line += "".join(f"{'-':>8s}" if x is None else f"{x:8.{2 if x < 100.0 else 0}f}" for x in ratios)
        print(line)
    stiff = [found for found in results.values() if (ratio_of(found, "dop853", WANTED[1]) or STIFF) >= STIFF]
    for title, chosen in (("mean of all", list(results.values())), ("mean of the stiff", stiff)):
        if chosen:
            print(f"{title:22s}" + " " * width + "".join(means(chosen, method) for method in names))
    print(
        f"Means are geometric. -: not with {MOST_RATIO:g} times the passes for {WANTED[-1]:.0e}, counted as "
        f"{MOST_RATIO:g}. Stiff: dop853 takes at least {STIFF:g} times the passes for {WANTED[1]:.0e}."
    )


def means(chosen: list[dict[str, Points]], method: str) -> str:
    """Geometric mean of the ratios for each wanted error."""
    ratios = ([ratio_of(found, method, e) or MOST_RATIO for found in chosen] for e in WANTED)
    return "".join(f"{x:8.{2 if x < 100.0 else 0}f}" for x in map(geometric_mean, ratios))


def print_default(results: dict[str, dict[str, Points]], quick: bool) -> None:
    """What "extrapolated" makes of the default tolerance: errors, and passes where samples lie densely, at
    which its steps end."""
    print(
        f"extrapolated with a tolerance of {DEFAULT:.0e}: error; passes with ten samples, one a millisecond"
    )
    for name, found in results.items():
        moved = MovedRobot(CASES[name])
        dense = np.arange(1, 21 if quick else round(1e3 * moved.case.span) + 1) * 1e-3
        done = by_library(moved, "extrapolated", DEFAULT, dense)
        same = [point for point in found["extrapolated"] if np.isclose(point.rtol, DEFAULT)]
        if done is not None and same:
            print(f"{name:22s}{same[0].error:8.0e}{same[0].passes:8d}{done[1]:8d}")


def draw(results: dict[str, dict[str, Points]], path: Path) -> None:
    """Passes over error, a panel a case."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    marks = dict(zip((*OURS, *CANDIDATES), "os^vDP", strict=True))
    rows = -(-len(results) // 2)
    with matplotlib.rc_context(figure_style()):
        figure, axes = pyplot.subplots(rows, 2, figsize=(7.2, 2.1 * rows + 0.8), sharex=True, squeeze=False)
        for axis, (name, found) in zip(axes.flat, results.items()):
            for colour, (method, mark) in zip(COLOURS, marks.items()):
                points = [(e, n) for e, n, _ in found[method] if ENOUGH / 10.0 < e < 1.0]
                if points:
                    style = "--" if method == "dop853" else "-"
                    axis.loglog(*zip(*points), style, marker=mark, ms=3, color=colour, label=method)
            axis.set_title(f"{name}:\n{CASES[name].about}")
        axes.flat[0].set_xlim(1.0, ENOUGH / 10.0)
        for axis in axes[:, 0]:
            axis.set_ylabel("evaluations")
        for axis in axes[-1]:
            axis.set_xlabel("largest error / motion range")
        handles = {h.get_label(): h for axis in axes.flat for h in axis.get_legend_handles_labels()[0]}
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3)
        figure.savefig(path)
    print(f"wrote {path}")


def main() -> None:
    """Print the table."""
    parser = program.parser(__doc__)
    parser.add_argument(
        "--cases", nargs="+", choices=list(CASES), metavar="NAME", help=f"of {', '.join(CASES)}"
    )
    parser.add_argument("--picture", type=Path, help="draw passes against error")
    options = parser.parse_args()
    results = {}
    for name in options.cases or (QUICK if options.quick else CASES):
        began = process_time()
        results[name] = measure(CASES[name], options.quick)
        sys.stderr.write(f"{name} ({CASES[name].about}): {process_time() - began:.0f} s\n")
    print_table(results)
    print_default(results, options.quick)
    if options.picture:
        draw(results, options.picture)


if __name__ == "__main__":
    main()
