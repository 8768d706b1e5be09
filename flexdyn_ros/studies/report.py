"""report.md of a study: how to repeat it, what it found, what failed, and its pictures."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexdyn_ros import __version__
from flexdyn_ros.errors import MissingExtraError, StateError
from flexdyn_ros.writing import write_text

if TYPE_CHECKING:
    from flexdyn_ros.studies.result import StudyResult

#: kinds of errors, and results, that are listed
MOST_LISTED = 20


def write_report(result: StudyResult, command: str) -> Path:
    """Write report.md and pictures; without matplotlib the report says that there are none."""
    study, table = result.study, result.table
    keys = [f"{key} {value}" for key, value in study.design.items() if key not in ("kind", "points")]
    design = ", ".join([study.design["kind"].replace("_", " "), *keys])
    failed = int(table["failed"].sum())
    lines = [
        f"# {study.title}",
        "",
        f"* study: `{study.name}`, experiment `{study.experiment}`"
        + (f", robot `{Path(study.robot).name}`" if study.robot else ""),
        f"* command: `{command or 'flexdyn_ros.studies.run'}`",
        f"* version: flexdyn_ros {__version__}",
        f"* design: {design}",
        f"* points: {len(table)}, failed: {failed}",
        "",
    ]
    lines += _pictures(result)
    lines += ["## Parameters", "", "| parameter | unit | values |", "|---|---|---|"]
    for p in study.parameters:
        lines.append(f"| {p.name} | {result.units.get(p.name, '')} | {p.spread.text} |")
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
            numbers = " | ".join(f"{float(x):.6g}" for x in (values.min(), values.median(), values.max()))
            lines.append(f"| {name} | {result.units.get(name, '')} | {numbers} |")
    if study.feasible:
        bounds = "; ".join(_bounds(name, *both) for name, both in study.feasible.items())
        lines += ["", f"Feasible ({bounds}): {int(result.feasible().sum())} of {len(table)} points."]
    lines += _indices(result) + _front(result) + _failures(result) + _warned(table)
    path = result.folder / "report.md"
    write_text(path, "\n".join(lines) + "\n")
    return path


def _pictures(result: StudyResult) -> list[str]:
    wanted: list[dict[str, Any]] = [dict(entry) for entry in result.study.plots] or [{}]
    lines = []
    (result.folder / "pictures").mkdir(exist_ok=True)
    for n, options in enumerate(wanted):
        name = options.pop("file", f"{result.study.name}{f'_{n + 1}' if n else ''}.png")
        try:
            result.plot(result.folder / "pictures" / name, **options)
        except (MissingExtraError, StateError) as error:
            lines += [f"No picture: {error}", ""]
            continue
        lines += [f"![{result.study.title}](pictures/{name})", ""]
    return lines


def _indices(result: StudyResult) -> list[str]:
    if not result.study.design.get("indices"):
        return []
    lines = ["", "## Sobol indices", "", "Shares of the variance, with the half widths of 95 % intervals."]
    for name in result.results[:MOST_LISTED]:
        try:
            found = result.sobol_indices(name)
        except (StateError, MissingExtraError) as error:
            lines += ["", f"{name}: {error}"]
            continue
        lines += ["", f"| {name}: parameter | first order | total |", "|---|---|---|"]
        for parameter, row in found.iterrows():
            first = f"{row['first']:.3f} ± {row['first_confidence']:.3f}"
            lines.append(f"| {parameter} | {first} | {row['total']:.3f} ± {row['total_confidence']:.3f} |")
    return lines


def _front(result: StudyResult) -> list[str]:
    if not result.study.objectives:
        return []
    names = [*result.study.names, *result.study.objectives]
    front = result.pareto_front().sort_values(list(result.study.objectives))
    what = "Pareto front" if len(result.study.objectives) > 1 else "Best"
    lines = ["", f"## {what}", "", "| point | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for _, row in front.head(MOST_LISTED).iterrows():
        lines.append(f"| {int(row['point'])} | " + " | ".join(_short(row[name]) for name in names) + " |")
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
        message = str(first["message"]).replace("|", "\\|")[:300]
        lines.append(f"| {kind} | {len(rows)} | {first['point']} | {message} |")
    return [*lines, "", "All of them are in `failures.csv`."]


def _warned(table: Any) -> list[str]:
    if "warnings" not in table:
        return []
    told = table["warnings"].dropna()
    count = "1 point" if len(told) == 1 else f"{len(told)} points"
    return ["", "## Warnings", "", f"Of {count}; the first: {told.iloc[0]}"]


def _bounds(name: str, least: float, most: float) -> str:
    if isfinite(least) and isfinite(most):
        return f"{least:g} <= {name} <= {most:g}"
    return f"{name} >= {least:g}" if isfinite(least) else f"{name} <= {most:g}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
