"""Tables in text: commas, semicolons or tabs between, decimal points or commas, a row of names, one of
units."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexdyn_ros.budget import Budget
from flexdyn_ros.errors import StateError
from flexdyn_ros.escaping import from_csv_text
from flexdyn_ros.identification.files.columns import TIME_UNITS, TIMES, UNITS, Table

#: what may stand between cells; the first of which a line of names has most
_BETWEEN = (";", "\t", ",")
#: lines that are looked at to tell what stands between, and the longest that is taken
_LOOKED_AT, _LONGEST_LINE = 20, 1 << 26
_BRACKETS = {"[": "]", "(": ")", "{": "}"}


class _Form(NamedTuple):
    """How a file is written: encoding, what stands between cells, whether commas are decimal marks, lines
    before the first numbers, names and units of the columns."""

    encoding: str
    between: str
    is_decimal_comma: bool
    skipped: int
    labels: list[str]
    units: dict[str, float]


def csv_table(path: Path, time: str | None = None) -> Table:
    """Columns of a file by the names in its first line; without one column_1, column_2, ...

    Between cells may stand commas, semicolons or tabs. With the latter two, decimal commas are read. A second
    line of units ([s], rad, deg/s) scales the columns to SI.

    Raises
    ------
    StateError
        Naming file, line and column, and what was expected.
    """
    budget = Budget(str(path), path.stat().st_size)
    form = _form(path)
    rows = _count(path, budget)
    # the table, and the columns that are made of it
    budget.keep(16 * rows * len(form.labels), entries=3 * len(form.labels))
    table = _numbers(path, form)
    columns = dict(zip(form.labels, table.T.copy(), strict=True))
    if form.labels[-1] == "" and np.isnan(columns[""]).all():
        # lines that end in what stands between cells
        del columns[""]
    return Table(None, columns, units=form.units)


def _form(path: Path) -> _Form:
    encoding = _encoding(path)
    head = list(islice(_lines(path, encoding), _LOOKED_AT))
    if not head or not head[0].strip():
        raise StateError(f"{path} is empty, expected a line of names and lines of numbers")
    between = _between(head)
    is_decimal_comma = between != "," and any(
        _is_comma_number(cell) for line in head for cell in _cells(line, between)
    )
    names = _cells(head[0], between)
    if all(_is_number(cell, is_decimal_comma) for cell in names):
        labels = [f"column_{i}" for i in range(1, len(names) + 1)]
        return _Form(encoding, between, is_decimal_comma, 0, labels, {})
    # as numpy.savetxt writes the first line
    names[0] = names[0].removeprefix("#").strip()
    labels = [from_csv_text(name) for name in names]
    if labels[0] == "time" and labels.count("time") == 2:  # those of a joint of that name are the second
        labels[0] = next(name for name in TIMES if name not in labels)
    if len(set(labels)) < len(labels):
        raise StateError(f"{path}: a column is there twice in the first line")
    second = next((i for i, line in enumerate(head) if i and line.strip()), 0)
    units = _units(path, labels, _cells(head[second], between), is_decimal_comma) if second else None
    return _Form(encoding, between, is_decimal_comma, 1 if units is None else second + 1, labels, units or {})


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        begin = file.read(2)
    return "utf-16" if begin in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _lines(path: Path, encoding: str) -> Iterator[str]:
    is_first = True
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                raise StateError(f"{path} has a line of more than {_LONGEST_LINE} characters")
            is_comment = line.startswith("#") and not is_first
            # a blank line keeps the numbers of those behind it
            yield "\n" if is_comment else line
            is_first = False


def _between(head: list[str]) -> str:
    """What stands between the cells: what the line of names has, and each line after it as often."""
    counts = {mark: len(_cells(head[0], mark)) for mark in _BETWEEN}
    alike = {
        mark: sum(len(_cells(line, mark)) == count for line in head[1:])
        for mark, count in counts.items()
        if count > 1
    }
    return max(alike, key=lambda mark: alike[mark], default=",")


def _cells(line: str, between: str) -> list[str]:
    line = line.strip("\r\n")
    if '"' not in line:
        return [cell.strip() for cell in line.split(between)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=between), [])]
    except csv.Error:
        return [line]


def _units(
    path: Path, labels: list[str], cells: list[str], is_decimal_comma: bool
) -> dict[str, float] | None:
    """Factors to SI by a line of units; None if the line holds none."""
    if len(cells) != len(labels) or not any(cells):
        return None
    if any(_is_number(cell, is_decimal_comma) for cell in cells):
        return None
    known = UNITS | TIME_UNITS
    found = {}
    for label, cell in zip(labels, cells, strict=True):
        unit = cell.strip()
        if len(unit) > 1 and _BRACKETS.get(unit[0]) == unit[-1]:
            unit = unit[1:-1].strip()
        if unit and unit not in known:
            raise StateError(
                f"{path}:2: column {label!r} has {cell[:40]!r}, expected a number or one of the units "
                f"{', '.join(known)}"
            )
        found[label] = known.get(unit, 1.0)
    return found


def _count(path: Path, budget: Budget) -> int:
    """Lines of a file."""
    lines = 1
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            budget.work(len(part))
            lines += part.count(b"\n") + part.count(b"\r")
    return lines


def _numbers(path: Path, form: _Form) -> np.ndarray:
    """The table (rows, columns); NaN where a cell is empty."""
    if not form.is_decimal_comma:
        try:
            table = np.loadtxt(
                islice(_lines(path, form.encoding), form.skipped, None),
                delimiter=form.between, dtype=np.float64, ndmin=2, comments=None,
            )  # fmt: skip
            if table.shape[1:] == (len(form.labels),):
                return table
        except ValueError:
            # which cell it is, the slower way tells
            pass
    return _by_cells(path, form)


def _by_cells(path: Path, form: _Form) -> np.ndarray:
    """Cell by cell: empty ones are missing, others that are no number are told."""
    table = array("d")
    marks = set[str]()
    reader = csv.reader(_lines(path, form.encoding), delimiter=form.between)
    try:
        for number, cells in enumerate(reader, 1):
            if number <= form.skipped or not any(cells):
                continue
            if len(cells) != len(form.labels):
                raise StateError(f"{path}:{number}: {len(cells)} cells, expected {len(form.labels)}")
            for column, cell in enumerate(cells, 1):
                marks.update(mark for mark in ",." if mark in cell)
                if len(marks) > 1 and form.between != ",":
                    raise StateError(
                        f"{path}:{number}: column {column} is {cell.strip()[:40]!r}, expected decimal commas "
                        "or points all through the file, and no other marks"
                    )
                table.append(_value(cell.strip(), form, path, number, column))
    except csv.Error as error:
        raise StateError(f"{path}:{reader.line_num}: {error}") from None
    if not table:
        raise StateError(f"{path} holds no samples, expected lines of {len(form.labels)} numbers")
    return np.frombuffer(table).reshape(-1, len(form.labels))


def _value(cell: str, form: _Form, path: Path, number: int, column: int) -> float:
    if not cell:
        return float("nan")
    try:
        return float(cell if form.between == "," else cell.replace(",", "."))
    except ValueError:
        raise StateError(f"{path}:{number}: column {column} is {cell[:40]!r}, expected a number") from None


def _is_number(cell: str, is_decimal_comma: bool = False) -> bool:
    try:
        float(cell.replace(",", ".") if is_decimal_comma else cell)
    except ValueError:
        return False
    return True


def _is_comma_number(cell: str) -> bool:
    return "," in cell and _is_number(cell, is_decimal_comma=True)
