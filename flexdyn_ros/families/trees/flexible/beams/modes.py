"""Beams, their modes, and what the modes do at a section: displacement, rotation, strain, foreshortening.

Frames: beam frame b, x along the undeformed centre line. Units SI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.flexible.beams.mode_shapes import Profile, Shape, constant, gauss_legendre

FIELDS = ("axial", "bending_y", "bending_z", "torsion")


@dataclass(frozen=True)
class Beam:
    """A straight beam; section properties are functions of s on [0, 1].

    mu [kg/m]; EIy resists bending_z, EIz resists bending_y [N m2]; GJ [N m2], EA [N]; Jx, Jyy, Jzz mass
    moments per length [kg m]: Jzz = rho int y^2 dA, Jyy = rho int z^2 dA, Jx polar.
    """

    length: float
    mu: Profile
    EIy: Profile = field(default_factory=lambda: constant(0.0))
    EIz: Profile = field(default_factory=lambda: constant(0.0))
    GJ: Profile = field(default_factory=lambda: constant(0.0))
    EA: Profile = field(default_factory=lambda: constant(0.0))
    Jx: Profile = field(default_factory=lambda: constant(0.0))
    Jyy: Profile = field(default_factory=lambda: constant(0.0))
    Jzz: Profile = field(default_factory=lambda: constant(0.0))


#: width of a part of a beam, as a fraction of its length, up to which four points are enough
NARROW = 1e-3
#: evaluations of the slopes above which foreshortening is summed from station to station
MOST_POINTS = 10_000


class Mode(NamedTuple):
    """One modal coordinate: a field of FIELDS and its shape."""

    field: str
    shape: Shape


class SectionFields(NamedTuple):
    """What the modes do at one station.

    x: abscissa [m]; u (m, 3): displacement per coordinate; th (m, 3): rotation per coordinate [rad], with
    thz = +dy/dx, thy = -dz/dx; strain (m, 4): (twist rate, d thy/dx, d thz/dx, axial strain) per coordinate;
    S (m, m): int_0^x (y_k' y_l' + z_k' z_l') dx [m]; aside: y, z of the undeformed section's centre [m], zero
    for beams.
    """

    x: float
    u: np.ndarray
    th: np.ndarray
    strain: np.ndarray
    S: np.ndarray
    aside: tuple[float, float] = (0.0, 0.0)

    @property
    def centre(self) -> np.ndarray:
        """Centre of the undeformed section (3,), beam axes [m]."""
        return np.array([self.x, *self.aside])


def _fields(length: float, modes: Sequence[Mode], s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u (m, n, 3), th (m, n, 3), strain (m, n, 4) at the stations s (n,)."""
    u, th, strain = (np.zeros((len(modes), len(s), k)) for k in (3, 3, 4))
    for k, (name, shape) in enumerate(modes):
        if name == "bending_y":
            u[k, :, 1] = shape.value(s)
            th[k, :, 2] = shape.slope(s) / length
            strain[k, :, 2] = shape.curvature(s) / length**2
        elif name == "bending_z":
            u[k, :, 2] = shape.value(s)
            th[k, :, 1] = -shape.slope(s) / length
            strain[k, :, 1] = -shape.curvature(s) / length**2
        elif name == "torsion":
            th[k, :, 0] = shape.value(s)
            strain[k, :, 0] = shape.slope(s) / length
        elif name == "axial":
            u[k, :, 0] = shape.value(s)
            strain[k, :, 3] = shape.slope(s) / length
        else:
            raise ValueError(f"mode field {name!r}: expected one of {', '.join(FIELDS)}")
    return u, th, strain


def _bending_slopes(length: float, modes: Sequence[Mode], s: np.ndarray) -> np.ndarray:
    """The rotations about y and z among those of `_fields` (m, n, 2)."""
    th = np.zeros((len(modes), len(s), 2))
    for k, (name, shape) in enumerate(modes):
        if name == "bending_y":
            th[k, :, 1] = shape.slope(s) / length
        elif name == "bending_z":
            th[k, :, 0] = -shape.slope(s) / length
    return th


def quadrature_points(modes: Sequence[Mode]) -> int:
    """Quadrature points: 32 up to the sixth mode or degree, 6 more for each beyond; exact for polynomial
    shapes."""
    order = max((mode.shape.order for mode in modes), default=0)
    return 32 + 6 * max(0, order - 6)


def _foreshortening(length: float, modes: Sequence[Mode], s: np.ndarray, points: int) -> np.ndarray:
    """S_kl(s) = int_0^x (y_k' y_l' + z_k' z_l') dx at stations s (n,): (n, m, m), by rules of its own."""
    edges = merged_breaks(modes)
    if len(edges) == 2 and len(s) * points > MOST_POINTS:
        return _foreshortening_between(length, modes, s, points)
    if len(edges) == 2:
        nodes, weights = gauss_legendre(points)
        slopes = _bending_slopes(length, modes, np.outer(s, nodes).ravel())
        slopes = slopes.reshape(len(modes), len(s), points, 2)
        scaled = slopes * (length * np.outer(s, weights))[None, :, :, None]
        return np.einsum("kgpa,lgpa->gkl", scaled, slopes, optimize=True)
    # piecewise cubic shapes: squares of slopes are of degree 4, exact by four points between all stations
    grid, back = np.unique(np.concatenate([edges, s]), return_inverse=True)
    nodes, weights = gauss_legendre(4)
    width = np.diff(grid)
    inner = (grid[:-1, None] + width[:, None] * nodes).ravel()
    slopes = _bending_slopes(length, modes, inner).reshape(len(modes), len(width), 4, 2)
    scaled = slopes * (length * np.outer(width, weights))[None, :, :, None]
    parts = np.einsum("kgpa,lgpa->gkl", scaled, slopes, optimize=True)
    sums = np.concatenate([np.zeros((1, *parts.shape[1:])), np.cumsum(parts, axis=0)])
    return sums[back.reshape(-1)[len(edges) :]]


def _foreshortening_between(length: float, modes: Sequence[Mode], s: np.ndarray, points: int) -> np.ndarray:
    """The same for many stations: summed over the parts between them, which grows as their number."""
    grid, back = np.unique(np.concatenate([[0.0], s]), return_inverse=True)
    width = np.diff(grid)
    counts = np.array([points_of_part(x, points) for x in width])
    parts = np.zeros((len(width), len(modes), len(modes)))
    for count in np.unique(counts):
        chosen = np.flatnonzero(counts == count)
        nodes, weights = gauss_legendre(int(count))
        inner = (grid[chosen, None] + width[chosen, None] * nodes).ravel()
        slopes = _bending_slopes(length, modes, inner).reshape(len(modes), len(chosen), count, 2)
        scaled = slopes * (length * np.outer(width[chosen], weights))[None, :, :, None]
        parts[chosen] = np.einsum("kgpa,lgpa->gkl", scaled, slopes, optimize=True)
    sums = np.concatenate([np.zeros((1, *parts.shape[1:])), np.cumsum(parts, axis=0)])
    return sums[back.reshape(-1)[1:]]


def points_of_part(width: float, points: int) -> int:
    """Quadrature points of a part of a beam that takes so many: at least 12, 4 below NARROW, where the 40th
    eigenfunction turns by a quarter of a radian and four points leave 1e-14."""
    return 4 if width < NARROW else max(12, int(np.ceil(points * width)) + 8)


def merged_breaks(modes: Sequence[Mode], breaks: Sequence[float] = (0.0, 1.0)) -> tuple[float, ...]:
    """Stations between which section properties (`breaks`) and shapes are smooth; no part below 1e-12."""
    edges = sorted({*breaks, *(b for mode in modes for b in mode.shape.breaks)})
    return (0.0, *(b for a, b in pairwise(edges) if b - a > 1e-12))


def section_fields(length: float, modes: Sequence[Mode], station: float = 1.0) -> SectionFields:
    """Shapes of all modes at a station (fraction of the length)."""
    u, th, strain = _fields(length, modes, np.array([float(station)]))
    S = _foreshortening(length, modes, np.array([float(station)]), quadrature_points(modes))[0]
    return SectionFields(station * length, u[:, 0], th[:, 0], strain[:, 0], S)


def fields_along(
    length: float, modes: Sequence[Mode], stations: np.ndarray, *, points: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Shapes at k stations: u, th (m, k, 3), strain (m, k, 4) and S (k, m, m), as in SectionFields.

    points: of the quadrature of S; as many as the shapes need if left out.
    """
    s, n = np.asarray(stations, dtype=float), points or quadrature_points(modes)
    return (*_fields(length, modes, s), _foreshortening(length, modes, s, n))
