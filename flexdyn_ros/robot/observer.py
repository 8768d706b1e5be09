"""A C function of a robot's family that looks at states (numerics/verbs/observers.py), bound to the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.numerics.verbs import observers as at
from flexdyn_ros.robot.arguments import Rows, explain_status
from flexdyn_ros.robot.threads import run_in_slices

if TYPE_CHECKING:
    from flexdyn_ros.robot.observed_functions import ObservedFunctions

__all__ = ["Observer"]


class Observer:
    """What the entries take to call the function `name` of `functions.entries`: the address `head`.

    Parameters
    ----------
    results : numbers of a result
    bodies, points : (k,), (k, width), of frames: where they are, as the family's kernels take them
    """

    def __init__(
        self,
        functions: ObservedFunctions,
        name: str,
        results: int,
        bodies: np.ndarray | None = None,
        points: np.ndarray | None = None,
    ) -> None:
        self.functions, self.results = functions, results
        k, width = (0, 0) if points is None else points.shape
        own, spare, nv = functions.looking_work, functions.looking_spare, functions.nv
        self._bodies = np.zeros(0, dtype=np.int64) if bodies is None else np.array(bodies, dtype=np.int64)
        self._points = np.zeros((0, 0)) if points is None else np.array(points, dtype=np.float64, order="C")
        words = {
            at.ROBOT: functions.address,
            at.NQ: functions.nq,
            at.NV: nv,
            at.WORK: own.ctypes.data,
            at.SIZE: own.size,
            at.SPARE: spare.ctypes.data,
            at.STATUS: functions.entries.status.address,
            at.FUNCTION: getattr(functions.entries, name).address,
            at.RESULTS: results,
            at.COUNT: k,
            at.BODIES: self._bodies.ctypes.data,
            at.POINTS: self._points.ctypes.data,
            at.WIDTH: width,
        }
        self._head = np.array([words[i] for i in range(at.HEAD_WORDS)], dtype=np.int64)
        self.head = int(self._head.ctypes.data)

    def rows(
        self, rows: Rows, out: np.ndarray | None = None, names: tuple[str, ...] = ("q", "v")
    ) -> np.ndarray:
        """Results (count, results) at rows of q and, where the function takes it, v; written to `out`
        (count, ...) if it is there."""
        shape = rows.count, self.results
        result = np.empty(shape) if out is None else out.reshape(shape)
        data = {name: rows.take(name) for name in names}
        speed = data.get("v", np.empty((rows.count, 0)))
        explain_status(run_in_slices(self._many, [data["q"], speed, result]), data)
        return result

    def _many(self, q: np.ndarray, v: np.ndarray, out: np.ndarray) -> int:
        return at.observe_many(self.head, self.functions.work(), q, v, out)
