"""Arrays with names, of npz and MAT files: which of them are columns."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flexdyn_ros.budget import MOST_BYTES, Budget
from flexdyn_ros.errors import FlexdynWarning, StateError
from flexdyn_ros.identification.files.columns import Table, columns_of, is_time
from flexdyn_ros.limited_process import Ended, run_limited
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays
from flexdyn_ros.simulation.trajectory import Trajectory

#: what reading a MAT file may take: time [s], memory beside that of its numbers, length of the answer
SECONDS, MEMORY, _ANSWER = 60, 3 << 29, 1 << 24
_CHILD = Path(__file__).with_name("mat_child.py")
#: names that are listed in messages
_LISTED = 8

Arrays = dict[str, np.ndarray]


def npz_table(path: Path, time: str | None = None) -> Table:
    """One array a column; arrays (n, k) give NAME[0], NAME[1], ...; a saved trajectory its columns.

    Parameters
    ----------
    path : path
    time : str, optional
        The array of times, where it is known.
    """
    try:
        arrays = read_arrays(path, most_bytes=MOST_BYTES)
    except ArrayFileError as error:
        raise StateError(f"{path}: {error}") from None
    if "file_version" in arrays and "q_names" in arrays:
        trajectory = Trajectory.load(path)
        return Table(trajectory.t, columns_of(trajectory), trajectory.held)
    return _tabulated(path, arrays, time, {})


def mat_table(path: Path, time: str | None = None) -> Table:
    """Columns of a MAT file up to version 7, read in a process of its own: see `npz_table`. What lies in
    structs is called a.b.c.

    Raises
    ------
    StateError
        If it cannot be read, or takes more time or memory than is accepted.
    """
    arrays, left_out = _in_mat(path)
    return _tabulated(path, arrays, time, left_out)


def _in_mat(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Arrays of numbers in a MAT file by their names, and why others are left out."""
    with tempfile.TemporaryFile() as numbers:
        request = {
            "file": os.path.abspath(path),
            "path": [folder for folder in sys.path if os.path.isabs(folder)],
            "output": numbers.fileno(),
            "most_bytes": MOST_BYTES,
        }
        ended = run_limited(
            _CHILD,
            request,
            seconds=SECONDS,
            memory=MOST_BYTES + MEMORY,
            output=_ANSWER,
            written=MOST_BYTES,
            pass_fds=(numbers.fileno(),),
            environment={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        answer = _understood(path, ended)
        numbers.seek(0)
        arrays = {}
        for name, shape in answer["arrays"]:
            values = np.fromfile(numbers, dtype="<f8", count=int(np.prod(shape, dtype=np.int64)))
            arrays[name] = values.reshape(shape)
        return arrays, answer["left_out"]


def _understood(path: Path, ended: Ended) -> dict[str, Any]:
    """The answer of the process; StateError if it has none."""
    if ended.is_late:
        raise StateError(f"{path} takes longer than {SECONDS} s to read, expected a MAT file up to version 7")
    try:
        answer: dict[str, Any] = json.loads(ended.data)
    except ValueError:
        raise StateError(
            f"{path} is no MAT file, or damaged: the process that reads it ended with code {ended.code}"
        ) from None
    if "refused" in answer:
        raise StateError(f"{path} {answer['refused']}")
    return answer


def _tabulated(path: Path, arrays: Mapping[str, Any], time: str | None, left_out: dict[str, str]) -> Table:
    """Vectors, and columns or rows of matrices, as long as the times; what is left out is told."""
    numbers = {}
    left_out = dict(left_out)
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            left_out[name] = "text" if array.dtype.kind in "US" else "no real numbers"
        elif array.size < 2:
            left_out[name] = "a single number" if array.size else "empty"
        elif array.ndim > 2 and sum(n > 1 for n in array.shape) > 2:
            left_out[name] = _size(array)
        else:
            numbers[name] = array.squeeze()
    if not numbers:
        told = f"; it has {_listed(left_out)}" if left_out else ""
        raise StateError(f"{path} holds no vectors of numbers{told}")
    samples = _length_of_times(numbers, time)
    columns = _columns(path, numbers, samples, left_out)
    if left_out:
        told = ", ".join([*columns][:_LISTED]) + (
            f" and {len(columns) - _LISTED} more" * (len(columns) > _LISTED)
        )
        text = f"{path}: read {told} ({samples} samples); left out {_listed(left_out)}"
        warnings.warn(text, FlexdynWarning, stacklevel=6)
    return Table(None, columns)


def _length_of_times(numbers: Arrays, time: str | None) -> int:
    """Samples of the times: of what is called so, else of the first vector that rises, else the length that
    most arrays have."""
    vectors = {name: array for name, array in numbers.items() if array.ndim == 1}
    if time in vectors:
        return vectors[time].size
    named = [array for name, array in vectors.items() if is_time(name)]
    rising = [array for array in vectors.values() if np.all(np.diff(array) > 0.0)]
    for chosen in ([x for x in named if np.all(np.diff(x) > 0.0)], named, rising):
        if chosen:
            return max(array.size for array in chosen) if chosen is not rising else chosen[0].size
    if vectors:
        return Counter(array.size for array in vectors.values()).most_common(1)[0][0]
    return max(max(array.shape) for array in numbers.values())


def _columns(path: Path, numbers: Arrays, samples: int, left_out: dict[str, str]) -> Arrays:
    """Columns of that many samples; notes what is left out."""
    budget = Budget(str(path), 0, MOST_BYTES)
    columns: Arrays = {}
    for name, array in numbers.items():
        if samples not in array.shape:
            left_out[name] = _size(array)
            continue
        budget.keep(8 * array.size)
        values = array.astype(np.float64)
        if values.ndim == 1:
            columns[name] = values
            continue
        rows = values if values.shape[0] == samples else values.T
        budget.keep(8 * array.size, entries=3 * rows.shape[1])
        columns |= {f"{name}[{i}]": rows[:, i].copy() for i in range(rows.shape[1])}
    return columns


def _size(array: np.ndarray) -> str:
    return " x ".join(map(str, array.shape)) if array.ndim > 1 else f"{array.size} numbers"


def _listed(left_out: Mapping[str, str]) -> str:
    told = [f"{name} ({why})" for name, why in [*left_out.items()][:_LISTED]]
    return ", ".join(told) + (f" and {len(left_out) - _LISTED} more" if len(left_out) > _LISTED else "")
