"""The ten numbers of a body among the parameters of a robot, of any family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.parameters import Parameter

#: names and units of the ten numbers
INERTIAL = {
    "mass": "kg", "mx": "kg m", "my": "kg m", "mz": "kg m",
    "ixx": "kg m2", "ixy": "kg m2", "ixz": "kg m2", "iyy": "kg m2", "iyz": "kg m2", "izz": "kg m2",
}  # fmt: skip


def inertial_parameters(link: str, numbers: np.ndarray) -> list[Parameter]:
    """Those of a body, of its ten numbers in the axes of the link that names it, about the link's origin."""
    every = zip(INERTIAL.items(), numbers.tolist(), strict=True)
    return [Parameter(f"{link}/{name}", value, unit, _lower(name)) for (name, unit), value in every]


def changed_inertia(link: str, numbers: np.ndarray, values: Mapping[str, float]) -> RigidInertia | None:
    """The inertia of a body with other values of some of its ten numbers; None if none is another."""
    new = [values.get(f"{link}/{name}", old) for name, old in zip(INERTIAL, numbers, strict=True)]
    return None if new == list(numbers) else inertia_of(new)


def inertia_of(x: Sequence[float] | np.ndarray) -> RigidInertia:
    """The body that has ten numbers."""
    tensor = np.array([[x[4], x[5], x[6]], [x[5], x[7], x[8]], [x[6], x[8], x[9]]])
    return RigidInertia(float(x[0]), np.array(x[1:4]), tensor)


def _lower(name: str) -> float:
    return 0.0 if name in ("mass", "ixx", "iyy", "izz") else -inf
