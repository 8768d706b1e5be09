"""Numbers in sentences and scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape
from math import isfinite

#: percentages beyond are written with an exponent
LARGEST = 1e9


def percent(share: float, digits: int = 2) -> str:
    """A share in percent, of so many digits and without an exponent: "100 %", "0.012 %".

    Less than all, and more than all, is not rounded to 100 % (up to six digits).
    """
    value = 100.0 * share
    text = f"{value:.{digits}g}"
    if not isfinite(value) or abs(value) > LARGEST:
        return f"{text} %"
    while float(text) == 100.0 and value != 100.0 and digits < 6:
        digits += 1
        text = f"{value:.{digits}g}"
    return f"{Decimal(text):f} %"


def with_unit(value: float, unit: str) -> str:
    """A value of three digits with the prefix that keeps it between 1 and 1000: "113 kN m", "2.5 mm".

    Units that are none, "-", stay without prefix, as do values of 0 and those that are not finite.
    """
    if unit in ("-", ""):
        return f"{value:.3g}"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


# Objects as tables: HTML for notebooks, text for the terminal.

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
