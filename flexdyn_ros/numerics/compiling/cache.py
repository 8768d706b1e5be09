"""Where compiled kernels are kept, and how they are found again.

Numba's disk cache does not notice that a callee in another file was edited: the stale caller goes on with the
old physics. So what is compiled for a module is kept in a folder named after the module and a hash of its
source and of every source in its reach (numerics/compiling/sources.py): an edit starts a new folder for all
modules that can see it, and leaves the others compiled. Kernels of any package are kept so; functions that
somebody else compiles stay where Numba keeps them.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from types import FunctionType, ModuleType
from weakref import WeakSet

import numba
from numba.core.caching import CacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.runtime import rtsys

from flexdyn_ros.ownership import own_folder, stranger_among

from .cache_folder import cache_folder
from .fingerprint import fingerprint
from .sources import add_home, holds_kernels, source_key

#: the functions that are kept in our folder
_kept: WeakSet[Callable] = WeakSet()


def keep(function: Callable) -> None:
    """Have what is compiled of a function kept in our folder, by the sources in reach of its module."""
    add_home(function.__module__)
    _kept.add(function)


def _sources_of(function: Callable) -> frozenset[tuple[str, str]]:
    """Names and paths of the modules that a function is compiled from.

    They are its own, and those of the functions, classes and modules of packages with kernels that it closes
    over: a function made in one module may call what another gave it.
    """
    found: dict[str, str] = {}
    seen: set[int] = set()
    waiting: list[object] = [function]
    while waiting:
        value = waiting.pop()
        value = getattr(value, "py_func", value)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, tuple | list):
            waiting += value
        elif isinstance(value, FunctionType):
            waiting += _captured(value)
            found[value.__module__] = value.__code__.co_filename
        elif isinstance(value, type | ModuleType):
            name = value.__name__ if isinstance(value, ModuleType) else value.__module__
            found[name] = getattr(sys.modules.get(name), "__file__", None) or ""
    return frozenset((_spelled(name), path) for name, path in found.items() if holds_kernels(name))


def _captured(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not filled yet
            yield cell.cell_contents


def _spelled(module: str) -> str:
    """The name by which others import a module: `python -m a.b` calls it __main__."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return spec.name if spec else module


@cache
def _folder_of(module: str, sources: frozenset[tuple[str, str]]) -> str:
    """A module's folder in the cache, made if need be; one of this process where nothing can be written."""
    why = f"{cache_folder()} cannot be written"
    try:
        folder, stranger = own_folder(cache_folder() / f"{module}-{source_key(*sources)}")
        # what lies there is unpickled and run
        stranger = stranger or stranger_among(folder)
        if stranger:
            why = stranger
        elif os.access(folder, os.W_OK):
            return str(folder)
    except OSError:
        pass
    _tell_that_nothing_is_kept(cache_folder(), why)
    return _passing_folder().name


_told: set[Path] = set()


def _tell_that_nothing_is_kept(folder: Path, why: str) -> None:
    """Once for a folder: all that lies below it mostly has the same cause."""
    if folder not in _told:
        _told.add(folder)
        message = "flexdyn_ros: %s, kernels are compiled in every process (NUMBA_CACHE_DIR=FOLDER)"
        logging.getLogger(__name__).warning(message, why)


@cache
def _passing_folder() -> tempfile.TemporaryDirectory:
    """A folder that ends with this process."""
    return tempfile.TemporaryDirectory(prefix="flexdyn-kernels-")


class SharedCacheLocator(UserProvidedCacheLocator):
    """Where Numba keeps our kernels: in the folder of their key, wherever the sources lie.

    A checkout, its copy and its install tree have the same sources and so share what was compiled for them.
    What has no source file (a cell of a notebook) is kept for this process alone.
    """

    def __init__(self, py_func: Callable, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        sources = _sources_of(py_func)
        if all(os.path.isfile(path) for _, path in sources):
            self._cache_path = _folder_of(py_func.__module__, sources)
        else:
            self._cache_path = _passing_folder().name

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


#: seconds after which a compilation is told of
PATIENCE = 2.0


def _tell_of_compiling(name: str) -> None:
    folder = cache_folder()
    kept = "" if folder in _told else f", which is kept in {folder} (`flexdyn warm` compiles all beforehand)"
    logging.getLogger(__name__).warning("flexdyn_ros: compiling kernel %s%s", name, kept)


@contextmanager
def compiling(function: Callable) -> Iterator[None]:
    """Around the compilation of an entry: kept in our folder, and told of when it takes long."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    told = Timer(PATIENCE, _tell_of_compiling, (name,))
    told.daemon = True
    told.start()
    try:
        with our_cache():
            yield
    finally:
        told.cancel()


class EntryCache(FunctionCache):
    """Numba's cache, but for what a kernel that lies there does not need.

    Before it looks into the cache, Numba prepares to compile: it imports every implementation it has, which
    takes a quarter of a second. What was compiled needs only the run-time system. If nothing is found, the
    compiler prepares itself.
    """

    def __init__(self, function: Callable) -> None:
        keep(function)
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
