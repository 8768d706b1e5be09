"""Columns of a file by its kind: CSV, npz, MAT, MCAP."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.escaping import from_csv_text
from flexdyn_ros.identification.files.simulated import columns_of
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays
from flexdyn_ros.simulation.trajectory import HELD, Trajectory

TIMES = ("time", "t", "timestamp", "stamp")
#: what a file may hold in memory
MOST_BYTES = 1 << 31

Columns = dict[str, np.ndarray]


def read_file(
    path: str | PathLike, names: Mapping[str, str] | Sequence[str] | None, time: str | None
) -> tuple[np.ndarray, Columns, bool | None]:
    """Times (n,) and columns of a file, and what it says of whether efforts were held; see
    `Measurement.read`."""
    kind = Path(path).suffix.lower()
    UnknownNameError.check(f"kind of file of {str(path)!r}", kind, tuple(_READERS))
    found = _READERS[kind](Path(path))
    told = found.pop(HELD, None)
    held = None if told is None else bool(np.all(told == 1.0))
    if names is not None and not isinstance(names, Mapping):
        names = _in_order(path, tuple(names), found)
    for given in names or {}:
        UnknownNameError.check(f"column of {path}", given, tuple(found))
    new = {key: (names or {}).get(key, key) for key in found}
    chosen = time or next((key for key in found if new[key].lower() in TIMES), next(iter(found), ""))
    UnknownNameError.check(f"column of {path}", chosen, tuple(found))
    t = found.pop(chosen)
    kept = [(new[key], values) for key, values in found.items() if new[key]]
    twice = {key for key, _ in kept if sum(key == other for other, _ in kept) > 1}
    if twice:
        raise StateError(f"{path}: two columns are named {sorted(twice)[0]!r}")
    columns = {key: values for key, values in kept if values.shape == t.shape}
    if not columns:
        raise StateError(f"{path} holds no columns of {t.size} samples beside the times")
    return t, columns, held


def read_table(path: str | PathLike) -> Columns:
    """Columns of a CSV by their names."""
    return _csv(Path(path))


def _in_order(path: str | PathLike, names: tuple[str, ...], found: Columns) -> dict[str, str]:
    if len(names) != len(found):
        raise DimensionError(f"{path} holds {len(found)} columns, names has {len(names)}")
    return dict(zip(found, names, strict=True))


def _csv(path: Path) -> Columns:
    """Names from the first line, unless that holds numbers."""
    if path.stat().st_size > MOST_BYTES:
        raise StateError(f"{path} holds {path.stat().st_size} bytes, expected at most {MOST_BYTES}")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        first = next(csv.reader(islice(file, 1)), [])
    if not first:
        raise StateError(f"{path} is empty, expected a line of names and lines of numbers")
    named = not all(_is_number(cell) for cell in first)
    labels = [from_csv_text(cell.strip()) if named else f"column_{i}" for i, cell in enumerate(first, 1)]
    if len(set(labels)) < len(labels):
        raise StateError(f"{path}: a column is there twice in the first line")
    try:
        table = np.genfromtxt(
            path, delimiter=",", skip_header=int(named), dtype=np.float64, encoding="utf-8", ndmin=2
        ) if _has_empty(path) else np.loadtxt(
            path, delimiter=",", skiprows=int(named), dtype=np.float64, encoding="utf-8", ndmin=2
        )  # fmt: skip
    except ValueError:
        table = _by_cells(path, int(named), len(labels))
    if table.shape[1:] != (len(labels),):
        table = _by_cells(path, int(named), len(labels))
    return dict(zip(labels, table.T.copy(), strict=True))


def _has_empty(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as file:
        return any(",," in line or line.rstrip("\n").endswith(",") for line in islice(file, 1000))


def _by_cells(path: Path, skipped: int, count: int) -> np.ndarray:
    """Cell by cell: empty ones are missing, others that are no number are told."""
    rows = []
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        for number, cells in enumerate(csv.reader(file), 1):
            if number <= skipped or not cells:
                continue
            if len(cells) != count:
                raise StateError(f"{path}:{number}: {len(cells)} cells, expected {count}")
            for column, cell in enumerate(cells, 1):
                if cell.strip() and not _is_number(cell):
                    raise StateError(f"{path}:{number}: column {column} is {cell[:40]!r}, expected a number")
            rows.append([float(cell) if cell.strip() else np.nan for cell in cells])
    if not rows:
        raise StateError(f"{path} holds no samples, expected lines of {count} numbers")
    return np.array(rows)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _npz(path: Path) -> Columns:
    """One array a column; arrays (n, k) give NAME[0], NAME[1], ...; a saved trajectory its columns."""
    try:
        arrays = read_arrays(path, most_bytes=MOST_BYTES)
    except ArrayFileError as error:
        raise StateError(f"{path}: {error}") from None
    if "file_version" in arrays and "q_names" in arrays:
        trajectory = Trajectory.load(path)
        return {"time": trajectory.t, **columns_of(trajectory), HELD: trajectory[HELD]}
    return _flattened(path, arrays)


def _mat(path: Path) -> Columns:
    from scipy.io import loadmat, whosmat

    try:
        sizes = {name: shape for name, shape, _ in whosmat(path)}
        if 8 * sum(int(np.prod(shape, dtype=float)) for shape in sizes.values()) > MOST_BYTES:
            raise StateError(f"{path} holds more than {MOST_BYTES} bytes")
        content = loadmat(path, simplify_cells=True)
    except NotImplementedError:
        raise StateError(
            f"{path} is a MAT file of version 7.3, expected one up to 7: save it with '-v7'"
        ) from None
    except StateError:
        raise
    except Exception as error:  # noqa: BLE001  the reader trusts its bytes, and runs into anything
        raise StateError(f"{path} is no MAT file: {type(error).__name__}: {str(error)[:200]}") from None
    return _flattened(path, {key: value for key, value in content.items() if not key.startswith("__")})


def _flattened(path: Path, arrays: Mapping[str, Any]) -> Columns:
    """Vectors, and the columns or rows of matrices, of numbers."""
    columns: Columns = {}
    for key, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or array.size < 2:
            continue
        array = array.astype(np.float64)
        if array.ndim == 2 and 1 not in array.shape:
            long = array if array.shape[0] >= array.shape[1] else array.T
            columns |= {f"{key}[{i}]": long[:, i].copy() for i in range(long.shape[1])}
        else:
            columns[key] = array.ravel()
    if not columns:
        raise StateError(f"{path} holds no vectors of numbers")
    return columns


def _mcap(path: Path) -> Columns:
    from flexdyn_ros.identification.files.recorded import recorded_columns

    return recorded_columns(path, MOST_BYTES)


_READERS = {".csv": _csv, ".npz": _npz, ".mat": _mat, ".mcap": _mcap}
