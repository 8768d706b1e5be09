"""Print how many lines of code a folder of Python holds, in how many files: code_size.py FOLDER.

A line counts if it holds a token that is not a comment, nor part of a docstring.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(source: str) -> int:
    """Lines of a module without comments, docstrings and blanks."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def main(folder: str) -> None:
    files = sorted(Path(folder).rglob("*.py"))
    total = sum(lines_of_code(file.read_text(encoding="utf-8")) for file in files)
    print(f"{folder}: {total:,} lines of code in {len(files)} files")


if __name__ == "__main__":
    main(sys.argv[1])
