"""Lines, scatter plots, parallel coordinates, Pareto fronts."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError, needs
from flexdyn_ros.escaping import mathtext
from flexdyn_ros.simulation.plots.style import COLOURS, DASHES, SIZES, save_figure, styled
from flexdyn_ros.studies.pictures.columns import (
    BOTH_SIDES,
    OUTSIDE,
    SCALE,
    Columns,
    axes_for,
    colour_scale,
    name_axes,
)

if TYPE_CHECKING:
    from flexdyn_ros.studies.table import StudyTable


#: lines of parallel coordinates that are drawn at most
MOST_LINES = 2000
#: legends stand beside the axes, never over the data
BESIDE: dict[str, Any] = {
    "loc": "upper left", "bbox_to_anchor": (1.01, 1.02), "borderaxespad": 0.0, "frameon": False,
    "fontsize": 9,
}  # fmt: skip


def line(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Results over a parameter; one line for each result and each value of `by`."""
    x = x or n.study.names[0]
    drawn = value or ([y] if y else list(n.study.objectives) or [n.result.results[0]])
    groups = list(dict.fromkeys(n.result.units.get(name, "") for name in drawn))
    figure, axes = axes_for(len(groups), 7.2, 4.4)
    at = n.numbers(x)
    for ax, unit in zip(axes, groups, strict=True):
        i = 0
        chosen = [name for name in drawn if n.result.units.get(name, "") == unit]
        for name in chosen:
            for words, rows in n.panels(by):
                order = np.argsort(at[rows], kind="stable")
                label = ", ".join(filter(None, (n.word(name) * (len(chosen) > 1), words)))
                marker = "o" if rows.sum() <= 60 else ""
                ax.plot(at[rows][order], n.numbers(name)[rows][order], marker=marker, ms=3.5, lw=1.5,
                        color=COLOURS[i % len(COLOURS)], linestyle=DASHES[i % len(DASHES)],
                        label=label or None)  # fmt: skip
                i += 1
        for name in chosen:
            for bound in n.study.feasible.get(name, ()):
                if np.isfinite(bound):
                    ax.axhline(bound, color=OUTSIDE, lw=1.0, ls="--")
        ax.set_xlabel(n.label(x))
        ax.set_ylabel(n.label(chosen[0]) if len(chosen) == 1 else f"[{unit}]" if unit else "")
        if n.log:
            ax.set_yscale("log")
        if n.limits:
            ax.set_ylim(*n.limits)
        if i > 1:
            ax.legend(**BESIDE)
    return figure


def scatter(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Points over two columns, coloured by a third."""
    x = x or n.study.names[0]
    y = y or (n.study.names[1] if len(n.study.names) > 1 else n.value(value))
    name = n.value(value)
    panels = n.panels(by)
    figure, axes = axes_for(len(panels), shared=True)
    colour = n.numbers(name)
    inside = n.result.feasible() if n.study.feasible else np.ones(len(colour), dtype=bool)
    scale = colour_scale(n, *(n.limits or (np.nanmin(colour), np.nanmax(colour))))
    kinds = n.texts(name)
    drawn = None
    for ax, (words, rows) in zip(axes, panels, strict=True):
        out = rows & ~inside
        ax.scatter(
            n.numbers(x)[out], n.numbers(y)[out], s=14, facecolors="none", edgecolors="0.6", linewidths=0.7
        )
        good = rows & inside
        if kinds is None:
            drawn = ax.scatter(n.numbers(x)[good], n.numbers(y)[good], c=colour[good], s=18, **scale)
        for i, word in enumerate(dict.fromkeys([] if kinds is None else kinds[good].tolist())):
            chosen = good & (kinds == word)
            ax.scatter(n.numbers(x)[chosen], n.numbers(y)[chosen], s=18, color=COLOURS[i % len(COLOURS)],
                       marker="os^Dv"[i % 5], label=mathtext(word))  # fmt: skip
        ax.set_title(words, loc="left", fontsize=10)
    name_axes(n, figure, axes, x, y)
    if drawn is None:
        axes[-1].legend(title=n.label(name), **BESIDE)
    else:
        figure.colorbar(drawn, ax=axes, label=n.label(name), shrink=0.9)
    return figure


def parallel(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """One ordinate for each parameter and result, one line a point, coloured by the first result."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    shown = value or [n.value([])]
    columns = [*n.study.names, *shown]
    numbers = np.stack([n.numbers(name) for name in columns], axis=1)
    rows = np.flatnonzero(np.isfinite(numbers).all(axis=1))[:MOST_LINES]
    if not rows.size:
        raise StateError("no point has all of the columns that are drawn")
    numbers = numbers[rows]
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    unit = (numbers - low) / np.where(high > low, high - low, 1.0)
    inside = n.result.feasible()[rows] if n.study.feasible else np.ones(len(rows), dtype=bool)
    figure = Figure(figsize=(1.8 * len(columns) + 1.6, 5.2), layout="constrained")
    ax = figure.subplots()
    at = np.arange(len(columns))
    scale = colormaps[SCALE]
    key = unit[:, len(n.study.names)]
    # the best of what is minimised is drawn last
    for i in np.argsort(-key, kind="stable"):
        colour = scale(key[i]) if inside[i] else "0.85"
        ax.plot(
            at, unit[i], color=colour, lw=0.9, alpha=0.75 if inside[i] else 0.4, zorder=2 if inside[i] else 1
        )
    for k, name in enumerate(columns):
        ax.axvline(k, color="0.4", lw=1.0, zorder=3)
        texts = n.table[name].dtype.kind not in "fiub"
        ends = list(dict.fromkeys(map(str, n.table[name]))) if texts else [f"{low[k]:.4g}", f"{high[k]:.4g}"]
        places = np.linspace(0.0, 1.0, len(ends)) if len(ends) > 1 else [0.0]
        for place, text in zip(places, ends, strict=True):
            ax.text(k + 0.03, place, mathtext(str(text)), fontsize=8, va="center", zorder=4,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5})  # fmt: skip
    ax.set_xticks(at, [n.label(name) for name in columns], fontsize=9, rotation=15, ha="right")
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    ax.set_xlim(-0.1, len(columns) - 0.6)
    if n.study.feasible:
        figure.supxlabel(f"grey: {n.outside()}", fontsize=9)
    return figure


def pareto(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Two objectives against each other, and the front of what nothing betters."""
    objectives = list(n.study.objectives)
    if len(objectives) < 2 and not (x and y):
        raise StateError("a Pareto front needs two objectives")
    x, y = x or objectives[0], y or objectives[1]
    figure, (ax,) = axes_for(1, 7.0, 5.0)
    inside = n.result.feasible()
    at, up = n.numbers(x), n.numbers(y)
    ax.scatter(at[~inside], up[~inside], s=14, facecolors="none", edgecolors="0.45", linewidths=0.7,
               label=n.outside() if (~inside & np.isfinite(at)).any() else None)  # fmt: skip
    if value:
        colour = n.numbers(value[0])[inside]
        # a logarithmic axis y says nothing of the third number
        span = (float(np.nanmin(colour)), float(np.nanmax(colour)))
        scale = {"cmap": SCALE} if n.log else colour_scale(n, *span)
        drawn = ax.scatter(at[inside], up[inside], s=16, c=colour, **scale)
        figure.colorbar(drawn, ax=ax, label=n.label(value[0]), shrink=0.9)
    else:
        ax.scatter(at[inside], up[inside], s=16, color=COLOURS[4], label="points")
    front = n.result.pareto_front().sort_values(x)
    ax.plot(front[x], front[y], "-o", ms=4, lw=1.4, color=COLOURS[1], label="Pareto front")
    ax.set_xlabel(n.label(x))
    ax.set_ylabel(n.label(y))
    if n.log:
        ax.set_yscale("log")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


#: colours of the lines where bounds are reached; each has dashes of its own and a white rim
EDGES = (COLOURS[5], COLOURS[1], COLOURS[3], COLOURS[6])
LEVELS = 12


def heat_map(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Cells in the colours of their values."""
    return _map(n, x, y, value, by, filled=False)


def contour(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Bands between round values, and lines between them."""
    return _map(n, x, y, value, by, filled=True)


def _map(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None, filled: bool) -> Any:
    from matplotlib.ticker import LogFormatterMathtext, LogLocator

    x, y = x or n.study.names[0], y or n.study.names[1]
    name = n.value(value)
    panels = n.panels(by)
    figure, axes = axes_for(len(panels), shared=True)
    all_values = n.numbers(name)
    finite = all_values[np.isfinite(all_values)]
    if not finite.size:
        raise StateError(f"no point has a finite {name}")
    low, high = n.limits or (float(finite.min()), float(finite.max()))
    if n.log:
        low = max(low, float(finite[finite > 0.0].min()) if (finite > 0.0).any() else 1e-12)
    high = high if high > low else low + 1.0
    scale = colour_scale(n, low, high)
    drawn: Any = None
    edges: list[Any] = []
    for ax, (words, rows) in zip(axes, panels, strict=True):
        X, Y, Z = _grid(n.numbers(x)[rows], n.numbers(y)[rows], all_values[rows], x, y)
        ax.grid(False)
        if filled and min(Z.shape) > 1:
            steps = _levels(low, high, n.log)
            low, high = steps[0], steps[-1]
            drawn = ax.contourf(X, Y, np.clip(Z, low, high), levels=steps, **scale)
            lines = ax.contour(
                X,
                Y,
                np.clip(Z, low, high),
                levels=steps[1:-1][:: 2 if len(steps) > 8 else 1],
                # the middle of a diverging map is white
                colors="0.3" if scale["cmap"] == BOTH_SIDES else "white",
                linewidths=0.6,
            )
            ax.clabel(lines, fmt="%.2g", fontsize=7)
        else:
            drawn = ax.pcolormesh(X, Y, Z, shading="nearest", **scale)
        if n.study.feasible:
            edges = _shade(n, ax, rows, x, y) or edges
        ax.set_title(words, loc="left", fontsize=10)
    note = f"hatched: {n.outside()}" if n.study.feasible else ""
    # the title of a legend of edges has the note
    name_axes(n, figure, axes, x, y, note if len(edges) < 2 else "")
    decades = {"ticks": LogLocator(), "format": LogFormatterMathtext()} if n.log else {}
    figure.colorbar(drawn, ax=axes, label=n.label(name), shrink=0.9, **decades)
    if len(edges) > 1:
        below = {"loc": "outside lower center", "ncols": len(edges)}
        where = below if len(axes) == 1 else {"loc": "outside right upper"}
        figure.legend(handles=edges, fontsize=8, title=note, title_fontsize=8, frameon=False,
                      handlelength=3.0, **where)  # fmt: skip
    return figure


def _levels(low: float, high: float, log: bool) -> np.ndarray:
    """Round levels from below low to above high; of a logarithmic scale two in each decade."""
    from matplotlib.ticker import MaxNLocator

    if log:
        first, last = np.floor(2.0 * np.log10(low)), np.ceil(2.0 * np.log10(high))
        return 10.0 ** (0.5 * np.arange(first, max(last, first + 1.0) + 1.0))
    return np.asarray(MaxNLocator(LEVELS).tick_values(low, high))


def _shade(n: Columns, ax: Any, rows: np.ndarray, x: str, y: str) -> list[Any]:
    """Hatch what is not feasible, and draw where each bound is reached: by margins, so that no edge is a
    staircase. What a legend says of these edges."""
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import withStroke

    X = Y = worst = None
    edges: list[Any] = []
    for name in n.study.feasible:
        values = n.numbers(name)[rows]
        for sign, bound, word in n.bounds(name):
            margin = sign * (values - bound)
            spread = float(np.max(np.abs(margin), initial=0.0, where=np.isfinite(margin)))
            X, Y, M = _grid(n.numbers(x)[rows], n.numbers(y)[rows], margin / (spread or 1.0), x, y)
            # infinite results are beyond all others, on their side of the bound
            M = np.clip(np.where(np.isnan(M), -1.0, M), -1.0, 1.0)
            worst = M if worst is None else np.minimum(worst, M)
            if min(M.shape) > 1 and M.min() < 0.0 <= M.max():
                colour, dashes = EDGES[len(edges) % len(EDGES)], DASHES[len(edges) % len(DASHES)]
                rim = {"path_effects": [withStroke(linewidth=3.6, foreground="white")]}
                drawn = ax.contour(
                    X, Y, M, levels=[-1e-12], colors=[colour], linewidths=1.8, linestyles=[dashes]
                )
                drawn.set(**rim)
                edges.append(Line2D([], [], color=colour, lw=1.8, linestyle=dashes, label=word))
    if worst is None or min(worst.shape) < 2:
        return []
    # a margin of exactly zero is feasible
    ax.contourf(X, Y, worst, levels=[-2.0, -1e-12], colors=[OUTSIDE], alpha=0.25, hatches=["//"])
    return edges


def _grid(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, *names: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y = np.unique(x), np.unique(y)
    Z = np.full((Y.size, X.size), np.nan)
    Z[np.searchsorted(Y, y), np.searchsorted(X, x)] = z
    if X.size * Y.size > 2 * z.size + 4:
        raise StateError(f"{' and '.join(names)} are no grid: draw a scatter plot, or parallel coordinates")
    return X, Y, Z


# Draws the table of a study; which kind of picture suits it.

KINDS = {
    "line": line, "heat_map": heat_map, "contour": contour, "parallel": parallel, "pareto": pareto,
    "scatter": scatter,
}  # fmt: skip


def draw(
    result: StudyTable,
    path: str | PathLike[str] | None = None,
    kind: str | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    value: str | Sequence[str] | None = None,
    by: str | None = None,
    limits: Sequence[float] | None = None,
    log: bool = False,
    title: str | None = None,
    labels: dict[str, str] | None = None,
    dpi: int = 150,
) -> Any:
    """Draw a study.

    Parameters
    ----------
    result : StudyTable
    path : path, optional
        File to write; its ending says what kind: svg and pdf keep lines and text, png has pixels.
    kind : {"line", "heat_map", "contour", "parallel", "pareto", "scatter"}, optional
        Default: pareto for several objectives, else by the number of parameters: a line; a contour where the
        study says what is feasible, else a heat map, for grids of two; a scatter plot for other samples of
        two; parallel coordinates.
    x, y : names of columns
        Default: the first and second parameter; of pareto the objectives.
    value : name of a result, or several (line)
        Default: the first objective, else the first result.
    by : name of a parameter
        One line, or one panel, for each of its values.
    limits : (low, high), optional
        Of the colour scale, of lines of the ordinate.
    log : bool
        Logarithmic ordinate of lines, or colour scale.
    labels : mapping, optional
        Words for names of columns.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnknownNameError
        If there is no such kind or column.
    StateError
        If the columns do not make such a picture.
    MissingExtraError
        If matplotlib is not installed.
    """
    with needs("matplotlib", "view"):
        import matplotlib  # noqa: F401
    kind = kind or _suitable(result)
    if kind not in KINDS:
        raise UnknownNameError("kind of picture", kind, KINDS)
    if not result.results:
        raise StateError("no point has a result that is a number: there is nothing to draw")
    named = [value] if isinstance(value, str) else list(value or [])
    for name in [x, y, by, *named]:
        if name is not None and name not in result.table.columns:
            raise UnknownNameError("column", name, result.table.columns)
    names = Columns(result, labels or {}, limits, log)
    with styled(SIZES["screen"]):
        figure = KINDS[kind](names, x, y, named, by)
        figure.suptitle(title or mathtext(result.study.title), fontsize=13, fontweight="bold")
        if path is not None:
            save_figure(figure, path, dpi)
    return figure


def _suitable(result: StudyTable) -> str:
    study = result.study
    if len(study.objectives) > 1:
        return "pareto"
    if len(study.names) == 1:
        return "line"
    if len(study.names) == 2:
        if study.design["kind"] == "grid":
            return "contour" if study.feasible else "heat_map"
        return "scatter"
    return "parallel"
