"""What a fit gives back: a robot with other numbers, how sure they are, and its report."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros import __version__
from flexdyn_ros.errors import MissingExtraError, needs
from flexdyn_ros.escaping import csv_text, markdown, markdown_code, mathtext
from flexdyn_ros.identification.fitted import Fitted
from flexdyn_ros.simulation.plots.style import COLOURS, figure_style, save_figure
from flexdyn_ros.wording import percent
from flexdyn_ros.writing import beside, write_text

if TYPE_CHECKING:
    from pandas import DataFrame

    from flexdyn_ros.identification.fitted import Fitted


#: measurements that are drawn
MOST_PICTURES = 6


class Identified(Fitted):
    """Result of `fit_linear` and `fit_output`.

    Attributes
    ----------
    robot : Robot
        With the identified numbers.
    table : pandas.DataFrame
        One row a number that was fitted: parameter, value, standard_deviation, lower and upper end of its
        95 % interval, start, unit; of `fit_linear` also expression: the whole combination that the parameter
        names shortly.
    covariance : (k, k) array
        Of the numbers in the table.
    residuals : (n, m) array
        Measured less predicted by channel, NaN where nothing was measured; `samples` says at which times.
    values : mapping from name to number
        What was changed: names of `robot.parameters`, or paths of the description.
    deviations : mapping from name to number
        Their standard deviations; of numbers that the data tell in combinations only, with what they do not
        tell held where it was.
    samples : Samples
    start : Robot
        The robot before.
    base : BaseParameters or None
        Of `fit_linear`: the combinations in the table.
    warnings : tuple of str
    """

    def __repr__(self) -> str:
        return f"<Identified {self.robot.name!r}: {len(self.table)} numbers, {len(self.residuals)} samples>"

    def write_urdf(self, path: str | PathLike[str]) -> str:
        """Write the user's own description with changed numbers only; returns what changed, as a diff.

        Raises
        ------
        UnsupportedError
            If a number has no place in the file.
        """
        from flexdyn_ros.identification.urdf import write_urdf

        return write_urdf(self, path)

    def report(self, folder: str | PathLike[str], command: str = "") -> Path:
        """Write report.md, table.csv and pictures to a folder, which is made; returns the report. Without
        matplotlib it says that there are no pictures."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        with beside(place / "table.csv") as draft:
            _for_spreadsheets(self.table).to_csv(draft, index=False)
        samples = self.samples
        lines = [f"# {markdown(self.robot.name)}: identification", ""]
        if command:
            lines.append(f"* command: {markdown_code(command)}")
        lines += [
            f"* version: flexdyn_ros {__version__}",
            f"* data: {', '.join(markdown(Path(name).name) for name in samples.names) or 'modes only'}",
            f"* samples: {len(samples.t)}, numbers: {len(self.table)}",
            "",
            *_doubts(self),
            *_pictures(self, place),
            *_channels(self),
            *_numbers(self),
            *_single(self),
        ]
        path = place / "report.md"
        write_text(path, "\n".join(lines) + "\n")
        return path


def _for_spreadsheets(table: DataFrame) -> DataFrame:
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
        "Left over: rms of the residual over that of what was measured.", "",
        "| channel | unit | rms | left over | of the deviation | white |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    spread = np.nanstd(identified.samples.measured, axis=0)
    for (name, rms), unit, size in zip(identified.rms.items(), identified.samples.units, spread, strict=True):
        test = identified.whiteness[name]
        share = rms / size if size > 0.0 else np.nan
        verdict = f"{'yes' if test.is_white else '**no**'} ({test.probability:.2g})"
        left = percent(identified.left_over[name])
        lines.append(f"| {markdown(name)} | {unit} | {rms:.4g} | {left} | {percent(share)} | {verdict} |")
    return [*lines, ""]


def _numbers(identified: Identified) -> list[str]:
    lines = [
        "## Numbers", "",
        *(["Combinations are written out in table.csv.", ""] if "expression" in identified.table else []),
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


#: channels in one picture
MOST_CHANNELS = 8
#: a broad band, a thin dashed line over it, and what is between them
BAND = {"color": COLOURS[4], "linestyle": "-", "linewidth": 4.0}
PREDICTED = {"color": "black", "linestyle": "--", "linewidth": 1.0}
RESIDUAL = {"color": COLOURS[1], "linestyle": "-", "linewidth": 0.8}


def draw_fit(identified: Fitted, part: int, path: str | PathLike[str]) -> Path:
    """Draw measured and predicted values of one measurement over time, a row for each channel, residuals
    below; returns the path."""
    with needs("matplotlib", "identification"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    samples = identified.samples
    rows = samples.parts[part]
    channels = list(range(min(len(samples.channels), MOST_CHANNELS)))
    t = samples.t[rows]
    with rc_context(figure_style() | {"font.size": 9.0}):
        figure: Any = Figure(figsize=(8.0, 0.8 + 1.7 * len(channels)))
        axes = figure.subplots(len(channels), 1, sharex=True, squeeze=False)[:, 0]
        for axis, i in zip(axes, channels, strict=True):
            measured, predicted = samples.measured[rows, i], samples.predicted[rows, i]
            axis.plot(t, measured, **BAND, label="measured")
            axis.plot(t, predicted, **PREDICTED, label="predicted")
            axis.plot(t, measured - predicted, **RESIDUAL, label="residual")
            name = mathtext(samples.channels[i].removesuffix(".effort"))
            axis.set_ylabel(f"{name}\n[{mathtext(samples.units[i])}]")
            axis.margins(x=0.0)
            rms = np.sqrt(np.nanmean((measured - predicted) ** 2))
            share = rms / max(float(np.nanstd(measured)), 1e-300)
            axis.set_title(f"residual {percent(share)} of the deviation", fontsize=8, loc="right")
        axes[0].legend(ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        axes[-1].set_xlabel("time [s]")
        save_figure(figure, path, 110)
    return Path(path)
