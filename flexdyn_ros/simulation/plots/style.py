"""One style for all plots: colours, sizes for pages and screens, text that stays text in vector files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.writing import beside

#: seven colours that differ with every kind of colour vision, each with a contrast of at least 3 on white
COLOURS = ("#1C00A8", "#F25400", "#2F9271", "#8A0100", "#9173D8", "#000000", "#7F0266")
#: dashes of the lines of a panel, one after the other: they are told apart without colour, too
DASHES = (
    "-", (0, (6, 1.6)), (0, (1.6, 1.0)), (0, (6, 1.5, 1.5, 1.5)), (0, (10, 2)), (0, (3, 1.2, 1, 1, 1, 1.2)),
)  # fmt: skip


class Size(NamedTuple):
    """Width of a figure [in] for one and for two columns of panels, height of a row and of all rows at most
    [in], size of letters [pt], width of lines [pt], dots per inch; whether it has a title; legends above."""

    widths: tuple[float, float]
    row: float
    highest: float
    letters: float
    line: float
    dpi: int
    titled: bool = False
    legend_above: bool = False


#: for a screen, and for one or both columns of a printed page (89 and 183 mm)
SIZES = {
    "screen": Size((8.0, 16.0), 2.7, 60.0, 10.0, 1.5, 150, titled=True),
    "one-column": Size((3.5, 3.5), 1.9, 9.0, 7.0, 1.0, 300, legend_above=True),
    "two-column": Size((7.2, 7.2), 1.8, 9.0, 7.5, 1.0, 300),
}


def size_of(name: str) -> Size:
    """The size of that name.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    UnknownNameError.check("size", name, tuple(SIZES))
    return SIZES[name]


def figure_style(size: str = "screen") -> dict[str, Any]:
    """Settings of matplotlib that draw figures as `Trajectory.plot` does, for `plt.style.use`.

    Colours have a contrast of at least 3:1 on white, and each curve of a panel has dashes of its own.

    Parameters
    ----------
    size : "screen", "one-column" or "two-column"
        Widths of 203, 89 and 183 mm; the last two are saved with 300 dots per inch.

    Raises
    ------
    UnknownNameError
        If there is no size of that name.
    """
    from cycler import cycler

    chosen = size_of(size)
    # seven colours, six dashes: the pairs repeat after 42 curves
    pairs = [(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]) for i in range(len(COLOURS) * len(DASHES))]
    colours, dashes = zip(*pairs, strict=True)
    return _letters(chosen) | {
        "axes.prop_cycle": cycler(color=colours, linestyle=dashes),
        "lines.linewidth": chosen.line,
        "figure.figsize": (chosen.widths[0], 1.6 * chosen.row),
        "figure.constrained_layout.use": True,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "0.9",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "legend.frameon": False,
    }


def _letters(size: Size) -> dict[str, Any]:
    return {
        "font.size": size.letters,
        "axes.titlesize": size.letters + 1.0,
        "axes.labelsize": size.letters,
        "xtick.labelsize": size.letters - 1.0,
        "ytick.labelsize": size.letters - 1.0,
        "legend.fontsize": size.letters - 1.0,
        "axes.linewidth": 0.5 * size.line,
        "svg.fonttype": "none",
        "svg.hashsalt": "flexdyn_ros",
        "pdf.fonttype": 42,
        "savefig.dpi": size.dpi,
    }


@contextmanager
def styled(size: Size) -> Iterator[None]:
    """Within it matplotlib draws and saves in this style; the settings of the caller come back."""
    import matplotlib

    with matplotlib.rc_context(_letters(size)):
        yield


def save_figure(figure: Any, path: str | PathLike[str], dpi: int | None) -> None:
    """Write a picture whole or not at all; the ending says what kind, without one matplotlib's default."""
    kind = Path(path).suffix.removeprefix(".")
    if not kind:
        kind = figure.canvas.get_default_filetype()
        path = f"{path}.{kind}"
    with beside(path) as draft:
        figure.savefig(draft, dpi=dpi, format=kind)
