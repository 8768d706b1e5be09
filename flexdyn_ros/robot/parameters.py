"""Dynamic parameters of a robot, and the regressor that is linear in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from math import inf
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.arguments import by_name, finite_number

__all__ = ["Parameter", "Regressor", "checked_values", "names_that_fit", "without_payloads"]


class Parameter(NamedTuple):
    """A number of the equations of motion that they are linear in: name, value, unit, and the smallest value
    that has a meaning (-inf if all have)."""

    name: str
    value: float
    unit: str
    lower: float


class Regressor(NamedTuple):
    """tau = Y p + tau0: Y (..., nu, np) by the parameters in their order, tau0 (..., nu)."""

    Y: np.ndarray
    tau0: np.ndarray


def checked_values(values: Mapping[str, float], parameters: Sequence[Parameter]) -> dict[str, float]:
    """Values by the names of parameters.

    Raises
    ------
    UnknownNameError, DimensionError, StateError
        StateError: not finite, or below the smallest value that has a meaning.
    """
    known = {parameter.name: parameter for parameter in parameters}
    found = {}
    for name, value in by_name(values, "values", "numbers").items():
        if name not in known:
            raise UnknownNameError("parameter", name, tuple(known))
        found[name] = number = finite_number(value, f"parameter {name!r}")
        if number < known[name].lower:
            raise StateError(f"parameter {name!r} is {number}, expected at least {known[name].lower}")
    return found


def names_that_fit(
    names: Sequence[str], patterns: str | Sequence[str], what: str = "parameter"
) -> tuple[str, ...]:
    """The names that fit a pattern, in their order.

    Raises
    ------
    UnknownNameError
        For a pattern that fits none.
    StateError
        For what is neither a pattern nor a sequence of them.
    """
    wanted = (patterns,) if isinstance(patterns, str) else patterns
    if not isinstance(wanted, Collection) or not all(isinstance(pattern, str) for pattern in wanted):
        raise StateError(
            f"names of {what}s are {patterns!r}, expected a pattern such as '*', or a list of them"
        )
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownNameError(what, pattern, tuple(names))
    return tuple(name for name in names if any(fnmatchcase(name, pattern) for pattern in wanted))


def without_payloads(
    values: Mapping[str, float], total: Sequence[Parameter], own: Sequence[Parameter]
) -> dict[str, float]:
    """Values less what payloads bring: total and own are the parameters with and without them."""
    brought = {p.name: bare.value - p.value for p, bare in zip(total, own, strict=True)}
    return {name: value + brought[name] for name, value in values.items()}


# The ten numbers of a body among the parameters of a robot, of any family.

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


# Payloads: bodies fixed to a frame of a robot after it was read.


class Payload(NamedTuple):
    """A rigid body fixed to a frame.

    mass [kg], com (3,) [m] and inertia (ixx, ixy, ixz, iyy, iyz, izz) about it [kg m2], in the frame's axes.
    """

    frame: str
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


def check_payload(frame: str, mass: float, com: Sequence[float], inertia: object = None) -> Payload:
    """A payload from arguments; inertia (3, 3) or None for a point mass.

    Raises
    ------
    DimensionError, StateError
        If shapes are wrong; if a number is not finite or no body has such a mass and inertia.
    """
    try:
        mass = float(mass)
        centre = np.asarray(com, dtype=float)
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
    except (TypeError, ValueError):
        raise DimensionError("mass, com and inertia of a payload must be numbers") from None
    if centre.shape != (3,):
        raise DimensionError(f"com has shape {centre.shape}, expected (3,)")
    if tensor.shape != (3, 3):
        raise DimensionError(f"inertia has shape {tensor.shape}, expected (3, 3)")
    if not (np.isfinite(mass) and np.isfinite(centre).all() and np.isfinite(tensor).all()):
        raise StateError("mass, com and inertia of a payload must be finite")
    if mass < 0.0:
        raise StateError(f"mass is {mass}, expected at least 0 (0 removes the payload)")
    scale = np.abs(tensor).max()
    if np.abs(tensor - tensor.T).max() > 1e-9 * scale:
        raise StateError("inertia is not symmetric")
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] < -1e-9 * scale or moments[2] > moments[0] + moments[1] + 1e-6 * scale:
        raise StateError(
            f"no body has the principal moments {moments}: each is at most the sum of the others"
        )
    return Payload(
        frame, mass, tuple(centre.tolist()), tuple(tensor[i, j] for i in range(3) for j in range(i, 3))
    )
