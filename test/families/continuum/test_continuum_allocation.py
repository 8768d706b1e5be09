"""Kernels of soft arms do not allocate: a thousand samples or steps ask the runtime for no more than one."""

from allocation import run_probe

PROBE = """
import numpy as np
from allocation import allocations, refuse_growth
import flexdyn_ros
from flexdyn_ros.robot.threads import set_batch_threads
from flexdyn_ros.simulation.steps.stepper import Stepper

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
    refuse_growth(verbs, few, many)
    for method in ("rosenbrock", "rk4"):
        stepper = Stepper(robot, 2e-4, method)
        stepper.set_wrenches({"tip": np.full(6, 0.01)})
        assert stepper.advance(1, np.full(n, 5.0)) == 0
        assert allocations(lambda: stepper.advance(1)) == allocations(lambda: stepper.advance(500)), method
print("ok")
"""


def test_kernels_of_soft_arms_do_not_allocate():
    assert run_probe(PROBE) == "ok"
