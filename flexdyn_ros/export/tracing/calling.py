"""Compiled functions of a robot, interpreted on numbers that are known later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.verbs import Robot


def called(
    memory: Memory, functions: Any, head: Any, name: str, size: int, *arrays: np.ndarray
) -> np.ndarray:
    """The result (size,) of a function of a table, interpreted: of a head, work memory and arrays."""
    table, out = functions.table, memory.room(np.zeros(size))
    work = memory.room(np.zeros(functions.heads.memory.floats.size))
    if "ready" in table:
        table["ready"].function(head.address, work.ctypes.data)
    places = [memory.room(x).ctypes.data for x in arrays]
    table[name].function(head.address, work.ctypes.data, *places, out.ctypes.data)
    return out


def function_of_motion(motion: Motion, name: str) -> Callable[..., Any]:
    """A function of the steps, by its name in their table."""
    # ranks of constraints are cut by values, which are not there
    chosen = f"traced_{name}" if f"traced_{name}" in motion.table else name
    motion.table.open(chosen)
    return motion.table[chosen].function


def _prepare(motion: Motion, work: np.ndarray) -> None:
    if "ready" in motion.table:
        function_of_motion(motion, "ready")(motion.robot, work.ctypes.data)


def exerted(robot: Robot, memory: Memory, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Generalized forces (nv,) of efforts (nu,); those on prescribed coordinates are left out."""
    motion = robot.motion
    assert motion is not None
    if motion.drives_coordinates:
        free = ~robot.functions.prescribed
        return memory.room([x if free[i] else 0.0 for i, x in enumerate(tau)])
    force, work = memory.room(np.zeros(robot.nv)), memory.room(np.zeros(motion.work_size))
    q, tau = memory.room(q), memory.room(tau)
    function_of_motion(motion, "exert")(motion.robot, *(x.ctypes.data for x in (work, q, tau, force)))
    return force


def measured(
    robot: Robot, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates (nu,) along which efforts act: of coordinates, lengths of legs and cylinders."""
    q, v, position, rate = (memory.room(x) for x in (q, v, *np.zeros((2, robot.nu))))
    if "measure" in motion.table:
        work = memory.room(np.zeros(motion.work_size))
        places = (x.ctypes.data for x in (q, v, position, rate))
        motion.table["measure"].function(motion.robot, work.ctypes.data, *places)
    if robot.effort_names[: robot.nv] == robot.v_names:
        # of turns of a free body the positions are 0
        position[: robot.nv] = [q[c.q_index] if c.q_index >= 0 else 0.0 for c in robot.coordinates]
        rate[: robot.nv] = v
    return position, rate


def accelerations(
    motion: Motion, memory: Memory, q: np.ndarray, v: Any, force: Any, extra: Any, h: object, given: Any
) -> np.ndarray:
    """a (nv,) as the function ACCELERATE finds it; given: that of prescribed coordinates."""
    work, a = memory.room(np.zeros(motion.work_size)), memory.room(given)
    _prepare(motion, work)
    q, v, force, extra = (memory.room(x) for x in (q, v, force, extra))
    addresses = (x.ctypes.data for x in (q, v, force, extra))
    function_of_motion(motion, "accelerate")(
        motion.robot, work.ctypes.data, 0.0, *addresses, h, a.ctypes.data
    )
    return a


def onto_constraints(motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q (nq,) and v (nv,), one after the other, moved onto the constraints of the robot."""
    work, q, v = memory.room(np.zeros(motion.work_size)), memory.room(q), memory.room(v)
    _prepare(motion, work)
    function_of_motion(motion, "constrain")(motion.robot, *(x.ctypes.data for x in (work, q, v)))
    return np.concatenate([q, v])


def rows_of_loops(motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray, m: int) -> np.ndarray:
    """Residuals, rates and dJ/dt v of the m rows of all loops, and J' (nv, m): rows (3 + nv, m)."""
    work, out = memory.room(np.zeros(motion.work_size)), memory.room(np.zeros((3 + len(v)) * m))
    places = (x.ctypes.data for x in (work, memory.room(q), memory.room(v), out))
    function_of_motion(motion, "rows")(motion.robot, *places)
    return out.reshape(3 + len(v), m)


def energies(motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Kinetic, gravity and elastic energy (3,)."""
    work, out = memory.room(np.zeros(motion.work_size)), memory.room(np.zeros(3))
    _prepare(motion, work)
    q, v = memory.room(q), memory.room(v)
    addresses = (x.ctypes.data for x in (q, v, out))
    function_of_motion(motion, "energy")(motion.robot, work.ctypes.data, *addresses)
    return out
