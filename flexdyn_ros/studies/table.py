"""The table of a study that is complete, its failures and what follows from them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexdyn_ros.errors import StateError, UnknownNameError, needs
from flexdyn_ros.studies.definition import Study

if TYPE_CHECKING:
    from pandas import DataFrame, Series


@dataclass(frozen=True)
class StudyTable:
    """A study that is complete, in its folder."""

    study: Study
    folder: Path

    @cached_property
    def table(self) -> DataFrame:
        """pandas DataFrame: one row a point, in the order of the design: parameters, results, `failed`."""
        with needs("pandas", "studies"):
            import pandas
        return pandas.read_parquet(self.folder / "table.parquet")

    @cached_property
    def failures(self) -> DataFrame:
        """pandas DataFrame of the points that failed: parameters, error, message."""
        with needs("pandas", "studies"):
            import pandas
        return pandas.read_csv(self.folder / "failures.csv", keep_default_na=False)

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of the table's columns, as far as they are known."""
        with needs("pyarrow", "studies"):
            import pyarrow.parquet as pq
        schema = pq.read_schema(self.folder / "table.parquet")
        return {f.name: f.metadata[b"unit"].decode() for f in schema if f.metadata and b"unit" in f.metadata}

    @property
    def results(self) -> tuple[str, ...]:
        """Columns with one number a point that the experiment gave."""
        known = {"point", "failed", "warnings", *self.study.names}
        return tuple(n for n in self.table.columns if n not in known and self.table[n].dtype.kind in "fiub")

    def feasible(self) -> Series[bool]:
        """Marks (n,) the points that did not fail and whose results are within `feasible` of the study."""
        table = self.table
        inside = ~table["failed"].to_numpy(dtype=bool)
        for name, (least, most) in self.study.feasible.items():
            if name not in table:
                raise UnknownNameError("result", name, self.results)
            inside &= ((table[name] >= least) & (table[name] <= most)).to_numpy(dtype=bool)
        return inside

    def sobol_indices(self, result: str) -> DataFrame:
        """Shares of the variance of a result: pandas DataFrame with a row a parameter, of the columns first,
        first_confidence, total, total_confidence (95 %; Saltelli 2010, by SALib).

        Raises
        ------
        StateError
            If the design is not {kind: sobol, indices: true}, or a point failed.
        UnknownNameError
        """
        with needs("SALib", "studies"):
            import pandas
            from SALib.analyze import sobol
        study = self.study
        if not study.design.get("indices"):
            raise StateError(
                f"study {study.name!r} has no design for Sobol indices: {{kind: sobol, indices: true}}"
            )
        if result not in self.results:
            raise UnknownNameError("result", result, self.results)
        values = self.table[result].to_numpy(dtype=float)
        if self.table[result].isna().any():
            raise StateError(
                f"{int(self.table[result].isna().sum())} points have no {result}: no Sobol indices"
            )
        names = list(study.names)
        problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
        found = sobol.analyze(problem, values, calc_second_order=False, seed=study.design["seed"])
        columns = {"first": "S1", "first_confidence": "S1_conf", "total": "ST", "total_confidence": "ST_conf"}
        return pandas.DataFrame({name: found[key] for name, key in columns.items()}, index=names)

    def pareto_front(self) -> DataFrame:
        """The rows of the table that no other row betters in every objective."""
        import numpy as np

        objectives = self.study.objectives
        table = self.table[self.feasible()]
        signs = np.array([1.0 if word == "minimize" else -1.0 for word in objectives.values()])
        values = table[list(objectives)].to_numpy(dtype=float) * signs
        kept = [
            not ((values <= row).all(axis=1) & (values < row).any(axis=1)).any() and np.isfinite(row).all()
            for row in values
        ]
        return table[kept]

    def summary(self) -> dict[str, Any]:
        """Counts and the range of every result, for machines."""
        table = self.table
        good = table[~table["failed"]]
        ranges = {
            name: [float(good[name].min()), float(good[name].max())] for name in self.results if len(good)
        }
        told = {"study": self.study.name, "folder": str(self.folder), "points": len(table)}
        return told | {"failed": int(table["failed"].sum()), "ranges": json.loads(json.dumps(ranges))}
