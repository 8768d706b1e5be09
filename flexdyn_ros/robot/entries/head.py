"""What the entries that are compiled once take of one robot, behind one address (numerics/verbs/head.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.numerics.verbs import head as at

if TYPE_CHECKING:
    from flexdyn_ros.robot.entries.observed import ObservedFunctions

__all__ = ["Head"]

_PLACES = {"mass": at.MASS, "balance": at.BALANCE, "slopes": at.SLOPES}
#: functions of heads whose entries factorise or differentiate
_SOLVING = {"mass", "slopes"}
_NONE = np.zeros(0, dtype=np.int64), np.zeros((0, 3))


class Head:
    """Keeps the memory of a head alive; `address` is what entries take.

    Parameters
    ----------
    functions : of the robot
    needed : names of C functions: mass, balance, slopes
    looking : name of the function that looks at states; results: numbers of its result
    efforts : how many efforts the balance takes
    given : (nv,) marks the coordinates whose acceleration is given, those of the description if left out
    robot : what the functions find the robot by, and who keeps it alive; its address if left out
    entries : that have the needed functions, those of the robot if left out
    frames : bodies (k,) and rows of numbers (k, width) that say where frames are
    """

    def __init__(
        self,
        functions: ObservedFunctions,
        *needed: str,
        looking: str = "",
        results: int = 0,
        efforts: int = 0,
        frames: tuple[np.ndarray, np.ndarray] = _NONE,
        entries: Any = None,
        given: np.ndarray | None = None,
        robot: tuple[int, Any] | None = None,
    ) -> None:
        self.functions, self.results, memory = functions, results, functions.memory
        address, kept = robot or (functions.address, None)
        self._kept: Any = kept
        bodies, points = frames
        self._bodies = np.array(bodies, dtype=np.int64)
        self._points = np.array(points, dtype=np.float64, order="C")
        self._given = memory.given if given is None else given.astype(np.int64)
        self.on_tangents = "slopes" in needed or looking == "jacobian_rate"
        work = memory.tangents if self.on_tangents else memory.floats
        words = {
            at.ROBOT: address,
            at.NQ: functions.nq,
            at.NV: functions.nv,
            at.EFFORTS: efforts,
            at.WORK: work.ctypes.data,
            at.SIZE: memory.floats.size,
            at.TANGENTS: work.size,
            at.SPARE: (memory.matrices if _SOLVING & {*needed} else memory.spare).ctypes.data,
            at.RESULTS: results,
            at.COUNT: self._points.shape[0],
            at.BODIES: self._bodies.ctypes.data,
            at.POINTS: self._points.ctypes.data,
            at.WIDTH: self._points.shape[1],
            at.GIVEN: self._given.ctypes.data,
            at.TWISTS: memory.twists.ctypes.data,
            at.TURNS: memory.twists.size,
            at.STATUS: functions.entries.status.address,
        }
        for name in needed:
            words[_PLACES[name]] = getattr(entries or functions.entries, name).address
        if looking:
            words[at.OBSERVE] = getattr(functions.entries, looking).address
        self._words = np.array([words.get(i, 0) for i in range(at.HEAD_WORDS)], dtype=np.int64)
        self.address = int(self._words.ctypes.data)
