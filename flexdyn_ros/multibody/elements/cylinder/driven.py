"""Cylinders between two points that exert the force they are told: ideal, or electric with a largest speed
(docs/theory/elements.md)."""

from __future__ import annotations

from itertools import chain
from math import hypot, inf

from flexdyn_ros.description.elements.lines import DrivenCylinder
from flexdyn_ros.multibody.elements.kernels.law import Law
from flexdyn_ros.multibody.elements.kernels.legs import SPINNING_MASSES
from flexdyn_ros.multibody.elements.kernels.lines import DRIVE, SWINGING_MASSES
from flexdyn_ros.multibody.elements.kind import Coefficient, ElementKind

#: how far the length where all coordinates are zero may lie outside the stroke, from rounding [m]
_ROUNDING = 1e-9


def _outside_stroke(record: DrivenCylinder, length: float) -> tuple[str, str, str] | None:
    longest = record.minimum_length + record.stroke
    if record.minimum_length - _ROUNDING <= length <= longest + _ROUNDING:
        return None
    message = f"the pins are {length:.6g} m apart"
    return message, "minimum_length", f"a length from {record.minimum_length:g} to {longest:g} m"


def _limits(record: DrivenCylinder) -> tuple[float, float, float, float]:
    speed = inf if record.electric is None else record.electric.speed
    return record.largest_force, speed, record.minimum_length, record.minimum_length + record.stroke


def _numbers(record: DrivenCylinder) -> list[float]:
    parts, axis = (record.barrel, record.rod), record.axis
    if axis is None:
        return [x for part in parts for x in ((part.mass, part.com, part.inertia) if part else (0.0,) * 3)]
    rows = ((part.mass, part.com, part.inertia, part.axial_inertia) if part else (0.0,) * 4 for part in parts)
    size = hypot(*axis)
    return [*chain.from_iterable(rows), *(x / size for x in axis)]


def _inertia(record: DrivenCylinder) -> Law | None:
    if record.axis is not None:
        return SPINNING_MASSES
    return SWINGING_MASSES if record.barrel or record.rod else None


def _coefficients(record: DrivenCylinder) -> tuple[Coefficient, ...]:
    found, size = [], 3 if record.axis is None else 4
    for i, (name, part) in enumerate((("barrel", record.barrel), ("rod", record.rod))):
        if part is not None:
            found += [
                Coefficient(f"{name}_mass", "kg", size * i),
                Coefficient(f"{name}_inertia", "kg m2", size * i + 2),
            ]
            if record.axis is not None:
                found.append(Coefficient(f"{name}_axial_inertia", "kg m2", size * i + 3))
    return tuple(found)


KINDS = (
    ElementKind(
        record=DrivenCylinder,
        law=DRIVE,
        inertia=_inertia,
        numbers=_numbers,
        coefficients=_coefficients,
        refuse=_outside_stroke,
        driven=True,
        limits=_limits,
        passes_moment=lambda record: (record.axis is not None, False),
        axis=lambda record: record.axis,
    ),
)
