"""Arrays seen through an address: lets one integer carry a whole model into a kernel.

Each array argument costs a call from Python 50 to 90 ns; an integer costs next to nothing. Whoever passes an
address keeps the memory behind it alive.

Never inline these with Numba's own `inline="always"`: its dead-code pass then takes writes to an array that
came from an address for writes to an array nobody reads, and drops them.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numba import carray, types
from numba.extending import intrinsic, overload


def _pointer_to(element):
    @intrinsic
    def pointer(typing_context, address):
        def codegen(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), codegen

    return pointer


_float_pointer = _pointer_to(types.float64)
_int_pointer = _pointer_to(types.int64)


def floats_at(address, n):
    """float64 array (n,) at `address`."""
    return np.ctypeslib.as_array((ctypes.c_double * int(n)).from_address(int(address)))


def ints_at(address, n):
    """int64 array (n,) at `address`."""
    return np.ctypeslib.as_array((ctypes.c_int64 * int(n)).from_address(int(address)))


@overload(floats_at, jit_options={"forceinline": True})
def _floats_at(address, n):
    return lambda address, n: carray(_float_pointer(address), (n,))


@overload(ints_at, jit_options={"forceinline": True})
def _ints_at(address, n):
    return lambda address, n: carray(_int_pointer(address), (n,))


@intrinsic
def _pointer_into(typing_context, array):
    def codegen(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), codegen


def borrowed(array):
    """A view of a contiguous array that owns nothing.

    Slices of it count no references, which small kernels would spend a fifth of their time on. Whoever holds
    the array keeps it alive, as for an address.
    """
    return array


@overload(borrowed, jit_options={"forceinline": True})
def _borrowed(array):
    return lambda array: carray(_pointer_into(array), array.shape)
