"""Kernels do not allocate: a thousand samples ask the runtime for no more memory than one sample."""

import os
import subprocess
import sys

import pytest

PROBE = """
import numpy as np
from numba.core.runtime import rtsys
import flexdyn_ros
from flexdyn_ros.dynamics.threads import set_batch_threads

set_batch_threads(1)
robot = flexdyn_ros.load(ROBOT)
n = robot.nv
rng = np.random.default_rng(0)
load = {"tool0": np.ones(6)}

def allocations(call):
    before = rtsys.get_allocation_stats()
    call()
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free, "memory is lost"
    return after.alloc - before.alloc

verbs = {
    "inverse dynamics": lambda q, v, x: robot.inverse_dynamics(q, v, x),
    "inverse dynamics with wrenches": lambda q, v, x: robot.inverse_dynamics(q, v, x, load),
    "forward dynamics": lambda q, v, x: robot.forward_dynamics(q, v, x),
    "forward dynamics with wrenches": lambda q, v, x: robot.forward_dynamics(q, v, x, load),
    "prescribed": lambda q, v, x: robot.forward_dynamics(q, v, x, prescribed={"elbow_pitch": 1.0}),
    "mass matrix": lambda q, v, x: robot.mass_matrix(q),
    "bias terms": lambda q, v, x: robot.bias_terms(q, v),
    "energy": lambda q, v, x: robot.energy(q, v),
    "momentum": lambda q, v, x: robot.momentum(q, v),
    "frames": lambda q, v, x: robot.frames(q),
    "jacobian": lambda q, v, x: robot.jacobian(q, "tool0"),
    "integrate": lambda q, v, x: robot.integrate(q, v, 0.1),
    "difference": lambda q, v, x: robot.difference(q, v),
    "derivatives": lambda q, v, x: robot.inverse_dynamics_derivatives(q, v, x),
}
if robot.bends:
    verbs["coriolis"] = lambda q, v, x: robot.coriolis_matrix(q, v)
small, large = rng.uniform(-1, 1, (3, 2, n)), rng.uniform(-1, 1, (3, 1000, n))
for name, verb in verbs.items():
    verb(*small)
    few, many = allocations(lambda: verb(*small)), allocations(lambda: verb(*large))
    assert few > 0, name  # the counter counts
    assert few == many, (name, few, many)
print("ok")
"""


@pytest.mark.parametrize("robot", ["seven_joint_arm", "canadarm2"])
def test_kernels_do_not_allocate(robot):
    """The same for rigid trees and for trees with flexible links."""
    probe = PROBE.replace("ROBOT", repr(robot)).replace(
        "1000", "1000" if robot == "seven_joint_arm" else "60"
    )
    run = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "NUMBA_NRT_STATS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "ok"
