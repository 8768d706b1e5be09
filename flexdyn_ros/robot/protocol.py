"""The verbs that robots of every family answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.results import BiasTerms, Energy, Equilibrium, Linearization, Modes

__all__ = ["Robot"]


@runtime_checkable
class Robot(Protocol):
    """A robot of any family: M(q) a + h(q, v) = B(q) tau + sum J^T w.

    q is (..., nq), v and a are (..., nv), tau is (..., nu); leading dimensions broadcast, results have the
    broadcast shape. Units SI and rad; quaternions x y z w; twists and wrenches angular part first, in world
    axes. Wrong shapes raise DimensionError, NaN, infinity and quaternions that are not of unit length
    StateError, unknown names UnknownNameError. A robot is immutable, may be shared by threads, and pickles.
    """

    kind: str
    name: str
    nq: int
    nv: int
    nu: int
    coordinates: tuple[Coordinate, ...]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    effort_names: tuple[str, ...]
    frame_names: tuple[str, ...]
    warnings: tuple[str, ...]
    gravity: np.ndarray
    description: RobotDescription

    @property
    def mass(self) -> float: ...

    @property
    def motion(self) -> Motion | None: ...

    @property
    def urdf(self) -> Any: ...

    @property
    def actuators(self) -> tuple[str, ...]: ...

    def efforts(self, u: Any) -> np.ndarray: ...

    def index(self, name: str) -> int: ...

    def neutral(self) -> np.ndarray: ...

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray: ...

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms: ...

    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def inverse_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, Any] | None = None,
        *,
        unactuated: str = "given",
        out: np.ndarray | None = None,
    ) -> np.ndarray: ...

    def forward_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
        *,
        prescribed: Mapping[str, Any] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray: ...

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy: ...

    def momentum(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def center_of_mass(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def frames(
        self, q: np.ndarray, names: str | Sequence[str] | None = None, *, out: np.ndarray | None = None
    ) -> np.ndarray: ...

    def jacobian(self, q: np.ndarray, frame: str, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None = None) -> dict[str, Any]: ...

    def modes(self, q: np.ndarray, *, lock: Sequence[str] | str = ()) -> Modes: ...

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Linearization: ...

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Equilibrium: ...

    def integrate(
        self, q: np.ndarray, v: np.ndarray, dt: float, *, out: np.ndarray | None = None
    ) -> np.ndarray: ...

    def difference(self, q0: np.ndarray, q1: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray: ...

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> Robot: ...
