"""Which sources a kernel may be compiled from, and the hash of them that names its folder in the cache.

The rule: in reach of a module is what it imports, directly or through others, anywhere in its text, of
packages that hold kernels: its own top-level package, this one, and every other in which a kernel was
decorated. A source counts where a name can be taken from it: `from a.b import c` reads a/b.py, or
a/b/__init__.py and, if there is one, a/b/c.py; a/__init__.py, which is only passed on the way, does not
count. Who binds a package by itself (`import a`, `from a import package`) can take anything from it, so that
everything in its folder counts. Other libraries are taken as fixed; the versions of Numba, NumPy, llvmlite
and Python are in the hash.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import llvmlite
import numpy as np

#: decides where results lie and what must be compiled anew, not what they are
_MACHINERY = {f"{__package__}.{name}" for name in ("cache", "numba_cache", "sources")}

#: names of the top-level packages and modules that hold kernels
_homes = {__name__.partition(".")[0]}


def add_home(module: str | None) -> None:
    """Note that a module holds kernels: its top-level package is read wherever one of ours imports it."""
    home = str(module).partition(".")[0]
    if home not in _homes:
        _homes.add(home)
        _imported.cache_clear()


def holds_kernels(module: str | None) -> bool:
    """Whether a module lies in a package in which a kernel was decorated."""
    return str(module).partition(".")[0] in _homes


@cache
def _source(path: str) -> tuple[bytes, tuple[Import, ...]]:
    """Hash of a source, and its imports."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return b"", ()
    return hashlib.sha256(text).digest(), tuple(imports(text))


def _package_folders(name: str) -> list[str]:
    """Folders of a package; none if it is not one, or cannot be found."""
    top, _, rest = name.partition(".")
    roots = getattr(sys.modules.get(top), "__path__", ())
    folders = [os.path.join(root, *rest.split(".")) if rest else root for root in roots]
    return [folder for folder in folders if os.path.isdir(folder)]


@cache
def _found(name: str) -> tuple[str | None, bool]:
    """Path of a module's source, None without one; whether it is a package."""
    folders = _package_folders(name)
    for folder in folders:
        if os.path.isfile(path := os.path.join(folder, "__init__.py")):
            return path, True
    parent, _, last = name.rpartition(".")
    if not parent:
        return getattr(sys.modules.get(name), "__file__", None), bool(folders)
    for folder in _package_folders(parent):
        if os.path.isfile(path := os.path.join(folder, f"{last}.py")):
            return path, False
    return None, bool(folders)


@cache
def _below(package: str) -> tuple[str, ...]:
    """Names of all modules in the folders of a package."""
    names = []
    for root in _package_folders(package):
        for folder, _, files in os.walk(root):
            parts = [package, *os.path.relpath(folder, root).replace(".", "").split(os.sep)]
            inside = ".".join(filter(None, parts))
            names += [f"{inside}.{file[:-3]}" for file in files if file.endswith(".py")]
    return tuple(name.removesuffix(".__init__") for name in names)


@cache
def _imported(name: str, path: str) -> dict[str, str]:
    """Names and paths of the modules of packages with kernels that a module takes something from."""
    found: dict[str, str] = {}
    for other in _named(name, path):
        if holds_kernels(other) and other not in _MACHINERY and (place := _found(other)[0]):
            found[other] = place
    return found


def _named(name: str, path: str) -> Iterator[str]:
    """Names of the modules that a module may take something from; some may not exist."""
    package = name if os.path.basename(path) == "__init__.py" else name.rpartition(".")[0]
    for level, module, names in _source(path)[1]:
        origin = module
        if level:
            above = package.split(".")[: package.count(".") + 2 - level]
            origin = ".".join(filter(None, [*above, module]))
        if not names or "*" in names:
            yield from _bound(origin)
            continue
        yield origin
        if _is_package(origin):
            for taken in names:
                yield from _bound(f"{origin}.{taken}")


def _is_package(name: str) -> bool:
    return holds_kernels(name) and _found(name)[1]


def _bound(name: str) -> Iterable[str]:
    return (name, *_below(name)) if _is_package(name) else (name,)


def reach(module: str, path: str | None = None) -> dict[str, str]:
    """Names and paths of the sources that a kernel of a module may be compiled from, its own included.

    The top-level package of the module must have been imported. path is that of the module's source, where
    its name does not lead there (a script is called `__main__`).
    """
    add_home(module)
    waiting = {module: path or _found(module)[0] or ""}
    seen: dict[str, str] = {}
    while waiting:
        name, place = waiting.popitem()
        seen[name] = place
        waiting |= {other: there for other, there in _imported(name, place).items() if other not in seen}
    return seen


@cache
def _version_of(package: str) -> str:
    """Version of a package that is installed, from the name of the folder that says so: neither it nor what
    reads such folders is imported for that, where it need not be."""
    found = find_spec(package)
    folders = (os.path.dirname(place) for place in (found and found.submodule_search_locations) or ())
    for folder in folders:
        for name in os.listdir(folder):
            if name.startswith(f"{package}-") and name.endswith(".dist-info"):
                return name[len(package) + 1 : -len(".dist-info")]
    from importlib.metadata import version

    return version(package)


def source_key(*modules: tuple[str, str | None]) -> str:
    """Hash of the sources in reach of modules (name, path or None) and of the versions that matter."""
    versions = _version_of("numba"), llvmlite.__version__, np.__version__, sys.implementation.cache_tag
    digest = hashlib.sha256(" ".join(versions).encode())
    read: dict[str, str] = {}
    for module, path in modules:
        read |= reach(module, path)
    for name in sorted(read):
        digest.update(name.encode() + b"\0" + _source(read[name])[0])
    return digest.hexdigest()[:16]


# ---- imports of a source, read from its text without running it ----


class Import(NamedTuple):
    """One imported module and what is taken from it."""

    #: dots before the name: 0 for an absolute import
    level: int
    #: dotted name; empty in `from . import x`
    module: str
    #: names taken from the module, "*" for all; none where the module itself is bound to a name
    names: tuple[str, ...] = ()


_WORD = re.compile(rb"import(?!\w)")
#: imports that need no parser: a line of its own, names in one line or in plain parentheses
_PLAIN = re.compile(
    rb"[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(?:\(([\w\s,]+)\)|([\w \t,]+|\*))[ \t]*(?:#[^\n]*)?\r?$"
    rb"|[ \t]*import[ \t]+([\w.]+)([ \t]+as[ \t]+\w+)?[ \t]*(?:#[^\n]*)?\r?$",
    re.MULTILINE,
)


def imports(source: bytes) -> list[Import]:
    """Every import of a source, also within functions and conditions.

    Plain lines are read by a pattern, which takes a twentieth of the time; a source with any other line that
    has the word is parsed. A line of a text that reads like an import counts as one.
    """
    found: list[Import] = []
    for word in _WORD.finditer(source):
        start = source.rfind(b"\n", 0, word.start()) + 1
        line = _PLAIN.match(source, start)
        if line is None or source.endswith((b"\\\n", b"\\\r\n"), 0, start):
            return list(_parsed(source))
        dots, origin, several, one_line, module, alias = line.groups()
        if module is not None:
            found += _plainly(module.decode(), alias is not None)
        else:
            taken = (several or one_line).split(b",")
            names = tuple(name.split()[0].decode() for name in taken if name.strip())
            found.append(Import(len(dots), origin.decode(), names))
    return found


def _plainly(module: str, renamed: bool) -> Iterator[Import]:
    """`import a.b as c` binds a.b; without a new name it binds `a`, and whatever is below."""
    yield Import(0, module)
    if not renamed and "." in module:
        yield Import(0, module.partition(".")[0])


def _parsed(source: bytes) -> Iterator[Import]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # Python cannot import it either
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield Import(node.level, node.module or "", tuple(alias.name for alias in node.names))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _plainly(alias.name, alias.asname is not None)
