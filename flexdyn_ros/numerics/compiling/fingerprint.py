"""What tells kernels of one place apart: the values that each closes over.

Numba would pickle them. Pickles differ between equal objects, by which of their strings are one object: they
come out differently after Python read a module from its source and from its bytecode, so that the second
process of a new installation would find nothing that the first compiled.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType


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
