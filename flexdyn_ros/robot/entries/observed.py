"""Functions of the verbs that look at a state: parts of h, energies, momenta, M, frames, Jacobians.

What the entries that are compiled once take of one robot lies behind one address (numerics/verbs/head.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS
from flexdyn_ros.numerics.verbs import head as at
from flexdyn_ros.numerics.verbs import observers
from flexdyn_ros.numerics.verbs.derivatives import spare_numbers
from flexdyn_ros.robot.arguments import Rows, explain_status, warn_of_overflow
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.threads import run_in_slices, shared_property

__all__ = ["MOST_HEADS", "Head", "ObservedFunctions"]

#: how many of a robot's heads are kept: frames LINK@station have no end
MOST_HEADS = 256
#: functions of heads whose entries factorise or differentiate
_SOLVING = {"mass", "slopes"}
_NONE = np.zeros(0, dtype=np.int64), np.zeros((0, 3))


class OwnMemory:
    """What entries write to that keep the GIL, and marks of coordinates, of one robot."""

    def __init__(self, functions: FamilyFunctions) -> None:
        self._functions, nv = functions, functions.nv
        self.floats = functions.work()
        self.spare = np.zeros(16 * nv + 64)
        self.given = functions.prescribed.astype(np.int64)
        self.twists = np.array(functions.free_twists, dtype=np.int64)

    @shared_property
    def matrices(self) -> np.ndarray:
        """As `spare`, with room for matrices (nv, nv), which trees of thousands of joints do without."""
        return np.zeros(spare_numbers(self._functions.nv))

    @shared_property
    def tangents(self) -> np.ndarray:
        """Memory of tangents."""
        return self._functions.work(PER_TANGENTS)


class Head:
    """Keeps the memory of a head alive; `address` is what entries take.

    Parameters
    ----------
    functions : of the robot
    needed : names of functions in the table that the entries call
    looking : name of the function that looks at states; results: numbers of its result
    lanes : name of the function that goes on lanes
    efforts : how many efforts the balance takes
    given : (nv,) marks the coordinates whose acceleration is given, those of the description if left out
    frames : bodies (k,) and rows of numbers (k, width) that say where frames are
    """

    def __init__(
        self,
        functions: ObservedFunctions,
        *needed: str,
        looking: str = "",
        lanes: str = "",
        results: int = 0,
        efforts: int = 0,
        frames: tuple[np.ndarray, np.ndarray] = _NONE,
        given: np.ndarray | None = None,
    ) -> None:
        self.functions, self.results, memory = functions, results, functions.memory
        table, chosen = functions.table, looking or lanes
        bodies, points = frames
        self._bodies = np.array(bodies, dtype=np.int64)
        self._points = np.array(points, dtype=np.float64, order="C")
        self._given = memory.given if given is None else given.astype(np.int64)
        self.on_tangents = "slopes" in needed or looking == "jacobian_rate"
        work = memory.tangents if self.on_tangents else memory.floats
        words = {
            at.ROBOT: functions.address,
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
            at.TABLE: table.address,
        }
        table.provide("status", *needed)
        if chosen:
            table.provide(chosen)
            words[at.CHOSEN] = table[chosen].address
        self._words = np.array([words.get(i, 0) for i in range(at.HEAD_WORDS)], dtype=np.int64)
        self.address = int(self._words.ctypes.data)


class ObservedFunctions(FamilyFunctions):
    """A family whose entries have the C functions of numerics/verbs/functions_of.py that look at states."""

    #: names of C functions that are all there is to a verb: single states go straight to them
    observed: frozenset[str] = frozenset(("bias_terms", "energy", "momenta", "frames", "jacobian", "moved"))

    def seeing(self, names: Iterable[Any]) -> Self:
        """These functions, or those of a robot like it for which `names` are frames too."""
        return self

    @abstractmethod
    def points(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and points in them, rows, as the kernels take the origins of frames."""

    @abstractmethod
    def placements(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and placements in them, rows, as the kernels take frames."""

    @shared_property
    def memory(self) -> OwnMemory:
        """Of the entries that keep the GIL."""
        return OwnMemory(self)

    def new_head(self, *needed: str, **options: Any) -> Head:
        """A head of this robot; see `Head`."""
        return Head(self, *needed, **options)

    def head(self, key: Any, make: Callable[[], Head]) -> Head:
        """The head of that key. Those of verbs, whose keys are names, stay, since fast paths keep their
        addresses; of the others the last ones are kept. Threads that ask at once get the same."""
        found = self._heads.get(key)
        if found is None:
            if len(self._heads) >= MOST_HEADS:
                oldest = next((other for other in list(self._heads) if not isinstance(other, str)), None)
                self._heads.pop(oldest, None)
            found = self._heads.setdefault(key, make())
        return found

    @shared_property
    def _heads(self) -> dict[Any, Head]:
        return {}

    def looking(self, name: str) -> Head:
        """For the C function `name` of states."""
        nv = self.nv
        sizes = {"bias_terms": 5 * nv, "energy": 3, "momenta": 10, "moved": self.nq, "mass": nv * nv}
        sizes["actuation"] = nv * self.nu
        return self.head(name, lambda: self.new_head(looking=name, results=sizes.get(name, nv)))

    def poses_of(self, names: tuple[str, ...]) -> Head:
        """For the poses (k, 4, 4) of frames."""

        def make() -> Head:
            seeing = self.seeing(names)
            return seeing._posing(seeing.placements(names))

        return self.head(("frames", names), make)

    def _posing(self, placements: tuple[np.ndarray, np.ndarray]) -> Head:
        return self.new_head(looking="frames", results=16 * len(placements[0]), frames=placements)

    def jacobians_of(self, names: tuple[str, ...]) -> Head:
        """For the Jacobians (k, 6, nv) of frames."""

        def make() -> Head:
            seeing = self.seeing(names)
            return seeing.pointing(seeing.points(names))

        return self.head(("jacobian", names), make)

    def pointing(self, points: tuple[np.ndarray, np.ndarray]) -> Head:
        """For the Jacobians of points."""
        return self.new_head(looking="jacobian", results=6 * self.nv * len(points[0]), frames=points)

    # ---- rows of the verbs ----

    def look(
        self, head: Head, rows: Rows, out: np.ndarray | None = None, names: tuple[str, ...] = ("q", "v")
    ) -> np.ndarray:
        """Results (count, results) at rows of q and, where the function takes it, v; written to `out`
        (count, ...) if it is there."""
        shape = rows.count, head.results
        result = np.empty(shape) if out is None else out.reshape(shape)
        data = {name: rows.take(name) for name in names}
        speed = data.get("v", np.empty((rows.count, 0)))

        def call(q: np.ndarray, v: np.ndarray, out: np.ndarray) -> int:
            # what the head sees may be more than what this robot does
            functions = head.functions
            work = functions.work(PER_TANGENTS) if head.on_tangents else functions.work()
            return observers.observe_many(head.address, work, q, v, out)

        status = run_in_slices(call, [data["q"], speed, result])
        if status:
            explain_status(status, data)
            warn_of_overflow(result, data, "the result", rows.shape)
        return result

    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        self.look(self.looking("mass"), rows, M, ("q",))

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        return self.look(self.looking("bias_terms"), rows).reshape(rows.count, 5, self.nv)

    def energy_rows(self, rows: Rows) -> np.ndarray:
        return self.look(self.looking("energy"), rows)

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        return self.look(self.looking("momenta"), rows)

    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        self.look(self.poses_of(tuple(names)), rows, poses, ("q",))

    def place_frames(self, rows: Rows, bodies: np.ndarray, placements: np.ndarray, poses: np.ndarray) -> None:
        """Poses (count, k, 4, 4) in the world of frames given by bodies and placements."""
        self.look(self._posing((bodies, placements)), rows, poses, ("q",))

    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        self.jacobians_rows(rows, (frame,), J)

    def jacobians_rows(self, rows: Rows, names: Sequence[str], J: np.ndarray) -> None:
        self.look(self.jacobians_of(tuple(names)), rows, J, ("q",))

    def rates_of(self, names: tuple[str, ...]) -> Head:
        """For dJ/dt v (k, 6) of frames."""

        def make() -> Head:
            seeing = self.seeing(names)
            points = seeing.points(names)
            return seeing.new_head(looking="jacobian_rate", results=6 * len(names), frames=points)

        return self.head(("jacobian_rate", names), make)

    def jacobian_rates_rows(self, rows: Rows, names: Sequence[str]) -> np.ndarray:
        return self.look(self.rates_of(tuple(names)), rows).reshape(rows.count, len(names), 6)
