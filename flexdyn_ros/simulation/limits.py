"""Coordinates that left their limits in a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.simulation.samples import Samples

#: how far beyond a limit is rounding, as a share of the limit
_ROUNDING = 1e-9
#: names in a sentence
_MOST_NAMES = 6


class Departure(NamedTuple):
    """A limit that a coordinate passed: position or velocity, its value and unit, the time of the first
    sample beyond it [s], and the value farthest beyond."""

    name: str
    quantity: str
    limit: float
    unit: str
    time: float
    farthest: float


def departures(run: Samples, coordinates: tuple[Coordinate, ...]) -> tuple[Departure, ...]:
    """Limits of position and velocity that the samples of a run are beyond, in the order of time."""
    found = [one for c in coordinates if not c.prescribed for one in _of_coordinate(run, c)]
    return tuple(sorted(found, key=lambda one: one.time))


def _of_coordinate(run: Samples, c: Coordinate) -> Iterator[Departure]:
    speed = np.abs(run.v[:, c.v_index])
    bounds = [("velocity", c.velocity_limit, f"{c.unit}/s", speed, 1.0)]
    if c.q_index >= 0:
        x = run.q[:, c.q_index]
        bounds += [("position", c.lower, c.unit, x, -1.0), ("position", c.upper, c.unit, x, 1.0)]
    for quantity, limit, unit, values, sign in bounds:
        beyond = np.flatnonzero(sign * (values - limit) > _ROUNDING * max(1.0, abs(limit)))
        if np.isfinite(limit) and beyond.size:
            farthest = float(sign * np.max(sign * values))
            yield Departure(c.name, quantity, limit, unit, float(run.t[beyond[0]]), farthest)


def in_words(left: tuple[Departure, ...]) -> str:
    """A sentence on coordinates that left their limits; empty if none did."""
    parts = []
    for quantity, one_did, some_did in (
        ("position", "left its limits", "left their limits"),
        ("velocity", "was faster than its limit", "were faster than their limits"),
    ):
        first: dict[str, Departure] = {}
        for one in left:
            if one.quantity == quantity:
                first.setdefault(one.name, one)
        if first:
            told = [f"{one.name} at {one.time:.3g} s" for one in list(first.values())[:_MOST_NAMES]]
            more = ["…"] if len(first) > _MOST_NAMES else []
            who = f"1 coordinate {one_did}" if len(first) == 1 else f"{len(first)} coordinates {some_did}"
            parts.append(f"{who}: {', '.join([*told, *more])}")
    return "; ".join(parts)
