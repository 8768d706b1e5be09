"""Kernels of platforms do not allocate: a thousand samples ask the runtime for no more memory than one."""

from allocation import run_probe

PROBE = """
import numpy as np
from allocation import refuse_growth
import flexdyn_ros
from flexdyn_ros.robot.threads import set_batch_threads

set_batch_threads(1)
robots = [flexdyn_ros.load(name) for name in ("stewart_1t", "stewart_electric")]
rng = np.random.default_rng(0)
load = {"platform": np.ones(6), "leg_2_rod": np.ones(6)}

for robot in robots:
    lengths = robot.inverse_kinematics(robot.neutral()).length
    verbs = {
        "inverse dynamics": lambda q, v, x: robot.inverse_dynamics(q, v, x, load),
        "forward dynamics": lambda q, v, x: robot.forward_dynamics(q, v, x, load),
        "mass matrix": lambda q, v, x: robot.mass_matrix(q),
        "bias": lambda q, v, x: robot.bias_forces(q, v),
        "energy": lambda q, v, x: robot.energy(q, v),
        "momentum": lambda q, v, x: robot.momentum(q, v),
        "frames": lambda q, v, x: robot.frames(q),
        "jacobian": lambda q, v, x: robot.jacobian(q, "leg_1_rod"),
        "leg jacobian": lambda q, v, x: robot.leg_jacobian(q),
        "legs": lambda q, v, x: robot.leg_states(q, v, x),
        "reactions": lambda q, v, x: robot.joint_reactions(q, v, x),
        "forward kinematics": lambda q, v, x: robot.forward_kinematics(lengths, q, strict=False),
        "linearize": lambda q, v, x: robot.linearize(q, v, x, load),
    }
    small = [np.array([robot.neutral()] * 2), *rng.uniform(-1, 1, (2, 2, 6))]
    large = [np.array([robot.neutral()] * 500), *rng.uniform(-1, 1, (2, 500, 6))]
    refuse_growth(verbs, small, large)
print("ok")
"""


def test_kernels_of_platforms_do_not_allocate():
    assert run_probe(PROBE) == "ok"
