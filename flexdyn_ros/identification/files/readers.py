"""Times and columns of a file by its kind: CSV, npz, MAT, recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from flexdyn_ros.budget import MOST_BYTES
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.identification.files.arrays import mat_table, npz_table
from flexdyn_ros.identification.files.columns import Table, is_time
from flexdyn_ros.identification.files.csv_file import csv_table
from flexdyn_ros.simulation.recordings.reading import is_recording

Columns = dict[str, np.ndarray]
_READERS: dict[str, Callable[[Path, str | None], Table]] = {
    ".csv": csv_table,
    ".npz": npz_table,
    ".mat": mat_table,
}
_KINDS = (*_READERS, ".mcap", ".db3")
#: the column of a CSV that says whether efforts were held
_HELD = "efforts_held"


def read_file(
    path: str | PathLike[str],
    names: Mapping[str, str] | Sequence[str] | None,
    time: str | None,
    *,
    topics: Sequence[str] = (),
    scaled: Sequence[str] = (),
) -> tuple[np.ndarray, Columns, bool | None]:
    """Times (n,) and columns of a file, and what it says of whether efforts were held; see
    `Measurement.read`. Units that the file tells are not applied to columns that are `scaled`."""
    renamed = names.items() if isinstance(names, Mapping) else ()
    hint = time or next((key for key, name in renamed if is_time(name)), None)
    table = _table(Path(path), hint, topics)
    found, held = dict(table.columns), table.held
    if held is None and _HELD in found:
        held = bool(np.all(found.pop(_HELD) == 1.0))
    if names is not None and not isinstance(names, Mapping):
        names = _in_order(path, tuple(names), found, table.t is None)
    new = _renamed(path, names or {}, found)
    t = table.t
    if t is None:
        chosen = time or next((key for key in found if is_time(new[key])), next(iter(found), ""))
        UnknownNameError.check(f"column of {path}", chosen, found)
        t = found.pop(chosen) * table.units.get(chosen, 1.0)
    elif time not in (None, "time"):
        raise StateError(f"{path} has the times of its messages or samples, time={time!r} cannot be chosen")
    kept = [(new[key], key) for key in found if new[key]]
    twice = [name for name, count in Counter(name for name, _ in kept).items() if count > 1]
    if twice:
        raise StateError(f"{path}: two columns are named {min(twice)!r}")
    given = set(scaled)
    columns = {
        name: found[key] if name in given else found[key] * table.units.get(key, 1.0)
        for name, key in kept
        if found[key].shape == t.shape
    }
    if not columns:
        raise StateError(f"{path} holds no columns of {t.size} samples beside the times")
    return t, columns, held


def read_table(path: str | PathLike[str]) -> Columns:
    """Columns of a CSV by their names."""
    return csv_table(Path(path)).columns


def _table(path: Path, time: str | None, topics: Sequence[str]) -> Table:
    if is_recording(path):
        from flexdyn_ros.identification.files.recorded import recorded_columns

        return recorded_columns(path, MOST_BYTES, topics)
    kind = path.suffix.lower()
    UnknownNameError.check(f"kind of file of {str(path)!r}", kind, _KINDS)
    if topics:
        raise StateError(f"{path} is no recording and has no topics, expected topics=()")
    # OSError where there is no such file
    path.stat()
    return _READERS[kind](path, time)


def _renamed(path: str | PathLike[str], names: Mapping[str, str], found: Columns) -> dict[str, str]:
    """New names of all columns."""
    for given in names:
        UnknownNameError.check(f"column of {path}", given, found)
    return {key: names.get(key, key) for key in found}


def _in_order(
    path: str | PathLike[str], names: tuple[str, ...], found: Columns, has_time: bool
) -> dict[str, str]:
    """Names by the file's own. Where the file has times apart from its columns, the first name may be
    theirs."""
    if not has_time and len(names) == len(found) + 1:
        names = names[1:]
    if len(names) != len(found):
        raise DimensionError(f"{path} holds {len(found)} columns, names has {len(names)}")
    return dict(zip(found, names, strict=True))
