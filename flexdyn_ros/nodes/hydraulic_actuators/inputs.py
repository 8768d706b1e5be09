"""Leg states and commands of hydraulic legs: taken whole, by name, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.nodes.ros.conversions import numbers_of

__all__ = ["HydraulicOrder", "HydraulicRanges", "InputError", "read_command", "read_leg_state"]

#: how far a length may lie outside the stroke [m], and a command beyond its range (parallel specification 12)
BEYOND_STROKE, BEYOND_RANGE = 0.05, 0.01
VALVE, FORCE = 0, 1


class InputError(ValueError):
    """A message is malformed; the text names field, value given, value expected. Nothing of it is taken."""


class HydraulicRanges(NamedTuple):
    """What inputs may be; arrays (n,) by leg.

    shortest, longest : lengths at both ends of the stroke [m]
    largest_force : of a force command [N]
    max_velocity : [m/s]
    """

    names: tuple[str, ...]
    shortest: np.ndarray
    longest: np.ndarray
    largest_force: np.ndarray
    max_velocity: float


class HydraulicOrder(NamedTuple):
    """What the legs are told: forces [N] or valve openings (n,), in the order of the description."""

    force: bool
    values: np.ndarray


def read_leg_state(message: Any, ranges: HydraulicRanges) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Lengths [m], rates [m/s] and, where it has them, forces [N] (n,) of a JointState.

    Other names than those of the legs may be there and are left alone.

    Raises
    ------
    InputError
    """
    order = _order(message.name, ranges.names, "name")
    lengths = _numbers("position", message.position, len(message.name))[order]
    rates = _numbers("velocity", message.velocity, len(message.name))[order]
    forces = None
    if len(message.effort):
        forces = _numbers("effort", message.effort, len(message.name))[order]
    for i, name in enumerate(ranges.names):
        low, high = ranges.shortest[i] - BEYOND_STROKE, ranges.longest[i] + BEYOND_STROKE
        if not low <= lengths[i] <= high:
            raise InputError(f"length of {name} is {lengths[i]:g} m, expected {low:g} to {high:g}")
        if not abs(rates[i]) <= ranges.max_velocity:
            raise InputError(f"rate of {name} is {rates[i]:g} m/s, expected at most {ranges.max_velocity:g}")
    return lengths, rates, forces


def read_command(message: Any, ranges: HydraulicRanges) -> HydraulicOrder:
    """What a HydraulicCommand orders; valve openings clamped to -1..1.

    Raises
    ------
    InputError
    """
    if message.mode not in (VALVE, FORCE):
        raise InputError(f"mode is {message.mode}, expected VALVE (0) or FORCE (1)")
    names = message.names or ranges.names
    values = _numbers("values", message.values, len(names))
    if message.names:
        unknown = [name for name in message.names if name not in ranges.names]
        if unknown:
            raise InputError(f"names has {unknown[0]!r}, expected {', '.join(ranges.names)}")
        values = values[_order(message.names, ranges.names, "names")]
    force = message.mode == FORCE
    limits = ranges.largest_force if force else np.ones(len(ranges.names))
    for i, name in enumerate(ranges.names):
        if abs(values[i]) > (1.0 + BEYOND_RANGE) * limits[i]:
            unit = " N" if force else ""
            raise InputError(f"value of {name} is {values[i]:g}{unit}, expected at most {limits[i]:g}{unit}")
    return HydraulicOrder(force, np.clip(values, -limits, limits))


def _order(given: Sequence[str], wanted: Sequence[str], field: str) -> list[int]:
    """Where the wanted names are among the given ones."""
    at = {name: i for i, name in enumerate(given)}
    if len(at) < len(given):
        twice = next(name for name in at if list(given).count(name) > 1)
        raise InputError(f"{field} has {twice!r} more than once")
    missing = [name for name in wanted if name not in at]
    if missing:
        raise InputError(f"{field} lacks {', '.join(missing)}, expected all of {', '.join(wanted)}")
    return [at[name] for name in wanted]


def _numbers(field: str, values: Any, size: int) -> np.ndarray:
    if len(values) != size:
        raise InputError(f"{field} has {len(values)} numbers, expected {size}")
    array = numbers_of(values).copy()
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise InputError(f"{field}[{at}] is {array[at]}, expected a finite number")
    return array
