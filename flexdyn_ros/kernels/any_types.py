"""Kernels that Python calls with arguments of several types: real and complex numbers."""

from __future__ import annotations

from collections.abc import Callable

import numba
from numba import njit

from .cache import compiling, our_cache
from .compiler import _one_at_a_time


class AnyTypes:
    """A kernel as Python calls it: compiled, and kept, for every combination of types that comes."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        with our_cache():
            self._dispatcher = njit(function, cache=True, error_model="numpy")
        self._known: set[tuple] = set()

    def __call__(self, *arguments):
        types = tuple(numba.typeof(argument) for argument in arguments)
        if types not in self._known and not numba.config.DISABLE_JIT:
            with _one_at_a_time, compiling(self.function):
                self._dispatcher.compile(types)
            self._known.add(types)
        return self._dispatcher(*arguments)
