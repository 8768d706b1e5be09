"""Events of a simulation: functions g(t, q, v) whose zeros are looked for, and joint limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import copysign
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.verbs import Robot

__all__ = [
    "Event",
    "Watch",
    "limit_watch",
    "limits_passed",
    "values_past",
    "watches",
    "zeros_in_step",
]


class Event(NamedTuple):
    """Something that happened at a time [s] and a state q (nq,), v (nv,).

    name is that of the event function, or `limit/COORDINATE/upper` or `/lower` where a position limit was
    passed.
    """

    time: float
    name: str
    terminal: bool
    q: np.ndarray
    v: np.ndarray


#: of numbers about 1
TO_ROUNDING = float(np.finfo(np.float64).eps)
#: of a value that has just passed zero
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Watch:
    """An event function and what scipy's attributes say of it.

    terminal ends the simulation; direction > 0 takes zeros at which g rises, < 0 at which it falls, 0 both.
    many, if there is one, is g of rows q (n, nq), v (n, nv) at once and knows no time: with it a simulation
    stays in its compiled loop. breaks says that forces have a kink where g is zero: steps with error control
    end there.
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: Callable[[np.ndarray], str]
    terminal: bool
    direction: float
    many: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    breaks: bool = False

    def value(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        """g(t, q, v); StateError if it is not a finite number."""
        try:
            g = float(self.function(t, q, v))
        except TypeError as error:
            raise StateError(f"event {self.name(q)!r} at t = {t:g} s: {error}") from error
        if not np.isfinite(g):
            raise StateError(f"event {self.name(q)!r} is {g} at t = {t:g} s, expected a finite number")
        return g

    def crossed(self, before: Any, after: Any) -> Any:
        """Whether g passed zero in its direction, for numbers or arrays; a zero belongs to the interval that
        ends in it.
        """
        up, down = (before < 0.0) & (after >= 0.0), (before > 0.0) & (after <= 0.0)
        return (up & (self.direction >= 0.0)) | (down & (self.direction <= 0.0))


def watches(events: Any) -> list[Watch]:
    """Watches of one callable or a sequence of them; names are those of the functions, numbered where they
    repeat.
    """
    functions: Sequence[object] = (events,) if callable(events) else tuple(events)
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


class Bounds:
    """What of a robot has position limits: coordinates; strokes and joint angles of a platform's legs.

    Attributes
    ----------
    names : tuple of str
    lower, upper : (k,) arrays
        [rad, m].
    """

    def __init__(self, robot: Robot) -> None:
        names, lower, upper, places = robot.functions.limits
        self._functions, self._places = robot.functions, places
        self._chosen = chosen = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        self.names = tuple(names[i] for i in chosen)
        self.lower, self.upper = lower[chosen], upper[chosen]

    def motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (..., k) of what has limits."""
        position, rate = self._functions.limited_motion(q, v)
        return position[..., self._chosen], rate[..., self._chosen]

    def at_bound(self, q: np.ndarray, i: int, bound: float) -> np.ndarray:
        """q with what is i-th put exactly on a bound, where it is a number of q."""
        place = self._places[self._chosen[i]]
        if place >= 0:
            q[place] = bound
        return q


def limit_watch(robot: Robot) -> Watch | None:
    """A terminal watch on all position limits together; None if the robot has none."""
    bounds = Bounds(robot)
    if not bounds.names:
        return None
    lower, upper = bounds.lower, bounds.upper

    def margins(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        x = bounds.motion(q, v)[0]
        return np.minimum(x - lower, upper - x).min(axis=-1)

    def margin(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(margins(q, v))

    def name(q: np.ndarray) -> str:
        x = bounds.motion(q, np.zeros(robot.nv))[0]
        below, above = x - lower, upper - x
        i = int(np.argmin(np.minimum(below, above)))
        return f"limit/{bounds.names[i]}/{'lower' if below[i] < above[i] else 'upper'}"

    return Watch(margin, name, True, -1.0)


def limits_passed(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> list[Event]:
    """Where the samples leave position limits, between samples by the cubic through positions and
    velocities.
    """
    bounds = Bounds(robot)
    events: list[Event] = []
    if t.size == 0 or not bounds.names:
        return events
    x, rate = bounds.motion(q, v)
    for i, name in enumerate(bounds.names):
        for bound, sign, side in ((bounds.upper[i], 1.0, "upper"), (bounds.lower[i], -1.0, "lower")):
            beyond = sign * (x[:, i] - bound) > 0.0
            if beyond[0]:
                events.append(Event(float(t[0]), f"limit/{name}/{side}", False, q[0].copy(), v[0].copy()))
            for s in np.flatnonzero(beyond[1:] & ~beyond[:-1]):
                share = _crossing(t[s : s + 2], x[s : s + 2, i] - bound, rate[s : s + 2, i])
                step = robot.difference(q[s], q[s + 1])
                at_q = bounds.at_bound(robot.integrate(q[s], step, share), i, bound)
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

    return _root_between(cubic, 0.0, 1.0, x[0], x[1])


def zeros_in_step(
    watches: Sequence[Watch],
    values: list[float],
    begin: float,
    h: float,
    at: Callable[[float], tuple[np.ndarray, np.ndarray]],
    shares: Sequence[float] = (1.0,),
) -> tuple[list[float], list[tuple[float, Watch]]]:
    """Where watches cross zero in a step of h [s] from time `begin` [s] on.

    Parameters
    ----------
    values : list of float
        Of the watches at its begin.
    at : callable
        Share of the step -> q (nq,), v (nv,) there.
    shares : sequence of float
        At which the watches are looked at, rising, the last 1.

    Returns
    -------
    values : list of float
        Of the watches at its end.
    zeros : list of (share, Watch)
        Rising.
    """
    found: list[tuple[float, Watch]] = []
    before = 0.0

    def value(watch: Watch, share: float) -> float:
        return watch.value(begin + share * h, *at(share))

    for share in shares:
        state = at(share)
        new = [watch.value(begin + share * h, *state) for watch in watches]
        for watch, g0, g1 in zip(watches, values, new, strict=True):
            if watch.crossed(g0, g1):
                zero = share if g1 == 0.0 else _root_between(partial(value, watch), before, share, g0, g1)
                found.append((zero, watch))
        before, values = share, new
    return values, sorted(found, key=lambda pair: pair[0])


def values_past(
    watches: Sequence[Watch],
    found: Sequence[tuple[float, Watch]],
    t: float,
    state: tuple[np.ndarray, np.ndarray],
    before: Sequence[float],
) -> list[float]:
    """Values of the watches at t; of those that pass zero there with the sign that they then have.

    before: values of all watches before.
    """
    passed = [watch for _, watch in found]
    values = [watch.value(t, *state) for watch in watches]
    return [
        copysign(max(abs(g), TINY), -g0) if watch in passed else g
        for watch, g, g0 in zip(watches, values, before, strict=True)
    ]


def _root_between(g: Callable[[float], float], a: float, b: float, ga: float, gb: float) -> float:
    """A zero of g in [a, b], where it changes sign, to rounding (Chandrupatla 1997).

    SciPy has such methods too; importing them takes a quarter of the time of a short run.
    """
    if ga == 0.0 or gb == 0.0:
        return a if ga == 0.0 else b
    x1, f1, x2, f2, share = a, ga, b, gb, 0.5
    # a value that jumps or trembles by rounding may take the square of the 50 halvings down to rounding
    for _ in range(3000):
        x = x1 + share * (x2 - x1)
        f = g(x)
        # x1 is the newest, x2 on the other side of the zero, x3 the one before on either side
        if (f > 0.0) == (f1 > 0.0):
            x3, f3 = x1, f1
        else:
            x3, f3, x2, f2 = x2, f2, x1, f1
        x1, f1 = x, f
        best, least = (x1, f1) if abs(f1) < abs(f2) else (x2, f2)
        tolerance = 0.5 * TO_ROUNDING * (1.0 + 4.0 * abs(best))
        if least == 0.0 or 2.0 * tolerance > abs(x2 - x1):
            break
        # inverse quadratic interpolation where it is monotone, else a halving
        along, up = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        share = 0.5
        if up * up < along and (1.0 - up) * (1.0 - up) < 1.0 - along:
            share = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        edge = tolerance / abs(x2 - x1)
        share = min(1.0 - edge, max(edge, share))
    return best
