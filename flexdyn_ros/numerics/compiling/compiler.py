"""How kernels are compiled: what is decorated, and what Python calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

from .cache import compiling
from .direct import Bound, is_direct
from .sources import add_home
from .teaching import apart, inlined, inner, is_interpreted, kernel, leaf, one_at_a_time, teach_numba

__all__ = ["Entry", "any_types", "apart", "entry", "inlined", "inner", "kernel", "leaf"]


class Entry:
    """A kernel that Python calls: compiled for one signature, at the first call, and for no other.

    Arguments of any other type raise TypeError (that check runs in C and costs nothing extra), so a caller
    may try the entry first and look at its arguments only when that fails.
    """

    def __init__(
        self, function: Callable, signature: str, *, module: str = "", nogil: bool = False, **options: Any
    ) -> None:
        if module:  # made for a module by another, which gave it what it closes over
            function.__module__, function.__qualname__ = module, function.__name__
        self.function, self.signature = function, signature
        self._called: Callable | None = None
        self._is_apart, self._options = nogil, options
        # what keeps compiled code tells functions by where they are found, else by all they refer to
        function.__qualname__ = f"{function.__name__}.function"

    @cached_property
    def bound(self) -> Bound:
        """It as a function of Python; ValueError where there is no way for its arguments."""
        return Bound(self.function, self.signature, self._is_apart, self._options)

    def load(self) -> Callable:
        """The compiled function, made or read from the cache if need be."""
        if self._called is None:
            with one_at_a_time:
                if self._called is None:
                    self._called = self._compiled()
        return self._called

    def _compiled(self) -> Callable:
        if is_interpreted():
            return self.function
        return self.bound.load() if is_direct(self.signature) else self._dispatched()

    def _dispatched(self) -> Callable:
        """Numba's dispatcher."""
        from numba import njit

        from .numba_cache import EntryCache, our_cache, text_alone

        teach_numba()
        called = njit(self.function, error_model="numpy", nogil=self._is_apart, **self._options)
        called._cache = cache = EntryCache(self.function)
        with compiling(self.function), our_cache(), text_alone():
            called.compile(self.signature)
            cache.write()
        called.disable_compile()
        return called

    def __call__(self, *arguments):
        return self.load()(*arguments)


def entry(signature: str, **options: Any) -> Callable[[Callable], Entry]:
    """Decorate a kernel that Python enters with exactly the argument types of `signature`.

    nogil=True: for long calls, during which other threads of Python run; others are shorter by 0.1 us.
    """
    return lambda function: Entry(function, signature, **options)


def any_types(function: Callable) -> Callable:
    """Decorate a function that Python calls with arguments of several types, real and complex numbers:
    compiled, and kept, by Numba for every combination that comes.

    It must be a function of its own that calls a kernel: what is kept of a kernel has no way in.
    """
    add_home(function.__module__)
    dispatchers: list[Callable] = []
    known: set[tuple] = set()

    @wraps(function)
    def called(*arguments):
        if is_interpreted():
            return function(*arguments)
        import numba

        types = tuple(numba.typeof(argument) for argument in arguments)
        if types not in known:
            with one_at_a_time, compiling(function):
                _compile(function, dispatchers, types)
            known.add(types)
        return dispatchers[0](*arguments)

    return called


def _compile(function: Callable, dispatchers: list[Callable], types: tuple) -> None:
    """Have the one dispatcher of a function know these types of arguments."""
    from numba import njit

    from .numba_cache import keep, our_cache, text_alone

    teach_numba()
    keep(function)
    with our_cache(), text_alone():
        if not dispatchers:
            dispatchers.append(njit(function, cache=True, error_model="numpy"))
        dispatchers[0].compile(types)  # type: ignore[attr-defined]
