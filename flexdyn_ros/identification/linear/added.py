"""Numbers of a fit that a description has no place for: offsets of efforts, Coulomb friction by direction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.parameters import Parameter, names_that_fit
from flexdyn_ros.robot.verbs import Robot

#: what follows the name of an effort or joint
OFFSET, ASYMMETRY = "/offset", "/friction_asymmetry"


@dataclass(frozen=True, eq=False)
class Added:
    """Efforts with an offset, and joints with asymmetric friction, by name.

    NAME/offset is a constant effort; JOINT/friction_asymmetry half the difference of the Coulomb levels: the
    level is friction + friction_asymmetry at positive, friction - friction_asymmetry at negative rates.
    """

    robot: Robot
    offsets: tuple[str, ...]
    asymmetric: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot, offsets: str | Sequence[str], asymmetric: str | Sequence[str]) -> Added:
        """Of names or patterns of actuators, and of joints that have friction.

        Raises
        ------
        UnknownNameError
            For a pattern that fits none.
        """
        end = "/friction"
        joints = [p.name.removesuffix(end) for p in robot.parameters if p.name.endswith(end)]
        return cls(
            robot,
            names_that_fit(robot.actuators, offsets, "actuator") if offsets else (),
            names_that_fit(joints, asymmetric, "joint with friction") if asymmetric else (),
        )

    @classmethod
    def among(cls, robot: Robot, names: Iterable[str]) -> Added:
        """Those among names of numbers that were fitted."""
        every = tuple(names)
        found = [tuple(n.removesuffix(end) for n in every if n.endswith(end)) for end in (OFFSET, ASYMMETRY)]
        return cls(robot, *found)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Zero before a fit."""
        units = dict(zip(self.robot.effort_names, units_of(self.robot)[2], strict=True))
        names = [*(f"{n}{OFFSET}" for n in self.offsets), *(f"{n}{ASYMMETRY}" for n in self.asymmetric)]
        return tuple(Parameter(n, 0.0, units[n.rpartition("/")[0]], -np.inf) for n in names)

    def columns(self, Y: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Columns (..., nu, k) of the parameters, of a regressor Y (..., nu, np) of named ones."""
        found = []
        for name in self.offsets:
            column = np.zeros(Y.shape[:-1])
            column[..., self.robot.effort_names.index(name)] = 1.0
            found.append(column)
        for joint in self.asymmetric:
            parts = [i for i, n in enumerate(names) if n in (f"{joint}/friction", f"{joint}/static")]
            found.append(np.abs(Y[..., parts].sum(axis=-1)))
        return np.stack(found, axis=-1) if found else np.zeros((*Y.shape[:-1], 0))


def is_added(name: str) -> bool:
    """Whether a number of a fit is none of the robot's."""
    return name.endswith((OFFSET, ASYMMETRY))
