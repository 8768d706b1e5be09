"""Sine and cosine together, without branches, for numbers of any type."""

from __future__ import annotations

import math

import numpy as np

from flexdyn_ros.numerics.compiling.teaching import WRITTEN, leaf, when_compiling
from flexdyn_ros.numerics.numbers.functions import either, less, select

_TWO_OVER_PI = 2.0 / math.pi
# pi/2 in three parts of 33 bits, so that k times a part is exact for |k| < 2**20 (Cody and Waite 1980)
_PART_1 = 1.57079632673412561417e00
_PART_2 = 6.07710050630396597660e-11
_PART_3 = 2.02226624871116645580e-21

# Taylor coefficients; on |r| <= pi/4 the first neglected terms are r^17/17! < 5e-17 and r^18/18! < 3e-18
_S = tuple((-1.0) ** i / math.factorial(2 * i + 1) for i in range(8))
_C = tuple((-1.0) ** i / math.factorial(2 * i) for i in range(9))


@leaf
def _sincos_real(x):
    k = np.floor(x * _TWO_OVER_PI + 0.5)
    r = ((x - k * _PART_1) - k * _PART_2) - k * _PART_3
    # angles beyond 1e15 rad have no meaning; NaN goes through
    r = select(either(less(0.8, r), less(r, -0.8)), 0.0, r)
    z = r * r
    s = _S[7]
    s = _S[6] + z * s
    s = _S[5] + z * s
    s = _S[4] + z * s
    s = _S[3] + z * s
    s = _S[2] + z * s
    s = _S[1] + z * s
    s = r + r * z * s
    c = _C[8]
    c = _C[7] + z * c
    c = _C[6] + z * c
    c = _C[5] + z * c
    c = _C[4] + z * c
    c = _C[3] + z * c
    c = _C[2] + z * c
    c = 1.0 + z * (-0.5 + z * c)
    quadrant = k - 4.0 * np.floor(0.25 * k)
    half = 0.5 * quadrant
    odd = less(np.floor(half), half)
    sine, cosine = select(odd, c, s), select(odd, s, c)
    middle = quadrant - 1.5
    sine = select(less(middle, 0.0), sine, -sine)
    cosine = select(less(middle * middle, 1.0), -cosine, cosine)
    return sine, cosine


def sincos(x):
    """(sin x, cos x) of an angle [rad]; real ones to about one unit in the last place."""
    if isinstance(x, complex | np.complexfloating):
        return np.sin(x), np.cos(x)
    if hasattr(x, "sincos"):
        return x.sincos()
    return _sincos_real(x)


@when_compiling
def _teach() -> None:
    from numba import types
    from numba.extending import overload

    from flexdyn_ros.numerics.numbers.vector_types import Tangents, chained

    @overload(sincos, jit_options=WRITTEN)
    def _sincos(x):
        if isinstance(x, types.Complex):
            return lambda x: (np.sin(x), np.cos(x))
        if isinstance(x, Tangents):

            def of_tangents(x):
                s, c = _sincos_real(x.real)
                return chained(x, s, c), chained(x, c, -s)

            return of_tangents
        return lambda x: _sincos_real(x)
