"""The memory behind a `Stepper`, laid out as kernels/steppers_memory.py reads it."""

from __future__ import annotations

from math import inf

import numpy as np

from flexdyn_ros.dynamics.tree_robot import TreeRobot
from flexdyn_ros.kernels.steppers_memory import (
    S_BODIES,
    S_FLOATS,
    S_INTS,
    S_LOADS,
    S_METHOD,
    S_MIMIC,
    S_NQ,
    S_NV,
    S_SATURATE,
    S_STOPS,
    S_WORK,
    S_WRENCHES,
    STEP_HEADER,
    step_sizes,
)

__all__ = ["Workspace"]


class Workspace:
    """Arrays of one simulation by name (`workspace["q"]`), and their header's `address` for the kernels.

    Parameters
    ----------
    robot : TreeRobot
    saturate, stops : bool
        Whether efforts are clipped to their limits and joint stops act.
    """

    def __init__(self, robot: TreeRobot, *, saturate: bool, stops: bool) -> None:
        sizes = step_sizes(robot.nq, robot.nv)
        self._floats = np.zeros(sum(sizes.values()))
        bounds = np.cumsum([0, *sizes.values()])
        self._fields = {
            name: self._floats[a:b] for name, a, b in zip(sizes, bounds[:-1], bounds[1:], strict=True)
        }
        self._ints = np.zeros(3 * robot.nv, dtype=np.int64)
        self._work = robot._packed.work()
        self.saturated, self.at_stop = self._ints[robot.nv : 2 * robot.nv], self._ints[2 * robot.nv :]
        self.stops = stops
        self._header = np.zeros(STEP_HEADER, dtype=np.int64)
        self._header[[S_NQ, S_NV, S_SATURATE, S_STOPS, S_MIMIC]] = (
            robot.nq,
            robot.nv,
            saturate,
            stops,
            robot._tree.has_mimic,
        )
        self._header[[S_FLOATS, S_INTS, S_WORK]] = [
            array.ctypes.data for array in (self._floats, self._ints, self._work)
        ]
        self.address = int(self._header.ctypes.data)
        self["effort_limit"][:] = [
            inf if c.effort_limit == 0.0 else c.effort_limit for c in robot.coordinates
        ]
        self["lower"][:] = [c.lower for c in robot.coordinates]
        self["upper"][:] = [c.upper for c in robot.coordinates]
        self["v_bound"][:] = inf
        self.set_wrenches(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 6)))

    def __getitem__(self, name: str) -> np.ndarray:
        return self._fields[name]

    def snapshot(self) -> np.ndarray:
        """All numbers, copied."""
        return self._floats.copy()

    def restore(self, snapshot: np.ndarray) -> None:
        """Write a snapshot back."""
        self._floats[:] = snapshot

    def set_method(self, method: int) -> None:
        """Choose among the methods of kernels/steppers_memory.py."""
        self._header[S_METHOD] = method

    def set_wrenches(self, bodies: np.ndarray, points: np.ndarray, wrenches: np.ndarray) -> None:
        """Bodies (k,), points in them (k, 3) and wrenches (k, 6) in world axes."""
        bodies = np.ascontiguousarray(bodies, dtype=np.int64)
        loads = np.concatenate([points.ravel(), wrenches.ravel()])
        self._header[S_WRENCHES] = 0
        self._header[[S_BODIES, S_LOADS]] = bodies.ctypes.data, loads.ctypes.data
        self._header[S_WRENCHES] = bodies.size
        self._bodies, self._loads = bodies, loads
