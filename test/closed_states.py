"""Closed mechanisms of tests of exports, and states and motions that they can have."""

import machines
import numpy as np
from mixtures import random_closed_mixture

import flexdyn_ros

ROBOTS = {
    "four_bar": machines.four_bar,
    "bricard": machines.bricard,
    "floating": lambda: flexdyn_ros.load(machines.FLOATING),
    "beam": lambda: flexdyn_ros.load(machines.BEAM),
    "excavator": machines.excavator,
}


def state_of(robot, seed=0):
    rng = np.random.default_rng(seed)
    size = np.array([1e-3 if c.kind not in ("joint", "base") else 0.1 for c in robot.coordinates])
    q = robot.assemble(robot.integrate(robot.neutral(), size * rng.standard_normal(robot.nv), 1.0))
    return (*robot.project(q, 3.0 * size * rng.standard_normal(robot.nv)), rng.standard_normal(robot.nu))


def possible(robot, seed):
    """A state, a motion that the actuators can make, and the size of the forces that the open tree needs."""
    if robot.name.startswith("random"):
        # its loops close in few poses
        rng = np.random.default_rng(seed)
        q, v = robot.project(robot.neutral(), 1e-2 * rng.standard_normal(robot.nv))
        tau = 0.1 * rng.standard_normal(robot.nu)
    else:
        q, v, tau = state_of(robot, seed)
    tau[[name not in robot.actuators for name in robot.effort_names]] = 0.0
    a = robot.forward_dynamics(q, v, tau)
    M = robot.mass_matrix(q)
    return (q, v, a), np.abs(M) @ np.abs(a) + np.abs(robot.bias_forces(q, v))


INVERSE = {
    **ROBOTS,
    "delta": lambda: flexdyn_ros.load("delta"),
    "two motors": lambda: machines.four_bar(more='<actuation active="crank_joint rocker_joint"/>'),
    "rigid mixture": lambda: flexdyn_ros.load(random_closed_mixture(5, "rigid")),
    "flexible mixture": lambda: flexdyn_ros.load(random_closed_mixture(0, "flexible")),
    "elastic mixture": lambda: flexdyn_ros.load(random_closed_mixture(4, "elastic")),
}
