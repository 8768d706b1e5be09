"""The loop over steps takes no memory: as many allocations for many steps as for few."""

import os

import pytest
from allocation import run_probe

SCRIPT = """
import numpy as np
from flexible_robots import branched
from numba.core.runtime import rtsys
from pendulums import double_pendulum, tumbler
import flexdyn_ros
from flexdyn_ros.numerics.stepping import fixed as kernels
from flexdyn_ros.simulation.steps.stepper import Stepper

bends = flexdyn_ros.load(branched(base="floating"))
for robot in (double_pendulum('<dynamics damping="0.1" friction="0.1"/>'), tumbler(), bends):
    for method in ("rk4", "rosenbrock", "semi_implicit_euler"):
        stepper = Stepper(robot, method=method, limits="spring", saturate=True)
        stepper.set_servo(np.full(robot.nv, 1.0) * [c.q_index >= 0 for c in robot.coordinates], 0.1)
        stepper.set_wrenches({robot.frame_names[-1]: np.ones(6)})
        rows = [np.zeros((50, n)) for n in (robot.nq, robot.nv, robot.nv, 3)]
        counts = []
        for steps in (1, 1, 100):
            before = rtsys.get_allocation_stats().alloc
            kernels.advance(stepper._steps, 0.0, steps, 1e-4)
            counts.append(rtsys.get_allocation_stats().alloc - before)
        for every in (1, 1, 50):
            before = rtsys.get_allocation_stats().alloc
            kernels.record_steps(stepper._steps, 0.0, every, 1e-4, *rows)
            counts.append(rtsys.get_allocation_stats().alloc - before)
        print(robot.name, method, *counts)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="nothing is compiled")
def test_many_steps_allocate_no_more_than_one():
    lines = run_probe(SCRIPT).split("\n")
    assert len(lines) == 9
    for line in lines:
        _, _, *counts = line.split()
        assert counts[1] == counts[2], line
        assert counts[4] == counts[5], line
        assert counts[1] == "0", line
