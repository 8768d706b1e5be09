"""Which entries there are to be compiled beforehand, by which names and in which groups.

Entries are named PACKAGE.MODULE.FUNCTION. A package of kernels is a folder with a module `warmup_groups`,
which says what of it belongs to the groups. Those of flexdyn_ros are found in its folders; those of other
distributions by their entry points:

    [project.entry-points."flexdyn_ros.kernels"]
    pendulum = "pendulum.kernels"
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["GROUPS", "WarmUpError", "add_package", "entries", "entries_of", "names_of", "packages", "shown"]

GROUPS = ("demo", "start", "common", "all")

_OURS = __name__.partition(".")[0]
_DECLARATION = "warmup_groups"

#: parts of names of entries that take long to compile: they go first, after those that packages declare,
#: so that no process is left alone with one at the end
_LONG = ("advance", "accelerate", "slopes", "loaded", "many")

_added: list[str] = []


class WarmUpError(Exception):
    """A kernel that could not be compiled, with its cause in one line."""


def add_package(name: str) -> None:
    """Let the warm-up of this process know a package of kernels that no entry point names."""
    if name not in _added:
        _added.append(name)


def packages() -> list[str]:
    """Names of all packages of kernels, without importing them."""
    found = [entry.value for entry in entry_points(group=f"{_OURS}.kernels")]
    for root in sys.modules[_OURS].__path__:
        for folder, below, files in os.walk(root):
            below[:] = [name for name in below if name != "__pycache__"]
            if f"{_DECLARATION}.py" in files:
                found.append(".".join((_OURS, *Path(folder).relative_to(root).parts)))
    return sorted({*found, *_added})


def entries() -> Iterator[tuple[str, object]]:
    """Every Entry and Callback that a module of the packages defines: PACKAGE.MODULE.FUNCTION, and itself."""
    for package in packages():
        for module in _modules(package):
            for name, one in entries_of(module).items():
                yield f"{module.__name__}.{name}", one


def entries_of(module: ModuleType) -> dict[str, Any]:
    """The Entries and Callbacks that a module defines, or had made for it, by their names."""
    from .callbacks import Callback
    from .compiler import Entry

    found = {}
    for value in vars(module).values():
        for one in value.values() if isinstance(value, dict) else (value,):
            if isinstance(one, Entry | Callback) and one.function.__module__ == module.__name__:
                found[one.function.__name__] = one
    return found


def _modules(package: str) -> Iterator:
    try:
        folders = importlib.import_module(package).__path__
        for info in sorted(pkgutil.iter_modules(folders), key=lambda info: info.name):
            if not info.ispkg and info.name != "__main__":
                yield importlib.import_module(f"{package}.{info.name}")
    except ImportError as error:
        raise WarmUpError(f"kernels of {package} cannot be imported: {error}") from error


class _Declared(NamedTuple):
    """Patterns of full names that packages declare."""

    demo: list[str]
    start: list[str]
    #: what few people call and what takes long
    rare: list[str]
    #: what takes longest of all
    longest: list[str]


def _declared() -> _Declared:
    declared = _Declared([], [], [], [])
    for package in packages():
        if find_spec(f"{package}.{_DECLARATION}") is None:
            continue  # another distribution's, all of whose entries are common
        module = importlib.import_module(f"{package}.{_DECLARATION}")
        for patterns, name in zip(declared, ("DEMO", "START", "RARE", "LONGEST"), strict=True):
            patterns += [f"{package}.{pattern}" for pattern in getattr(module, name, ())]
    return declared


def names_of(groups: Iterable[str]) -> list[str]:
    """Names of the entries in groups (or of patterns), those that take longest first.

    A pattern is one of whole names or of their ends: `pendulum.kernels.*`, `rigid.balance`.

    Raises
    ------
    WarmUpError
        If a group is unknown and no name fits it as a pattern, or if a package cannot be imported.
    """
    every = [name for name, _ in entries()]
    demo, start, rare, longest = _declared()
    wanted = {"demo": demo, "start": [*demo, *start], "common": ["*"], "all": ["*"]}
    chosen: set[str] = set()
    for group in groups:
        patterns = wanted.get(group, [group, f"*.{group}"])
        left_out = rare if group in GROUPS and group != "all" else []
        fitting = {name for name in every if _fits(name, patterns) and not _fits(name, left_out)}
        if not fitting:
            known = ", ".join(GROUPS)
            raise WarmUpError(f"no kernel fits {group!r}, expected {known} or a pattern such as 'rigid.*'")
        chosen |= fitting
    return sorted(chosen, key=lambda name: (not _fits(name, longest), _rank(name), name))


def _rank(name: str) -> int:
    return next((i for i, word in enumerate(_LONG) if word in name), len(_LONG))


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def shown(names: Iterable[str]) -> dict[str, str]:
    """What names are called where they are read: MODULE.FUNCTION, and more where that names several."""
    short: dict[str, str] = {}
    left = set(names)
    parts = 2
    while left:
        tails = {name: ".".join(name.split(".")[-parts:]) for name in left}
        count = list(tails.values()).count
        clear = {name: tail for name, tail in tails.items() if tail == name or count(tail) == 1}
        short |= clear
        left -= clear.keys()
        parts += 1
    return short
