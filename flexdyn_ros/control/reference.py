"""References that a control law follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.errors import DimensionError
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.verbs import Robot

#: t -> (q (nq,), v (nv,), a (nv,))
Reference = Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]


def reference_of(robot: Robot, target: object) -> Reference:
    """A reference from a callable t -> q, (q, v) or (q, v, a), or from a configuration (nq,) to be held."""
    if not callable(target):
        q = _vector(target, "target", robot.nq)
        rest = np.zeros(robot.nv)
        return lambda t: (q, rest, rest)

    def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        given = target(t)
        parts = tuple(given) if isinstance(given, tuple) else (given,)
        if not 1 <= len(parts) <= 3:
            raise DimensionError(
                f"the target at t = {t:g} s has {len(parts)} parts, expected q, (q, v) or (q, v, a)"
            )
        sizes = (robot.nq, robot.nv, robot.nv)
        names = (f"{letter} of the target at t = {t:g} s" for letter in "qva")
        full = [_vector(x, name, n) for x, name, n in zip(parts, names, sizes, strict=False)]
        full += [np.zeros(robot.nv)] * (3 - len(full))
        return full[0], full[1], full[2]

    return reference


class Timeline:
    """References that follow one another: each holds from its time on, until the next.

    Those of the last `memory` seconds are kept, for who asks for the past (`shaped`).
    """

    def __init__(self, reference: Reference, memory: float = 0.0) -> None:
        self.memory = memory
        self._parts: list[tuple[float, Reference]] = [(-np.inf, reference)]

    def follow(self, t: float, reference: Reference) -> None:
        """From time t [s] on, another reference; parts that began later are dropped."""
        kept = [part for part in self._parts if part[0] < t]
        while len(kept) > 1 and kept[1][0] <= t - self.memory:
            del kept[0]
        self._parts = [*kept, (t, reference)]

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position (nq,), velocity and acceleration (nv,) at time t."""
        return self.part(t)(t)

    def part(self, t: float) -> Reference:
        """The reference that holds at time t."""
        parts = self._parts
        i = len(parts) - 1
        while i > 0 and parts[i][0] > t:
            i -= 1
        return parts[i][1]


def to_rest(reference: Reference, t: float, seconds: float) -> Reference:
    """Decelerate a reference smoothly from time t [s] on: at rest after so many seconds, half of which it
    has gone on. Position, velocity and acceleration are continuous."""

    def slowed(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u = min(max((time - t) / seconds, 0.0), 1.0)
        q, v, a = reference(t + seconds * (u - u**3 + 0.5 * u**4))
        pace, change = 1.0 - 3.0 * u**2 + 2.0 * u**3, 6.0 * (u**2 - u) / seconds
        return q, pace * v, pace**2 * a + change * v

    return slowed


def _vector(value: object, name: str, size: int) -> np.ndarray:
    array = numbers(value, name)
    if array.shape != (size,):
        raise DimensionError(f"{name} has shape {array.shape}, expected ({size},)")
    return array
