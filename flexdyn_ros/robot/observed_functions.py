"""Functions of the verbs that look at a state: parts of h, energies, momenta, frames, Jacobians."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.observer import Observer

__all__ = ["ObservedFunctions"]

#: how many of a robot's observers are kept: frames LINK@station have no end
MOST_OBSERVERS = 256


class ObservedFunctions(FamilyFunctions):
    """A family whose entries have the C functions of numerics/verbs/observers.py."""

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

    def observer(self, name: str) -> Observer:
        """The C function `name` of states."""
        sizes = {"bias_terms": 5 * self.nv, "energy": 3, "momenta": 10, "moved": self.nq}
        sizes["actuation"] = self.nv * self.nu
        return self._kept((name, ()), lambda: Observer(self, name, sizes.get(name, self.nv)))

    def poses_of(self, names: tuple[str, ...]) -> Observer:
        """The C function of the poses (k, 4, 4) of frames."""

        def make() -> Observer:
            seeing = self.seeing(names)
            return Observer(seeing, "frames", 16 * len(names), *seeing.placements(names))

        return self._kept(("frames", names), make)

    def jacobians_of(self, names: tuple[str, ...]) -> Observer:
        """The C function of the Jacobians (k, 6, nv) of frames."""

        def make() -> Observer:
            seeing = self.seeing(names)
            return Observer(seeing, "jacobian", 6 * self.nv * len(names), *seeing.points(names))

        return self._kept(("jacobian", names), make)

    @cached_property
    def _observers(self) -> dict[Any, Observer]:
        return {}

    def _kept(self, key: tuple[str, tuple[str, ...]], make: Callable[[], Observer]) -> Observer:
        """The observer of that key; the last ones are kept."""
        found = self._observers.get(key)
        if found is None:
            found = make()
            if len(self._observers) >= MOST_OBSERVERS:
                self._observers.pop(next(iter(self._observers)), None)
            self._observers[key] = found
        return found

    @cached_property
    def looking_work(self) -> np.ndarray:
        """Work memory of entries that keep the GIL."""
        return self.work()

    @cached_property
    def looking_spare(self) -> np.ndarray:
        """Numbers that such entries write to."""
        return np.zeros(6 * self.nv + 10)

    # ---- rows of the verbs ----

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        return self.observer("bias_terms").rows(rows).reshape(rows.count, 5, self.nv)

    def energy_rows(self, rows: Rows) -> np.ndarray:
        return self.observer("energy").rows(rows)

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        return self.observer("momenta").rows(rows)

    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        self.poses_of(tuple(names)).rows(rows, poses, ("q",))

    def place_frames(self, rows: Rows, bodies: np.ndarray, placements: np.ndarray, poses: np.ndarray) -> None:
        """Poses (count, k, 4, 4) in the world of frames given by bodies and placements."""
        Observer(self, "frames", 16 * len(bodies), bodies, placements).rows(rows, poses, ("q",))

    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        self.jacobians_rows(rows, (frame,), J)

    def jacobians_rows(self, rows: Rows, names: Sequence[str], J: np.ndarray) -> None:
        self.jacobians_of(tuple(names)).rows(rows, J, ("q",))
