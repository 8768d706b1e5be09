"""Steps of robots on wheels take no memory: as many allocations for many steps as for few."""

import os

import pytest
from allocation import run_probe

SCRIPT = """
import numpy as np
from mobile_arms import chain
from numba.core.runtime import rtsys
import flexdyn_ros
from flexdyn_ros.numerics.stepping import fixed as kernels
from flexdyn_ros.simulation.steps.stepper import Stepper

tree = {"formulation.method": "articulated", "road.contact": "unilateral"}
planar, spatial = flexdyn_ros.load("mobile_arm"), flexdyn_ros.load("mobile_arm_spatial")
for robot in (planar, spatial, flexdyn_ros.load(chain((True,), tyres=True), options=tree)):
    for method in ("rk4", "rosenbrock"):
        stepper = Stepper(robot, method=method)
        stepper.set_wrenches({robot.frame_names[-1]: np.ones(6)})
        counts = []
        for steps in (1, 1, 100):
            before = rtsys.get_allocation_stats().alloc
            kernels.advance(stepper._steps, 0.0, steps, 1e-5)
            counts.append(rtsys.get_allocation_stats().alloc - before)
        print(robot.name, method, *counts)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="nothing is compiled")
def test_many_steps_on_wheels_allocate_no_more_than_one():
    lines = run_probe(SCRIPT).split("\n")
    assert len(lines) == 6
    for line in lines:
        _, _, *counts = line.split()
        assert counts[1] == counts[2] == "0", line
