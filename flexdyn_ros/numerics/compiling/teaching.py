"""Numba is imported when something is compiled, and not before.

What was compiled is kept as object code (objects.py), and a process that finds all that it calls there never
needs Numba, whose import takes a quarter of a second. So what Numba must know of our functions it is told
when the first of them is compiled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any

from .sources import add_home

#: held while something compiles or is loaded: several threads may make the first call
one_at_a_time = RLock()
#: what Numba is told when it compiles first; None once it knows
_waiting: list[Callable[[], object]] | None = []


def when_compiling(teach: Callable[[], object]) -> Callable[[], object]:
    """Decorate a function without arguments that tells Numba something, which it imports itself: it is called
    before anything is compiled."""
    with one_at_a_time:
        if _waiting is not None:
            _waiting.append(teach)
            return teach
    teach()
    return teach


def teach_numba() -> None:
    """Tell Numba all that waits; whoever compiles calls this first."""
    global _waiting
    with one_at_a_time:
        # what is told may import modules, which have more to tell
        while _waiting:
            _waiting.pop(0)()
        _waiting = None


def is_interpreted() -> bool:
    """Whether kernels run as ordinary functions of Python (NUMBA_DISABLE_JIT, an integer: else, as for Numba,
    they do not)."""
    config = getattr(sys.modules.get("numba"), "config", None)
    said = getattr(config, "DISABLE_JIT", os.environ.get("NUMBA_DISABLE_JIT") or 0)
    try:
        return bool(int(said))
    except ValueError:
        return False


# ---- kernels ----

#: options of all that kernels call: floats divide as in NumPy, and nothing is made that C would call
COMPILED: dict = {"error_model": "numpy", "no_cfunc_wrapper": True}
#: options of what Numba is taught to write into callers
WRITTEN: dict = {"forceinline": True, "no_cfunc_wrapper": True}


def kernel(function: Callable | None = None, **options):
    """Decorate a kernel that other kernels call: compiled with them, kept on disk.

    Options are those of `numba.njit`. From Python it is an ordinary function, interpreted: no way in is
    compiled for it (unpacking tuples of arrays from Python objects would be most of the code), and constants
    among its arguments make no versions of their own.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    return _registered(function, is_kept=True, cache=True, **options)


def _registered(function: Callable, *, is_kept: bool = False, **options: Any) -> Callable:
    """The function, which Numba is told of when it compiles."""
    add_home(function.__module__)

    @when_compiling
    def teach() -> None:
        from numba.extending import register_jitable

        if is_kept:
            from .numba_cache import keep

            keep(function)
        register_jitable(**COMPILED, **options)(function)

    return function


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
    return _registered(function)


def inlined(function: Callable):
    """Decorate a kernel that does little itself, and calls what is large.

    It is written into its callers before their types are found, and is no code of its own: LLVM would
    optimise, and translate, all that it calls once more. Its own arithmetic is rounded as its callers
    allow, in batches otherwise than in single calls; trees, where both give the same bits, have none here.
    """
    function.targetoptions, function.py_func = {"inline": "always"}, function  # type: ignore[attr-defined]
    return _registered(function)


def leaf(function: Callable):
    """Decorate a few lines of scalar arithmetic: always inlined, never kept on disk by itself."""
    return _registered(function, forceinline=True)
