"""Sine and cosine together, without branches, so that loops over lanes become SIMD code."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.extending import overload

from flexdyn_ros.numerics.compiling.compiler import leaf

_TWO_OVER_PI = 2.0 / math.pi
# pi/2 in three parts of 33 bits, so that k times a part is exact for |k| < 2**20 (Cody and Waite 1980)
_PART_1 = 1.57079632673412561417e00
_PART_2 = 6.07710050630396597660e-11
_PART_3 = 2.02226624871116645580e-21

# Taylor coefficients; on |r| <= pi/4 the first neglected terms are r^17/17! < 5e-17 and r^18/18! < 3e-18
_S = tuple((-1.0) ** i / math.factorial(2 * i + 1) for i in range(8))
_C = tuple((-1.0) ** i / math.factorial(2 * i) for i in range(9))


def _sincos_real(x):
    k = np.floor(x * _TWO_OVER_PI + 0.5)
    r = ((x - k * _PART_1) - k * _PART_2) - k * _PART_3
    r = 0.0 if abs(r) > 0.8 else r  # angles beyond 1e15 rad have no meaning; NaN goes through
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
    odd = quadrant == 1.0 or quadrant == 3.0
    sine = c if odd else s
    cosine = s if odd else c
    sine = -sine if quadrant >= 2.0 else sine
    cosine = -cosine if (quadrant == 1.0 or quadrant == 2.0) else cosine
    return sine, cosine


def sincos(x):
    """(sin x, cos x) of a real or complex angle [rad]; real ones to about one unit in the last place."""
    if isinstance(x, complex | np.complexfloating):
        return np.sin(x), np.cos(x)
    return _sincos_real(x)


_sincos_compiled = leaf(_sincos_real)


@overload(sincos, jit_options={"forceinline": True})
def _sincos(x):
    if isinstance(x, types.Complex):
        return lambda x: (np.sin(x), np.cos(x))
    return lambda x: _sincos_compiled(x)
