"""Cylinders between two points that exert the force they are told: ideal, or electric with a largest speed
(docs/theory/elements.md)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import hypot, inf
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.description.elements.lines import DrivenCylinder
from flexdyn_ros.multibody.elements.kernels.law import Law
from flexdyn_ros.multibody.elements.kernels.legs import SPINNING_MASSES
from flexdyn_ros.multibody.elements.kernels.lines import DRIVE, SWINGING_MASSES
from flexdyn_ros.multibody.elements.kind import Coefficient, ElementKind
from flexdyn_ros.numerics.algebra.placement import Placement

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.kernels.standing import Standing

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


def _standing(
    record: DrivenCylinder, numbers: Sequence[float], foot: Placement, is_turned: bool, plain: bool
) -> tuple[Standing, Sequence[float]] | None:
    """A leg with its masses on its axis; a line without any."""
    # every robot loads this module, few have elements
    from flexdyn_ros.multibody.elements.kernels.standing import LINES, NO_SPRING, PLAIN_LEGS

    if _inertia(record) is None:
        return LINES, NO_SPRING
    spins = record.axis is not None
    if spins and is_turned:
        return None
    size = 4 if spins else 3
    below, above = numbers[:size], numbers[size : 2 * size]
    transverse = sum(inertia + mass * com * com for mass, com, inertia, *_ in (below, above))
    axial = sum(sum(rest) for _, _, _, *rest in (below, above))
    if is_turned:
        below, above = above, below
    sign = -1.0 if is_turned else 1.0
    axis = foot.R @ numbers[2 * size :] if spins else np.zeros(3)
    return PLAIN_LEGS, [
        *axis,
        *(above[0], 0.0, 0.0, sign * above[0] * above[1]),
        *(below[0], 0.0, 0.0, sign * below[0] * below[1]),
        *(transverse, 0.0, 0.0, transverse, 0.0, axial),
        float(spins),
    ]


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
        standing=_standing,
    ),
)
