"""Legs of platforms in a tree: cylinders on universal joints, of any inertia (docs/theory/platform.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.description.elements.oil import CylinderHydraulics
from flexdyn_ros.description.elements.platforms import EndStop
from flexdyn_ros.description.elements.urdf import Vec3
from flexdyn_ros.description.language.vocabulary import element
from flexdyn_ros.multibody.elements.kernels.law import Law
from flexdyn_ros.multibody.elements.kernels.legs import LEG_MASSES
from flexdyn_ros.multibody.elements.kernels.lines import DRIVE
from flexdyn_ros.multibody.elements.kind import Coefficient, ElementKind
from flexdyn_ros.numerics.algebra.placement import Placement

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.kernels.standing import Standing

#: numbers of a leg that its force is linear in, behind whether it spins and its axis (kernels/legs.py)
_FIRST = 4
#: differences that a leg may show and still count as axisymmetric, relative to its largest inertia or m c
ROUND = 1e-9
_COEFFICIENTS = (
    *((f"{body}_{what}", unit) for body in ("barrel", "rod") for what, unit in (
        ("mass", "kg"), ("moment_x", "kg m"), ("moment_y", "kg m"), ("moment_z", "kg m"))),
    *((f"inertia_{axes}", "kg m2") for axes in ("xx", "xy", "xz", "yy", "yz", "zz")),
)  # fmt: skip


@element("leg", "A leg of a platform that is part of a tree.", kw_only=True)
class MountedLeg:
    """A leg: universal joint at `base_xyz` in the frame of the link `base`, ball joint at `end_xyz` in that
    of the platform.

    minimum_length, stroke [m]; axis: of the universal joint, frame of the base; effort [N] and speed [m/s]:
    largest, 0 and infinite where there is none; numbers: of kernels/legs.py; slider: joint of the URDF;
    hydraulics: what drives it, None where it is told its force.
    """

    name: str
    slider: str
    base: str
    base_xyz: Vec3
    end: str
    end_xyz: Vec3
    minimum_length: float
    stroke: float
    axis: Vec3
    effort: float
    speed: float
    numbers: tuple[float, ...]
    hydraulics: CylinderHydraulics | None = None
    line: int | None = None

    @property
    def stop(self) -> EndStop | None:
        """End stops of its oil."""
        return None if self.hydraulics is None else self.hydraulics.end_stop


def _has_mass(record: MountedLeg) -> Law | None:
    return LEG_MASSES if any(record.numbers[_FIRST:]) else None


def is_round(cylinder_moment: np.ndarray, rod_moment: np.ndarray, inertia: np.ndarray) -> bool:
    """Whether a leg has its mass on its axis and equal transverse inertias; moments (3,), inertia (3, 3)."""
    scale = ROUND * np.abs(inertia).max()
    aside = max(np.abs(rod_moment[:2]).max(), np.abs(cylinder_moment[:2]).max())
    size = max(np.abs(rod_moment).max(), np.abs(cylinder_moment).max())
    off = np.abs(inertia - np.diag(np.diag(inertia))).max()
    return bool(aside <= ROUND * size and off <= scale and abs(inertia[0, 0] - inertia[1, 1]) <= scale)


def _standing(
    record: MountedLeg, numbers: Sequence[float], foot: Placement, is_turned: bool, plain: bool
) -> tuple[Standing, Sequence[float]] | None:
    # every robot loads this module, few have elements
    from flexdyn_ros.multibody.elements.kernels.standing import LEGS, LINES, NO_SPRING, PLAIN_LEGS

    if is_turned:
        return None
    if plain and not any(numbers[_FIRST:]):
        return LINES, NO_SPRING
    x = np.array(numbers)
    xx, xy, xz, yy, yz, zz = x[12:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    kind = PLAIN_LEGS if plain and is_round(x[5:8], x[9:12], inertia) else LEGS
    return kind, [*foot.R @ x[1:4], *x[8:12], *x[4:8], *x[12:], x[0]]


KINDS = (
    ElementKind(
        record=MountedLeg,
        law=DRIVE,
        inertia=_has_mass,
        numbers=lambda record: record.numbers,
        coefficients=lambda record: tuple(
            Coefficient(name, unit, _FIRST + i) for i, (name, unit) in enumerate(_COEFFICIENTS)
        ),
        driven=True,
        frees_joints=False,
        is_drawn=False,
        limits=lambda record: (
            record.effort,
            record.speed,
            record.minimum_length,
            record.minimum_length + record.stroke,
        ),
        passes_moment=lambda record: (True, False),
        axis=lambda record: record.axis,
        standing=_standing,
    ),
)
