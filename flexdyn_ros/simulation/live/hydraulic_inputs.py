"""What inputs of cylinders on oil may be, and how messages are read into them: whole, by name, or refused
with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import shortened
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.simulation.live.message_fields import checked_numbers, places_of

#: how far a length may lie outside the stroke [m], and a command beyond its range, as
#: docs/hydraulic_actuators.md has it
BEYOND_STROKE, BEYOND_RANGE = 0.05, 0.01
VALVE, FORCE = 0, 1


class InputError(ValueError):
    """A message is malformed; the text names field, value given, value expected. Nothing of it is taken."""


class HydraulicRanges(NamedTuple):
    """What inputs may be; arrays (n,) by cylinder.

    shortest, longest : lengths at both ends of the stroke [m]
    largest_force : of a force command [N]
    max_velocity : [m/s]
    """

    names: tuple[str, ...]
    shortest: np.ndarray
    longest: np.ndarray
    largest_force: np.ndarray
    max_velocity: float


class HydraulicSetpoint(NamedTuple):
    """Commands of the cylinders: forces [N] or valve openings (n,), in the order of the description."""

    force: bool
    values: np.ndarray


def read_leg_state(message: Any, ranges: HydraulicRanges) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Lengths [m], rates [m/s] and, where it has them, forces [N] (n,) of a JointState.

    Other names than those of the cylinders may be there and are left alone.

    Raises
    ------
    InputError
    """
    order = places_of(message.name, ranges.names, "name", InputError)
    lengths = checked_numbers("position", message.position, len(message.name), error=InputError)[order]
    rates = checked_numbers("velocity", message.velocity, len(message.name), error=InputError)[order]
    forces = None
    if len(message.effort):
        forces = checked_numbers("effort", message.effort, len(message.name), error=InputError)[order]
    for i, name in enumerate(ranges.names):
        low, high = ranges.shortest[i] - BEYOND_STROKE, ranges.longest[i] + BEYOND_STROKE
        if not low <= lengths[i] <= high:
            raise InputError(f"length of {name} is {lengths[i]:g} m, expected {low:g} to {high:g}")
        if not abs(rates[i]) <= ranges.max_velocity:
            raise InputError(f"rate of {name} is {rates[i]:g} m/s, expected at most {ranges.max_velocity:g}")
    return lengths, rates, forces


def read_command(message: Any, ranges: HydraulicRanges, *, partial: bool = False) -> HydraulicSetpoint:
    """What a HydraulicCommand orders; valve openings clamped to -1..1. partial: it may leave out cylinders,
    whose values are NaN then.

    Raises
    ------
    InputError
    """
    if message.mode not in (VALVE, FORCE):
        raise InputError(f"mode is {message.mode}, expected VALVE (0) or FORCE (1)")
    names = message.names or ranges.names
    values = checked_numbers("values", message.values, len(names), error=InputError)
    if message.names:
        unknown = [name for name in message.names if name not in ranges.names]
        if unknown:
            raise InputError(f"names has {shortened(unknown[0])!r}, expected {', '.join(ranges.names)}")
        wanted = message.names if partial else ranges.names
        told = values[places_of(message.names, wanted, "names", InputError)]
        values = np.full(len(ranges.names), np.nan)
        values[[ranges.names.index(name) for name in wanted]] = told
    force = message.mode == FORCE
    limits = ranges.largest_force if force else np.ones(len(ranges.names))
    for i, name in enumerate(ranges.names):
        if abs(values[i]) > (1.0 + BEYOND_RANGE) * limits[i]:
            unit = " N" if force else ""
            raise InputError(f"value of {name} is {values[i]:g}{unit}, expected at most {limits[i]:g}{unit}")
    return HydraulicSetpoint(force, np.clip(values, -limits, limits))


def ranges_of(hydraulics: Hydraulics, max_velocity: float) -> HydraulicRanges:
    """Ranges of the inputs: strokes, and forces up to the effort limits of the sliders, else the supply's."""
    model = hydraulics.model
    shortest, stated = model.column("shortest"), model.effort_limits
    largest = np.where(np.isfinite(stated), stated, model.column("bore_area") * model.column("supply"))
    longest = shortest + model.column("stroke")
    return HydraulicRanges(hydraulics.names, shortest, longest, largest, max_velocity)
