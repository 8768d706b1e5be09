"""Scalar functions of a section of constant curvature: entire in y, the square of the bending angle.

f1 of a function f stands for (1/x) df/dx = 2 df/dy with y = x^2, f2 for the same of f1: if y = u.u, the rate
of f is f1 (u.u'). Up to an angle of three radians all are polynomials in y with exact rational coefficients,
so that nothing happens at the straight pose; beyond, where nothing cancels any more, trigonometric forms
(docs/theory/continuum.md, "Mass").

S, B and C are the first of Stumpff's functions c_k = sum of (-1)^n y^n / (2n + k)!, for which

    c_k = 1/k! - y c_(k+2)    and    f1 of c_k = k c_(k+2) - c_(k+1):

two of them, c6 and c7, give all others and their derivatives without cancellation.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import holds, less, select

#: largest y of the polynomials, and their degrees: the first term left out is below 1e-16 there
LARGEST = 9.0
DEGREE, CLOSED_DEGREE = 12, 19


def _stumpff(k: int):
    """Coefficients of c_k by the power of y."""
    return lambda n: Fraction((-1) ** n, factorial(2 * n + k))


#: sin x / x, (1 - cos x) / x^2, (x - sin x) / x^3
_sine, _versine, _remainder = _stumpff(1), _stumpff(2), _stumpff(3)


def _c(n: int) -> Fraction:
    """Of c = (3/2 - 2 S + sin 2x / 4x) / x^4."""
    return _sine(n + 2) * (Fraction(4 ** (n + 2), 2) - 2)


def _e(n: int) -> Fraction:
    """Of e = (x^3/3 + 2x - 4 sin x + 2x cos x) / x^5."""
    m = n + 2
    return (-1) ** m * (Fraction(2, factorial(2 * m)) - Fraction(4, factorial(2 * m + 1)))


def _cw(n: int) -> Fraction:
    """Of cw = (7/2 - 4 S + sin 2x / 4x) / x^2."""
    return _sine(n + 1) * (Fraction(4 ** (n + 1), 2) - 4)


def _table(coefficient, degree: int, order: int = 0) -> np.ndarray:
    """Coefficients up to a degree of f (order 0), f1 (1) or f2 (2)."""
    if order == 0:
        return np.array([float(coefficient(n)) for n in range(degree + 1)])
    return _table(lambda n: 2 * (n + 1) * coefficient(n + 1), degree, order - 1)


_C6, _C7 = _table(_stumpff(6), DEGREE), _table(_stumpff(7), DEGREE)
_c0, _c1 = (_table(_c, CLOSED_DEGREE, k) for k in range(2))
_d0, _d1 = (_table(lambda n: _e(n + 1) - _c(n + 1), CLOSED_DEGREE, k) for k in range(2))
_cw0, _cw1 = (_table(_cw, CLOSED_DEGREE, k) for k in range(2))
_dw0, _dw1 = (_table(lambda n: -_cw(n + 1), CLOSED_DEGREE, k) for k in range(2))


@kernel
def bending_functions(y):
    """(S, B, C, S1, B1, C1, S2, B2, C2) at y."""
    small = less(y, LARGEST)
    if holds(small):
        return _bending_polynomials(y)
    near = _bending_polynomials(select(small, y, 0.0 * y))
    far = _bending_angles(select(small, LARGEST + 0.0 * y, y))
    return (
        select(small, near[0], far[0]),
        select(small, near[1], far[1]),
        select(small, near[2], far[2]),
        select(small, near[3], far[3]),
        select(small, near[4], far[4]),
        select(small, near[5], far[5]),
        select(small, near[6], far[6]),
        select(small, near[7], far[7]),
        select(small, near[8], far[8]),
    )


@kernel
def _bending_polynomials(y):
    c6, c7 = _C6[DEGREE] + 0.0 * y, _C7[DEGREE] + 0.0 * y
    for i in range(1, DEGREE + 1):
        c6 = c6 * y + _C6[DEGREE - i]
        c7 = c7 * y + _C7[DEGREE - i]
    c5 = 1.0 / 120.0 - y * c7
    c4 = 1.0 / 24.0 - y * c6
    C = 1.0 / 6.0 - y * c5
    B = 0.5 - y * c4
    B1, C1 = 2.0 * c4 - C, 3.0 * c5 - c4
    B2, C2 = c4 - 5.0 * c5 + 8.0 * c6, c5 - 7.0 * c6 + 15.0 * c7
    return 1.0 - y * C, B, C, C - B, B1, C1, C1 - B1, B2, C2


@kernel
def _bending_angles(y):
    x = np.sqrt(y)
    S = np.sin(x) / x
    B = (1.0 - np.cos(x)) / y
    C = (1.0 - S) / y
    B1 = (S - 2.0 * B) / y
    C1 = (B - 3.0 * C) / y
    B2 = (C - B - 4.0 * B1) / y
    C2 = (B1 - 5.0 * C1) / y
    return S, B, C, C - B, B1, C1, C1 - B1, B2, C2


@kernel
def inertia_functions(y):
    """(c, d, cw, dw, c1, d1, cw1, dw1) at y: integrals of the distributed mass
    (docs/theory/continuum.md, "Mass")."""
    small = less(y, LARGEST)
    if holds(small):
        return _inertia_polynomials(y)
    near = _inertia_polynomials(select(small, y, 0.0 * y))
    far = _inertia_angles(select(small, LARGEST + 0.0 * y, y))
    return (
        select(small, near[0], far[0]),
        select(small, near[1], far[1]),
        select(small, near[2], far[2]),
        select(small, near[3], far[3]),
        select(small, near[4], far[4]),
        select(small, near[5], far[5]),
        select(small, near[6], far[6]),
        select(small, near[7], far[7]),
    )


@kernel
def _inertia_polynomials(y):
    zero = 0.0 * y
    c, d, cw, dw, c1, d1, cw1, dw1 = zero, zero, zero, zero, zero, zero, zero, zero
    for i in range(CLOSED_DEGREE + 1):
        n = CLOSED_DEGREE - i
        c = c * y + _c0[n]
        d = d * y + _d0[n]
        cw = cw * y + _cw0[n]
        dw = dw * y + _dw0[n]
        c1 = c1 * y + _c1[n]
        d1 = d1 * y + _d1[n]
        cw1 = cw1 * y + _cw1[n]
        dw1 = dw1 * y + _dw1[n]
    return c, d, cw, dw, c1, d1, cw1, dw1


@kernel
def _inertia_angles(y):
    x = np.sqrt(y)
    sine, cosine = np.sin(x), np.cos(x)
    S = sine / x
    S1 = (cosine - S) / y
    double = 0.5 * sine * cosine / x
    # (1/x) d/dx of sin 2x / 4x
    double1 = (0.5 * (cosine * cosine - sine * sine) - double) / y
    c = (1.5 - 2.0 * S + double) / (y * y)
    c1 = (double1 - 2.0 * S1) / (y * y) - 4.0 * c / y
    e = (y / 3.0 + 2.0 - 4.0 * S + 2.0 * cosine) / (y * y)
    e1 = (y + 2.0 - 2.0 * cosine - 2.0 * x * sine) / (y * y * y) - 5.0 * e / y
    cw = (3.5 - 4.0 * S + double) / y
    cw1 = (double1 - 4.0 * S1 - 2.0 * cw) / y
    d = (e - c) / y
    d1 = (e1 - c1 - 2.0 * d) / y
    dw = (1.0 / 3.0 - cw) / y
    dw1 = (-cw1 - 2.0 * dw) / y
    return c, d, cw, dw, c1, d1, cw1, dw1
