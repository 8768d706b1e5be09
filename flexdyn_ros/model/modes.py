"""Assumed modes of a beam and their integrals: the constants that make a link flexible.

Shapes are eigenfunctions of the uniform beam (by forms that neither overflow nor cancel) or polynomials,
functions of s = x/L on [0, 1]. The integrals are those of Zhang 2009 (Appl. Math. Mech. 30(10)), eqs.
(28)-(46), in homogeneous unit-first coordinates [1, x, y, z]; the factor 1/2 is part of C, C_k and C_kl. They
serve every formulation.

Frames: beam frame b, x along the undeformed centre line. Units SI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import cos, cosh, exp, pi, sin, sinh, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flexdyn_ros.errors import DescriptionError

__all__ = [
    "FIELDS",
    "Beam",
    "ModalIntegrals",
    "Mode",
    "SectionFields",
    "Shape",
    "axial_shape",
    "bending_root",
    "bending_shape",
    "check_modal_mass",
    "constant",
    "fields_along",
    "free_free_roots",
    "gauss_legendre",
    "held_shape",
    "merged_breaks",
    "modal_damping",
    "modal_integrals",
    "modal_mass",
    "polynomial",
    "polynomial_shape",
    "pseudo_inertia",
    "rayleigh_damping",
    "section_fields",
    "torsion_root",
    "torsion_shape",
    "with_body",
]

FIELDS = ("axial", "bending_y", "bending_z", "torsion")
Profile = Callable[[np.ndarray], np.ndarray]


def constant(value: float) -> Profile:
    """A section property that does not vary along the beam."""
    return lambda s: np.full(np.shape(s), float(value))


def polynomial(coefficients: ArrayLike) -> Profile:
    """A section property as ascending polynomial coefficients in s = x/L."""
    c = np.asarray(coefficients, dtype=float)
    return lambda s: np.polynomial.polynomial.polyval(np.asarray(s, dtype=float), c)


# ---------------------------------------- shapes


@dataclass(frozen=True)
class Shape:
    """A shape function of s on [0, 1]; slope and curvature are its derivatives with respect to s.

    `order` (number of half waves or polynomial degree) only chooses the quadrature; `root` is the frequency
    parameter b; `breaks` are the stations between which the shape is smooth; `is_slope` says that the
    coordinate is a slope at the tip [rad] instead of a displacement.
    """

    value: Profile
    slope: Profile
    curvature: Profile
    order: int
    root: float | None = None
    breaks: tuple[float, ...] = (0.0, 1.0)
    is_slope: bool = False


def polynomial_shape(coefficients: ArrayLike, *, clamped: str = "bending") -> Shape:
    """Shape from ascending coefficients in s; its value, and for bending its slope, must vanish at the root.

    Raises DescriptionError if they do not: the joint effort would do work on the mode.
    """
    c = np.asarray(coefficients, dtype=float)
    head = c[: 2 if clamped == "bending" else 1]
    if np.any(head != 0.0):
        raise DescriptionError(
            "a polynomial shape does not vanish at the root of the beam",
            element="modes",
            value=tuple(c.tolist()),
            expected="zero constant"
            + (" and linear coefficients" if clamped == "bending" else " coefficient"),
        )
    d1 = np.polynomial.polynomial.polyder(c)
    return Shape(polynomial(c), polynomial(d1), polynomial(np.polynomial.polynomial.polyder(d1)), len(c) - 1)


def _roots(f: Callable[[float], float], count: int, start: float = 1e-6, step: float = 0.005) -> list[float]:
    """First `count` sign changes of f beyond `start`, each to machine precision."""
    roots: list[float] = []
    x, fx = start, f(start)
    while len(roots) < count:
        y = x + step
        fy = f(y)
        if fx * fy < 0.0:
            roots.append(_bisect(f, x, y))
        x, fx = y, fy
    return roots


def _bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """Root of f between two numbers at which its signs differ, to the last bit.

    (scipy.optimize has faster methods, but importing it costs as much as all else that loading a robot does.)
    """
    rises = f(high) > 0.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return middle
        if (f(middle) > 0.0) == rises:
            high = middle
        else:
            low = middle


@lru_cache(maxsize=256)
def bending_root(n: int, mass_ratio: float = 0.0, inertia_ratio: float = 0.0) -> float:
    """n-th frequency parameter b of a clamped beam with a body at its tip; omega = (b/L)^2 sqrt(EI/mu).

    mass_ratio = M/(mu L), inertia_ratio = J_tip/(mu L^3), body's centre of mass on the tip. The
    characteristic equation is divided by cosh b, so that it neither overflows nor cancels; without a body it
    is sech b + cos b = 0 (Meirovitch 1967).
    """
    if n < 1 or mass_ratio < 0.0 or inertia_ratio < 0.0:
        raise ValueError(f"mode {n}, ratios {mass_ratio}, {inertia_ratio}: expected n >= 1 and ratios >= 0")

    def f(b: float) -> float:
        sech, N, J = 1.0 / cosh(b), mass_ratio * b, inertia_ratio * b**3
        return (
            sech
            + cos(b)
            + N * (tanh(b) * cos(b) - sin(b))
            - J * (tanh(b) * cos(b) + sin(b))
            + J * N * (sech - cos(b))
        )

    return _roots(f, n)[-1]


def bending_shape(n: int, mass_ratio: float = 0.0, inertia_ratio: float = 0.0) -> Shape:
    """n-th bending eigenfunction of a clamped beam with a tip body, scaled to 1 at the tip."""
    b = bending_root(n, mass_ratio, inertia_ratio)
    J = inertia_ratio * b**3
    e = exp(-b)
    minus = ((-e + sin(b) - cos(b)) - J * (e - sin(b) - cos(b))) / (
        (sinh(b) + sin(b)) - J * (cosh(b) - cos(b))
    )
    return _clamped_eigenfunction(b, minus, n, "tip")


def held_shape(n: int, tip: str) -> Shape:
    """n-th bending eigenfunction of a beam clamped at the root and `pinned` or `clamped` at the tip, rms
    1."""
    if tip == "pinned":
        b = _roots(lambda x: sin(x) - tanh(x) * cos(x), n, start=0.5)[-1]
    elif tip == "clamped":
        b = _roots(lambda x: 1.0 / cosh(x) - cos(x), n, start=0.5)[-1]
    else:
        raise ValueError(f"tip {tip!r}: expected 'pinned' or 'clamped'")
    minus = (-exp(-b) - sin(b) + cos(b)) / (sinh(b) - sin(b))
    return _clamped_eigenfunction(b, minus, n, "rms")


def free_free_roots(n: int) -> list[float]:
    """First n frequency parameters b of a free-free beam, its rigid motions left out: cos b = sech b."""
    return _roots(lambda x: 1.0 / cosh(x) - cos(x), n, start=0.5)


def _clamped_eigenfunction(b: float, minus: float, n: int, scale: str) -> Shape:
    """1/2 (1-sg) e^(bs) + 1/2 (1+sg) e^(-bs) - cos bs + sg sin bs, with minus = 1 - sg free of
    cancellation."""
    sg = 1.0 - minus

    def combine(s: ArrayLike, grow: float, decay: float, cosine: float, sine: float) -> np.ndarray:
        x = b * np.asarray(s, dtype=float)
        return (
            grow * 0.5 * minus * np.exp(x)
            + decay * 0.5 * (2.0 - minus) * np.exp(-x)
            + cosine * np.cos(x)
            + sine * np.sin(x)
        )

    if scale == "tip":
        c = 1.0 / float(combine(1.0, 1.0, 1.0, -1.0, sg))
    else:
        s, w = gauss_legendre(32 + 6 * n)
        c = 1.0 / float(np.sqrt(w @ combine(s, 1.0, 1.0, -1.0, sg) ** 2))
    return Shape(
        lambda s: c * combine(s, 1.0, 1.0, -1.0, sg),
        lambda s: c * b * combine(s, 1.0, -1.0, sg, 1.0),
        lambda s: c * b * b * combine(s, 1.0, 1.0, 1.0, -sg),
        n,
        b,
    )


def torsion_root(n: int, inertia_ratio: float = 0.0) -> float:
    """n-th root of cos b - r b sin b = 0, r = J_tip/(Jx L); omega = (b/L) sqrt(GJ/Jx). Axial: masses for
    inertias."""
    low, high = (n - 1) * pi, (n - 0.5) * pi
    if inertia_ratio == 0.0:
        return high

    def f(b: float) -> float:
        return cos(b) - inertia_ratio * b * sin(b)

    return _bisect(f, low, high)


def torsion_shape(n: int, inertia_ratio: float = 0.0) -> Shape:
    """n-th torsion eigenfunction of a clamped shaft with a tip inertia, 1 at the tip: sin(bs)/sin(b)."""
    b = torsion_root(n, inertia_ratio)
    c = 1.0 / sin(b)
    return Shape(
        lambda s: c * np.sin(b * np.asarray(s, dtype=float)),
        lambda s: c * b * np.cos(b * np.asarray(s, dtype=float)),
        lambda s: -c * b * b * np.sin(b * np.asarray(s, dtype=float)),
        n,
        b,
    )


axial_shape = torsion_shape  # the same equation, with EA and mass for GJ and polar inertia


# ---------------------------------------- beam and fields


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


@lru_cache(maxsize=64)
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the n-point Gauss-Legendre rule on [0, 1], read-only."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    x.setflags(write=False)
    w.setflags(write=False)
    return x, w


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


def _points(modes: Sequence[Mode]) -> int:
    """Quadrature points: 32 up to the sixth mode or degree, 6 more for each beyond; exact for polynomial
    shapes."""
    order = max((mode.shape.order for mode in modes), default=0)
    return 32 + 6 * max(0, order - 6)


def _foreshortening(length: float, modes: Sequence[Mode], s: np.ndarray, points: int) -> np.ndarray:
    """S_kl(s) = int_0^x (y_k' y_l' + z_k' z_l') dx at stations s (n,): (n, m, m), by rules of its own."""
    edges = merged_breaks(modes)
    if len(edges) == 2:
        nodes, weights = gauss_legendre(points)
        slopes = _fields(length, modes, np.outer(s, nodes).ravel())[1][:, :, 1:3]
        slopes = slopes.reshape(len(modes), len(s), points, 2)
        scaled = slopes * (length * np.outer(s, weights))[None, :, :, None]
        return np.einsum("kgpa,lgpa->gkl", scaled, slopes, optimize=True)
    # piecewise cubic shapes: squares of slopes are of degree 4, exact by four points between all stations
    grid, back = np.unique(np.concatenate([edges, s]), return_inverse=True)
    nodes, weights = gauss_legendre(4)
    width = np.diff(grid)
    inner = (grid[:-1, None] + width[:, None] * nodes).ravel()
    slopes = _fields(length, modes, inner)[1][:, :, 1:3].reshape(len(modes), len(width), 4, 2)
    scaled = slopes * (length * np.outer(width, weights))[None, :, :, None]
    parts = np.einsum("kgpa,lgpa->gkl", scaled, slopes, optimize=True)
    sums = np.concatenate([np.zeros((1, *parts.shape[1:])), np.cumsum(parts, axis=0)])
    return sums[back.reshape(-1)[len(edges) :]]


def merged_breaks(modes: Sequence[Mode], breaks: Sequence[float] = (0.0, 1.0)) -> tuple[float, ...]:
    """Stations between which section properties (`breaks`) and shapes are smooth; no part below 1e-12."""
    edges = sorted({*breaks, *(b for mode in modes for b in mode.shape.breaks)})
    return (0.0, *(b for a, b in pairwise(edges) if b - a > 1e-12))


def section_fields(length: float, modes: Sequence[Mode], station: float = 1.0) -> SectionFields:
    """Shapes of all modes at a station (fraction of the length)."""
    u, th, strain = _fields(length, modes, np.array([float(station)]))
    S = _foreshortening(length, modes, np.array([float(station)]), _points(modes))[0]
    return SectionFields(station * length, u[:, 0], th[:, 0], strain[:, 0], S)


def fields_along(
    length: float, modes: Sequence[Mode], stations: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Shapes at k stations: u, th (m, k, 3), strain (m, k, 4) and S (k, m, m), as in SectionFields."""
    s = np.asarray(stations, dtype=float)
    return (*_fields(length, modes, s), _foreshortening(length, modes, s, _points(modes)))


# ---------------------------------------- integrals


class ModalIntegrals(NamedTuple):
    """Constants of a flexible link, m modes, n quadrature points.

    C (4, 4), C1 (m, 4, 4), C2 (m, m, 4, 4): 1/2 int h0 h0^T dm, 1/2 int h0 uk^T dm, 1/2 int uk ul^T dm.
    C_section, C1_section, C2_section: the part of the cross sections' rotation in them (zero for `paper`,
    `none`). T (m, m): 1/2 int Jx thx_k thx_l dx (`paper` only, else zero). K (m, m): modal stiffness. point_x
    (n,), point_mass (n,): abscissae (or positions (n, 3)) and masses of the points of the line mass
    [m, kg]. point_u (n, m, 3), point_S (n, m, m): displacement and foreshortening integrals there.
    """

    C: np.ndarray
    C1: np.ndarray
    C2: np.ndarray
    C_section: np.ndarray
    C1_section: np.ndarray
    C2_section: np.ndarray
    T: np.ndarray
    K: np.ndarray
    point_x: np.ndarray
    point_mass: np.ndarray
    point_u: np.ndarray
    point_S: np.ndarray


def modal_integrals(
    beam: Beam,
    modes: Sequence[Mode],
    *,
    rotary: str = "consistent",
    points: int | None = None,
    breaks: Sequence[float] = (0.0, 1.0),
) -> ModalIntegrals:
    """Modal integrals of a beam without the bodies it carries, by Gauss-Legendre quadrature.

    rotary: `paper` (line mass, torsional energy of the elastic rate alone), `consistent` (sections are rigid
    plates: roll inertia, twist-roll coupling and rotary inertia), `none` (line mass; torsion modes then have
    no mass). breaks: stations between which the section properties are smooth; each part has a rule of its
    own.
    """
    n = points or _points(modes)
    breaks = merged_breaks(modes, breaks)
    s, w = _composite_rule(n, breaks)
    w = w * beam.length
    u, th, strain = _fields(beam.length, modes, s)
    h0 = np.zeros((len(s), 4))
    h0[:, 0], h0[:, 1] = 1.0, beam.length * s
    line = _second_moments(w * beam.mu(s), h0, _homogeneous(u))
    section = _section_moments(beam, rotary, s, w, th)
    T = np.zeros((len(modes), len(modes)))
    if rotary == "paper":
        T = 0.5 * np.einsum("g,kg,lg->kl", w * beam.Jx(s), th[:, :, 0], th[:, :, 0])
    rigidity = np.stack([beam.GJ(s), beam.EIy(s), beam.EIz(s), beam.EA(s)], axis=1)
    K = np.einsum("g,ga,kga,lga->kl", w, rigidity, strain, strain)
    S = _foreshortening(beam.length, modes, s, n)
    C, C1, C2 = (a + b for a, b in zip(line, section, strict=True))
    x, mass = beam.length * s, w * beam.mu(s)
    return ModalIntegrals(C, C1, C2, *section, T, K, x, mass, np.swapaxes(u, 0, 1).copy(), S)


def _composite_rule(n: int, breaks: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre rules between the breaks: n points for the whole beam, at least 12 for a part."""
    parts = []
    for a, b in pairwise(breaks):
        s, w = gauss_legendre(n if len(breaks) == 2 else max(12, int(np.ceil(n * (b - a))) + 8))
        parts.append((a + (b - a) * s, (b - a) * w))
    return np.concatenate([s for s, _ in parts]), np.concatenate([w for _, w in parts])


def _homogeneous(u: np.ndarray) -> np.ndarray:
    """Fields (m, n, 3) as unit-first directions (m, n, 4)."""
    return np.concatenate([np.zeros((*u.shape[:2], 1)), u], axis=2)


def _second_moments(
    dm: np.ndarray, h0: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C, C_k, C_kl of masses dm (n,) at h0 (n, 4) with mode displacements u (m, n, 4); first index is the
    column."""
    return (
        0.5 * np.einsum("g,gi,gj->ij", dm, h0, h0),
        0.5 * np.einsum("g,gi,kgj->kij", dm, h0, u),
        0.5 * np.einsum("g,kgi,lgj->klij", dm, u, u),
    )


def _section_moments(
    beam: Beam, rotary: str, s: np.ndarray, w: np.ndarray, th: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Second moments of the cross sections as rigid plates: directors e_y, e_z turn with th (`consistent`
    only)."""
    m, n = th.shape[:2]
    moments = (np.zeros((4, 4)), np.zeros((m, 4, 4)), np.zeros((m, m, 4, 4)))
    if rotary in ("paper", "none"):
        return moments
    if rotary != "consistent":
        raise ValueError(f"rotary {rotary!r}: expected 'consistent', 'paper' or 'none'")
    for axis, inertia in ((1, beam.Jzz(s)), (2, beam.Jyy(s))):
        director = np.zeros(3)
        director[axis] = 1.0
        h0 = np.zeros((n, 4))
        h0[:, 1 + axis] = 1.0
        turned = _homogeneous(np.cross(th, director))
        moments = tuple(a + b for a, b in zip(moments, _second_moments(w * inertia, h0, turned), strict=True))
    return moments


def pseudo_inertia(mass: float, com: Sequence[float], inertia: Sequence[float]) -> np.ndarray:
    """Unit-first pseudo-inertia int h h^T dm (4, 4) of a rigid body.

    inertia: (Ixx, Iyy, Izz, Ixy, Ixz, Iyz), tensor entries about the centre of mass com, same axes.
    """
    xx, yy, zz, xy, xz, yz = inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)
    c = np.asarray(com, dtype=float)
    P = np.empty((4, 4))
    P[0, 0] = mass
    P[0, 1:] = P[1:, 0] = mass * c
    P[1:, 1:] = 0.5 * np.trace(tensor) * np.eye(3) - tensor + mass * np.outer(c, c)
    return P


def with_body(integrals: ModalIntegrals, P: np.ndarray, station: SectionFields) -> ModalIntegrals:
    """Integrals with a rigid body added that moves with the linear field of a section (Zhang 2009, eqs.
    31-33).

    P: pseudo-inertia (4, 4) in axes of the undeformed section. Exact for affine section frames; for others it
    is what the body adds to the link's own modal mass at the undeformed state.
    """
    H = np.eye(4)
    H[1:, 0] = station.centre
    M = np.zeros((len(station.u), 4, 4))
    M[:, 1:, 0] = station.u
    x, y, z = station.th.T
    M[:, 1, 2], M[:, 1, 3], M[:, 2, 1], M[:, 2, 3], M[:, 3, 1], M[:, 3, 2] = -z, y, z, -x, -y, x
    return integrals._replace(
        C=integrals.C + 0.5 * H @ P @ H.T,
        C1=integrals.C1 + 0.5 * np.einsum("ij,kaj->kia", H @ P, M),
        C2=integrals.C2 + 0.5 * np.einsum("kia,ab,ljb->klij", M, P, M),
    )


def modal_mass(integrals: ModalIntegrals) -> np.ndarray:
    """Modal mass matrix (m, m) of the link by itself, undeformed: 2 tr C_kl + 2 T_kl."""
    return 2.0 * np.einsum("klii->kl", integrals.C2) + 2.0 * integrals.T


def check_modal_mass(
    integrals: ModalIntegrals,
    modes: Sequence[Mode],
    link: str,
    *,
    file: str | None = None,
    line: int | None = None,
) -> None:
    """Raise DescriptionError if a modal mass is not positive: the equations of motion would be singular.

    file, line: where the link's description is.
    """
    for k, mass in enumerate(np.diag(modal_mass(integrals))):
        if not mass > 0.0:
            raise DescriptionError(
                f"mode {k + 1} ({modes[k].field}) of link '{link}' has no mass",
                file=file,
                line=line,
                element="modes",
                value=float(mass),
                expected="for torsion a polar inertia of the beam or a body at its tip, else a mass",
            )


def rayleigh_damping(integrals: ModalIntegrals, alpha: float, beta: float) -> np.ndarray:
    """Modal damping matrix alpha M_e + beta K (m, m)."""
    return alpha * modal_mass(integrals) + beta * integrals.K


def modal_damping(integrals: ModalIntegrals, ratios: Sequence[float]) -> np.ndarray:
    """Damping matrix (m, m) that gives the link's own modes, by rising frequency, the ratios zeta.

    M_e Psi diag(2 zeta_r omega_r) Psi^T M_e with mass-normalised eigenvectors Psi of (K, M_e). One ratio
    serves all.
    """
    Me = modal_mass(integrals)
    root = np.linalg.inv(np.linalg.cholesky(Me))
    squares, vectors = np.linalg.eigh(root @ integrals.K @ root.T)
    Psi = root.T @ vectors
    zeta = np.broadcast_to(np.asarray(ratios, dtype=float), squares.shape)
    omega = np.sqrt(np.maximum(squares, 0.0))
    return Me @ Psi @ np.diag(2.0 * zeta * omega) @ Psi.T @ Me
