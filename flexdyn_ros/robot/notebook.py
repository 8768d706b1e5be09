"""Objects as tables: HTML for notebooks, text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: rows of a table that are shown
MOST_ROWS = 24


def section(title: str, *parts: str) -> str:
    """A heading, escaped, with HTML below it."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts, escaped; of long ones the first rows and how many more there are."""
    rows = list(rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS]
    )
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def text_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title and a table of texts, numbers to the right; of long ones the first rows and how many more."""
    rows = list(rows)
    cells = [tuple(columns), *(tuple(map(str, row)) for row in rows[:MOST_ROWS])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(text.rjust(n) for text, n in zip(row, widths, strict=True)) for row in cells]
    more = [f"and {len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else []
    return "\n".join([title, lines[0], "  ".join("-" * n for n in widths), *lines[1:], *more])
