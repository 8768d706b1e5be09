"""Numba's own cache, told where our kernels are kept (cache.py); imported when something is compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from weakref import WeakSet

import numba
from numba.core.caching import CacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.runtime import rtsys

from .cache import folder_of
from .fingerprint import fingerprint
from .sources import add_home

__all__ = ["EntryCache", "keep", "our_cache"]

#: the functions that are kept in our folder
_kept: WeakSet[Callable] = WeakSet()


def keep(function: Callable) -> None:
    """Have what is compiled of a function kept in our folder, by the sources in reach of its module."""
    add_home(function.__module__)
    _kept.add(function)


class SharedCacheLocator(UserProvidedCacheLocator):
    """Where Numba keeps our kernels: in the folder of their key, wherever the sources lie."""

    def __init__(self, py_func: Callable, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = folder_of(py_func)

    def get_source_stamp(self) -> object:
        """What must agree for a file in the folder to be taken."""
        return super().get_source_stamp() if os.path.isfile(self._py_file) else ""

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str):
        """A locator for our kernels; None for other functions, which Numba then keeps where it likes."""
        return cls(py_func, py_file) if py_func in _kept else None


class _Places:
    """How many of us want Numba to keep kernels in our folder, and where it looked before."""

    lock = Lock()
    wanted = 0
    before = ""


@contextmanager
def our_cache() -> Iterator[None]:
    """Let Numba keep kernels that are compiled inside in our folder, and other functions where it likes."""
    with _Places.lock:
        if _Places.wanted == 0:
            _Places.before = numba.config.CACHE_LOCATOR_CLASSES
            usual = _Places.before or ",".join(locator.__name__ for locator in CacheImpl._locator_classes)
            numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.SharedCacheLocator,{usual}"
        _Places.wanted += 1
    try:
        yield
    finally:
        with _Places.lock:
            _Places.wanted -= 1
            if _Places.wanted == 0:
                numba.config.CACHE_LOCATOR_CLASSES = _Places.before


class EntryCache(FunctionCache):
    """Numba's cache, but for what a kernel that lies there does not need.

    Before it looks into the cache, Numba prepares to compile: it imports every implementation it has, which
    takes a quarter of a second. What was compiled needs only the run-time system. If nothing is found, the
    compiler prepares itself. What is kept as object code (objects.py) is not kept here: `write` says so.
    """

    def __init__(self, function: Callable) -> None:
        keep(function)
        self._made: tuple[Any, ...] = ()
        with our_cache():
            super().__init__(function)

    def _index_key(self, sig, codegen):
        """What tells compiled kernels in one file apart."""
        return sig, codegen.magic_tuple(), fingerprint(self._py_func)

    def load_overload(self, sig, target_context):
        """The compiled kernel of a signature, None if there is none."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
        return None  # an error of the disk was passed over

    def save_overload(self, sig, data):
        """Wait until it is known where that is to be kept."""
        self._made = sig, data

    @property
    def has_made(self) -> bool:
        """Whether it was compiled just now, not found."""
        return bool(self._made)

    def write(self) -> None:
        """Keep here what was compiled."""
        if self._made:
            super().save_overload(*self._made)
