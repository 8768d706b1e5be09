"""What a study leaves behind: its table, its pictures and its report: how to repeat it, what it found, what
failed."""

from __future__ import annotations

from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flexdyn_ros import __version__
from flexdyn_ros.errors import MissingExtraError, StateError
from flexdyn_ros.escaping import markdown, markdown_code
from flexdyn_ros.studies.definition import read_study
from flexdyn_ros.studies.table import StudyTable
from flexdyn_ros.writing import write_text

if TYPE_CHECKING:
    from pandas import DataFrame

#: kinds of errors, and results, that are listed
MOST_LISTED = 20


class StudyResult(StudyTable):
    """A study that is complete, in its folder."""

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> StudyResult:
        """The result that lies in a folder.

        Raises
        ------
        StateError
            If no complete study lies there.
        """
        path = Path(folder)
        if not (path / "table.parquet").is_file():
            raise StateError(f"{path} holds no complete study: there is no table.parquet")
        return cls(read_study(path / "study.yaml"), path)

    def plot(self, path: str | PathLike[str] | None = None, kind: str | None = None, **options: Any) -> Any:
        """A picture of the table; see `flexdyn_ros.studies.pictures.charts.draw`.

        kind: line, heat_map, contour, parallel, pareto or scatter; default: what suits the number of
        parameters. Returns the matplotlib figure; written to `path` if given.
        """
        from flexdyn_ros.studies.pictures.charts import draw

        return draw(self, path, kind, **options)

    def report(self, command: str = "") -> Path:
        """Write report.md with its pictures; returns its path. Without matplotlib the report says that there
        are none."""
        path = self.folder / "report.md"
        write_text(path, "\n".join(_report(self, command)) + "\n")
        return path


def _report(result: StudyResult, command: str) -> list[str]:
    """Lines of report.md; pictures are written beside it."""
    study, table = result.study, result.table
    keys = [f"{key} {value}" for key, value in study.design.items() if key not in ("kind", "points")]
    design = ", ".join([study.design["kind"].replace("_", " "), *keys])
    failed = int(table["failed"].sum())
    lines = [
        f"# {markdown(study.title)}",
        "",
        f"* study: {markdown_code(study.name)}, experiment {markdown_code(study.experiment)}"
        + (f", robot {markdown_code(Path(study.robot).name)}" if study.robot else ""),
        f"* command: {markdown_code(command or 'flexdyn_ros.studies.run')}",
        f"* version: flexdyn_ros {__version__}",
        f"* design: {design}",
        f"* points: {len(table)}, failed: {failed}",
        "",
    ]
    lines += _pictures(result)
    lines += ["## Parameters", "", "| parameter | unit | values |", "|---|---|---|"]
    for p in study.parameters:
        lines.append(_row(p.name, result.units.get(p.name, ""), p.spread.text))
    lines += [
        "",
        "## Results",
        "",
        "| result | unit | smallest | median | largest |",
        "|---|---|---|---|---|",
    ]
    for name in result.results[:MOST_LISTED]:
        values = table[name].dropna()
        if len(values):
            numbers = (f"{float(x):.6g}" for x in (values.min(), values.median(), values.max()))
            lines.append(_row(name, result.units.get(name, ""), *numbers))
    if study.feasible:
        bounds = "; ".join(_bounds(name, *both) for name, both in study.feasible.items())
        lines += [
            "",
            f"Feasible ({markdown(bounds)}): {int(result.feasible().sum())} of {len(table)} points.",
        ]
    return lines + _indices(result) + _front(result) + _failures(result) + _warned(table)


def _pictures(result: StudyResult) -> list[str]:
    wanted: list[dict[str, Any]] = [dict(entry) for entry in result.study.plots] or [{}]
    lines = []
    (result.folder / "pictures").mkdir(exist_ok=True)
    for n, options in enumerate(wanted):
        name = options.pop("file", f"{result.study.name}{f'_{n + 1}' if n else ''}.png")
        try:
            result.plot(result.folder / "pictures" / name, **options)
        except (MissingExtraError, StateError) as error:
            lines += [f"No picture: {markdown(str(error))}", ""]
            continue
        lines += [f"![{markdown(result.study.title)}](pictures/{quote(name)})", ""]
    return lines


def _indices(result: StudyResult) -> list[str]:
    if not result.study.design.get("indices"):
        return []
    lines = ["", "## Sobol indices", "", "Shares of the variance, with the half widths of 95 % intervals."]
    for name in result.results[:MOST_LISTED]:
        try:
            found = result.sobol_indices(name)
        except (StateError, MissingExtraError) as error:
            lines += ["", markdown(f"{name}: {error}")]
            continue
        lines += ["", _row(f"{name}: parameter", "first order", "total"), "|---|---|---|"]
        for parameter, shares in found.iterrows():
            first = f"{shares['first']:.3f} ± {shares['first_confidence']:.3f}"
            total = f"{shares['total']:.3f} ± {shares['total_confidence']:.3f}"
            lines.append(_row(parameter, first, total))
    return lines


def _front(result: StudyResult) -> list[str]:
    if not result.study.objectives:
        return []
    names = [*result.study.names, *result.study.objectives]
    front = result.pareto_front().sort_values(list(result.study.objectives))
    what = "Pareto front" if len(result.study.objectives) > 1 else "Best"
    lines = ["", f"## {what}", "", _row("point", *names), "|---" * (len(names) + 1) + "|"]
    for _, point in front.head(MOST_LISTED).iterrows():
        lines.append(_row(int(point["point"]), *(_short(point[name]) for name in names)))
    if len(front) > MOST_LISTED:
        lines.append(f"\n{len(front)} points in all; the first {MOST_LISTED} are shown.")
    return lines


def _failures(result: StudyResult) -> list[str]:
    failures = result.failures
    lines = ["", "## Failures", ""]
    if failures.empty:
        return [*lines, "None."]
    lines += ["| error | points | first point | its message |", "|---|---|---|---|"]
    for kind, rows in list(failures.groupby("error", sort=True))[:MOST_LISTED]:
        first = rows.iloc[0]
        lines.append(_row(kind, len(rows), first["point"], str(first["message"])[:300]))
    return [*lines, "", "All of them are in `failures.csv`."]


def _warned(table: DataFrame) -> list[str]:
    if "warnings" not in table:
        return []
    told = table["warnings"].dropna()
    count = "1 point" if len(told) == 1 else f"{len(told)} points"
    return ["", "## Warnings", "", f"Of {count}; the first: {markdown(str(told.iloc[0]))}"]


def _row(*cells: object) -> str:
    """A row of a table, whose cells are texts and no markup."""
    return f"| {' | '.join(markdown(str(cell)) for cell in cells)} |"


def _bounds(name: str, least: float, most: float) -> str:
    if isfinite(least) and isfinite(most):
        return f"{least:g} <= {name} <= {most:g}"
    return f"{name} >= {least:g}" if isfinite(least) else f"{name} <= {most:g}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
