"""Memory of arrays of any number type: float64 numbers, seen as Lanes or as Tangents."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.teaching import leaf, when_compiling

from . import functions  # noqa: F401 - who has such arrays has the functions of their numbers
from .vectors import ALIGNMENT, DIRECTIONS, LANES

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


def lanes_of(memory):
    """The float64 memory as an array of Lanes."""
    raise NotImplementedError("only kernels that are compiled know SIMD lanes")


def tangents_of(memory):
    """The float64 memory as an array of Tangents."""
    raise NotImplementedError(
        "derivatives are computed by compiled kernels; expected NUMBA_DISABLE_JIT to be 0"
    )


@when_compiling
def _teach() -> None:
    from numba import types
    from numba.extending import lower_builtin, type_callable

    from flexdyn_ros.numerics.compiling.windows import array_at

    from .vector_types import lanes, tangents

    def seen_as(function, kind, per_number) -> None:
        """Teach Numba `function`(memory)."""

        @type_callable(function)
        def typed(context):
            return lambda memory: types.Array(kind, 1, "C") if isinstance(memory, types.Array) else None

        @lower_builtin(function, types.Array)
        def lower(context, builder, signature, values):
            memory = context.make_array(signature.args[0])(context, builder, values[0])
            data = builder.bitcast(memory.data, context.get_data_type(kind).as_pointer())
            n = builder.sdiv(memory.nitems, context.get_constant(types.intp, per_number))
            return array_at(context, builder, signature.return_type, data, n)

    seen_as(lanes_of, lanes, PER_LANES)
    seen_as(tangents_of, tangents, PER_TANGENTS)
