"""Height of a road over the abscissa, with its first two derivatives."""

from __future__ import annotations

import ctypes

import numpy as np

from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.teaching import WRITTEN, kernel, when_compiling
from flexdyn_ros.numerics.numbers.functions import both, larger, less, select, smaller
from flexdyn_ros.numerics.numbers.vectors import LANES, element, with_element

FLAT, SINES, BUMP, STEP, TABLE, CALLABLE = range(6)

#: int64 words that a road's address points to
ROAD_HEADER = 4
ROAD_KIND, ROAD_COUNT, ROAD_NUMBERS, ROAD_FUNCTION = range(ROAD_HEADER)

#: C signature of a road given as a function: abscissa, and 0 for its height there or 1 for its slope
ROAD_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)


def ask(function, X, which):
    """Call a ROAD_CALLBACK by its address."""
    return ROAD_CALLBACK(int(function))(X, which)


@when_compiling
def _teach_ask() -> None:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def through(typing_context, function, X, which):
        def codegen(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), ir.IntType(64)])
            return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

        return types.float64(types.int64, types.float64, types.int64), codegen

    @overload(ask, jit_options=WRITTEN)
    def overload_ask(function, X, which):
        return lambda function, X, which: through(function, X, which)


@kernel(fastmath={"contract", "reassoc", "nsz", "arcp"})
def sum_of_sines(f, n, x):
    """offset + sum A sin(k x + phase) with derivatives; f holds the offset, then n amplitudes, wave numbers,
    phases."""
    z, dz, ddz = f[1], 0.0, 0.0
    for i in range(n):
        k = f[2 + n + i]
        s, c = sincos(k * x + f[2 + 2 * n + i])
        s, c = f[2 + i] * s, f[2 + i] * c
        z += s
        dz += k * c
        ddz -= k * k * s
    return z, dz, ddz


@kernel
def table_at(f, n, X):
    """Piecewise cubic through n points: f holds abscissae, heights, slopes; constant beyond the ends."""
    if f[0] >= X:
        return f[n], 0.0, 0.0
    if f[n - 1] <= X:
        return f[2 * n - 1], 0.0, 0.0
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if f[middle] <= X:
            low = middle
        else:
            high = middle
    w = f[high] - f[low]
    x = (X - f[low]) / w
    z0, z1, d0, d1 = f[n + low], f[n + high], w * f[2 * n + low], w * f[2 * n + high]
    c2, c3 = 3.0 * (z1 - z0) - 2.0 * d0 - d1, 2.0 * (z0 - z1) + d0 + d1
    return (
        z0 + x * (d0 + x * (c2 + x * c3)),
        (d0 + x * (2.0 * c2 + 3.0 * x * c3)) / w,
        (2.0 * c2 + 6.0 * x * c3) / (w * w),
    )


@kernel
def values_of(function, X):
    """A road given as a function; its curvature by differences of its slope."""
    width = 1e-5
    above, below = ask(function, X + width, np.int64(1)), ask(function, X - width, np.int64(1))
    return ask(function, X, np.int64(0)), ask(function, X, np.int64(1)), (above - below) / (2.0 * width)


@kernel
def road_at(address, X):
    """Height z [m] of a road at the world abscissa X [m], slope dz/dX, curvature d2z/dX2."""
    head = ints_at(address, ROAD_HEADER)
    kind, n = head[ROAD_KIND], head[ROAD_COUNT]
    if kind == SINES:
        f = floats_at(head[ROAD_NUMBERS], 2 + 3 * n)
        return sum_of_sines(f, n, X - f[0])
    if kind == TABLE:
        return table_at(floats_at(head[ROAD_NUMBERS], 3 * n), n, X)
    if kind == CALLABLE:
        return values_of(head[ROAD_FUNCTION], X)
    f = floats_at(head[ROAD_NUMBERS], 3)
    x = X - f[0]
    if kind == BUMP:
        k = 2.0 * np.pi / f[2]
        s, c = sincos(k * x)
        height = select(both(less(0.0, x), less(x, f[2])), 0.5 * f[1], 0.0)
        return height * (1.0 - c), height * k * s, height * k * k * c
    if kind == STEP:
        y = smaller(larger(x / f[2], 0.0), 1.0)
        rises = both(less(0.0, x), less(x, f[2]))
        return (
            f[1] * y * y * (3.0 - 2.0 * y),
            6.0 * f[1] * y * (1.0 - y) / f[2],
            select(rises, (6.0 - 12.0 * y) * f[1] / f[2] ** 2, 0.0),
        )
    return 0.0, 0.0, 0.0


def road_under(address, X):
    """Height and slope at an abscissa: for tangents with their derivatives, for lanes one by one."""
    return _with_slopes(address, X)


@kernel
def _with_slopes(address, X):
    z, dz, ddz = road_at(address, X.real)
    off = X - X.real
    return z + dz * off, dz + ddz * off


@kernel
def _in_lanes(address, X):
    height, slope = X, X
    for k in range(LANES):
        z, dz, _ = road_at(address, element(X, k))
        height, slope = with_element(height, k, z), with_element(slope, k, dz)
    return height, slope


@when_compiling
def _teach() -> None:
    from numba.extending import overload

    from flexdyn_ros.numerics.numbers.vector_types import Lanes

    @overload(road_under)
    def _overload_road_under(address, X):
        if isinstance(X, Lanes):
            return lambda address, X: _in_lanes(address, X)
        return lambda address, X: _with_slopes(address, X)
