"""Functions with a C address: how kernels that are compiled once call what a family gave them.

Arrays cross as addresses (memory.py), and nothing crosses that could raise: a function says by its result, or
by NaN in what it writes, that it has none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic, overload

from .cache import EntryCache, compiling
from .compiler import _one_at_a_time
from .memory import memory_seen

__all__ = ["Callback", "address_of", "callback", "caller"]

#: the Python functions behind addresses of callbacks
_by_address: dict[int, Callable] = {}


class Callback:
    """A kernel with a C address, compiled (or read from the cache) when the address is first asked for."""

    def __init__(self, function: Callable, signature: str, **options) -> None:
        self.function, self.signature, self._options = function, signature, options
        self._address = 0

    @property
    def address(self) -> int:
        """Address of the C function."""
        if not self._address:
            with _one_at_a_time:
                self._compiled = self._compile()
            self._address = self._compiled[0]
            _by_address[self._address] = self.function
        return self._address

    def load(self) -> int:
        """The address; for whoever warms kernels up."""
        return self.address

    def _compile(self) -> tuple[int, object]:
        if numba.config.DISABLE_JIT:
            function = _c_type(self.signature)(self.function)
            return ctypes.cast(function, ctypes.c_void_p).value or 0, function
        compiled = CFunc(
            self.function,
            sigutils.normalize_signature(self.signature),
            locals={},
            options={"error_model": "numpy", **self._options},
        )
        with compiling(self.function):
            compiled._cache = EntryCache(self.function)
            compiled.compile()
        return compiled.address, compiled


def callback(signature: str, **options) -> Callable[[Callable], Callback]:
    """Decorate a function that others call through its address."""
    return lambda function: Callback(function, signature, **options)


# ---- the address of an array, and the call of an address, inside kernels ----


def address_of(array):
    """Address of the first number of a contiguous array."""
    return array.ctypes.data


@intrinsic
def _address_of(typing_context, array):
    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, context.get_value_type(types.int64))

    return types.int64(array), codegen


@overload(address_of, jit_options={"forceinline": True})
def _overload_address_of(array):
    return lambda array: _address_of(array)


_C_TYPES = {types.int32: ctypes.c_int32, types.int64: ctypes.c_int64, types.float64: ctypes.c_double}


def _c_type(signature: str):
    arguments, result = sigutils.normalize_signature(signature)
    return ctypes.CFUNCTYPE(_C_TYPES[result], *(_C_TYPES[x] for x in arguments))


def caller(signature: str):
    """A function call(address, arguments) of kernels: calls the C function of that signature.

    Interpreted, it does the same through ctypes; where kernels see other memory than that at addresses, it
    calls the Python function behind the address.
    """
    expected, result = sigutils.normalize_signature(signature)
    c_type = _c_type(signature)
    plain = [float if kind is types.float64 else int for kind in expected]

    def call(address, arguments):
        seen = memory_seen()
        if seen is not None:
            return (seen.function(int(address)) or _by_address[int(address)])(*arguments)
        return c_type(int(address))(*(kind(x) for kind, x in zip(plain, arguments, strict=True)))

    @intrinsic
    def through(typing_context, address, arguments):
        if not isinstance(arguments, types.BaseTuple) or len(arguments) != len(expected):
            return None

        def codegen(context, builder, types_, values):
            given = cgutils.unpack_tuple(builder, values[1])
            given = [
                context.cast(builder, value, have, want)
                for value, have, want in zip(given, types_.args[1], expected, strict=True)
            ]
            function = ir.FunctionType(
                context.get_value_type(result), [context.get_value_type(x) for x in expected]
            )
            return builder.call(builder.inttoptr(values[0], function.as_pointer()), given)

        return result(types.int64, arguments), codegen

    @overload(call, jit_options={"forceinline": True})
    def _overload_call(address, arguments):
        return lambda address, arguments: through(address, arguments)

    return call
