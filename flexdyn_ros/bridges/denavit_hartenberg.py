"""Denavit-Hartenberg tables, standard and modified, to URDF text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, pi
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import yaml

from flexdyn_ros.errors import DescriptionError

CONVENTIONS = ("standard", "modified")
TYPES = ("revolute", "continuous", "prismatic")
#: columns of a table: those that every row has, and the others with what they are where they are left out
GEOMETRY = ("a", "alpha", "d", "theta")
LIMITS = ("lower", "upper", "velocity", "effort")
INERTIA = ("mass", "x", "y", "z", "ixx", "iyy", "izz", "ixy", "ixz", "iyz")
COLUMNS = ("joint", "type", *GEOMETRY, *LIMITS, *INERTIA)
#: keys of a YAML table
_KEYS = ("name", "convention", "angles", "joints")
#: length of a table
_MOST_BYTES = 1_000_000


#: a row of a table, by names of columns; where it stands
Row = dict[str, Any]


@dataclass(frozen=True)
class DenavitHartenberg:
    """A chain of joints by Denavit-Hartenberg parameters.

    Attributes
    ----------
    name : str
        Of the robot.
    convention : "standard" or "modified"
        Standard (Denavit & Hartenberg 1955): Rz(theta) Tz(d) Tx(a) Rx(alpha) leads to the next frame, joint i
        turns about z of frame i - 1. Modified (Craig 2005, section 3.4): Rx(alpha) Tx(a) Rz(theta) Tz(d),
        joint i turns about z of frame i.
    rows : tuple of mappings
        One a joint: joint, type, a, d [m], alpha, theta [rad]; lower, upper, velocity, effort; mass [kg],
        x, y, z [m] of the centre of mass in frame i, ixx ... [kg m2] about it along the axes of frame i.
        theta of a turning joint and d of a sliding one are added to its coordinate.
    """

    name: str
    convention: str
    rows: tuple[Row, ...]

    def to_urdf(self) -> str:
        """URDF text: links `base_link`, `link_1` ... and `tool0`, which is the last frame of the table."""
        standard = self.convention == "standard"
        lines = [
            '<?xml version="1.0"?>',
            f"<robot name={quoteattr(self.name)}>",
            '  <link name="base_link"/>',
        ]
        before, parent = np.eye(4), "base_link"
        for i, row in enumerate(self.rows, 1):
            step = _standard(row) if standard else _modified(row)
            # the frame of a URDF link lies at its joint: in the standard convention that is the frame before
            origin, within = (before, step) if standard else (step, np.eye(4))
            lines += _link(f"link_{i}", row, within)
            lines += _joint(row, parent, f"link_{i}", origin)
            before, parent = within, f"link_{i}"
        lines += ['  <link name="tool0"/>', '  <joint name="tool0_mount" type="fixed">']
        lines += [f'    <parent link="{parent}"/><child link="tool0"/>{_origin(before)}', "  </joint>"]
        return "\n".join([*lines, "</robot>", ""])


def read_table(
    path: str | PathLike[str],
    *,
    convention: str | None = None,
    degrees: bool | None = None,
    name: str | None = None,
) -> DenavitHartenberg:
    """Read a table from CSV (columns by name) or YAML (`convention`, `joints`, `name`, `angles`).

    Parameters
    ----------
    path : path ending in .csv, .yaml or .yml
    convention : "standard" or "modified"
        Needed where the file does not say it: nobody can tell one from the other by its numbers.
    degrees : bool, optional
        Angles and their limits are in degrees; default: what the file says, else radians.
    name : str, optional
        Of the robot; default: what the file says, else the name of the file.

    Raises
    ------
    DescriptionError
        Naming file, line, row, column, value and expectation.
    """
    path = Path(path)
    rows, lines, facts = _read(path)
    convention = convention or facts.get("convention")
    if convention not in CONVENTIONS:
        raise DescriptionError(
            "the convention is missing" if convention is None else "unknown convention",
            file=str(path), attribute="convention", value=convention, expected=" or ".join(CONVENTIONS),
        )  # fmt: skip
    if facts.get("angles", "radians") not in ("radians", "degrees"):
        raise DescriptionError(
            "unknown unit", file=str(path), attribute="angles", value=facts["angles"],
            expected="radians or degrees",
        )  # fmt: skip
    if not rows:
        raise DescriptionError("the table has no joints", file=str(path), expected="a row for each joint")
    turn = pi / 180.0 if (facts.get("angles") == "degrees" if degrees is None else degrees) else 1.0
    judged = [_row(row, i, str(path), line, turn) for i, (row, line) in enumerate(zip(rows, lines), 1)]
    _refuse_repeated(judged, lines, str(path))
    robot = name or _word(facts.get("name", path.stem), "name", {"file": str(path)})
    return DenavitHartenberg(robot, convention, tuple(judged))


# ---- files ----


def _read(path: Path) -> tuple[list[object], list[int | None], Row]:
    """Rows as they are written, the line of each, and what else the file says."""
    if path.suffix.lower() not in (".csv", ".yaml", ".yml"):
        raise DescriptionError("no table", file=str(path), value=path.suffix, expected=".csv, .yaml or .yml")
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise DescriptionError(
            "the table is too long", file=str(path), value=size, expected=f"at most {_MOST_BYTES} bytes"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DescriptionError(f"no text in UTF-8: {error.reason}", file=str(path)) from None
    return _from_csv(text, path) if path.suffix.lower() == ".csv" else _from_yaml(text, path)


def _from_csv(text: str, path: Path) -> tuple[list[object], list[int | None], Row]:
    table = csv.DictReader(
        ("" if line.lstrip().startswith("#") or not line.strip() else line for line in text.splitlines()),
        skipinitialspace=True, restkey="", strict=True,
    )  # fmt: skip
    rows: list[object] = []
    lines: list[int | None] = []
    try:
        for row in table:
            rows.append({str(key).strip(): value for key, value in row.items() if value not in (None, "")})
            lines.append(table.line_num)
    except csv.Error as error:
        raise DescriptionError(f"no CSV: {error}", file=str(path), line=table.line_num) from None
    return rows, lines, {}


def _from_yaml(text: str, path: Path) -> tuple[list[object], list[int | None], Row]:
    try:
        facts = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise DescriptionError("no valid YAML", file=str(path), line=line) from None
    if not isinstance(facts, dict) or not isinstance(facts.get("joints"), list):
        raise DescriptionError("no table", file=str(path), expected="a mapping with a list `joints`")
    for key in facts:
        if key not in _KEYS:
            raise DescriptionError("unknown key", file=str(path), attribute=str(key), expected=_one_of(_KEYS))
    rows = facts["joints"]
    return rows, [None] * len(rows), facts


# ---- rows ----


def _row(row: object, number: int, file: str, line: int | None, turn: float) -> Row:
    """A row with numbers in SI and rad."""
    place: Row = {"file": file, "line": line, "element": f"row {number}"}
    if not isinstance(row, Mapping):
        raise DescriptionError("no row", **place, value=row, expected="a mapping of columns to numbers")
    for column in row:
        if column not in COLUMNS:
            raise DescriptionError(
                "unknown column", **place, attribute=str(column), expected=_one_of(COLUMNS)
            )
    found: Row = {
        "joint": _word(row.get("joint", f"joint_{number}"), "joint", place),
        "type": _word(row.get("type", "revolute"), "type", place),
    }
    if found["type"] not in TYPES:
        place |= {"attribute": "type", "value": found["type"]}
        raise DescriptionError("unknown type", **place, expected=_one_of(TYPES))
    for column in (*GEOMETRY, *LIMITS, *INERTIA):
        if column in row:
            found[column] = _number(row[column], column, place)
        elif column in GEOMETRY:
            raise DescriptionError("the column is missing", **place, attribute=column, expected="a number")
    turning = found["type"] != "prismatic"
    for column in ("alpha", "theta", *(("lower", "upper", "velocity") if turning else ())):
        if column in found:
            found[column] *= turn
    _check_limits(found, place)
    return found


def _one_of(names: Iterable[str]) -> str:
    return f"one of {', '.join(names)}"


def _word(given: object, column: str, place: Row) -> str:
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise DescriptionError("no word", **place, attribute=column, value=given, expected="a name")
    return str(given).strip()


def _number(given: Any, column: str, place: Row) -> float:
    place = place | {"attribute": column, "value": given}
    try:
        number = float(given) if not isinstance(given, bool) else float("nan")
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise DescriptionError("no number", **place, expected="a finite number; nothing is evaluated")
    if column in ("mass", "velocity", "effort") and number < 0.0:
        raise DescriptionError("the number is negative", **place, expected="0 or more")
    return number


def _check_limits(row: Row, place: Row) -> None:
    if ("lower" in row) != ("upper" in row):
        missing = "lower" if "upper" in row else "upper"
        raise DescriptionError("one limit without the other", **place, attribute=missing, expected="a number")
    if "lower" in row and row["lower"] > row["upper"]:
        raise DescriptionError(
            "the limits are the wrong way round", **place, attribute="lower", value=row["lower"],
            expected=f"at most {row['upper']:g}",
        )  # fmt: skip
    if row["type"] == "prismatic" and "lower" not in row:
        place = place | {"attribute": "lower", "expected": "lower and upper [m]"}
        raise DescriptionError("a sliding joint without limits", **place)


def _refuse_repeated(rows: list[Row], lines: list[int | None], file: str) -> None:
    seen: set[str] = {"tool0_mount"}
    for number, (row, line) in enumerate(zip(rows, lines), 1):
        taken = row["joint"] in seen
        if taken or not row["joint"] or not row["joint"].isprintable():
            raise DescriptionError(
                "the name is taken" if taken else "this is no name", file=file, line=line,
                element=f"row {number}", attribute="joint", value=row["joint"], expected="a name of its own",
            )  # fmt: skip
        seen.add(row["joint"])


# ---- geometry and text ----


def _screw(axis: int, angle: float, shift: float) -> np.ndarray:
    """Turn about and shift along one axis, 0 for x, 2 for z: they commute."""
    T = np.eye(4)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T[i, i] = T[j, j] = np.cos(angle)
    T[j, i], T[i, j] = np.sin(angle), -np.sin(angle)
    T[axis, 3] = shift
    return T


def _standard(row: Row) -> np.ndarray:
    """From frame i - 1 to frame i with the joint at 0."""
    return _screw(2, row["theta"], row["d"]) @ _screw(0, row["alpha"], row["a"])


def _modified(row: Row) -> np.ndarray:
    """From frame i - 1 to frame i with the joint at 0."""
    return _screw(0, row["alpha"], row["a"]) @ _screw(2, row["theta"], row["d"])


def _origin(T: np.ndarray) -> str:
    """`<origin>`: translation, and fixed-axis angles R = Rz(yaw) Ry(pitch) Rx(roll)."""
    R = T[:3, :3]
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.hypot(R[0, 0], R[1, 0]) > 1e-12:
        roll, yaw = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0])
    else:  # only roll and yaw together are determined
        roll, yaw = 0.0, np.arctan2(-R[0, 1], R[1, 1])
    return f'<origin xyz="{_texts(T[:3, 3])}" rpy="{_texts((roll, pitch, yaw))}"/>'


def _texts(numbers: Iterable[float]) -> str:
    """Numbers as exact as they are, without rounding errors of what is 0."""
    return " ".join(repr(float(x) if abs(x) > 1e-16 else 0.0) for x in numbers)


def _link(name: str, row: Row, within: np.ndarray) -> list[str]:
    """The link; `within` leads from its frame to frame i, in which its inertia is given."""
    if "mass" not in row:
        return [f'  <link name="{name}"/>']
    at = within.copy()
    at[:, 3] = within @ [*(row.get(axis, 0.0) for axis in "xyz"), 1.0]
    moments = " ".join(f'{key}="{row.get(key, 0.0)!r}"' for key in INERTIA[4:])
    return [
        f'  <link name="{name}">',
        f'    <inertial>{_origin(at)}<mass value="{row["mass"]!r}"/><inertia {moments}/></inertial>',
        "  </link>",
    ]


def _joint(row: Row, parent: str, child: str, origin: np.ndarray) -> list[str]:
    kind = "continuous" if row["type"] == "revolute" and "lower" not in row else row["type"]
    limits = {key: row[key] for key in LIMITS if key in row}
    if limits:
        limits = {"effort": 1e3, "velocity": 1e2, **limits}
    known = " ".join(f'{key}="{value!r}"' for key, value in sorted(limits.items()))
    return [
        f'  <joint name={quoteattr(row["joint"])} type="{kind}">',
        f'    <parent link="{parent}"/><child link="{child}"/>{_origin(origin)}<axis xyz="0 0 1"/>',
        *([f"    <limit {known}/>"] if limits else []),
        "  </joint>",
    ]
