"""Where compiled kernels are kept on this machine, and how they are found again; known without Numba.

Numba's disk cache does not notice that a callee in another file was edited: the stale caller goes on with the
old physics. So what is compiled for a module is kept in a folder named after the module and a hash of its
source and of every source in its reach (numerics/compiling/sources.py): an edit starts a new folder for all
modules that can see it, and leaves the others compiled. Kernels of any package are kept so; functions that
somebody else compiles stay where Numba keeps them.

What Python and other compiled code call by an address is kept as object code (objects.py), a file for a
function; what is only compiled into these, as Numba keeps it (numba_cache.py).
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Timer
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING

from flexdyn_ros.ownership import own_folder, stranger_among
from flexdyn_ros.writing import write_bytes

from .objects import machine, machines
from .sources import holds_kernels, source_key

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

#: bytes of the hash that ends a file
_HASH = 32


def cache_folder() -> Path:
    """Folder below which compiled kernels are kept: NUMBA_CACHE_DIR, or our corner of the user's cache."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "flexdyn_ros"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "flexdyn_ros" / "kernels"


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
        _warn(message, why)


def folder_of(function: Callable) -> str:
    """The folder in which what is compiled of a function is kept.

    A checkout, its copy and its install tree have the same sources and so share what was compiled for them.
    What has no source file (a cell of a notebook) is kept for this process alone.
    """
    sources = _sources_of(function)
    if all(os.path.isfile(path) for _, path in sources):
        return _folder_of(function.__module__, sources)
    return _passing_folder().name


def place_of(function: Callable, signature: str, options: dict, processor: str = "") -> tuple[Path, str]:
    """File of the object code of a function, and the name that it has there: of all that it depends on, the
    processor too, which is this one unless another is given."""
    folder, name = folder_of(function), function.__name__
    chosen = sorted((key, sorted(x) if isinstance(x, set) else x) for key, x in options.items())
    said = (os.path.basename(folder), name, signature, chosen, fingerprint(function))
    key = hashlib.sha256(repr((said, processor or machine())).encode()).hexdigest()[:24]
    return Path(folder) / f"{name}-{key}.o", f"flexdyn_{name}_{key}"


def found(function: Callable, signature: str, options: dict) -> tuple[bytes, str] | None:
    """Object code of a function, and its name there: as it was compiled here, or came with the package."""
    place, symbol = place_of(function, signature, options)
    if (code := kept(place)) is not None:
        return code, symbol
    if _delivered().is_dir():
        for processor in machines():
            place, symbol = place_of(function, signature, options, processor)
            if (code := kept(_delivered() / place.parent.name / place.name)) is not None:
                return code, symbol
    return None


@cache
def _delivered() -> Path:
    """What a wheel has that was built with FLEXDYN_KERNELS (setup.py)."""
    return Path(__file__).parents[2] / "compiled"


def keep(path: Path, code: bytes) -> None:
    """Write object code and its hash, at once or not at all; where that fails, it is compiled again."""
    with suppress(OSError):
        write_bytes(path, code + hashlib.sha256(code).digest())


def kept(path: Path) -> bytes | None:
    """The object code of a file; None if it is not there, or not whole."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    code = data[:-_HASH]
    return code if hashlib.sha256(code).digest() == data[-_HASH:] else None


@cache
def _passing_folder() -> TemporaryDirectory:
    """A folder that ends with this process."""
    import tempfile

    return tempfile.TemporaryDirectory(prefix="flexdyn-kernels-")


#: seconds after which a compilation is told of
PATIENCE = 2.0


def _tell_of_compiling(name: str) -> None:
    folder = cache_folder()
    kept = "" if folder in _told else f", which is kept in {folder} (`flexdyn warm` compiles all beforehand)"
    _warn("flexdyn_ros: compiling kernel %s%s", name, kept)


@contextmanager
def compiling(function: Callable) -> Iterator[None]:
    """Around the compilation of a function: told of when it takes long, and the collector of garbage waits,
    which else looks at all that the compiler holds again and again."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    told = Timer(PATIENCE, _tell_of_compiling, (name,))
    told.daemon = True
    told.start()
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        told.cancel()
        if collects:
            gc.enable()


# What tells kernels of one place apart: the values that each closes over.
#
# Numba would pickle them. Pickles differ between equal objects, by which of their strings are one object:
# they
# come out differently after Python read a module from its source and from its bytecode, so that the second
# process of a new installation would find nothing that the first compiled.


def fingerprint(function: Callable) -> str:
    """Hash of the code of a function and of all that it closes over."""
    seen: dict[int, int] = {}
    digest = hashlib.sha256()
    for part in (*_of_code(function.__code__, seen), *_of_value(function.__closure__ or (), seen)):
        digest.update(part + b"\0")
    return digest.hexdigest()


def _of_value(value: object, seen: dict[int, int]) -> Iterator[bytes]:
    """Words that are the same for equal values in every process."""
    value = getattr(value, "py_func", value)
    if isinstance(value, FunctionType) and not _is_found(value):
        if id(value) in seen:
            yield b"seen %d" % seen[id(value)]  # a function may close over itself
            return
        seen[id(value)] = len(seen)
        yield f"function {value.__module__} {value.__qualname__}".encode()
        yield from _of_code(value.__code__, seen)
        given = value.__defaults__ or (), tuple(sorted((value.__kwdefaults__ or {}).items()))
        yield from _of_value((*given, value.__closure__ or ()), seen)
    elif isinstance(value, FunctionType | type):
        yield f"{type(value).__name__} {value.__module__} {value.__qualname__}".encode()
    elif isinstance(value, ModuleType):
        yield f"module {value.__name__}".encode()
    elif isinstance(value, CodeType):
        yield from _of_code(value, seen)
    elif isinstance(value, CellType):
        yield from _of_value(value.cell_contents, seen)
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}".encode()
        for one in value:
            yield from _of_value(one, seen)
    elif isinstance(value, frozenset):
        yield f"frozenset {sorted(map(repr, value))}".encode()
    elif "numba" in sys.modules and isinstance(value, sys.modules["numba"].types.Type):
        yield f"Numba's {value}".encode()
    elif isinstance(value, int | float | complex | str | bytes | None):
        yield f"{type(value).__name__} {value!r}".encode()
    else:
        from numba.core.serialize import dumps

        yield dumps(value)


def _of_code(code: CodeType, seen: dict[int, int]) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    yield from _of_value(code.co_consts, seen)


def _is_found(function: FunctionType) -> bool:
    """Whether a function can be told by where it lies: its source is in the key of the folder."""
    found: object = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return getattr(found, "py_func", found) is function


def _warn(message: str, *values: object) -> None:
    """Log a warning; the library is imported where there is one."""
    import logging

    logging.getLogger(__name__).warning(message, *values)
