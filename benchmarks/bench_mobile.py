"""The wheeled arm: its right-hand side inside compiled code, and the 0.25 s study by several methods.

    python benchmarks/bench_mobile.py

Times are processor time of the calling thread, medians over repeats in one run.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np

import flexdyn_ros
from flexdyn_ros.kernels.mobile import forward_dynamics_many

SAMPLES = 20000
TORQUES = (45.0, -2.0)
POSE = (np.radians(-45.0), np.radians(120.0))


def main() -> None:
    """Print both tables."""
    for options in ({}, {"formulation.flexible": False}):
        robot = flexdyn_ros.load("mobile_arm", options=options)
        print(f"right-hand side, {robot.nv:2d} coordinates: {right_hand_side(robot):6.2f} us")
    study(flexdyn_ros.load("mobile_arm"))


def right_hand_side(robot) -> float:
    """Microseconds per forward dynamics of one sample, wheels and road included, in a compiled loop."""
    rng = np.random.default_rng(0)
    q, v = 0.01 * rng.normal(size=(SAMPLES, robot.nq)), 0.1 * rng.normal(size=(SAMPLES, robot.nv))
    q[:, 1] += 0.2
    tau, a = np.zeros_like(v), np.empty_like(v)
    work, entry = robot._packed.work(), forward_dynamics_many.load()
    seconds = []
    for _ in range(7):
        start = time.thread_time()
        assert entry(robot._address, work, q, v, tau, a) == 0
        seconds.append((time.thread_time() - start) / SAMPLES)
    return 1e6 * median(seconds)


def study(robot) -> None:
    """0.25 s from the held pose, torques stepped: time, real-time factor, tip error against tight DOP853."""
    q0, v0, tau = start(robot)
    common = {"q0": q0, "v0": v0, "control": tau}
    exact = flexdyn_ros.simulate(robot, 0.25, method="dop853", rtol=1e-10, atol=1e-12, dt=0.25, **common)
    tip = exact.frames("link_2/tip")[-1, :3, 3]
    print(f"{'method':12s} {'step, rtol':>10s} {'seconds':>9s} {'x real time':>11s} {'tip error':>10s}")
    cases = [("rosenbrock", {"dt": h}) for h in (1e-3, 2.5e-4, 1e-4, 5e-5, 2.5e-5)]
    cases += [("rk4", {"dt": h}) for h in (1e-4, 5e-5)]
    cases += [(m, {"dt": 0.25, "rtol": 1e-6, "atol": 1e-8}) for m in ("dop853", "lsoda", "bdf", "radau")]
    for method, options in cases:
        try:
            flexdyn_ros.simulate(robot, 1e-3, method=method, **{**options, "dt": 1e-4}, **common)
            begin = time.thread_time()
            run = flexdyn_ros.simulate(robot, 0.25, method=method, **options, **common)
        except flexdyn_ros.errors.SimulationError as error:
            print(f"{method:12s} {options['dt']:10g} diverges ({error})"[:100])
            continue
        seconds = time.thread_time() - begin
        error = np.abs(run.frames("link_2/tip")[-1, :3, 3] - tip).max()
        size = options.get("rtol", options["dt"])
        print(f"{method:12s} {size:10g} {seconds:9.4f} {0.25 / seconds:11.2f} {error:10.2e}")


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


if __name__ == "__main__":
    main()
