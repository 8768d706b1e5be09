"""Arrays seen through an address: lets one integer carry a whole model into a kernel.

Each array argument costs a call from Python 50 to 90 ns; an integer costs next to nothing. Whoever passes an
address keeps the memory behind it alive.

Never inline these with Numba's own `inline="always"`: its dead-code pass then takes writes to an array that
came from an address for writes to an array nobody reads, and drops them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from .teaching import WRITTEN, when_compiling


class SeenMemory(Protocol):
    """What interpreted kernels see at addresses in place of what lies there."""

    def floats(self, address: int, n: int) -> np.ndarray:
        """An array (n,) of numbers of any type."""

    def ints(self, address: int, n: int) -> np.ndarray:
        """An array (n,) of integers."""

    def function(self, address: int) -> Callable | None:
        """What is called in place of the C function at an address; None if nothing is."""


_seen: ContextVar[SeenMemory | None] = ContextVar("seen", default=None)


@contextmanager
def seen_through(memory: SeenMemory) -> Iterator[None]:
    """Let kernels that are interpreted in this thread see `memory` at all addresses."""
    token = _seen.set(memory)
    try:
        yield
    finally:
        _seen.reset(token)


def memory_seen() -> SeenMemory | None:
    """What kernels see in place of what lies at addresses."""
    return _seen.get()


def real_floats_at(address: Any, n: Any) -> np.ndarray:
    """float64 array (n,) that lies at `address`."""
    return np.ctypeslib.as_array((ctypes.c_double * int(n)).from_address(int(address)))


def real_ints_at(address: Any, n: Any) -> np.ndarray:
    """int64 array (n,) that lies at `address`."""
    return np.ctypeslib.as_array((ctypes.c_int64 * int(n)).from_address(int(address)))


def floats_at(address, n):
    """float64 array (n,) at `address`."""
    seen = _seen.get()
    return real_floats_at(address, n) if seen is None else seen.floats(int(address), int(n))


def ints_at(address, n):
    """int64 array (n,) at `address`."""
    seen = _seen.get()
    return real_ints_at(address, n) if seen is None else seen.ints(int(address), int(n))


def borrowed(array):
    """A view of a contiguous array that owns nothing.

    Slices of it count no references, which small kernels would spend a fifth of their time on. Whoever holds
    the array keeps it alive, as for an address.
    """
    return array


@when_compiling
def _teach() -> None:
    from numba import carray, types
    from numba.extending import intrinsic, lower_builtin, overload, type_callable

    from .windows import array_at

    def at_address(function: Callable, element: types.Type) -> None:
        """Teach Numba `function`(address, n)."""

        @type_callable(function)
        def typed(context):
            def type_of(address, n):
                fits = isinstance(address, types.Integer) and isinstance(n, types.Integer)
                return types.Array(element, 1, "C") if fits else None

            return type_of

        @lower_builtin(function, types.Integer, types.Integer)
        def lower(context, builder, signature, values):
            address, n = (
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(values, signature.args, strict=True)
            )
            data = builder.inttoptr(address, context.get_data_type(element).as_pointer())
            return array_at(context, builder, signature.return_type, data, n)

    at_address(floats_at, types.float64)
    at_address(ints_at, types.int64)

    @intrinsic
    def pointer_into(typing_context, array):
        def codegen(context, builder, signature, arguments):
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data

        return types.CPointer(array.dtype)(array), codegen

    @overload(borrowed, jit_options=WRITTEN)
    def _borrowed(array):
        return lambda array: carray(pointer_into(array), array.shape)
