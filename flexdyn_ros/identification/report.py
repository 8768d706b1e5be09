"""report.md of a fit: what was found, how sure it is, what is doubtful, and pictures."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros import __version__
from flexdyn_ros.errors import MissingExtraError
from flexdyn_ros.escaping import csv_text, markdown, markdown_code
from flexdyn_ros.identification.pictures import draw_fit
from flexdyn_ros.wording import percent
from flexdyn_ros.writing import beside, write_text

if TYPE_CHECKING:
    from flexdyn_ros.identification.identified import Identified

#: measurements that are drawn
MOST_PICTURES = 6


def write_report(identified: Identified, folder: str | PathLike, command: str = "") -> Path:
    """Write report.md, table.csv and pictures to a folder; without matplotlib the report says that there are
    none. Returns the path of the report."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with beside(place / "table.csv") as draft:
        _for_spreadsheets(identified.table).to_csv(draft, index=False)
    samples = identified.samples
    lines = [f"# {markdown(identified.robot.name)}: identification", ""]
    if command:
        lines.append(f"* command: {markdown_code(command)}")
    lines += [
        f"* version: flexdyn_ros {__version__}",
        f"* data: {', '.join(markdown(Path(name).name) for name in samples.names) or 'modes only'}",
        f"* samples: {len(samples.t)}, numbers: {len(identified.table)}",
        "",
        *_doubts(identified),
        *_pictures(identified, place),
        *_channels(identified),
        *_numbers(identified),
        *_single(identified),
    ]
    path = place / "report.md"
    write_text(path, "\n".join(lines) + "\n")
    return path


def _for_spreadsheets(table: Any) -> Any:
    """The table with texts that are shown and not computed."""
    texts = {name: table[name].map(lambda x: csv_text(x) if isinstance(x, str) else x) for name in table}
    return table.assign(**texts).rename(columns=csv_text)


def _doubts(identified: Identified) -> list[str]:
    if not identified.warnings:
        return ["Nothing is doubtful: the residuals pass for white, no two numbers hang together.", ""]
    return ["## Warnings", "", *(f"* {markdown(text)}" for text in identified.warnings), ""]


def _pictures(identified: Identified, folder: Path) -> list[str]:
    lines = []
    names = identified.samples.names
    for part, name in enumerate(names[:MOST_PICTURES]):
        try:
            path = draw_fit(identified, part, folder / f"fit_{part + 1}.png")
        except MissingExtraError as error:
            return [f"No pictures: {markdown(str(error))}", ""]
        lines += [f"![{markdown(Path(name).name)}: measured and predicted]({path.name})", ""]
    if len(names) > MOST_PICTURES:
        lines += [f"{len(names) - MOST_PICTURES} more measurements are not drawn.", ""]
    return lines


def _channels(identified: Identified) -> list[str]:
    if not identified.samples.channels:
        return []
    lines = [
        "## Residuals", "",
        "White: the probability that white noise gives a Ljung-Box statistic at least as large.", "",
        "| channel | unit | rms | of the deviation | white |", "|---|---|---|---|---|",
    ]  # fmt: skip
    spread = np.nanstd(identified.samples.measured, axis=0)
    for (name, rms), unit, size in zip(identified.rms.items(), identified.samples.units, spread, strict=True):
        test = identified.whiteness[name]
        share = rms / size if size > 0.0 else np.nan
        verdict = f"{'yes' if test.is_white else '**no**'} ({test.probability:.2g})"
        lines.append(f"| {markdown(name)} | {unit} | {rms:.4g} | {percent(share)} | {verdict} |")
    return [*lines, ""]


def _numbers(identified: Identified) -> list[str]:
    lines = [
        "## Numbers", "",
        "| parameter | value | standard deviation | 95 % interval | before | unit |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in identified.table.itertuples():
        interval = f"{row.lower:.6g} .. {row.upper:.6g}"
        lines.append(
            f"| {markdown(row.parameter)} | {row.value:.6g} | {row.standard_deviation:.2g} | {interval} "
            f"| {row.start:.6g} | {row.unit} |"
        )
    return [*lines, ""]


def _single(identified: Identified) -> list[str]:
    """All numbers of the robot, where the table has combinations."""
    if identified.base is None:
        return []
    lines = [
        "## Numbers of the description", "",
        "What the data tell in combinations only is nearest to what it was, and its deviation that of what "
        "they tell.", "",
        "| parameter | value | standard deviation | told by the data |", "|---|---|---|---|",
    ]  # fmt: skip
    alone, silent = set(identified.base.single), set(identified.base.without_effect)
    for name, value in identified.values.items():
        told = "alone" if name in alone else "no" if name in silent else "in combination"
        lines.append(f"| {markdown(name)} | {value:.6g} | {identified.deviations[name]:.2g} | {told} |")
    return [*lines, ""]
