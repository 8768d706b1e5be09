"""What a source imports, read from its text without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple


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
            found += _bound(module.decode(), alias is not None)
        else:
            taken = (several or one_line).split(b",")
            names = tuple(name.split()[0].decode() for name in taken if name.strip())
            found.append(Import(len(dots), origin.decode(), names))
    return found


def _bound(module: str, renamed: bool) -> Iterator[Import]:
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
                yield from _bound(alias.name, alias.asname is not None)
