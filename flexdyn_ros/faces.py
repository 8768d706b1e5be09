"""Public names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in other modules: those that it imports under
    `if TYPE_CHECKING`, with one `from MODULE import NAME` for each module; packages within it among them.
    """
    namespace = vars(sys.modules[package])

    @cache
    def places() -> dict[str, str]:
        """The module of each name."""
        import ast

        tree = ast.parse(namespace["__loader__"].get_source(package))
        (block,) = (
            node
            for node in tree.body
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        found = (node for node in block.body if isinstance(node, ast.ImportFrom) and node.module)
        return {name.name: str(node.module) for node in found for name in node.names}

    def __getattr__(name: str) -> Any:
        if name.startswith("__") or name not in places():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place = places()[name]
        if place == package:
            return import_module(f"{package}.{name}")
        found = namespace[name] = getattr(import_module(place), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*namespace, *places()})

    return __getattr__, __dir__
