"""The wheeled arm: its right-hand side in compiled code, the 0.25 s study by several methods, and by Exudyn.

    python benchmarks/bench_mobile.py [--exudyn] [--turns 7] [--quick]

Times of the first two are processor time of the calling thread, medians over repeats in one run.

With Exudyn (`pip install exudyn`; exudyn_mobile_arm.py) both sides start straight, with the exact suspension.
Exudyn takes the longest step of a list with which the tip of its rigid arm ends within 0.1 mm of DOP853 at
1e-10, and simulates links of ANCF cables with that step; ours takes, by rk4 and by scaled_rk4, the longest
step with which the tip stays within 0.1 mm of DOP853 over the whole run. Turns alternate; medians of
processor time.
"""

from __future__ import annotations

import time
import warnings
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.numerics.numbers.memory import PER_LANES
from flexdyn_ros.numerics.verbs.dynamics import many_on_lanes

SAMPLES = 20000
TORQUES = (45.0, -2.0)
POSE = (np.radians(-45.0), np.radians(120.0))


class Scope(NamedTuple):
    """How long is simulated [s], the tip error within which steps are chosen [m], steps to choose from [s],
    cables per link.
    """

    duration: float
    error: float
    steps: tuple[float, ...]
    cables: tuple[int, ...]


STEPS = (2e-2, 1e-2, 5e-3, 2.5e-3, 2e-3, 1e-3, 5e-4, 4e-4, 2.5e-4, 1.8e-4, 1.25e-4, 1e-4, 5e-5)
FULL = Scope(0.25, 1e-4, STEPS, (4, 8))
QUICK = Scope(0.01, 1e-3, (1e-3, 2.5e-4, 1e-4), (2,))
#: the study: fixed steps of compiled methods, tolerances of scipy's
CASES = [
    *(("rosenbrock", {"dt": h}) for h in (1e-3, 2.5e-4, 1e-4, 5e-5, 2.5e-5)),
    *(("rk4", {"dt": h}) for h in (1e-4, 5e-5)),
    *(("scaled_rk4", {"dt": h}) for h in (1e-3, 5e-4, 4e-4, 2.5e-4)),
    *((m, {"rtol": 1e-6, "atol": 1e-8}) for m in ("dop853", "lsoda", "bdf", "radau")),
]
#: of a quick run: each kind of method once
QUICK_CASES = [CASES[0], CASES[5], CASES[7], CASES[12]]
#: ours: name, whether links bend, method
OURS = (("rigid", False, "rk4"), ("flexible", True, "rk4"), ("flexible, scaled", True, "scaled_rk4"))


def main() -> None:
    """Print the tables."""
    parser = program.parser(__doc__)
    parser.add_argument("--exudyn", action="store_true")
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    # both sides leave the stiffening out: that the links turn fast is known
    warnings.simplefilter("ignore", flexdyn_ros.errors.FlexdynWarning)
    if arguments.quick:
        right_hand_sides(samples=100)
        study(flexdyn_ros.load("mobile_arm"), QUICK_CASES, QUICK.duration)
        if program.peer("exudyn", "exudyn"):
            compare(1, QUICK)
    elif not arguments.exudyn:
        right_hand_sides(SAMPLES)
        study(flexdyn_ros.load("mobile_arm"), CASES, FULL.duration)
    elif program.peer("exudyn", "exudyn"):
        compare(arguments.turns, FULL)


def right_hand_sides(samples: int) -> None:
    """Print the first figures."""
    for options in ({}, {"formulation.flexible": False}):
        robot = flexdyn_ros.load("mobile_arm", options=options)
        print(f"right-hand side, {robot.nv:2d} coordinates: {right_hand_side(robot, samples):6.2f} us")


def right_hand_side(robot, samples: int) -> float:
    """Microseconds per forward dynamics of one sample, wheels and road included, in a compiled loop."""
    rng = np.random.default_rng(0)
    q, v = 0.01 * rng.normal(size=(samples, robot.nq)), 0.1 * rng.normal(size=(samples, robot.nv))
    q[:, 1] += 0.2
    tau, a, none = np.zeros_like(v), np.empty_like(v), (np.zeros((0, 0, 6)), np.zeros((0, 0)))
    functions = robot.functions
    work, head, entry = (
        functions.work(PER_LANES),
        functions.heads.on_lanes("forward_on_lanes"),
        many_on_lanes.load(),
    )
    seconds = []
    for _ in range(7):
        start = time.thread_time()
        assert entry(head.address, work, q, v, tau, a, *none) == 0
        seconds.append((time.thread_time() - start) / samples)
    return 1e6 * median(seconds)


def study(robot, cases: list[tuple[str, dict[str, Any]]], duration: float) -> None:
    """A while from the held pose, torques stepped: time, real-time factor, tip error against tight DOP853."""
    q0, v0, tau = start(robot)
    common = {"q0": q0, "v0": v0, "control": tau}
    tight = {"rtol": 1e-10, "atol": 1e-12, "dt": duration}
    exact = flexdyn_ros.simulate(robot, duration, method="dop853", **tight, **common)
    tip = exact.frames("link_2/tip")[-1, :3, 3]
    print(f"{'method':12s} {'step, rtol':>10s} {'seconds':>9s} {'x real time':>11s} {'tip error':>10s}")
    for method, options in cases:
        try:
            flexdyn_ros.simulate(robot, 1e-3, method=method, **{**options, "dt": 1e-4}, **common)
            begin = time.thread_time()
            run = flexdyn_ros.simulate(
                robot, duration, method=method, **{"dt": duration, **options}, **common
            )
        except flexdyn_ros.errors.SimulationError as error:
            print(f"{method:12s} {options.get('dt', duration):10g} diverges ({error})"[:100])
            continue
        seconds = time.thread_time() - begin
        error = np.abs(run.frames("link_2/tip")[-1, :3, 3] - tip).max()
        size = options.get("rtol") or options["dt"]
        print(f"{method:12s} {size:10g} {seconds:9.4f} {duration / seconds:11.2f} {error:10.2e}")


def start(robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pose held by its motors, the speed of the drive, the stepped torques."""
    q = robot.neutral()
    shoulder, elbow = robot.index("shoulder"), robot.index("elbow")
    q[shoulder], q[elbow] = POSE[0], POSE[1] - POSE[0]
    q = robot.static_equilibrium(q, hold="joints").q
    v, tau = np.zeros(robot.nv), np.zeros(robot.nv)
    v[0] = robot.description.drive.speed
    tau[shoulder], tau[elbow] = TORQUES
    return q, v, tau


# ---- against Exudyn ----


class Study:
    """A while from a straight pose."""

    def __init__(self, flexible: bool, scope: Scope) -> None:
        self.scope = scope
        options = {"formulation.flexible": flexible, "formulation.suspension": "exact"}
        self.robot = flexdyn_ros.load("mobile_arm", options=options)
        robot = self.robot
        self.q, self.v, self.tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
        shoulder, elbow = robot.index("shoulder"), robot.index("elbow")
        self.q[1], self.q[2] = HEIGHT, -PITCH
        self.q[shoulder], self.q[elbow] = POSE[0] - PITCH, POSE[1] - POSE[0]
        self.v[0] = robot.description.drive.speed
        self.tau[shoulder], self.tau[elbow] = TORQUES
        self.exact = self.path("dop853", scope.duration, rtol=1e-10, atol=1e-12)[-1]

    def seconds(self, method: str, step: float) -> float:
        """Processor time of a run."""
        options = {"record": (), "record_every": 10**6, "control": self.tau}
        begin = time.process_time()
        flexdyn_ros.simulate(
            self.robot, self.scope.duration, self.q, self.v, dt=step, method=method, **options
        )
        return time.process_time() - begin

    def path(self, method: str, step: float, **tolerances: float) -> np.ndarray:
        """Places (n, 2) of the end of the second link (x, z) at all steps."""
        run = flexdyn_ros.simulate(
            self.robot,
            self.scope.duration,
            self.q,
            self.v,
            dt=step,
            method=method,
            control=self.tau,
            **tolerances,
        )
        return self.robot.frames(run.q, "link_2/tip")[:, [0, 2], 3]

    def longest_step(self, method: str) -> tuple[float, float]:
        """The longest step of a method that stays within the error over the run, and that error [m]."""
        for step in self.scope.steps:
            try:
                path = self.path(method, step)
            except flexdyn_ros.errors.SimulationError:
                continue
            error = float(np.abs(path - self.path("dop853", step, rtol=1e-10, atol=1e-12)).max())
            if error < self.scope.error:
                return step, error
        raise SystemExit("no step of the list is short enough")


#: height and pitch up of the cart at the start [m, rad]
HEIGHT, PITCH = 0.2018, 0.0468


def longest(ends, exact: np.ndarray, steps: tuple[float, ...], most: float) -> tuple[float, float]:
    """The longest step of the list after which the tip is within the error, and that error."""
    for step in steps:
        error = float(np.abs(ends(step) - exact).max())
        if error < most:
            return step, error
    raise SystemExit("no step of the list is short enough")


def theirs(cables: int, step: float, duration: float) -> tuple[float, np.ndarray]:
    """The same by Exudyn."""
    from exudyn_mobile_arm import ExudynArm, Setting

    return ExudynArm(Setting(HEIGHT, PITCH, POSE, TORQUES, cables)).run(step, duration)


def compare(turns: int, scope: Scope) -> None:
    """Print steps, errors, times and ratios."""
    rigid, bent = Study(False, scope), Study(True, scope)
    duration, cables, steps = scope.duration, scope.cables, scope.steps
    step, error = longest(lambda h: theirs(0, h, duration)[1], rigid.exact, steps, scope.error)
    sides = {"rigid, Exudyn": (lambda: theirs(0, step, duration)[0], step, error)}
    for name, own, method in OURS:
        study = bent if own else rigid
        h, wrong = study.longest_step(method)
        sides[f"{name}, flexdyn_ros"] = (lambda s=study, m=method, h=h: s.seconds(m, h), h, wrong)
    for n in cables:
        sides[f"{n} cables a link, Exudyn"] = (lambda n=n: theirs(n, step, duration)[0], step, None)
    # and with the step that its flexible arm needs for the same error against its own converged answer
    n = cables[-1]
    shorter = tuple(h for h in steps if h <= step)
    converged = theirs(n, 0.5 * steps[-1], duration)[1]
    fine, wrong = longest(lambda h: theirs(n, h, duration)[1], converged, shorter, scope.error)
    sides[f"{n} cables, own error, Exudyn"] = (lambda: theirs(n, fine, duration)[0], fine, wrong)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, (run, _, _) in sides.items():
            seconds[name].append(run())
    print(f"{f'{duration:g} s study':28s} {'step [s]':>9s} {'tip error [m]':>14s} {'processor [ms]':>15s}")
    for name, (_, h, wrong) in sides.items():
        error = "-" if wrong is None else f"{wrong:.1e}"
        print(f"{name:28s} {h:9.2g} {error:>14s} {1e3 * median(seconds[name]):15.2f}")
    bending = [f"{n} cables a link" for n in cables] + [f"{n} cables, own error"]
    for ours, flexible, _ in OURS:
        for other in bending if flexible else ["rigid"]:
            pairs = zip(seconds[f"{ours}, flexdyn_ros"], seconds[f"{other}, Exudyn"], strict=True)
            faster = median(b / a for a, b in pairs)
            print(f"{ours}, flexdyn_ros, is {faster:.1f} times faster than {other}, Exudyn")


if __name__ == "__main__":
    main()
