"""Views into arrays that cost nothing: no references, no bounds, no negative indices.

A slice of Numba's compares both its ends with the length of the array, which small kernels that walk through
tables of short rows spend a quarter of their time on.
"""

from __future__ import annotations

from numba import carray, types
from numba.extending import intrinsic, overload

__all__ = ["tail", "window"]


@intrinsic
def _pointer_from(typing_context, array, first):
    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    return types.CPointer(array.dtype)(array, types.int64), codegen


def tail(array, first):
    """array[first:] of a contiguous array (n,), 0 <= first <= n; as `borrowed`, it owns nothing."""
    return array[first:]


@overload(tail, jit_options={"forceinline": True})
def _tail(array, first):
    return lambda array, first: carray(_pointer_from(array, first), (array.size - first,))


def window(array, first, n):
    """array[first : first + n] of a contiguous array that has these; as `borrowed`, it owns nothing."""
    return array[first : first + n]


@overload(window, jit_options={"forceinline": True})
def _window(array, first, n):
    return lambda array, first, n: carray(_pointer_from(array, first), (n,))
