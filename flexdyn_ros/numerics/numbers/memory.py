"""Memory of arrays of any number type: float64 numbers, seen as Lanes or as Tangents."""

from __future__ import annotations

import numpy as np
from numba import carray, types
from numba.extending import intrinsic, overload

from flexdyn_ros.numerics.compiling.compiler import leaf

from . import functions  # noqa: F401 - who has such arrays has the functions of their numbers
from .vectors import ALIGNMENT, DIRECTIONS, LANES, Vector, lanes, tangents

__all__ = ["ONE_LANE", "PER_LANES", "PER_TANGENTS", "aligned", "lanes_of", "next_aligned", "tangents_of"]

#: float64 numbers that one number of each type takes
ONE_LANE, PER_LANES, PER_TANGENTS = 1, LANES, 1 + DIRECTIONS


def aligned(n: int) -> np.ndarray:
    """Fresh float64 memory (n,), not set, that begins at a multiple of ALIGNMENT bytes."""
    spare = ALIGNMENT // 8
    memory = np.empty(n + spare)
    first = (-memory.__array_interface__["data"][0] // 8) % spare
    return memory[first : first + n]


@leaf
def next_aligned(address):
    """The first address from here on that is a multiple of ALIGNMENT."""
    return (address + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _pointer_to(kind: Vector):
    @intrinsic
    def pointer(typing_context, array):
        def code(context, builder, sig, values):
            data = context.make_array(sig.args[0])(context, builder, values[0]).data
            return builder.bitcast(data, context.get_value_type(sig.return_type))

        return types.CPointer(kind)(array), code

    return pointer


_lane_pointer, _tangent_pointer = _pointer_to(lanes), _pointer_to(tangents)


def lanes_of(memory):
    """The float64 memory as an array of Lanes."""
    raise NotImplementedError("only kernels that are compiled know SIMD lanes")


def tangents_of(memory):
    """The float64 memory as an array of Tangents."""
    raise NotImplementedError("only kernels that are compiled know tangents")


@overload(lanes_of, jit_options={"forceinline": True})
def _overload_lanes_of(memory):
    return lambda memory: carray(_lane_pointer(memory), (memory.shape[0] // PER_LANES,))


@overload(tangents_of, jit_options={"forceinline": True})
def _overload_tangents_of(memory):
    return lambda memory: carray(_tangent_pointer(memory), (memory.shape[0] // PER_TANGENTS,))
