"""Public names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(
    package: str, places: Mapping[str, str] | None = None, **names: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in other modules.

    names: those of each module of the package, separated by blanks; places: modules elsewhere by name.
    """
    namespace = vars(sys.modules[package])
    found_in = dict(places or {})
    found_in |= {name: f"{package}.{module}" for module, held in names.items() for name in held.split()}

    def __getattr__(name: str) -> Any:
        if name not in found_in:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = namespace[name] = getattr(import_module(found_in[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*namespace, *found_in})

    return __getattr__, __dir__
