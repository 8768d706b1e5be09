"""Beam properties along the beam: the rows of `<table>`, from its text or from a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from flexdyn_ros.description.elements.context import Context
from flexdyn_ros.description.elements.records import Table
from flexdyn_ros.description.language.schema_link import SECTION_NUMBERS
from flexdyn_ros.description.language.statements import Statement, complete
from flexdyn_ros.description.language.values import suggestion
from flexdyn_ros.description.urdf.limits import MOST_NUMBERS, MOST_ROWS
from flexdyn_ros.description.urdf.markup import as_float
from flexdyn_ros.description.urdf.sources import read_bytes

_COLUMNS = {attribute.name: attribute for attribute in SECTION_NUMBERS}


def build_table(said: Statement, beam: Statement, context: Context) -> Table:
    """The table, its stations rising from 0 to 1 and its values such as the beam's attributes ask for."""
    values = complete(said)
    columns = values["columns"]
    _check_columns(said, columns, beam)
    file = None
    numbers = values["rows"]
    if values["file"] is not None:
        file = context.find(said, "file")
        numbers = read_numbers(said, Path(file))
    what = "rows" if file is None else "file"
    count = len(columns)
    if len(numbers) % count or len(numbers) < 2 * count:
        said.fail(
            f"{len(numbers)} numbers do not fill rows of {count}",
            what,
            f"two or more rows of {count} numbers",
        )
    if len(numbers) > MOST_ROWS * count:
        said.fail(f"{len(numbers) // count} rows", what, f"at most {MOST_ROWS} rows")
    rows = tuple(tuple(numbers[i : i + count]) for i in range(0, len(numbers), count))
    _check_rows(said, what, columns, rows)
    return Table(columns, rows, file)


def _check_columns(said: Statement, columns: tuple[str, ...], beam: Statement) -> None:
    if columns[0] != "station":
        said.fail("the first column is not 'station'", "columns", "station, then beam attributes")
    for name in columns[1:]:
        if name not in _COLUMNS:
            expected = "columns of " + ", ".join(_COLUMNS)
            said.fail(f"unknown column '{name}'{suggestion(name, _COLUMNS)}", "columns", expected)
        if name in beam.values:
            beam.fail(f"'{name}' is a column of the table too", name, "one of them")
    if len(set(columns)) < len(columns):
        said.fail("a column is named twice", "columns", "each column once")
    if len(columns) < 2:
        said.fail("a table without properties", "columns", "station, then beam attributes")


def _check_rows(
    said: Statement, what: str, columns: tuple[str, ...], rows: tuple[tuple[float, ...], ...]
) -> None:
    stations = [row[0] for row in rows]
    if stations[0] != 0.0 or stations[-1] != 1.0:
        said.fail(f"stations go from {stations[0]:g} to {stations[-1]:g}", what, "stations from 0 to 1")
    for before, after in pairwise(stations):
        if after < before:
            said.fail(f"station {after:g} comes after {before:g}", what, "rising stations")
    if any(first == third for first, third in zip(stations, stations[2:], strict=False)):
        said.fail("a station is given more than twice", what, "a station once, or twice for a step")
    for row in rows:
        for name, value in zip(columns[1:], row[1:], strict=True):
            above, least = _COLUMNS[name].above, _COLUMNS[name].least
            if (above is not None and value <= above) or (least is not None and value < least):
                sign = ">" if above is not None else ">="
                said.fail(f"{name} = {value:g} at station {row[0]:g}", what, f"{name} {sign} 0")


def read_numbers(said: Statement, path: Path) -> tuple[float, ...]:
    """All numbers of a text file: blanks or commas between them, # begins a comment."""
    text = read_bytes(path, MOST_NUMBERS).decode("utf-8", "replace")
    numbers: list[float] = []
    for count, line in enumerate(text.splitlines(), 1):
        for word in line.partition("#")[0].replace(",", " ").split():
            value = as_float(word)
            if value is None:
                said.fail(f"{path.name}, line {count}: '{word[:40]}' is not a number", "file", "numbers")
            numbers.append(value)
    return tuple(numbers)
