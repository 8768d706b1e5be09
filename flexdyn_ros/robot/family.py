"""What a family of robots computes for the verbs: rows of results from rows of arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import Entry
from flexdyn_ros.robot.arguments import Rows, explain_status
from flexdyn_ros.robot.facts import RobotFacts
from flexdyn_ros.robot.results import Equilibrium
from flexdyn_ros.robot.threads import run_in_slices

__all__ = ["FamilyRows"]


class FamilyRows(RobotFacts):
    """What `StateVerbs` and `RobotVerbs` ask of a family.

    Functions named `_..._rows` find done what all families have in common: shapes are right, results are
    there to be written to, keywords make sense. That numbers are finite and quaternions of unit length is
    theirs to see, by the status of their kernels. tau, a, M, h, J, poses and results are rows, (count, ...).
    """

    #: forward dynamics goes through the mass matrix even if nothing is prescribed
    _by_mass_matrix = False
    #: the packed model, which also has work memory, and its address
    _packed: Any
    _address = 0
    _inverse_dynamics: Callable[..., int]
    _forward_dynamics: Callable[..., int]
    _mass_matrix: Callable[..., int]

    def _take_shortcuts(self, entries: Any) -> None:
        """Let single states of the usual types go straight to the entries `..._one` of `entries`, if any.

        Each is loaded at its first call, and is then itself the attribute of that name. (A class with
        __getattr__ would slow every access.)
        """
        for verb in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
            entry = None if entries is None else getattr(entries, f"{verb}_one")
            self.__dict__[f"_{verb}"] = _no_shortcut if entry is None else self._when_called(verb, entry)

    def _when_called(self, verb: str, entry: Entry) -> Callable[..., int]:
        def first_call(*arguments: Any) -> int:
            bound = entry.load()
            self.__dict__[f"_{verb}"] = bound
            return bound(*arguments)

        return first_call

    def _call(
        self, kernel: Callable[..., int], rows: Rows, names: tuple[str, ...], result: np.ndarray
    ) -> None:
        """An entry (address, work, *rows, result) over all rows."""
        data = {name: rows.take(name) for name in names}

        def call(*arrays: np.ndarray) -> int:
            return kernel(self._address, self._packed.work(), *arrays)

        explain_status(run_in_slices(call, [*data.values(), result]), data)

    def _filled(
        self, kernel: Callable[..., int], rows: Rows, names: tuple[str, ...], *tail: int
    ) -> np.ndarray:
        """Results (count, *tail) of such an entry."""
        result = np.empty((rows.count, *tail))
        self._call(kernel, rows, names, result)
        return result

    @cached_property
    def _prescribed(self) -> np.ndarray:
        """Marks (nv,) the coordinates whose motion is given by the description."""
        return np.array([c.prescribed for c in self.coordinates], dtype=bool)

    @cached_property
    def _driven(self) -> np.ndarray:
        """Marks (nv,) the coordinates that something drives, be it through legs."""
        through = self.effort_names != self.v_names
        return np.array([through or c.actuated or c.prescribed for c in self.coordinates], dtype=bool)

    @cached_property
    def _free_twists(self) -> tuple[int, ...]:
        """Index in v of the twist of each free body: its three turns have no number in q."""
        return tuple(c.v_index for c in self.coordinates if c.q_index < 0)[::3]

    @abstractmethod
    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions, platforms at home; may lie outside limits."""

    @abstractmethod
    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """B (..., nv, nu)."""

    @abstractmethod
    def _check(self, data: Mapping[str, np.ndarray]) -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""

    @abstractmethod
    def _inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, Any] | None, tau: np.ndarray
    ) -> None: ...

    @abstractmethod
    def _forward_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, Any] | None, a: np.ndarray
    ) -> None: ...

    @abstractmethod
    def _partial(
        self, q: Any, v: Any, tau: Any, a: Any, given: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(force, a) of the motion in which the accelerations marked in `given` are those of a; force
        (..., nv) is B tau but for those."""

    @abstractmethod
    def _mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None: ...

    @abstractmethod
    def _bias_forces_rows(self, rows: Rows, h: np.ndarray) -> None:
        """h; `rows` hold q, v and a = 0."""

    @abstractmethod
    def _bias_terms_rows(self, rows: Rows) -> np.ndarray:
        """(count, 5, nv), in the order of `BiasTerms`."""

    @abstractmethod
    def _energy_rows(self, rows: Rows) -> np.ndarray:
        """(count, 3), in the order of `Energy`."""

    @abstractmethod
    def _momenta_rows(self, rows: Rows) -> np.ndarray:
        """(count, 10): momentum (6), mass times centre of mass (3), mass."""

    @abstractmethod
    def _frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None: ...

    @abstractmethod
    def _jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None: ...

    @abstractmethod
    def _integrate_rows(self, rows: Rows, dt: float) -> np.ndarray: ...

    @abstractmethod
    def _difference_rows(self, rows: Rows) -> np.ndarray: ...

    @abstractmethod
    def _slopes_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, nv, nv) of M a + h - B tau - sum J^T w by q (tangent) and v, a and tau held."""

    @abstractmethod
    def _springs_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """K and D (count, nv, nv) of `modes`; `rows` hold q, and v = a = tau = 0."""

    @abstractmethod
    def _rest(
        self, q: np.ndarray, tau: np.ndarray, held: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> Equilibrium:
        """`static_equilibrium` of a single state (nq,) under efforts (nu,)."""


def _no_shortcut(*arguments: Any) -> int:
    """In place of a one-sample entry where there is none: sends the verb on to its general path."""
    raise TypeError
