"""Where compiled kernels are kept, and how they are found again.

Numba's disk cache does not notice that a callee in another file was edited: the stale caller goes on with the
old physics. So what is compiled for a module is kept in a folder named after a hash of that module's source
and of every kernel module it imports, directly or through others: an edit starts a new folder for all modules
that can see it, and leaves the others compiled.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock, Timer

import numba
from numba.core.caching import FunctionCache, UserProvidedCacheLocator
from numba.core.runtime import rtsys

from .cache_folder import cache_folder

_SOURCES = Path(__file__).parent

#: `from .rnea import ...`: the one form in which kernel modules import each other (a test checks that)
_IMPORT = re.compile(rb"^\s*from \.(\w+) import", re.MULTILINE)


def imported_modules(source: bytes) -> set[str]:
    """Names of the kernel modules that a source imports."""
    return {name.decode() for name in _IMPORT.findall(source)}


@cache
def _source(module: str, folder: Path) -> bytes:
    return (folder / f"{module}.py").read_bytes()


def reach(module: str, folder: Path = _SOURCES) -> set[str]:
    """The modules of `folder` whose sources a kernel of `module` may be compiled from, itself included.

    This one is not among them: it decides where results lie, not what they are.
    """
    seen, waiting = set(), {module}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= imported_modules(_source(name, folder)) - seen - {"cache"}
    return seen


def source_key(module: str, folder: Path = _SOURCES) -> str:
    """Hash of the sources in reach of a kernel module and of the versions of Numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
    for name in sorted(reach(module, folder)):
        digest.update(name.encode())
        digest.update(_source(name, folder))
    return digest.hexdigest()[:16]


@cache
def _folder_of(module: str) -> str | None:
    """The module's folder in the cache, made if need be; None where nothing can be written."""
    folder = cache_folder() / f"{module}-{source_key(module)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


class SharedCacheLocator(UserProvidedCacheLocator):
    """Where Numba keeps our kernels: in the folder of their key, wherever the sources lie.

    A checkout, its copy and its install tree have the same sources and so share what was compiled for them.
    """

    def __init__(self, py_func: Callable, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = _folder_of(Path(py_file).stem)

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str):
        """A locator for functions of this room; None for others, which Numba then keeps by their path."""
        if Path(py_file).parent != _SOURCES or _folder_of(Path(py_file).stem) is None:
            return None
        return cls(py_func, py_file)


class _Places:
    """How many of us want Numba to keep kernels in our folder, and where it kept them before."""

    lock = Lock()
    wanted = 0
    before: tuple = ()


@contextmanager
def our_cache() -> Iterator[None]:
    """Let Numba keep what is compiled inside in our folder; the user's own kernels stay where they were."""
    with _Places.lock:
        if _Places.wanted == 0:
            _Places.before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
            numba.config.CACHE_DIR = str(cache_folder())
            numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.SharedCacheLocator,UserProvidedCacheLocator"
        _Places.wanted += 1
    try:
        yield
    finally:
        with _Places.lock:
            _Places.wanted -= 1
            if _Places.wanted == 0:
                numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = _Places.before


#: seconds after which a compilation is told of
PATIENCE = 2.0


@contextmanager
def compiling(function: Callable) -> Iterator[None]:
    """Around the compilation of an entry: kept in our folder, and told of when it takes long."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    message = "flexdyn_ros: compiling kernel %s, which is kept in %s (`flexdyn warm` compiles all beforehand)"
    told = Timer(PATIENCE, logging.getLogger(__name__).warning, (message, name, cache_folder()))
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

    def load_overload(self, sig, target_context):
        """The compiled kernel of a signature, None if there is none."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
        return None  # an error of the disk was passed over
