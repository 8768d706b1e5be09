"""Time of hydraulic ticks: six legs alone, a step of the platform with and without them, and of `boom`.

    python benchmarks/bench_hydraulics.py [--quick]

The exchange between processes is timed by `test/nodes/test_platform_processes.py --slow`.
"""

import sys
import time
from statistics import median

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders
from flexdyn_ros.simulation import FusedHydraulics, Stepper

ROUNDS, STEPS = 300, 10


def timed(action, rounds, per=1):
    """Median time of an action [us]."""
    action()
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        action()
        found.append((time.perf_counter() - begin) / per)
    return 1e6 * median(found)


def step_of_boom(method, rounds):
    """Median time of a step of `boom` in the compiled loop while its valves open to and fro [us]."""
    stepper = Stepper(flexdyn_ros.load("boom"), 1e-3, method)
    oil, opening = FusedHydraulics(stepper, "valve"), np.full(3, 0.1)

    def to_and_fro():
        opening[:] *= -1.0
        oil.command(opening)
        stepper.advance(STEPS)

    return timed(to_and_fro, rounds, STEPS)


def main():
    rounds = 3 if program.parser(__doc__).parse_args().quick else ROUNDS
    robot = flexdyn_ros.load("stewart_1t")
    rest = np.zeros(6)
    hold = robot.inverse_dynamics(robot.neutral(), rest, rest)
    cylinders = Cylinders(robot.hydraulics, robot.hydraulics.initial(hold))
    lengths = robot.inverse_kinematics(robot.neutral()).length
    rng = np.random.default_rng(0)
    told = rng.uniform(-0.3, 0.3, 6)
    alone = timed(lambda: cylinders.tick(lengths, rest, told, 1e-3), rounds)
    controlled = timed(lambda: cylinders.tick(lengths, rest, hold, 1e-3, force=True), rounds)
    plain, driven = Stepper(robot), Stepper(robot)
    FusedHydraulics(driven, "valve")
    plain.set_efforts(hold)
    # small openings that go to and fro: constant ones would end in the stops
    driven.set_efforts(0.02 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))
    without = timed(lambda: plain.advance(STEPS), rounds, STEPS)

    def to_and_fro():
        driven.tau[:] *= -1.0
        driven.advance(STEPS)

    fused = timed(to_and_fro, rounds, STEPS)
    of_boom = [step_of_boom(method, rounds) for method in ("rosenbrock", "staggered")]
    sys.stdout.write(
        f"tick of six legs, called from Python: valves {alone:.1f} us, force control {controlled:.1f} us\n"
        f"step of 1 ms in the compiled loop: without cylinders {without:.1f} us, with {fused:.1f} us\n"
        f"step of 1 ms of boom: implicit {of_boom[0]:.1f} us, staggered {of_boom[1]:.1f} us\n"
    )


if __name__ == "__main__":
    main()
