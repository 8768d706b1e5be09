"""One style for all plots: colours, sizes for pages and screens, text that stays text in vector files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.writing import beside

__all__ = ["COLOURS", "SIZES", "STYLES", "Size", "save_figure", "size_of", "styled"]

#: the qualitative palette of Okabe & Ito (2008), distinct with every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B2A800")
#: dashed lines are those of other runs
STYLES = ("-", ":", "-.")


class Size(NamedTuple):
    """Width of a figure [in] for one and for two columns of panels, height of a row [in], size of letters
    [pt], width of lines [pt]."""

    widths: tuple[float, float]
    row: float
    letters: float
    line: float


#: for a screen, and for one or both columns of a printed page (89 and 183 mm)
SIZES = {
    "screen": Size((8.0, 16.0), 2.7, 10.0, 1.5),
    "one-column": Size((3.5, 3.5), 1.7, 7.0, 1.0),
    "two-column": Size((7.2, 7.2), 1.8, 7.5, 1.0),
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


@contextmanager
def styled(size: Size) -> Iterator[None]:
    """Within it matplotlib draws and saves in this style; the settings of the caller come back."""
    import matplotlib

    settings = {
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
        "savefig.dpi": 130,
    }
    with matplotlib.rc_context(settings):
        yield


def save_figure(figure: Any, path: str | PathLike[str], dpi: int | None) -> None:
    """Write a picture whole or not at all; the ending says what kind, without one matplotlib's default."""
    kind = Path(path).suffix.removeprefix(".")
    if not kind:
        kind = figure.canvas.get_default_filetype()
        path = f"{path}.{kind}"
    with beside(path) as draft:
        figure.savefig(draft, dpi=dpi, format=kind)
