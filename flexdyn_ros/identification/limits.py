"""Limits of motions that are designed: those of the description, and those that are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, pi
from typing import Any

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError
from flexdyn_ros.robot.arguments import by_name, numbers
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.verbs import Robot

#: what a joint without limits may do: half a turn or a metre either way, and so much a second, and per second
REACH = {"rad": pi, "m": 1.0}
SPEED, ACCELERATION = 2.0, 10.0
_KINDS = ("position", "velocity", "acceleration", "effort", "deflection")


@dataclass(frozen=True, eq=False)
class Limits:
    """Of n joints: lower, upper [rad, m], velocity, acceleration, effort (n,), and deflection of tips [m]."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    deflection: float

    @classmethod
    def of(cls, robot: Robot, joints: Sequence[Coordinate], told: Any) -> Limits:
        """Those of the description, narrowed by what is told; see `excite`."""
        given = by_name(told, "limits", "numbers")
        for name in given:
            UnknownNameError.check("limit", name, _KINDS)
        names = [c.name for c in joints]
        lower = np.array([max(c.lower, -REACH.get(c.unit, 1.0)) for c in joints])
        upper = np.array([min(c.upper, REACH.get(c.unit, 1.0)) for c in joints])
        for i, c in enumerate(joints):
            if lower[i] >= upper[i]:
                lower[i], upper[i] = c.lower, c.upper
        if "position" in given:
            low, high = _ranges(given["position"], names, lower, upper)
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        if not np.all(lower <= upper):
            i = int(np.argmin(lower <= upper))
            raise StateError(f"{names[i]} has no room: position from {lower[i]:g} to {upper[i]:g}")
        if np.all(lower == upper):
            raise StateError(f"no joint has room: position from {lower[0]:g} to {upper[0]:g} of {names[0]}")
        velocity = _told(given, "velocity", names, np.array([c.velocity_limit for c in joints]))
        acceleration = _told(given, "acceleration", names, np.full(len(names), inf))
        effort = _told(given, "effort", names, np.array([c.effort_limit or inf for c in joints]))
        deflection = _told(given, "deflection", ["deflection"], np.array([inf]))[0]
        return cls(
            lower, upper, np.where(np.isfinite(velocity), velocity, SPEED),
            np.where(np.isfinite(acceleration), acceleration, ACCELERATION), effort, float(deflection),
        )  # fmt: skip


def _told(given: Mapping[str, object], kind: str, names: Sequence[str], own: np.ndarray) -> np.ndarray:
    """The smaller of a joint's own limit and what is told: one number, one a joint, or by name."""
    if kind not in given:
        return own
    value = given[kind]
    if isinstance(value, Mapping):
        for name in value:
            UnknownNameError.check("joint", name, names)
        value = [value.get(name, inf) for name in names]
    told = np.broadcast_to(numbers(value, f"limits[{kind!r}]"), own.shape)
    if not np.all(told > 0.0):
        raise StateError(f"limits[{kind!r}] is {value}, expected numbers > 0")
    return np.minimum(own, told)


def _ranges(
    value: Any, names: Sequence[str], lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(lower, upper) of all joints from (lower, upper), from one number either way, or by name."""
    if isinstance(value, Mapping):
        for name in value:
            UnknownNameError.check("joint", name, names)
        rows = [value.get(name, (lower[i], upper[i])) for i, name in enumerate(names)]
        pairs = [_pair(row) for row in rows]
        return np.array([p[0] for p in pairs], dtype=float), np.array([p[1] for p in pairs], dtype=float)
    low, high = _pair(value)
    return np.broadcast_to(low, lower.shape), np.broadcast_to(high, upper.shape)


def _pair(value: Any) -> tuple[np.ndarray, np.ndarray]:
    if np.ndim(value) == 0:
        size = numbers(value, "limits['position']")
        return -size, size
    if len(value) != 2:
        raise StateError(f"limits['position'] is {value!r}, expected a number, or (lower, upper)")
    return numbers(value[0], "limits['position'][0]"), numbers(value[1], "limits['position'][1]")
