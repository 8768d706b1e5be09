"""The memory behind a `Stepper`, laid out as numerics/stepping/memory.py reads it."""

from __future__ import annotations

from math import inf

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import FREE
from flexdyn_ros.numerics.stepping import memory as at
from flexdyn_ros.robot.coordinates import quaternions_of
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.verbs import Robot


class Workspace:
    """Arrays of one simulation by name (`workspace["q"]`), and their header's `address` for the kernels.

    Parameters
    ----------
    robot : Robot
    motion : Motion
        Of that robot.
    saturate, stops : bool
        Whether efforts are clipped to their limits and joint stops act.

    Attributes
    ----------
    header : array of int
        Numbers and addresses in the order of numerics/stepping/memory.py, S_NQ and on.
    """

    def __init__(self, robot: Robot, motion: Motion, *, saturate: bool, stops: bool) -> None:
        nq, nv, nu = robot.nq, robot.nv, robot.nu
        sizes = at.step_sizes(nq, nv, nu)
        self._floats = np.zeros(sum(sizes.values()))
        bounds = np.cumsum([0, *sizes.values()])
        self._fields = {
            name: self._floats[a:b] for name, a, b in zip(sizes, bounds[:-1], bounds[1:], strict=True)
        }
        bodies = free_bodies(robot)
        self._ints = np.zeros(at.step_ints(nv, nu, len(bodies)), dtype=np.int64)
        self.saturated, self.at_stop = self._ints[nu : 2 * nu], self._ints[2 * nu : 3 * nu]
        self._describe(robot, bodies)
        self.stops = stops
        self.header = np.zeros(at.STEP_HEADER, dtype=np.int64)
        self.header[[at.S_NQ, at.S_NV, at.S_NU, at.S_SATURATE, at.S_STOPS, at.S_FREE]] = (
            nq,
            nv,
            nu,
            saturate,
            stops,
            len(bodies),
        )
        self.header[[at.S_FLOATS, at.S_INTS]] = self._floats.ctypes.data, self._ints.ctypes.data
        self.address = int(self.header.ctypes.data)
        for name in ("effort_limit", "lower", "upper"):
            self[name][:] = getattr(motion, name)
        self["v_bound"][:] = inf
        self.actuators = np.zeros(1) if motion.memory is None else motion.memory.fresh()
        self.header[at.S_ACTUATOR] = self.actuators.ctypes.data
        self.set_motion(motion)
        self.set_wrenches(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 6)))

    def _describe(self, robot: Robot, bodies: list[tuple[int, int]]) -> None:
        """Which coordinates are prescribed, and where turns of free bodies are."""
        nv, nu, nb = robot.nv, robot.nu, len(bodies) + 1
        prescribed, q_of_v = (self._ints[3 * nu + k * nv : 3 * nu + (k + 1) * nv] for k in range(2))
        for c in robot.coordinates:
            prescribed[c.v_index], q_of_v[c.v_index] = c.prescribed, c.q_index
        kinds, q_index, v_index = self._ints[3 * nu + 2 * nv :].reshape(3, nb)
        kinds[1:] = FREE
        for b, (quaternion, twist) in enumerate(bodies, 1):
            # a free body begins with its position, its twist with the turn; of a ball joint, too, only the
            # quaternion is moved by this table
            q_index[b], v_index[b] = quaternion - 3, twist

    def __getitem__(self, name: str) -> np.ndarray:
        return self._fields[name]

    def snapshot(self) -> tuple[np.ndarray, np.ndarray]:
        """All numbers, copied."""
        return self._floats.copy(), self.actuators.copy()

    def restore(self, snapshot: tuple[np.ndarray, np.ndarray]) -> None:
        """Write a snapshot back."""
        self._floats[:], self.actuators[:] = snapshot

    def set_motion(self, motion: Motion) -> None:
        """Take the functions and the model of a motion, with fresh work memory (not prepared)."""
        self.motion, self._work = motion, np.zeros(motion.work_size)
        self.header[at.S_ROBOT] = motion.robot
        self.header[[at.S_TABLE, at.S_WORK]] = motion.provide(), self._work.ctypes.data

    def set_wrenches(self, bodies: np.ndarray, points: np.ndarray, wrenches: np.ndarray) -> None:
        """Bodies (k,), points in them, rows of 3 or 4, and wrenches (k, 6) in world axes."""
        bodies = np.ascontiguousarray(bodies, dtype=np.int64)
        loads = np.zeros(10 * bodies.size)
        loads[: wrenches.size + points.size] = np.concatenate([wrenches.ravel(), points.ravel()])
        self.header[at.S_WRENCHES] = 0
        self.header[[at.S_BODIES, at.S_LOADS]] = bodies.ctypes.data, loads.ctypes.data
        self.header[at.S_WRENCHES] = bodies.size
        self._bodies, self._loads = bodies, loads


def free_bodies(robot: Robot) -> list[tuple[int, int]]:
    """Index in q of the quaternion and in v of the angular velocity, for every free body and ball joint."""
    return list(quaternions_of(robot.coordinates))
