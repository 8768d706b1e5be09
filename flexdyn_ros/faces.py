"""Public names of a package that are imported when they are first asked for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazily(
    package: str, packages: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in other modules: those that it imports under
    `if TYPE_CHECKING`, with one `from MODULE import NAME` for each module. packages: those within it that are
    imported when they are asked for, too.
    """
    namespace = vars(sys.modules[package])

    @cache
    def places() -> dict[str, str]:
        """The module of each name."""
        source = namespace["__loader__"].get_source(package)
        block = re.split(r"\n(?=\S)", source.partition("\nif TYPE_CHECKING:\n")[2])[0]
        found = re.findall(r"^ +from (\S+) import (?:\(([^)]*)\)|(.+))$", block, re.MULTILINE)
        return {name: module for module, *names in found for name in re.findall(r"\w+", " ".join(names))}

    def __getattr__(name: str) -> Any:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name.startswith("__") or name not in places():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = namespace[name] = getattr(import_module(places()[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*namespace, *places(), *packages})

    return __getattr__, __dir__
