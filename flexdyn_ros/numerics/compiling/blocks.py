"""Matrices in flat arrays that cost nothing: no references, no bounds, no division.

Numba's `reshape` asks a C function whether the memory fits, which small kernels notice.
"""

from __future__ import annotations

from numba import types
from numba.extending import lower_builtin, type_callable

from .windows import array_at

__all__ = ["block"]


def block(array, first, m, n):
    """Matrix (m, n) in C order that begins at `first` of a contiguous array; it owns nothing."""
    return array.reshape(-1)[first : first + m * n].reshape(m, n)


@type_callable(block)
def _type_block(context):
    def type_of(array, first, m, n):
        fits = isinstance(array, types.Array) and array.layout == "C"
        return types.Array(array.dtype, 2, "C") if fits else None

    return type_of


@lower_builtin(block, types.Array, types.Integer, types.Integer, types.Integer)
def _lower_block(context, builder, signature, values):
    array = context.make_array(signature.args[0])(context, builder, values[0])
    first, m, n = (
        context.cast(builder, value, kind, types.intp)
        for value, kind in zip(values[1:], signature.args[1:], strict=True)
    )
    return array_at(context, builder, signature.return_type, builder.gep(array.data, [first]), m, n)
