"""How kernels are compiled and where the results are kept.

Numba's disk cache does not notice that a callee in another file was edited: the stale caller goes on with the
old physics. So what is compiled for a module is kept in a folder named after a hash of that module's source
and of every kernel module it imports, directly or through others: an edit starts a new folder for all modules
that can see it, and leaves the others compiled.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock

import numba
from numba import njit
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import register_jitable

#: samples that one pass of a lane kernel works on; a multiple of the SIMD width
LANES = 16

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
    """The modules of `folder` whose sources a kernel of `module` may be compiled from, itself included."""
    seen, waiting = set(), {module}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= imported_modules(_source(name, folder)) - seen
    return seen


def source_key(module: str, folder: Path = _SOURCES) -> str:
    """Hash of the sources in reach of a kernel module, of this file and of the Numba version."""
    digest = hashlib.sha256(numba.__version__.encode() + Path(__file__).read_bytes())
    for name in sorted(reach(module, folder)):
        digest.update(name.encode())
        digest.update(_source(name, folder))
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Folder below which compiled kernels are kept: NUMBA_CACHE_DIR, or our corner of the user's cache."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "flexdyn_ros"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "flexdyn_ros" / "kernels"


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


@contextmanager
def _our_cache():
    """Let Numba keep what is decorated inside in our folder; the user's own kernels stay where they were."""
    before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_DIR = str(cache_folder())
    numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.SharedCacheLocator,UserProvidedCacheLocator"
    try:
        yield
    finally:
        numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES = before


def kernel(function: Callable | None = None, **options):
    """Decorate a kernel that other kernels call: compiled, cached; options as of `numba.njit`."""
    if function is None:
        return lambda f: kernel(f, **options)
    with _our_cache():
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
        with _our_cache():
            self._dispatcher = njit(function, cache=True, error_model="numpy", **options)
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
