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
from numba.core.codegen import CPUCodeLibrary
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from .cache import fingerprint, folder_of
from .objects import variables_of
from .sources import add_home

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


#: Numba's engine asks these for object code before LLVM makes some, and tells them of what was made
_ask, _tell = (getattr(CPUCodeLibrary, f"_object_{what}_hook", None) for what in ("getbuffer", "compiled"))
#: how names of functions begin whose address nobody takes, of those among them that Python calls, of those
#: that count references, of which each module has copies, and of what is raised
_LINKED, _CALLED, _COUNTING, _RAISED = "_ZN", "_ZN7cpython", ("NRT_incref", "NRT_decref"), ".const.picklebuf"


@contextmanager
def text_alone(cache: EntryCache | None = None) -> Iterator[None]:
    """Let Numba make LLVM's text of what is compiled inside, and no machine code where nobody calls it, nor
    of the C function whose `cache` this is.

    The text of a kernel is a part of that of its callers, and of what is called the object code is made
    elsewhere (objects.py); Numba yet takes addresses of all. LLVM asks for object code that was kept before
    it makes some, and here is given that of the module's variables, which Numba writes to. Where Numba has
    no such questions all is made.
    """
    engine = getattr(cpu_target.target_context.codegen(), "_engine", None)
    if engine is None or _ask is None or _tell is None:
        yield
        return

    def ask(module: Any) -> bytes | None:
        code: bytes | None = _ask(module)
        if code is None and is_text_enough(module, cache.symbol if cache else ""):
            code = variables_of(module)
            _tell(module, code)
        return code

    engine.set_object_cache(_tell, ask)
    try:
        yield
    finally:
        engine.set_object_cache(_tell, _ask)


def is_text_enough(module: Any, own: str) -> bool:
    """Whether nobody takes the address of a function of a module but that of its `own`.

    Making code simplifies the text too: of kernels that count references, some raise until then.
    """
    names = [f.name for f in module.functions if not f.is_declaration]
    called = [x for x in names if not x.startswith(_LINKED) or x.startswith(_CALLED)]
    if own in called or not called:
        return True
    if not all(x.startswith(_COUNTING) for x in called):
        return False
    return not any(x.name.startswith(_RAISED) for x in module.global_variables)


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
    def symbol(self) -> str:
        """Name of the C function that was compiled just now."""
        return self._made[1].fndesc.llvm_cfunc_wrapper_name if self._made else ""

    @property
    def has_made(self) -> bool:
        """Whether it was compiled just now, not found."""
        return bool(self._made)

    def write(self) -> None:
        """Keep here what was compiled."""
        if self._made:
            super().save_overload(*self._made)
