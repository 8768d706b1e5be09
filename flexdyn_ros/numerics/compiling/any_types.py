"""Kernels that Python calls with arguments of several types: real and complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numba
from numba import njit

from .cache import compiling, keep, our_cache
from .compiler import _one_at_a_time


def any_types(function: Callable) -> Callable:
    """Decorate a function that Python calls: compiled, and kept, for every combination of types that comes.

    It must be a function of its own that calls a kernel: what is kept of a kernel has no way in.
    """
    keep(function)
    with our_cache():
        dispatcher = njit(function, cache=True, error_model="numpy")
    known: set[tuple] = set()

    @wraps(function)
    def called(*arguments):
        types = tuple(numba.typeof(argument) for argument in arguments)
        if types not in known and not numba.config.DISABLE_JIT:
            with _one_at_a_time, compiling(function):
                dispatcher.compile(types)
            known.add(types)
        return dispatcher(*arguments)

    return called
