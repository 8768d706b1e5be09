"""The column of a table of C functions that takes the numbers of an array."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.teaching import WRITTEN, when_compiling

__all__ = ["COLUMNS", "ON_FLOATS", "ON_LANES", "ON_TANGENTS", "column_of"]

#: columns: addresses of the functions for float64 numbers, on lanes of a batch, on tangents
ON_FLOATS, ON_LANES, ON_TANGENTS = range(3)
COLUMNS = 3


def column_of(array):
    """ON_FLOATS, ON_LANES or ON_TANGENTS by the type of the numbers of an array, known when a kernel is
    compiled; interpreted kernels call the Python function behind that for float64 numbers."""
    return ON_FLOATS


@when_compiling
def _teach() -> None:
    from numba import types
    from numba.extending import overload

    from .vector_types import Lanes, Tangents

    @overload(column_of, jit_options=WRITTEN)
    def _column_of(array):
        if not isinstance(array, types.Array):
            return None
        if isinstance(array.dtype, Lanes):
            return lambda array: ON_LANES
        if isinstance(array.dtype, Tangents):
            return lambda array: ON_TANGENTS
        return lambda array: ON_FLOATS
