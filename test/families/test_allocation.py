"""Kernels do not allocate: a thousand samples ask the runtime for no more memory than one sample."""

import pytest
from allocation import run_probe

PROBE = """
import numpy as np
from allocation import refuse_growth
import flexdyn_ros
from flexdyn_ros.robot.threads import set_batch_threads

set_batch_threads(1)
robot = flexdyn_ros.load(ROBOT)
n = robot.nv
rng = np.random.default_rng(0)
load = {"tool0": np.ones(6)}

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
refuse_growth(verbs, small, large)
print("ok")
"""


@pytest.mark.parametrize("robot", ["seven_joint_arm", "canadarm2"])
def test_kernels_do_not_allocate(robot):
    """The same for rigid trees and for trees with flexible links."""
    probe = PROBE.replace("ROBOT", repr(robot)).replace(
        "1000", "1000" if robot == "seven_joint_arm" else "60"
    )
    assert run_probe(probe) == "ok"
