"""The folder of a study: parts that are written as they come, and the table that is made of them.

A part is a Parquet file of some points, written beside and renamed, so that it is there whole or not at all.
The table has one row a point in the order of the design, whatever the order of the parts, and is written with
fixed options: the same study gives the same file, bit for bit.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from flexdyn_ros import __version__
from flexdyn_ros.errors import DescriptionError, StateError, needs
from flexdyn_ros.escaping import csv_text
from flexdyn_ros.studies.definition import Study
from flexdyn_ros.studies.design import Design
from flexdyn_ros.studies.result_names import check_given
from flexdyn_ros.writing import SUFFIX, write_bytes

if TYPE_CHECKING:
    from types import ModuleType

    from pyarrow import Array, Table

#: (index, results or None, (kind, message) or None, files)
Row = tuple[int, "dict[str, Any] | None", "tuple[str, str] | None", dict[str, bytes]]
#: (results, error or None) of a point
Answer = tuple[dict[str, Any], "tuple[str, str] | None"]
#: keys of a study that change what is shown, not what is computed
SHOWN = ("title", "plots", "feasible", "time_limit", "trajectories")
#: fixed, so that the bytes depend on the numbers only
OPTIONS: dict[str, Any] = {
    "compression": "zstd", "compression_level": 3, "row_group_size": 65536, "version": "2.6",
    "data_page_version": "1.0", "use_dictionary": True, "write_statistics": True,
}  # fmt: skip
POINT, ERROR, MESSAGE = "point", "error", "message"


class Store:
    """A folder with parts of one study.

    Raises
    ------
    StateError
        If the folder holds a study and `resume` was not asked for, or holds another study.
    OSError
        If it cannot be written.
    """

    def __init__(
        self, folder: str | os.PathLike[str], study: Study, robot_text: str, *, resume: bool
    ) -> None:
        with needs("pyarrow", "studies"):
            import pyarrow as pa
            import pyarrow.compute
            import pyarrow.parquet as pq
        self._pa, self._pq = pa, pq
        self.folder, self.study, self._looked = Path(folder), study, False
        self.parts = self.folder / "parts"
        origin = {
            "version": __version__,
            "robot": hashlib.sha256(robot_text.encode()).hexdigest() if robot_text else None,
            "study": {
                key: value for key, value in yaml.safe_load(study.as_text()).items() if key not in SHOWN
            },
        }
        if (self.parts / "origin.yaml").is_file():
            self._compare(origin, resume)
        self.parts.mkdir(parents=True, exist_ok=True)
        for left in self.parts.glob(f"*{SUFFIX}"):
            left.unlink()
        text = yaml.safe_dump(origin, sort_keys=True, allow_unicode=True)
        self.write(self.parts / "origin.yaml", text.encode())
        self.write(self.folder / "study.yaml", study.as_text().encode())
        # what writing and reading import, before workers would have to wait for it
        self._bytes(self._table({POINT: [0]}))
        self.done: set[int] = set()
        for _, table in self._parts((POINT,)):
            self.done.update(table[POINT].to_pylist())

    def _compare(self, origin: Mapping[str, Any], resume: bool) -> None:
        if not resume:
            raise StateError(
                f"{self.folder} holds the study {self.study.name!r} already: go on with it (--resume), or "
                "name another folder (-o)"
            )
        before = yaml.safe_load((self.parts / "origin.yaml").read_text(encoding="utf-8"))
        for key, what in (("study", "another study"), ("robot", "a study of another robot"),
                          ("version", "a study by another version")):  # fmt: skip
            if before.get(key) != origin[key]:
                keys = [k for k in {*before[key], *origin[key]} if before[key].get(k) != origin[key].get(k)] \
                    if key == "study" else []  # fmt: skip
                tail = f" (other {', '.join(sorted(keys))})" if keys else ""
                raise StateError(
                    f"{self.folder} holds {what}{tail}: its points cannot be used; name another folder"
                )

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all.

        Raises
        ------
        OSError
            Naming the file, if the disk is full or the folder is gone.
        """
        try:
            write_bytes(path, content)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; what is finished is kept", str(path)) from None

    # ---- parts ----

    def keep(self, rows: Sequence[Row]) -> None:
        """Write rows as a part, and their files.

        Raises
        ------
        DescriptionError
            If the first point that gave results lacks some that the study names.
        """
        rows = [row for row in rows if row[0] not in self.done]
        if not rows:
            return
        self._check_results(rows)
        for index, _, _, files in rows:
            for name, content in files.items():
                (self.folder / "trajectories").mkdir(exist_ok=True)
                end = "" if name == "trajectory" else f"_{name}"
                self.write(self.folder / "trajectories" / f"{index:06d}{end}.npz", content)
        columns: dict[str, list[object]] = {
            POINT: [row[0] for row in rows],
            ERROR: [row[2][0] if row[2] else None for row in rows],
            MESSAGE: [row[2][1] if row[2] else None for row in rows],
        }
        for name in dict.fromkeys(name for row in rows for name in row[1] or ()):
            columns[f"result.{name}"] = [(row[1] or {}).get(name) for row in rows]
        self.write(self._part(rows[0][0], len(rows)), self._bytes(self._table(columns)))
        self.done.update(row[0] for row in rows)

    def _check_results(self, rows: Sequence[Row]) -> None:
        """Look at the first point that gave results; a folder that holds none yet is no study's then."""
        if self._looked:
            return
        given = next((found for row in rows if (found := _without_warnings(row[1]))), None)
        if given is None:
            return
        self._looked = True
        try:
            check_given(self.study, given)
        except DescriptionError:
            if not self.done:
                (self.parts / "origin.yaml").unlink(missing_ok=True)
            raise

    def _part(self, first: int, count: int) -> Path:
        """Where a part goes: one of that name may hold what is left of a chunk with failures."""
        path, n = self.parts / f"{first:07d}-{count}.parquet", 0
        while path.exists():
            n += 1
            path = self.parts / f"{first:07d}-{count}-{n}.parquet"
        return path

    def forget_failures(self) -> None:
        """Points that failed are no longer done; the others of their parts are kept."""
        for path, table in list(self._parts(None)):
            failed = table[ERROR].is_valid()
            again = table[POINT].filter(failed).to_pylist()
            if not again:
                continue
            rest = table.filter(self._pa.compute.invert(failed))
            if rest.num_rows:
                self.write(self._part(rest[POINT][0].as_py(), rest.num_rows), self._bytes(rest))
            path.unlink()
            self.done.difference_update(again)

    def rows(self) -> dict[int, Answer]:
        """(results, error or None) of each point that is done."""
        found: dict[int, Answer] = {}
        for _, table in self._parts(None):
            for line in table.to_pylist():
                error = (line[ERROR], line[MESSAGE] or "") if line[ERROR] is not None else None
                results = {
                    name.removeprefix("result."): value
                    for name, value in line.items()
                    if name.startswith("result.") and value is not None
                }
                found.setdefault(line[POINT], (results, error))
        return found

    def _parts(self, columns: Sequence[str] | None) -> Iterable[tuple[Path, Table]]:
        for path in sorted(self.parts.glob("*.parquet")):
            try:
                with self._pq.ParquetFile(path) as file:
                    table = file.read(columns=None if columns is None else list(columns))
            except (OSError, self._pa.ArrowException) as error:
                raise StateError(
                    f"{path} cannot be read ({error}): delete it, its points are computed again"
                ) from None
            yield path, table

    # ---- what is made of them ----

    def finish(self, design: Design, units: Mapping[str, str]) -> None:
        """Write table.parquet and failures.csv of a study all of whose points are done."""
        rows = self.rows()
        n = len(design)
        names: dict[str, None] = {}
        for i in range(n):
            names |= dict.fromkeys(rows[i][0])
        told = "warnings" in names
        names.pop("warnings", None)
        parameters = {name: [design.rows[i][k] for i in range(n)] for k, name in enumerate(design.names)}
        columns: dict[str, list[object]] = {POINT: list(range(n)), **parameters}
        for name in names:
            columns[f"{name} (result)" if name in columns else name] = [
                rows[i][0].get(name) for i in range(n)
            ]
        columns["failed"] = [rows[i][1] is not None for i in range(n)]
        if told:
            columns["warnings"] = [rows[i][0].get("warnings") for i in range(n)]
        table = self._table(columns, units)
        self.write(self.folder / "table.parquet", self._bytes(table))
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(map(csv_text, [POINT, *design.names, ERROR, MESSAGE]))
        for i in range(n):
            error = rows[i][1]
            if error is not None:
                cells = (i, *design.rows[i], *error)
                lines.writerow([csv_text(x) if isinstance(x, str) else x for x in cells])
        self.write(self.folder / "failures.csv", text.getvalue().encode())

    def _table(self, columns: Mapping[str, list[object]], units: Mapping[str, str] | None = None) -> Table:
        pa = self._pa
        arrays = [_column(pa, values) for values in columns.values()]
        fields = [
            pa.field(name, array.type, metadata={"unit": units[name]} if units and units.get(name) else None)
            for name, array in zip(columns, arrays, strict=True)
        ]
        about = {"study": self.study.name, "flexdyn_ros": __version__} if units is not None else None
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=about))

    def _bytes(self, table: Table) -> bytes:
        sink = io.BytesIO()
        self._pq.write_table(table, sink, **OPTIONS)
        return sink.getvalue()


def _without_warnings(results: Mapping[str, object] | None) -> dict[str, object]:
    return {name: value for name, value in (results or {}).items() if name != "warnings"}


def _column(pa: ModuleType, values: list[Any]) -> Array:
    """Values as an array: whole numbers and floats side by side are floats, other mixtures texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds <= {tuple, list} and kinds:
        return pa.array([None if value is None else _floats(value) for value in values])
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array(values, None if kinds else pa.float64())


def _floats(value: Any) -> Any:
    return [
        _floats(x) if isinstance(x, list | tuple) else (x if isinstance(x, str) else float(x)) for x in value
    ]
