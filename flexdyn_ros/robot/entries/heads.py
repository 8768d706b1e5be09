"""What entries, which are compiled once, take of one robot: a head each (numerics/verbs/head.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS
from flexdyn_ros.numerics.verbs import dynamics
from flexdyn_ros.numerics.verbs import head as at
from flexdyn_ros.numerics.verbs.derivatives import spare_numbers
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.threads import shared_property

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
    functions : `EntryFunctions` of the robot, which lie above
    needed : names of functions in the table that the entries call
    looking : name of the function that looks at states; results: numbers of its result
    lanes : name of the function that goes on lanes
    efforts : how many efforts the balance takes
    given : (nv,) marks the coordinates whose acceleration is given, those of the description if left out
    frames : bodies (k,) and rows of numbers (k, width) that say where frames are
    """

    def __init__(
        self,
        functions: Any,
        *needed: str,
        looking: str = "",
        lanes: str = "",
        results: int = 0,
        efforts: int = 0,
        frames: tuple[np.ndarray, np.ndarray] = _NONE,
        given: np.ndarray | None = None,
    ) -> None:
        self.functions, self.results, memory = functions, results, functions.heads.memory
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


class Heads:
    """The heads of one robot, made when they are asked for."""

    def __init__(self, functions: Any) -> None:
        """functions: `EntryFunctions`, which lie above"""
        self._functions = functions
        self._kept: dict[Any, Head] = {}

    @shared_property
    def memory(self) -> OwnMemory:
        """Of the entries that keep the GIL."""
        return OwnMemory(self._functions)

    def new(self, *needed: str, **options: Any) -> Head:
        """A head of this robot; see `Head`."""
        return Head(self._functions, *needed, **options)

    def kept(self, key: Any, make: Callable[[], Head]) -> Head:
        """The head of that key. Those of verbs, whose keys are names, stay, since fast paths keep their
        addresses; of the others the last ones are kept. Threads that ask at once get the same."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MOST_HEADS:
                oldest = next((other for other in list(self._kept) if not isinstance(other, str)), None)
                self._kept.pop(oldest, None)
            found = self._kept.setdefault(key, make())
        return found

    # ---- what looks at a state ----

    def looking(self, name: str) -> Head:
        """For the C function `name` of states."""
        f = self._functions
        sizes = {"bias_terms": 5 * f.nv, "energy": 3, "momenta": 10, "moved": f.nq, "mass": f.nv * f.nv}
        sizes["actuation"] = f.nv * f.nu
        return self.kept(name, lambda: self.new(looking=name, results=sizes.get(name, f.nv)))

    def posing(self, placements: tuple[np.ndarray, np.ndarray]) -> Head:
        """For the poses (k, 4, 4) of bodies and placements in them."""
        return self.new(looking="frames", results=16 * len(placements[0]), frames=placements)

    def poses_of(self, names: tuple[str, ...]) -> Head:
        """For the poses (k, 4, 4) of frames."""

        def make() -> Head:
            seeing = self._functions.seeing(names)
            return seeing.heads.posing(seeing.placements(names))

        return self.kept(("frames", names), make)

    def pointing(self, points: tuple[np.ndarray, np.ndarray]) -> Head:
        """For the Jacobians (k, 6, nv) of points."""
        return self.new(looking="jacobian", results=6 * self._functions.nv * len(points[0]), frames=points)

    def jacobians_of(self, names: tuple[str, ...]) -> Head:
        """For the Jacobians (k, 6, nv) of frames."""

        def make() -> Head:
            seeing = self._functions.seeing(names)
            return seeing.heads.pointing(seeing.points(names))

        return self.kept(("jacobian", names), make)

    def rates_of(self, names: tuple[str, ...]) -> Head:
        """For dJ/dt v (k, 6) of frames."""

        def make() -> Head:
            seeing = self._functions.seeing(names)
            points = seeing.points(names)
            return seeing.heads.new(looking="jacobian_rate", results=6 * len(names), frames=points)

        return self.kept(("jacobian_rate", names), make)

    # ---- dynamics ----

    def on_lanes(self, name: str, names: tuple[str, ...] = ()) -> Head:
        """For batches of inverse or forward dynamics, by the C function of that name, under wrenches on the
        frames `names`."""
        efforts = self._functions.nu
        if not names:
            return self.kept(name, lambda: self.new(lanes=name, efforts=efforts))
        points = self._functions.points(names)
        return self.kept((name, names), lambda: self.new(lanes=name, efforts=efforts, frames=points))

    def partial(self, names: tuple[str, ...]) -> Head:
        """For dynamics with accelerations that are given, under wrenches on the frames `names`."""
        f = self._functions

        def make() -> Head:
            return self.new("mass", "balance", efforts=f.nv, frames=f.points(names))

        return self.kept(("partial", names), make)

    @shared_property
    def linearizing(self) -> Head:
        """For `linearize` of a single state."""
        return self.new("mass", "balance", "slopes", efforts=self._functions.nu)

    @shared_property
    def differentiating(self) -> Head:
        """For the derivatives of inverse dynamics of a single state."""
        return self.new("mass", "slopes")

    @shared_property
    def moving(self) -> Head:
        """For the functions of steps in time."""
        return self.new(results=3)

    @shared_property
    def accelerating(self) -> Head:
        """For forward dynamics of a single state by the family's own recursion."""
        return self.new("forward")

    @shared_property
    def recurring(self) -> Head:
        """For inverse dynamics of a single state by the family's own recursion."""
        head = self.new("inverse", "ready")
        dynamics.make_ready(head.address)
        return head

    @shared_property
    def weighing(self) -> Head:
        """For the mass matrix of a single state."""
        head = self.new("ready", looking="inertia", results=self._functions.nv**2)
        dynamics.make_ready(head.address)
        return head

    @shared_property
    def balancing(self) -> Head:
        """For inverse dynamics of a single state."""
        return self.new("balance")

    @shared_property
    def checking(self) -> Head:
        """For the balance of forces with efforts of a single state."""
        return self.new("balance", efforts=self._functions.nu)

    @shared_property
    def solving(self) -> Head:
        """For forward dynamics of single states through the mass matrix."""
        return self.new("mass", "balance", efforts=self._functions.nv)

    @shared_property
    def freeing(self) -> Head:
        """For inverse dynamics of single states in which nothing drives some coordinates."""
        return self.new("mass", "balance", efforts=self._functions.nv, given=self._functions.robot.driven)
