"""Springs and dampers between two points, and about an axis (docs/theory/elements.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.description.elements.lines import Damper, Spring, TorsionSpring
from flexdyn_ros.multibody.elements.kernels.lines import SPRING, TORSION_SPRING
from flexdyn_ros.multibody.elements.kind import Coefficient, ElementKind
from flexdyn_ros.numerics.algebra.placement import frame_with_z_along

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.kernels.standing import Standing

#: ends nearer than this have no line between them [m]
NEAREST = 1e-9


def _without_line(record: Spring | Damper, length: float) -> tuple[str, str, str] | None:
    free = getattr(record, "free_length", 0.0)
    if length < NEAREST and (record.damping > 0.0 or free > 0.0):
        message = "the ends meet, and a damper or a free length needs a line between them"
        return message, "end_xyz", "another point, or stiffness alone"
    return None


def _of_torsion(record: TorsionSpring) -> list[float]:
    across = frame_with_z_along(np.array(record.axis) / np.linalg.norm(record.axis)).T
    return [record.stiffness, record.damping, record.reference, *across.ravel().tolist()]


def _standing(
    record: Spring | Damper, numbers: Sequence[float], *_: object
) -> tuple[Standing, Sequence[float]]:
    # every robot loads this module, few have elements
    from flexdyn_ros.multibody.elements.kernels.standing import LINES

    return LINES, numbers


_ALONG = (Coefficient("stiffness", "N/m", 0), Coefficient("damping", "N s/m", 1))
_ABOUT = (Coefficient("stiffness", "N m/rad", 0), Coefficient("damping", "N m s/rad", 1))

KINDS = (
    ElementKind(
        record=Spring,
        law=SPRING,
        numbers=lambda r: (r.stiffness, r.damping, r.free_length, float(r.tension_only)),
        coefficients=lambda record: _ALONG,
        refuse=_without_line,
        standing=_standing,
    ),
    ElementKind(
        record=Damper,
        law=SPRING,
        numbers=lambda r: (0.0, r.damping, 0.0, 0.0),
        coefficients=lambda record: _ALONG[1:],
        refuse=_without_line,
        standing=_standing,
    ),
    ElementKind(
        record=TorsionSpring,
        law=TORSION_SPRING,
        numbers=_of_torsion,
        coefficients=lambda record: _ABOUT,
        unit="rad",
    ),
)
