"""Accelerations in an implicit step as its equation has them, from what the verbs tell of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexdyn_ros.numerics.verbs import table


def accelerations(motion: Any, q, v, force, extra, h: float, of: Mapping[str, Any] | None = None):
    """The row `accelerate` of a table, that of the motion by default; nothing may depend on what other uses
    left in the work memory, or change what lies before and behind it."""
    size = motion.work_size
    room = np.random.default_rng(1).uniform(0.6, 1.0, 3 * size)
    given = room.copy()
    chosen, work, a = of or motion.table, room[size : 2 * size], np.zeros(v.size)
    arrays = q.copy(), v.copy(), force.copy(), extra.copy()
    if "ready" in chosen:
        table.call_ready(chosen["ready"].address, (motion.robot, work.ctypes.data))
    place = [x.ctypes.data for x in arrays]
    table.call_accelerate(
        chosen["accelerate"].address, (motion.robot, work.ctypes.data, 0.0, *place, h, a.ctypes.data)
    )
    np.testing.assert_array_equal(room[:size], given[:size])
    np.testing.assert_array_equal(room[2 * size :], given[2 * size :])
    return a


def left_over(robot: Any, q, v, h: float, seed: int = 0) -> float:
    """(M + extra + h D + h^2 K) a - (force - bias - h K v) in the accelerations of a step, as a share of the
    largest term.

    extra is that of coordinates, then that along the lines of cylinders. K and D are differences of elastic,
    damping and external forces: exact where these are linear.
    """
    rng, motion, nv = np.random.default_rng(seed), robot.motion, robot.nv
    motion.provide()
    force, extra = rng.standard_normal(nv), rng.uniform(0.1, 0.4, robot.nu)
    lines = robot.actuation_matrix(q)[:, nv:]
    still = np.zeros(nv)

    def forces(q, v):
        terms = robot.bias_terms(q, v)
        return terms.elastic + terms.damping + terms.external

    K, D = np.empty((2, nv, nv))
    for i, e in enumerate(1e-4 * np.eye(nv)):
        K[:, i] = (
            forces(robot.integrate(q, e, 1.0), still) - forces(robot.integrate(q, -e, 1.0), still)
        ) / 2e-4
        D[:, i] = (forces(q, v + e) - forces(q, v - e)) / 2e-4
    a = accelerations(motion, q, v, force, extra, h)
    added = np.diag(extra[:nv]) + lines * extra[nv:] @ lines.T
    left = (robot.mass_matrix(q) + added + h * D + h * h * K) @ a
    right = force - robot.bias_forces(q, v) - h * K @ v
    return float(np.abs(left - right).max() / np.abs(right).max())


def taken_left_over(robot: Any, q, v, h: float) -> float:
    """What `losses` says of two mean speeds after a step of h, less speed' D mean, as a share of it; D is the
    differences of damping and external forces by speeds, where actuators are after the step."""
    motion, nv = robot.motion, robot.nv
    motion.provide()
    rng, work = np.random.default_rng(2), np.random.default_rng(1).uniform(0.6, 1.0, motion.work_size)
    speed, mean = rng.standard_normal((2, nv))
    there = robot.integrate(q, v, h)

    def forces(v):
        terms = robot.bias_terms(there, v)
        return terms.damping + terms.external

    D = np.array([0.5 * (forces(e) - forces(-e)) for e in np.eye(nv)]).T
    arrays = q.copy(), v.copy(), speed.copy(), mean.copy(), np.zeros(nv), np.zeros(nv), np.zeros(nv)
    place, before, one, other, force, extra, a = (x.ctypes.data for x in arrays)
    rows, to = motion.table, (motion.robot, work.ctypes.data, 0.0)
    table.call_accelerate(rows["accelerate"].address, (*to, place, before, force, extra, h, a))
    found = table.call_losses(rows["losses"].address, (*to, place, before, one, other))
    return abs(found / (speed @ D @ mean) - 1.0)
