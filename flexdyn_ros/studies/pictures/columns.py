"""Columns of a table with labels and units, on axes in the style of those of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.escaping import mathtext

if TYPE_CHECKING:
    from flexdyn_ros.studies.table import StudyTable

#: colour scale of values, and the colour of what is not feasible
SCALE, OUTSIDE = "viridis", "0.25"
#: of values on both sides of zero, such as margins: red below
BOTH_SIDES = "RdBu"
#: of all panels of a picture [in]: that of a page, so that letters keep their size on it
WIDTH = 9.4


class Columns:
    """A result on its way to a picture: columns with labels and units."""

    def __init__(
        self, result: StudyTable, labels: dict[str, str], limits: Sequence[float] | None, log: bool
    ) -> None:
        self.result, self.labels, self.limits, self.log = result, labels, limits, log
        self.study, self.table = result.study, result.table

    def label(self, name: str) -> str:
        unit = self.result.units.get(name, "")
        return self.word(name) + (f" [{mathtext(unit)}]" if unit else "")

    def word(self, name: str) -> str:
        """The study's label of a column, or its name."""
        return self.labels.get(name) or mathtext(name.replace("_", " "))

    def value(self, given: list[str]) -> str:
        return given[0] if given else next(iter(self.study.objectives), self.result.results[0])

    def short(self, name: str, value: object) -> str:
        unit = self.result.units.get(name, "")
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"{self.word(name)} {mathtext(text)}" + (f" {mathtext(unit)}" if unit else "")

    def texts(self, name: str) -> np.ndarray | None:
        """A column of texts; None where it holds numbers."""
        column = self.table[name]
        # lists, as of forces, are no keys
        return None if column.dtype.kind in "fiub" else np.array([str(value) for value in column])

    def numbers(self, name: str) -> np.ndarray:
        """A column as numbers; texts by the order of their first appearance."""
        texts = self.texts(name)
        if texts is None:
            return self.table[name].to_numpy(dtype=float)
        known = {text: float(n) for n, text in enumerate(dict.fromkeys(texts))}
        return np.array([known[text] for text in texts])

    def bounds(self, name: str) -> list[tuple[float, float, str]]:
        """(sign, bound, what lies outside) of the bounds of a result: the study's label, or "X < 0"."""
        word = self.study.outside.get(name, "")
        unit = self.result.units.get(name, "")
        return [
            (
                sign,
                bound,
                word
                or f"{self.word(name)} {'<' if sign > 0.0 else '>'} {bound:g}"
                + (f" {mathtext(unit)}" if unit else ""),
            )
            for sign, bound in zip((1.0, -1.0), self.study.feasible[name], strict=True)
            if np.isfinite(bound)
        ]

    def outside(self) -> str:
        """What is not feasible, in words."""
        words = [word for name in self.study.feasible for _, _, word in self.bounds(name)]
        if self.table["failed"].any():
            words.append("the point failed")
        return " or ".join(dict.fromkeys(words))

    def panels(self, by: str | None) -> list[tuple[str, np.ndarray]]:
        """(title, rows) of each panel."""
        if by is None:
            return [("", np.ones(len(self.table), dtype=bool))]
        texts = np.array([str(value) for value in self.table[by]])
        first = dict(zip(texts[::-1].tolist(), self.table[by][::-1], strict=True))
        return [(self.short(by, first[text]), texts == text) for text in dict.fromkeys(texts.tolist())]


def colour_scale(n: Columns, low: float, high: float) -> dict[str, Any]:
    """Colour map and norm of values from low to high: about zero where there are values on both sides."""
    from matplotlib.colors import LogNorm, Normalize

    if n.log:
        return {"cmap": SCALE, "norm": LogNorm(low, high)}
    if low < 0.0 < high:
        most = max(-low, high)
        return {"cmap": BOTH_SIDES, "norm": Normalize(-most, most)}
    return {"cmap": SCALE, "norm": Normalize(low, high)}


def axes_for(
    count: int, width: float = 6.4, height: float = 4.6, *, shared: bool = False
) -> tuple[Any, list[Any]]:
    """A figure and its panels, side by side within the width of a page; shared: with the same two axes."""
    from matplotlib.figure import Figure

    columns = count if count <= 3 else 2 if count == 4 else 3
    rows = -(-count // columns)
    if count > 1:
        width, height = WIDTH / columns, max(0.85 * WIDTH / columns, 2.6)
    figure = Figure(figsize=(width * columns + 0.6, 0.5 + height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared).ravel())
    for ax in axes[count:]:
        ax.set_axis_off()
    for ax in axes[max(count - columns, 0) : count]:
        ax.tick_params(labelbottom=True)
    for ax in axes[:count]:
        ax.grid(True, color="0.9", lw=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def name_axes(n: Columns, figure: Any, axes: list[Any], x: str, y: str, note: str = "") -> None:
    """Names of the axes, of panels that share them once; a note below."""
    for ax in axes:
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(n.label(y))
    if len(axes) == 1:
        axes[0].set_xlabel(n.label(x))
    words = [n.label(x)] * (len(axes) > 1) + [note] * bool(note)
    if words:
        figure.supxlabel("\n".join(words), fontsize=10 if len(axes) > 1 else 9)
