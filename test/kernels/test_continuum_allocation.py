"""Kernels of soft arms do not allocate: a thousand samples or steps ask the runtime for no more than one."""

import os
import subprocess
import sys

PROBE = """
import numpy as np
from numba.core.runtime import rtsys
import flexdyn_ros
from flexdyn_ros.dynamics.threads import set_batch_threads
from flexdyn_ros.simulation.stepper import Stepper

set_batch_threads(1)
lagging = '<pressure area="1e-4" time_constant="0.02"/>'
text = flexdyn_ros.load("soft_arm_3").description.text
robots = [
    flexdyn_ros.load("soft_arm"),
    flexdyn_ros.load("soft_arm", options={"formulation.mass_model": "lumped2"}),
    flexdyn_ros.load("soft_arm_3", options={"formulation.kinematics": "modal"}),
    flexdyn_ros.load(text.replace('preset="bai2022"/>', f'preset="bai2022">{lagging}</section>')),
]
rng = np.random.default_rng(0)

def allocations(call):
    before = rtsys.get_allocation_stats()
    call()
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free, "memory is lost"
    return after.alloc - before.alloc

for robot in robots:
    n = robot.nv
    load = {"tip": np.ones(6), "section_1@0.4": np.ones(6)}
    verbs = {
        "inverse dynamics": lambda q, v, x: robot.inverse_dynamics(q, v, x, load),
        "forward dynamics": lambda q, v, x: robot.forward_dynamics(q, v, x, load),
        "mass matrix": lambda q, v, x: robot.mass_matrix(q),
        "bias": lambda q, v, x: robot.bias_terms(q, v),
        "energy": lambda q, v, x: robot.energy(q, v),
        "momentum": lambda q, v, x: robot.momentum(q, v),
        "frames": lambda q, v, x: robot.frames(q),
        "jacobian": lambda q, v, x: robot.jacobian(q, "section_1@0.3"),
        "derivatives": lambda q, v, x: robot.inverse_dynamics_derivatives(q, v, x, load),
    }
    few = [rng.uniform(0, 0.03, (2, n)), *rng.uniform(-1, 1, (2, 2, n))]
    many = [rng.uniform(0, 0.03, (500, n)), *rng.uniform(-1, 1, (2, 500, n))]
    for name, verb in verbs.items():
        verb(*few)
        small, large = allocations(lambda: verb(*few)), allocations(lambda: verb(*many))
        assert small > 0, name  # the counter counts
        assert small == large, (name, small, large)
    for method in ("rosenbrock", "rk4"):
        stepper = Stepper(robot, 2e-4, method)
        stepper.set_wrenches({"tip": np.full(6, 0.01)})
        assert stepper.advance(1, np.full(n, 5.0)) == 0
        assert allocations(lambda: stepper.advance(1)) == allocations(lambda: stepper.advance(500)), method
print("ok")
"""


def test_kernels_of_soft_arms_do_not_allocate():
    run = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, "NUMBA_NRT_STATS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "ok"
