"""What lies below `Robot` and asks it for verbs: its own analyses, and the functions of families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter, Regressor
from flexdyn_ros.robot.results import Linearization, Modes

_Loads = Mapping[str, Any] | None


class RobotInterface(Protocol):
    """A `Robot`, whose docstrings say what the verbs take and return."""

    kind: str
    name: str
    description: RobotDescription
    nq: int
    nv: int
    nu: int
    coordinates: tuple[Coordinate, ...]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    effort_names: tuple[str, ...]
    #: its `FamilyFunctions`, which lie above
    functions: Any
    # see `Robot`
    bends: bool
    tips: tuple[Any, ...]
    legs: tuple[Any, ...]
    hydraulics: Any
    wheel_names: tuple[str, ...]

    # what the family offers beside the verbs
    def __getattr__(self, name: str) -> Any: ...
    @property
    def mass(self) -> float: ...
    @property
    def motion(self) -> Motion | None: ...
    @property
    def actuators(self) -> tuple[str, ...]: ...
    @property
    def driven(self) -> np.ndarray: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    def with_parameters(self, values: Mapping[str, float]) -> Self: ...
    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor: ...
    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: _Loads = None
    ) -> np.ndarray: ...
    def forward_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: _Loads = None,
        *,
        prescribed: Mapping[str, object] | object = None,
    ) -> np.ndarray: ...
    def mass_matrix(self, q: np.ndarray) -> np.ndarray: ...
    def actuation_matrix(self, q: np.ndarray) -> np.ndarray: ...
    def bias_forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...
    def frames(self, q: np.ndarray, names: str | Sequence[str] | None = None) -> np.ndarray: ...
    def jacobian(self, q: np.ndarray, frame: str | Sequence[str]) -> np.ndarray: ...
    def integrate(self, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray: ...
    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray: ...
    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: _Loads = None,
        *,
        lock: str | Sequence[str] = (),
        states: Mapping[str, float] | np.ndarray | None = None,
        commands: None = None,
    ) -> Linearization: ...
    def neutral(self) -> np.ndarray: ...
    def modes(
        self, q: np.ndarray, *, v: np.ndarray | None = None, lock: str | Sequence[str] = ()
    ) -> Modes: ...
    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: _Loads = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def given_accelerations(self, prescribed: Mapping[str, object]) -> tuple[np.ndarray, np.ndarray]: ...
    def refuse_given_effort(self, tau: np.ndarray) -> None: ...
