"""Blocks of a module, statements that run one after the other: their names, and marks of those that run."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator

from other_texts import TOUCHED

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: what follows one of these need not run
BRANCHES = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
#: the name of what stands outside of functions
OUTSIDE = ""


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:12]


def _bodies(node: ast.AST, function: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST | None, list]]:
    """Every list of statements, with the node it belongs to and the outermost function around it."""
    inside = function or (node if isinstance(node, FUNCTIONS) else None)
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        if isinstance(statements, list):
            yield node, inside, statements
    for child in ast.iter_child_nodes(node):
        yield from _bodies(child, inside)


def _blocks(tree: ast.Module, source: bytes) -> Iterator[tuple[list, int, list[ast.stmt], str]]:
    """Every block: the list it is part of, where it begins there, its statements, its name.

    The name tells the text of the function and a line of it: it stays when other functions change.
    """
    lines = source.splitlines()
    for node, function, statements in list(_bodies(tree)):
        first = int(isinstance(node, FUNCTIONS) and ast.get_docstring(node, clean=False) is not None)
        starts = [index for index in range(first, len(statements))
                  if index == first or isinstance(statements[index - 1], BRANCHES)]  # fmt: skip
        for start, end in zip(starts, [*starts[1:], len(statements)]):
            name = OUTSIDE
            if function is not None:
                text = b"\n".join(lines[function.lineno - 1 : function.end_lineno])
                name = f"{digest(text)}:{statements[start].lineno - function.lineno}"
            yield statements, start, statements[start:end], name


def names(source: bytes) -> dict[int, str]:
    """For each line in which a statement begins, the name of its block."""
    found: dict[int, str] = {}
    for _, _, part, name in _blocks(ast.parse(source), source):
        for statement in part:
            found.setdefault(statement.lineno, name)
    return found


def marked(source: bytes, first: int) -> tuple[ast.Module, list[str]]:
    """The module that sets a mark in each block of its functions, counted from `first`; the blocks' names."""
    tree = ast.parse(source)
    found: list[str] = []
    for statements, start, part, name in reversed(list(_blocks(tree, source))):
        if name != OUTSIDE:
            mark = ast.parse(f"{TOUCHED}[{first + len(found)}] = 1").body[0]
            for node in ast.walk(mark):
                ast.copy_location(node, part[0])
            statements.insert(start, mark)
            found.append(name)
    return tree, found
