"""Efforts over time from a file, as the `control=` of a run."""

from __future__ import annotations

import csv
from array import array
from os import PathLike
from pathlib import Path

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError
from flexdyn_ros.escaping import from_csv_text
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays
from flexdyn_ros.robot.verbs import Robot

#: what arrays may take in memory, and the length of a text
MOST_BYTES, MOST_LETTERS = 1 << 30, 1 << 28


class EffortTable:
    """A digital controller that plays a table: each row holds until the next one, the last one for ever.

    Parameters
    ----------
    t : (n,) array
        Rising times [s]; before the first one its row holds as well.
    tau : (n, nu) array
        Efforts [N m, N].
    """

    def __init__(self, t: np.ndarray, tau: np.ndarray) -> None:
        self.t, self.tau = t, tau

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        # a sample that rounding puts just before a row belongs to it
        row = int(np.searchsorted(self.t, t + 1e-9 * max(1.0, abs(t)), side="right")) - 1
        return self.tau[max(row, 0)]


def read_efforts(path: str | PathLike[str], robot: Robot) -> EffortTable:
    """A table of efforts from CSV or npz, by names.

    Parameters
    ----------
    path : path
        .csv: a column `time` [s] and columns of actuators, named `NAME` or `NAME.effort`. Where some end in
        `.effort`, the others are not looked at: what `flexdyn simulate --csv` writes can be played.
        .npz: arrays `time` and `NAME` of one length, or a saved trajectory.
    robot : Robot
        Actuators that the table leaves out do nothing.

    Raises
    ------
    StateError
        Naming file, line or array, value and expectation.
    UnknownNameError
        If a column is no actuator of the robot.
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        raise StateError(f"{path}: no table of efforts; expected a name that ends in .csv or .npz")
    t, columns = readers[path.suffix.lower()](path)
    if not len(t):
        raise StateError(f"{path}: the table is empty; expected a row of times and efforts")
    if not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        row = int(np.argmax(~np.isfinite(t) | np.append(False, np.diff(t) <= 0.0)))
        raise StateError(f"{path}, row {row + 1}: time {t[row]:g}; expected times that rise")
    tau = np.zeros((len(t), robot.nu))
    for name, values in columns.items():
        UnknownNameError.check(f"actuator in {path.name}", name, robot.effort_names)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise StateError(
                f"{path}, row {row + 1}, column {name!r}: {values[row]}; expected a finite number"
            )
        tau[:, robot.effort_names.index(name)] = values
    return EffortTable(t, tau)


def _read_csv(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times and columns."""
    size = path.stat().st_size
    if size > MOST_LETTERS:
        raise StateError(f"{path}: {size} bytes; expected at most {MOST_LETTERS}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, skipinitialspace=True, strict=True)
            names = [from_csv_text(name.strip()) for name in next(lines, [])]
            cells = array("d")
            for row in lines:
                if row:
                    cells.extend(_numbers(row, names, path, lines.line_num))
    except (csv.Error, UnicodeDecodeError) as error:
        raise StateError(f"{path}: no CSV: {error}") from None
    if "time" not in names or len(set(names)) < len(names):
        raise StateError(f"{path}:1: columns {', '.join(names[:8])}; expected `time` and names, each once")
    table = np.frombuffer(cells).reshape(-1, len(names))
    return _chosen(dict(zip(names, table.T, strict=True)))


def _numbers(row: list[str], names: list[str], path: Path, line: int) -> list[float]:
    if len(row) != len(names):
        raise StateError(f"{path}:{line}: {len(row)} numbers; expected {len(names)}, one for each column")
    try:
        return [float(text) for text in row]
    except ValueError as error:
        raise StateError(
            f"{path}:{line}: {str(error)[:120]}; expected numbers, nothing is evaluated"
        ) from None


def _read_npz(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times and columns, of a saved trajectory or of arrays by name."""
    try:
        content = read_arrays(path, most_bytes=MOST_BYTES)
    except ArrayFileError as error:
        raise StateError(f"{path}: {error}") from None
    if "file_version" in content:
        from flexdyn_ros.simulation.trajectory import Trajectory

        run = Trajectory.load(path)
        return run.t, {name: run.tau[:, i] for i, name in enumerate(run.effort_names)}
    if "time" not in content:
        raise StateError(
            f"{path}: arrays {', '.join(list(content)[:8])}; expected `time` and names of actuators"
        )
    for name, values in content.items():
        if values.shape != (content["time"].size,) or values.dtype.kind not in "fiu":
            raise StateError(
                f"{path}: array {name!r} of shape {values.shape} and kind {values.dtype}; expected "
                f"({content['time'].size},) numbers"
            )
    return _chosen({name: values.astype(np.float64) for name, values in content.items()})


def _chosen(columns: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times, and efforts by actuator."""
    t = columns.pop("time")
    if any(name.endswith(".effort") for name in columns):
        columns = {n.removesuffix(".effort"): x for n, x in columns.items() if n.endswith(".effort")}
    return t, columns
