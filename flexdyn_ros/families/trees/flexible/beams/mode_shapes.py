"""Assumed shapes of a beam's modes: functions of s = x/L on [0, 1].

Eigenfunctions of the uniform beam, by forms that neither overflow nor cancel, or polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import cos, cosh, exp, pi, sin, sinh, tanh
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexdyn_ros.errors import DescriptionError

Profile = Callable[[np.ndarray], np.ndarray]
#: (s, order) to a function of s, or its first or second derivative
Derivatives = Callable[..., np.ndarray]


def constant(value: float) -> Profile:
    """A section property that does not vary along the beam."""
    return lambda s: np.full(np.shape(s), float(value))


def polynomial(coefficients: ArrayLike) -> Profile:
    """A section property as ascending polynomial coefficients in s = x/L."""
    c = np.asarray(coefficients, dtype=float)
    return lambda s: np.polynomial.polynomial.polyval(np.asarray(s, dtype=float), c)


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

    @classmethod
    def of(cls, derivative: Derivatives, order: int, **more: Any) -> Shape:
        """The shape of a function that gives its own derivatives."""
        value, slope, curvature = (partial(derivative, order=k) for k in range(3))
        return cls(value, slope, curvature, order, **more)


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
    signs = ((1.0, 1.0, -1.0, sg), (1.0, -1.0, sg, 1.0), (1.0, 1.0, 1.0, -sg))

    def combine(s: ArrayLike, order: int) -> np.ndarray:
        x = b * np.asarray(s, dtype=float)
        grow, decay, cosine, sine = signs[order]
        return b**order * (
            grow * 0.5 * minus * np.exp(x)
            + decay * 0.5 * (2.0 - minus) * np.exp(-x)
            + cosine * np.cos(x)
            + sine * np.sin(x)
        )

    if scale == "tip":
        c = 1.0 / float(combine(1.0, 0))
    else:
        s, w = gauss_legendre(32 + 6 * n)
        c = 1.0 / float(np.sqrt(w @ combine(s, 0) ** 2))
    return Shape.of(lambda s, order: c * combine(s, order), n, root=b)


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
    return sine_shape(n, b, 1.0 / sin(b))


def sine_shape(n: int, b: float, c: float) -> Shape:
    """c sin b s, the n-th shape of a shaft."""

    def derivative(s: np.ndarray, order: int) -> np.ndarray:
        wave = np.cos if order == 1 else np.sin
        return (c, c * b, -c * b * b)[order] * wave(b * np.asarray(s, dtype=float))

    return Shape.of(derivative, n, root=b)


axial_shape = torsion_shape  # the same equation, with EA and mass for GJ and polar inertia


@lru_cache(maxsize=64)
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the n-point Gauss-Legendre rule on [0, 1], read-only."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    x.setflags(write=False)
    w.setflags(write=False)
    return x, w
