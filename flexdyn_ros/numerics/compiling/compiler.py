"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

import numba
from numba import njit
from numba.extending import register_jitable

from .cache import EntryCache, compiling, keep
from .sources import add_home

#: options of all that kernels call: floats divide as in NumPy, and nothing is made that C would call
COMPILED: dict = {"error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Callable | None = None, **options):
    """Decorate a kernel that other kernels call: compiled with them, kept on disk.

    Options are those of `numba.njit`. From Python it is an ordinary function, interpreted: no way in is
    compiled for it (unpacking tuples of arrays from Python objects would be most of the code), and constants
    among its arguments make no versions of their own.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    keep(function)
    return register_jitable(**COMPILED, cache=True, **options)(function)


def apart(function: Callable, *names: str) -> Callable:
    """Give a function that was made for something the names of that as a part of its own.

    Symbols of compiled code have a function's name, the types of its arguments and a count that begins anew
    in each process: two functions of one name, kept by two processes, may be taken for each other by a third.
    """
    function.__qualname__ = " of ".join((function.__qualname__, *names))
    return function


def inner(function: Callable):
    """Decorate a kernel that is compiled anew with each of its callers, and not kept on disk by itself.

    One that is made for a family is told `apart` from those of others.
    """
    add_home(function.__module__)
    return register_jitable(**COMPILED)(function)


def inlined(function: Callable):
    """Decorate a kernel that does little itself, and calls what is large.

    It is written into its callers before their types are found, and is no code of its own: LLVM would
    optimise, and translate, all that it calls once more. Its own arithmetic is rounded as its callers
    allow, in batches otherwise than in single calls; trees, where both give the same bits, have none here.
    """
    add_home(function.__module__)
    function.targetoptions, function.py_func = {"inline": "always"}, function
    return register_jitable(**COMPILED)(function)


def leaf(function: Callable):
    """Decorate a few lines of scalar arithmetic: always inlined, never kept on disk by itself."""
    add_home(function.__module__)
    return register_jitable(**COMPILED, forceinline=True)(function)


#: held while an entry compiles or loads: several threads may make the first call
_one_at_a_time = RLock()


class Entry:
    """A kernel that Python calls: compiled for one signature, at the first call, and for no other.

    Arguments of any other type raise TypeError (that check runs in C and costs nothing extra), so a caller
    may try the entry first and look at its arguments only when that fails.
    """

    def __init__(self, function: Callable, signature: str, *, module: str = "", **options) -> None:
        if module:  # made for a module by another, which gave it what it closes over
            function.__module__, function.__qualname__ = module, function.__name__
        self.function, self.signature = function, signature
        self._called: Callable | None = None
        self._dispatcher = njit(function, error_model="numpy", **options)
        if not numba.config.DISABLE_JIT:
            self._dispatcher._cache = EntryCache(function)

    def load(self) -> Callable:
        """The compiled function, made or read from the cache if need be."""
        if self._called is None:
            with _one_at_a_time:
                if self._called is None:
                    self._called = self._dispatcher if numba.config.DISABLE_JIT else self._compiled()
        return self._called

    def _compiled(self) -> Callable:
        with compiling(self.function):
            self._dispatcher.compile(self.signature)
        self._dispatcher.disable_compile()
        return self._dispatcher

    def __call__(self, *arguments):
        return self.load()(*arguments)


def entry(signature: str, **options) -> Callable[[Callable], Entry]:
    """Decorate a kernel that Python enters with exactly the argument types of `signature`."""
    return lambda function: Entry(function, signature, **options)
