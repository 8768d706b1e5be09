"""Names and groups of the entries that are compiled beforehand.

Entries are named PACKAGE.MODULE.FUNCTION. Packages of kernels of flexdyn_ros are its folders `kernels` and
all of numerics. Other distributions name theirs by entry points, with `Groups` (warmup_groups.py) where some
entries are not just `common`:

    [project.entry-points."flexdyn_ros.kernels"]
    pendulum = "pendulum.kernels"
    rope = "rope.kernels:GROUPS"
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from .warmup_groups import OURS, Groups

GROUPS = ("demo", "start", "common", "all")

_HOME = __name__.partition(".")[0]

#: parts of names of entries that take long to compile: they go first, after those that groups name,
#: so that no process is left alone with one at the end
_LONG = ("advance", "accelerate", "slopes", "loaded", "many")

_added: list[str] = []


class WarmUpError(Exception):
    """A kernel that could not be compiled, with its cause in one line."""


def add_package(name: str) -> None:
    """Let the warm-up of this process know a package of kernels, PACKAGE or PACKAGE:GROUPS, that no entry
    point names."""
    if name not in _added:
        _added.append(name)


def packages() -> list[str]:
    """Names of all packages of kernels, without importing them."""
    found = {point.module for point in _of_others()}
    for root in sys.modules[_HOME].__path__:
        for folder, below, _ in os.walk(root):
            below[:] = [name for name in below if name != "__pycache__"]
            parts = Path(folder).relative_to(root).parts
            if parts[:1] == ("numerics",) or parts[-1:] == ("kernels",):
                found.add(".".join((_HOME, *parts)))
    return sorted(found)


def _of_others() -> Iterator[EntryPoint]:
    yield from entry_points(group=f"{_HOME}.kernels")
    for name in _added:
        yield EntryPoint(name, name, f"{_HOME}.kernels")


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


def _groups() -> Groups:
    """Patterns of full names, of all packages."""
    said = [(_HOME, OURS)]
    for point in _of_others():
        if point.attr:
            try:
                said.append((point.module, point.load()))
            except AttributeError as error:
                raise WarmUpError(f"groups of kernels {point.value} are not there: {error}") from error
    found = ([f"{package}.{pattern}" for package, of in said for pattern in of[i]] for i in range(4))
    return Groups(*map(tuple, found))


def names_of(groups: Iterable[str]) -> list[str]:
    """Names of the entries in groups (or of patterns), those that take longest first.

    A pattern is one of whole names or of their ends: `pendulum.kernels.*`, `rigid.balance`.

    Raises
    ------
    WarmUpError
        If a group is unknown and no name fits it as a pattern, or if a package cannot be imported.
    """
    every = [name for name, _ in entries()]
    demo, start, rare, longest = _groups()
    wanted = {"demo": demo, "start": (*demo, *start), "common": ("*",), "all": ("*",)}
    chosen: set[str] = set()
    for group in groups:
        patterns = wanted.get(group, (group, f"*.{group}"))
        left_out = rare if group in GROUPS and group != "all" else ()
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
