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

import ctypes
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import program
from implicit_methods import ROS34PW2, ROS34PW3, GeneralisedAlpha, WMethod, run

import flexdyn_ros
from flexdyn_ros.numerics.stepping import controlled, extrapolated, table
from flexdyn_ros.simulation import Stepper
from flexdyn_ros.simulation.plot_style import COLOURS, SIZES, styled
from flexdyn_ros.simulation.steps.stiffness import allowed_errors
from flexdyn_ros.simulation.steps.workspace import free_bodies

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
#: step [s] of the two folds from which slopes are read
FOLD = 1e-3

OURS = ("extrapolated", "dop853")
CANDIDATES = {
    "ROS34PW2": WMethod(ROS34PW2),
    "ROS34PW2, one pass": WMethod(ROS34PW2, follows=True),
    "ROS34PW3": WMethod(ROS34PW3),
    "generalised-alpha": GeneralisedAlpha(),
}


@dataclass(frozen=True)
class Case:
    """A robot, what is special about it, the time that it is moved [s], gains of its servo."""

    robot: str
    about: str
    span: float
    options: dict[str, Any] = field(default_factory=dict)
    stiffness: float = 0.0
    damping: float = 0.0


def damped(ratio: float) -> dict[str, float]:
    """Options that give both links a damping ratio."""
    return {f"links.{link}.damping.ratio": ratio for link in ("link_1", "link_2")}


#: strokes without stops, which would be hit
WIDE = {f"joints.section_{i}.section.lower": -0.03 for i in (1, 2, 3)}
CASES = {
    "rigid arm": Case("seven_joint_arm", "dry friction as shipped", 0.2),
    "rigid arm, damped": Case("seven_joint_arm", "dampers of 100 N m s in all joints", 1.0, damping=100.0),
    "rigid arm, servo": Case("seven_joint_arm", "held by gains of 2000 and 400", 1.0, {}, 2e3, 400.0),
    "bending arm": Case("flexible_two_link", "1 % modal damping", 0.12),
    "bending arm, damped": Case("flexible_two_link", "modal damping ratio 0.7", 0.5, damped(0.7)),
    "booms": Case("canadarm2", "no damping", 0.05),
    "wheeled arm": Case("mobile_arm", "no damping of links", 0.02),
    "wheeled arm, damped": Case("mobile_arm", "modal damping ratio 0.5", 0.25, damped(0.5)),
    "soft arm": Case("soft_arm_3", "dampers of 15 N s/m as shipped", 0.5, WIDE),
    "soft arm, damped": Case("soft_arm_3", "dampers of 500 N s/m", 1.0, WIDE, 0.0, 500.0),
    "platform": Case("stewart_electric", "legs are springs of 2e4 N/m", 0.3, {}, 2e4, 20.0),
    "platform, servo": Case("stewart_electric", "legs held by gains of 1e6 and 1e5", 1.0, {}, 1e6, 1e5),
}  # fmt: skip
QUICK = ("rigid arm, damped", "soft arm")


# ---- robots ----


class MovedRobot:
    """Robot of a case with its servo, by the function that the library's steps call: a Problem of
    implicit_methods.py.

    It starts a third of a radian, or some of the strokes, away from where the servo holds it.
    """

    def __init__(self, case: Case) -> None:
        self.robot = robot = flexdyn_ros.load(case.robot, options=case.options)
        motion = robot.motion
        assert motion is not None
        self.case, self.motion, self.passes = case, motion, 0
        self._table, self._work = motion.table(), np.zeros(motion.work_size)
        self._functions = {place: ctypes.CFUNCTYPE(ctypes.c_int64, *kinds) for place, kinds in KINDS.items()}
        nq, nv, nu = robot.nq, robot.nv, robot.nu
        shapes = {"q": nq, "v": nv, "force": nv, "extra": nu, "a": nv, "effort": nu, "y": nu, "rate": nu}
        self._arrays = {name: np.zeros(size) for name, size in shapes.items()}
        self._addresses = {name: array.ctypes.data for name, array in self._arrays.items()}
        self.q_of_v = np.array([c.q_index for c in robot.coordinates])
        self._given = np.array([c.prescribed for c in robot.coordinates])
        self._turns = [turn for _, turn in free_bodies(robot)]
        self._call(table.PREPARE)
        self.target = self._measured(robot.neutral(), np.zeros(nv))[0].copy()
        self.q0, self.v0 = start(robot)
        self._constant: tuple[np.ndarray, ...] | None = None
        here, there = self._read_slopes(self.q0, self.v0), self._read_slopes(robot.neutral(), self.v0 + 0.1)
        inertia = np.abs(self.mass_matrix(self.q0)).max()
        # beside the inertia, where slopes count that are zero but for rounding
        same = (
            np.abs(x - y).max() <= 1e-7 * (np.abs(x).max() + inertia / FOLD**n)
            for x, y, n in zip(here, there, (2, 1))
        )
        if all(same):
            self._constant = here

    def _call(self, place: int, *arguments: Any) -> None:
        """A function of the family, with arrays by name."""
        address = int(self._table[place])
        values = (self._addresses.get(x, x) for x in arguments)
        self._functions[place](address)(self.motion.robot, self._work.ctypes.data, *values)

    def _measured(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the servo measures (nu,), and its rate."""
        if table.OBSERVE not in self.motion.functions:
            return q, v
        self._arrays["q"][:], self._arrays["v"][:] = q, v
        self._call(table.OBSERVE, "q", "v", "y", "rate")
        return self._arrays["y"], self._arrays["rate"]

    def accelerate(
        self, q: np.ndarray, v: np.ndarray, h: float = 0.0, force: np.ndarray | None = None
    ) -> np.ndarray:
        """See implicit_methods.Problem."""
        self.passes += 1
        return self._solve(q, v, h, force)

    def _solve(self, q: np.ndarray, v: np.ndarray, h: float, force: np.ndarray | float | None) -> np.ndarray:
        arrays, k, d = self._arrays, self.case.stiffness, self.case.damping
        arrays["q"][:], arrays["v"][:], arrays["a"][:] = q, v, 0.0
        arrays["force"][:] = 0.0 if force is None else force
        arrays["extra"][:] = h * (d + h * k)
        if k != 0.0 or d != 0.0:
            y, rate = self._measured(q, v)
            effort = k * (self.target - y - h * rate) - d * rate
            if table.EXERT in self.motion.functions:
                arrays["effort"][:] = effort
                self._call(table.EXERT, "q", "effort", "force")
            else:
                arrays["force"] += effort
        self._call(table.ACCELERATE, 0.0, "q", "v", "force", "extra", h, "a")
        return arrays["a"].copy()

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """See implicit_methods.Problem; prescribed coordinates are uncoupled."""
        return self._uncoupled(self.robot.mass_matrix(q), 1.0)

    def _uncoupled(self, matrix: np.ndarray, diagonal: float) -> np.ndarray:
        matrix[self._given], matrix[:, self._given] = 0.0, 0.0
        matrix[self._given, self._given] = diagonal
        return matrix

    def slopes(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See implicit_methods.Problem."""
        return self.mass_matrix(q), *(self._constant or self._read_slopes(q, v))

    def _read_slopes(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """K, D: what two folds, of FOLD and twice that, add to M."""
        M = self.mass_matrix(q)
        once, twice = (self._folded(q, v, h) - M for h in (FOLD, 2.0 * FOLD))
        return (twice - 2.0 * once) / (2.0 * FOLD**2), (4.0 * once - twice) / (2.0 * FOLD)

    def _folded(self, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
        """M + h D + h^2 K, from the accelerations that unit forces make."""
        rest = self._solve(q, v, h, None)
        inverse = np.array([self._solve(q, v, h, unit) - rest for unit in np.eye(v.size)])
        return self._uncoupled(np.linalg.inv(self._uncoupled(inverse, 1.0)), 1.0)

    def move(self, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """See implicit_methods.Problem."""
        return self.robot.integrate(q, theta, 1.0) if self._turns else q + theta

    def rate(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See implicit_methods.Problem; for turns as in numerics/stepping/explicit.py."""
        out = v.copy()
        for i in self._turns:
            turn, w = theta[i : i + 3], v[i : i + 3]
            half = 0.5 * float(np.linalg.norm(turn))
            c = (
                1.0 / 12.0 + half * half / 180.0
                if half < 1e-2
                else (1.0 - half / np.tan(half)) / (4.0 * half * half)
            )
            across = np.cross(turn, w)
            out[i : i + 3] += c * np.cross(turn, across) - 0.5 * across
        return out


KINDS = {
    table.PREPARE: (ctypes.c_int64,) * 2,
    table.OBSERVE: (ctypes.c_int64,) * 6,
    table.EXERT: (ctypes.c_int64,) * 5,
    table.ACCELERATE: (
        *(ctypes.c_int64,) * 2, ctypes.c_double, *(ctypes.c_int64,) * 4, ctypes.c_double, ctypes.c_int64,
    ),
}  # fmt: skip


def start(robot: flexdyn_ros.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Joints 0.3 rad from neutral that turn by turns at 0.5 rad/s to and fro, soft actuators within their
    strokes, platforms raised and turned."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    for i, c in enumerate(robot.coordinates):
        if c.kind == "joint" and not c.prescribed:
            q[c.q_index] += 0.3
            v[c.v_index] = 0.5 if i % 2 == 0 else -0.5
        elif c.kind == "actuator":
            q[c.q_index] = 0.010 + 0.002 * (i % 3)
    if any(c.kind == "platform" for c in robot.coordinates):
        q = robot.integrate(q, np.array([0.05, -0.08, 0.1, 0.01, -0.02, 0.03]), 1.0)
    return q, v


# ---- runs ----


class Measured(NamedTuple):
    """Largest error of a run over the excursion, its passes, its tolerance."""

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
    control = np.zeros(controlled.CONTROL)
    control[[controlled.RTOL, controlled.LARGEST, controlled.OF_SPEEDS]] = rtol, np.inf, 1.0
    control[[controlled.PREVIOUS, controlled.OF_ENERGIES]] = controlled.LEAST, np.inf
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
    return q, int(control[controlled.EVALUATIONS])


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
        f"extrapolated with a tolerance of {DEFAULT:.0e}: error, passes with ten samples and one a millisecond"
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
    with styled(SIZES["screen"]):
        figure, axes = pyplot.subplots(
            rows, 2, figsize=(7.2, 2.1 * rows + 0.8), sharex=True, squeeze=False, layout="constrained"
        )
        for axis, (name, found) in zip(axes.flat, results.items()):
            for colour, (method, mark) in zip(COLOURS, marks.items()):
                points = [(e, n) for e, n, _ in found[method] if ENOUGH / 10.0 < e < 1.0]
                if points:
                    style = "--" if method == "dop853" else "-"
                    axis.loglog(*zip(*points), style, marker=mark, ms=3, color=colour, label=method)
            axis.set_title(f"{name}:\n{CASES[name].about}", fontsize=10)
            axis.grid(alpha=0.3)
        axes.flat[0].set_xlim(1.0, ENOUGH / 10.0)
        for axis in axes[:, 0]:
            axis.set_ylabel("passes")
        for axis in axes[-1]:
            axis.set_xlabel("largest error over the excursion")
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
