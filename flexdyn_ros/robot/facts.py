"""What robots of every family are beside their verbs: named, immutable, pickled, able to carry payloads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.efforts import scattered_efforts
from flexdyn_ros.robot.payload import Payload, check_payload

__all__ = ["RobotFacts"]


class RobotFacts(ABC):
    """Attributes of `flexdyn_ros.Robot`, filled by `_settle`; families say how they take a payload."""

    name: str
    description: RobotDescription
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
    _payloads: tuple[Payload, ...]

    def _settle(
        self,
        description: RobotDescription,
        coordinates: tuple[Coordinate, ...],
        *,
        q_names: tuple[str, ...],
        frame_names: Sequence[str],
        gravity: np.ndarray,
        effort_names: tuple[str, ...] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Set the attributes; effort names are those of the coordinates unless given."""
        self.description = description
        self.name = description.name
        self.coordinates = coordinates
        self.q_names, self.v_names = q_names, tuple(c.name for c in coordinates)
        self.effort_names = self.v_names if effort_names is None else effort_names
        self.nq, self.nv, self.nu = len(q_names), len(coordinates), len(self.effort_names)
        self.frame_names = tuple(frame_names)
        self.warnings = warnings
        self.gravity = gravity

    def __setattr__(self, name: str, value: Any) -> None:
        if "_complete" in self.__dict__:
            raise AttributeError(f"robots are immutable; {name!r} cannot be set, load another robot instead")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"robots are immutable; {name!r} cannot be deleted")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: nq={self.nq}, nv={self.nv}>"

    @cached_property
    def urdf(self) -> Any:
        """The URDF object the robot was loaded from, else its text as `urchin.URDF`, made when first asked
        for."""
        from flexdyn_ros.description.urdf.geometry import as_urchin

        return as_urchin(self.description)

    def keep_urdf(self, urdf: Any) -> None:
        """Answer `urdf` with the object that the caller loaded the robot from; it is not pickled."""
        self.__dict__["urdf"] = urdf

    def index(self, name: str) -> int:
        """Index in v of a coordinate; UnknownNameError if there is none of that name."""
        try:
            return self._v_index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("coordinate", name, self.v_names) from None

    @cached_property
    def actuators(self) -> tuple[str, ...]:
        """Names of what drives the robot, in the order of `effort_names`: driven joints, motors, legs, soft
        actuators.

        Modes, bases, hubs, joints of effort limit 0 and coordinates of prescribed motion are none.
        """
        if self.effort_names != self.v_names:
            return self.effort_names
        return tuple(c.name for c in self.coordinates if c.actuated and not c.prescribed)

    def efforts(self, u: Any) -> np.ndarray:
        """tau (..., nu) of what the actuators do; 0 where nothing drives.

        Parameters
        ----------
        u : (..., na) array in the order of `actuators`, or mapping from their names to (...) [N m, N]
            Actuators that a mapping leaves out do nothing.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
            For another shape, NaN or infinity, a name that is no actuator.
        """
        return scattered_efforts(u, self.actuators, self._effort_index, self.nu)

    @cached_property
    def _effort_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.effort_names)}

    @cached_property
    def _v_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.v_names)}

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> Self:
        """The same robot with a rigid body fixed to a frame, in place of the payload that the frame had.

        Parameters
        ----------
        frame : name of the frame
        mass : [kg]; 0 removes the payload
        com : (3,) centre of mass, frame axes [m]
        inertia : (3, 3) about the centre of mass, frame axes [kg m2]; None is a point mass

        Raises
        ------
        UnknownNameError, DimensionError, StateError
            StateError: not finite, negative mass, or principal moments that no body has.
        """
        self._check_carrier(frame)
        payload = check_payload(frame, mass, com, inertia)
        others = tuple(p for p in self._payloads if p.frame != frame)
        robot = self._carrying(frame, (*others, payload) if payload.mass > 0.0 else others)
        if "urdf" in self.__dict__:
            robot.keep_urdf(self.urdf)
        return robot

    @abstractmethod
    def _check_carrier(self, frame: str) -> None:
        """UnknownNameError if no payload can be fixed to the frame."""

    @abstractmethod
    def _carrying(self, frame: str, payloads: tuple[Payload, ...]) -> Self:
        """The same robot with these payloads; `frame` is that of the last one changed."""
