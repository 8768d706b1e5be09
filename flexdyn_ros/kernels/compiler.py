"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

import numba
from numba import njit
from numba.extending import register_jitable

from .cache import EntryCache, our_cache

#: samples that one pass of a lane kernel works on; a multiple of the SIMD width
LANES = 16


def kernel(function: Callable | None = None, **options):
    """Decorate a kernel that other kernels call: compiled, cached; options as of `numba.njit`."""
    if function is None:
        return lambda f: kernel(f, **options)
    with our_cache():
        return njit(function, cache=True, error_model="numpy", **options)


def inner(function: Callable):
    """Decorate a kernel that only kernels call: no way in from Python is compiled for it, nor kept on disk.

    Worth it where arguments are tuples of many arrays: unpacking those from Python objects is most of the
    code.
    """
    return register_jitable(error_model="numpy")(function)


def leaf(function: Callable):
    """Decorate a few lines of scalar arithmetic: always inlined, never kept on disk by itself."""
    return njit(function, error_model="numpy", forceinline=True)


#: held while an entry compiles or loads: several threads may make the first call
_one_at_a_time = RLock()


class Entry:
    """A kernel that Python calls: compiled for one signature, at the first call, and for no other.

    Arguments of any other type raise TypeError (that check runs in C and costs nothing extra), so a caller
    may try the entry first and look at its arguments only when that fails.
    """

    def __init__(self, function: Callable, signature: str, **options) -> None:
        self.function, self.signature = function, signature
        self._dispatcher = njit(function, error_model="numpy", **options)
        if not numba.config.DISABLE_JIT:
            with our_cache():
                self._dispatcher._cache = EntryCache(function)
        self._ready = False

    def load(self) -> Callable:
        """The compiled function, made or read from the cache if need be."""
        if not self._ready:
            with _one_at_a_time:
                if not self._ready and not numba.config.DISABLE_JIT:
                    self._dispatcher.compile(self.signature)
                    self._dispatcher.disable_compile()
                self._ready = True
        return self._dispatcher

    def __call__(self, *arguments):
        return self.load()(*arguments)


def entry(signature: str, **options) -> Callable[[Callable], Entry]:
    """Decorate a kernel that Python enters with exactly the argument types of `signature`."""
    return lambda function: Entry(function, signature, **options)
