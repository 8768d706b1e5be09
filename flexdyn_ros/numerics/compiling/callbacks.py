"""Functions with a C address: how kernels that are compiled once call what a family gave them.

Arrays cross as addresses (memory.py), and nothing crosses that could raise: a function says by its result, or
by NaN in what it writes, that it has none.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from .cache import compiling, found, keep, place_of
from .memory import memory_seen
from .objects import load, object_code
from .sources import add_home
from .teaching import is_interpreted, one_at_a_time, teach_numba, when_compiling

#: the Python functions behind addresses of callbacks
_by_address: dict[int, Callable] = {}


class Callback:
    """A kernel with a C address, compiled (or read from the cache) when the address is first asked for."""

    def __init__(self, function: Callable, signature: str, **options: Any) -> None:
        self.function, self.signature = function, signature
        self._options = {"error_model": "numpy", **options}
        self._address = 0
        add_home(function.__module__)

    @property
    def address(self) -> int:
        """Address of the C function."""
        if not self._address:
            with one_at_a_time:
                self._behind: object = None
                self._address = self._interpreted() if is_interpreted() else self._loaded()
            _by_address[self._address] = self.function
        return self._address

    @property
    def is_compiled_here(self) -> bool:
        """Whether this process compiled it, or has it from Numba's cache, not as object code."""
        return self.address != 0 and self._behind is not None

    def load(self) -> int:
        """The address; for whoever warms kernels up."""
        return self.address

    def _interpreted(self) -> int:
        function = self._behind = _c_type(self.signature)(self.function)
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def _loaded(self) -> int:
        code = found(self.function, self.signature, self._options)
        if code is None:
            with compiling(self.function):
                return self._compile(*place_of(self.function, self.signature, self._options))
        return load(*code)

    def _compile(self, place: Any, symbol: str) -> int:
        """The address of what Numba compiles: as object code, which is kept; else Numba keeps its own."""
        teach_numba()
        from .numba_cache import our_cache, text_alone

        with our_cache():
            compiled, cache = self._compiler()
            with text_alone(cache):
                compiled.compile()
            if cache.has_made:
                code = object_code(compiled.inspect_llvm(), compiled.native_name, symbol)
                if code is not None:
                    keep(place, code)
                    return load(code, symbol)
                compiled, cache = self._compiler()
                with text_alone():
                    compiled.compile()
                cache.write()
        address: int = compiled.address
        return address

    def _compiler(self) -> tuple[Any, Any]:
        """What compiles the function, and keeps what it made if it is told so."""
        from numba.core import sigutils
        from numba.core.ccallback import CFunc

        from .numba_cache import EntryCache

        signature = sigutils.normalize_signature(self.signature)
        compiled = self._behind = CFunc(self.function, signature, locals={}, options=self._options)
        compiled._cache = cache = EntryCache(self.function)
        return compiled, cache


def callback(signature: str, **options) -> Callable[[Callable], Callback]:
    """Decorate a function that others call through its address."""
    return lambda function: Callback(function, signature, **options)


# ---- the address of an array, and the call of an address, inside kernels ----


def address_of(array):
    """Address of the first number of a contiguous array."""
    return array.ctypes.data


@when_compiling
def _teach() -> None:
    from numba import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(address_of)
    def type_address_of(context):
        return lambda array: types.int64 if isinstance(array, types.Array) else None

    @lower_builtin(address_of, types.Array)
    def lower_address_of(context, builder, signature, values):
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.ptrtoint(data, context.get_value_type(types.int64))


_C_TYPES = {"int32": ctypes.c_int32, "int64": ctypes.c_int64, "float64": ctypes.c_double}


def parts_of(signature: str) -> tuple[str, list[str]]:
    """Types of the result and of the arguments, as they are written: "a(b, c[:,::1])" is a, [b, c[:,::1]]."""
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", signature, re.DOTALL)
    if found is None:
        raise ValueError(f"signature {signature!r}, expected RESULT(TYPE, ...)")
    return found[1], re.findall(r"\w+(?:\[[^]]*\])?", found[2])


@cache
def _c_type(signature: str) -> Any:
    result, arguments = parts_of(signature)
    return ctypes.CFUNCTYPE(_C_TYPES[result], *(_C_TYPES[x] for x in arguments))


def caller(signature: str):
    """A function call(address, arguments) of kernels: calls the C function of that signature.

    Interpreted, it calls the Python function behind the address, as ctypes would lose what that raises; and
    others through ctypes.
    """

    def call(address, arguments):
        seen = memory_seen()
        if seen is not None:
            return (seen.function(int(address)) or _by_address[int(address)])(*arguments)
        plain = (float if kind == "float64" else int for kind in parts_of(signature)[1])
        function = _by_address.get(int(address)) or _c_type(signature)(int(address))
        return function(*(kind(x) for kind, x in zip(plain, arguments, strict=True)))

    when_compiling(lambda: _teach_call(call, signature))
    return call


def _teach_call(call: Callable, signature: str) -> None:
    """Teach Numba to write `call`(address, arguments) into callers: no function of its own."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils, sigutils
    from numba.extending import lower_builtin, type_callable

    expected, result = sigutils.normalize_signature(signature)

    @type_callable(call)
    def type_call(context):
        def type_of(address, arguments):
            fits = isinstance(address, types.Integer) and isinstance(arguments, types.BaseTuple)
            return result if fits and len(arguments) == len(expected) else None

        return type_of

    @lower_builtin(call, types.Integer, types.BaseTuple)
    def lower_call(context, builder, types_, values):
        address = context.cast(builder, values[0], types_.args[0], types.int64)
        given = [
            context.cast(builder, value, have, want)
            for value, have, want in zip(
                cgutils.unpack_tuple(builder, values[1]), types_.args[1], expected, strict=True
            )
        ]
        function = ir.FunctionType(
            context.get_value_type(result), [context.get_value_type(x) for x in expected]
        )
        return builder.call(builder.inttoptr(address, function.as_pointer()), given)
