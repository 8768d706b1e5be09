"""Beam properties along the beam: the rows of `<table>`, from its text or from a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from flexdyn_ros.description.elements.urdf import Context
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import element, file_name, numbers, words
from flexdyn_ros.description.urdf.limits import MOST_NUMBERS, MOST_ROWS
from flexdyn_ros.description.urdf.markup import as_float
from flexdyn_ros.description.urdf.sources import read_bytes


@element(
    "table",
    "Properties along the beam, piecewise linear; a repeated station is a step. Its text is the rows.",
    one_of=(("file",), ("rows",)),
    one_of_needed=True,
)
class Table:
    """Rows from station 0 to 1, one value per column."""

    columns: tuple[str, ...] = words("`station`, then beam attributes by name")
    file: str | None = file_name("text file with the rows", default=None)
    rows: tuple[tuple[float, ...], ...] = numbers("", "rows from station 0 to 1", is_text=True, default=())

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        columns = values["columns"]
        count = len(columns)
        if columns[0] != "station":
            statement.fail("the first column is not 'station'", "columns", "station, then beam attributes")
        if len(set(columns)) < count:
            statement.fail("a column is named twice", "columns", "each column once")
        if count < 2:
            statement.fail("a table without properties", "columns", "station, then beam attributes")
        what, rows = numbers_of(values, "rows", statement, context)
        if len(rows) % count or len(rows) < 2 * count:
            message = f"{len(rows)} numbers do not fill rows of {count}"
            statement.fail(message, what, f"two or more rows of {count} numbers")
        if len(rows) > MOST_ROWS * count:
            statement.fail(f"{len(rows) // count} rows", what, f"at most {MOST_ROWS} rows")
        values["rows"] = tuple(tuple(rows[i : i + count]) for i in range(0, len(rows), count))
        _check_stations(statement, what, [row[0] for row in values["rows"]])


def _check_stations(statement: Statement, what: str, stations: list[float]) -> None:
    if stations[0] != 0.0 or stations[-1] != 1.0:
        message = f"stations go from {stations[0]:g} to {stations[-1]:g}"
        statement.fail(message, what, "stations from 0 to 1")
    for before, after in pairwise(stations):
        if after < before:
            statement.fail(f"station {after:g} comes after {before:g}", what, "rising stations")
    if any(first == third for first, third in zip(stations, stations[2:], strict=False)):
        statement.fail("a station is given more than twice", what, "a station once, or twice for a step")


def numbers_of(
    values: dict[str, Any], name: str, statement: Statement, context: Context
) -> tuple[str, tuple[float, ...]]:
    """Which of the attributes `name` and `file` gives the numbers, and the numbers; `file` becomes a path."""
    if values["file"] is None:
        return name, values[name] or ()
    values["file"] = context.find(statement, "file")
    return "file", _read_numbers(statement, Path(values["file"]))


def _read_numbers(statement: Statement, path: Path) -> tuple[float, ...]:
    """All numbers of a text file: blanks or commas between them, # begins a comment."""
    text = read_bytes(path, MOST_NUMBERS).decode("utf-8", "replace")
    numbers: list[float] = []
    for count, line in enumerate(text.splitlines(), 1):
        for word in line.partition("#")[0].replace(",", " ").split():
            value = as_float(word)
            if value is None:
                message = f"{path.name}, line {count}: '{word[:40]}' is not a number"
                statement.fail(message, "file", "numbers")
            numbers.append(value)
    return tuple(numbers)
