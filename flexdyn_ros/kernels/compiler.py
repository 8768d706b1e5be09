"""How kernels are compiled and where the results are kept.

Numba's disk cache does not notice that a callee in another file was edited: the stale caller goes on with the
old physics. So the folder of the cache is named after a hash of all kernel sources, and every edit starts a
new one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

import numba
from numba import njit
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import register_jitable

#: samples that one pass of a lane kernel works on; a multiple of the SIMD width
LANES = 16


def source_key(folder: Path = Path(__file__).parent) -> str:
    """Hash of every kernel source below `folder` and of the Numba version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Folder of the compiled kernels: NUMBA_CACHE_DIR or the user's cache, then the key of the sources."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / f"flexdyn_ros-{source_key()}"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "flexdyn_ros" / f"kernels-{source_key()}"


_FOLDER = str(cache_folder())
_SOURCES = Path(__file__).parent


class SharedCacheLocator(UserProvidedCacheLocator):
    """Where Numba keeps our kernels: in the folder of their key, wherever the sources lie.

    A checkout, its copy and its install tree have the same sources and so share what was compiled for them.
    """

    def __init__(self, py_func: Callable, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = _FOLDER

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str):
        """A locator for functions of this room; None for others, which Numba then keeps by their path."""
        if not Path(py_file).is_relative_to(_SOURCES):
            return None
        return super().from_function(py_func, py_file)


@contextmanager
def _our_cache():
    """Let Numba keep what is decorated inside in our folder; the user's own kernels stay where they were."""
    before = numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_DIR = _FOLDER
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
