"""Events of a simulation: functions g(t, q, v) whose zeros are looked for, and joint limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.errors import StateError
from flexdyn_ros.simulation.trajectory import Event

__all__ = ["Watch", "limit_watch", "limits_passed", "root_between", "watches"]


@dataclass(frozen=True)
class Watch:
    """An event function and what scipy's attributes say of it.

    terminal ends the simulation; direction > 0 takes zeros at which g rises, < 0 at which it falls, 0 both.
    many, if there is one, is g of rows q (n, nq), v (n, nv) at once and knows no time: with it a simulation
    stays in its compiled loop.
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: Callable[[np.ndarray], str]
    terminal: bool
    direction: float
    many: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def value(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        """g(t, q, v); StateError if it is not a finite number."""
        try:
            g = float(self.function(t, q, v))
        except TypeError as error:
            raise StateError(f"event {self.name(q)!r} at t = {t:g} s: {error}") from error
        if not np.isfinite(g):
            raise StateError(f"event {self.name(q)!r} is {g} at t = {t:g} s, expected a finite number")
        return g

    def crossed(self, before: float, after: float) -> bool:
        """Whether g passed zero in the direction asked for; a zero belongs to the interval that ends in
        it.
        """
        up, down = before < 0.0 <= after, before > 0.0 >= after
        return (up and self.direction >= 0.0) or (down and self.direction <= 0.0)


def watches(events: Any) -> list[Watch]:
    """Watches of one callable or a sequence of them; names are those of the functions, numbered where they
    repeat.
    """
    functions: Sequence[Any] = (events,) if callable(events) else tuple(events)
    found: list[Watch] = []
    taken: set[str] = set()
    for i, function in enumerate(functions):
        if not callable(function):
            raise StateError(f"events[{i}] is {function!r}, expected a callable g(t, q, v)")
        name = getattr(function, "__name__", "event").replace("<lambda>", "event")
        name = name if name not in taken else f"{name}_{i}"
        taken.add(name)
        terminal = bool(getattr(function, "terminal", False))
        direction = float(getattr(function, "direction", 0.0))
        found.append(Watch(function, _always(name), terminal, direction))
    return found


def _always(name: str) -> Callable[[np.ndarray], str]:
    return lambda q: name


def _bounded(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Indices in q and v, lower and upper limits, and names of the coordinates that have limits."""
    limited = [
        c for c in robot.coordinates if c.q_index >= 0 and (np.isfinite(c.lower) or np.isfinite(c.upper))
    ]
    return (
        np.array([c.q_index for c in limited], dtype=np.int64),
        np.array([c.v_index for c in limited], dtype=np.int64),
        np.array([c.lower for c in limited]),
        np.array([c.upper for c in limited]),
        tuple(c.name for c in limited),
    )


def limit_watch(robot: Robot) -> Watch | None:
    """A terminal watch on all position limits together; None if the robot has none."""
    iq, _, lower, upper, names = _bounded(robot)
    if not names:
        return None

    def margin(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(min((q[iq] - lower).min(), (upper - q[iq]).min()))

    def name(q: np.ndarray) -> str:
        below, above = q[iq] - lower, upper - q[iq]
        i = int(np.argmin(np.minimum(below, above)))
        return f"limit/{names[i]}/{'lower' if below[i] < above[i] else 'upper'}"

    return Watch(margin, name, True, -1.0)


def limits_passed(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> list[Event]:
    """Where the samples leave position limits, between samples by the cubic through positions and
    velocities.
    """
    iq, iv, lower, upper, names = _bounded(robot)
    events: list[Event] = []
    if t.size == 0:
        return events
    for i, name in enumerate(names):
        for bound, sign, side in ((upper[i], 1.0, "upper"), (lower[i], -1.0, "lower")):
            beyond = sign * (q[:, iq[i]] - bound) > 0.0
            if beyond[0]:
                events.append(Event(float(t[0]), f"limit/{name}/{side}", False, q[0].copy(), v[0].copy()))
            for s in np.flatnonzero(beyond[1:] & ~beyond[:-1]):
                share = _crossing(t[s : s + 2], q[s : s + 2, iq[i]] - bound, v[s : s + 2, iv[i]])
                step = robot.difference(q[s], q[s + 1])
                at_q = robot.integrate(q[s], step, share)
                at_q[iq[i]] = bound
                at_v = v[s] + share * (v[s + 1] - v[s])
                events.append(
                    Event(float(t[s] + share * (t[s + 1] - t[s])), f"limit/{name}/{side}", False, at_q, at_v)
                )
    return sorted(events, key=lambda event: event.time)


def _crossing(t: np.ndarray, x: np.ndarray, v: np.ndarray) -> float:
    """Share of an interval after which the cubic Hermite interpolant x(t) is zero."""
    h = t[1] - t[0]

    def cubic(s: float) -> float:
        r = 1.0 - s
        return float(
            r * r * ((1.0 + 2.0 * s) * x[0] + s * h * v[0]) + s * s * ((3.0 - 2.0 * s) * x[1] - r * h * v[1])
        )

    return root_between(cubic, 0.0, 1.0, x[0], x[1])


def root_between(g: Callable[[float], float], a: float, b: float, ga: float, gb: float) -> float:
    """A zero of g in [a, b], where it changes sign, to rounding (Illinois steps, bisection where they are
    slow).
    """
    if ga == 0.0:
        return a
    for i in range(200):
        if gb == 0.0 or abs(b - a) <= 4e-16 * max(abs(a), abs(b)):
            break
        c = 0.5 * (a + b) if i % 4 == 3 else b - gb * (b - a) / (gb - ga)
        if not min(a, b) < c < max(a, b):
            c = 0.5 * (a + b)
            if c in (a, b):
                break
        gc = g(c)
        if (gc < 0.0) != (gb < 0.0):
            a, ga = b, gb
        else:
            ga *= 0.5
        b, gb = c, gc
    return b
