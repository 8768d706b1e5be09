"""Values over grids of two parameters: heat maps and contours, with what is not feasible hatched."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.simulation.plot_style import COLOURS
from flexdyn_ros.studies.pictures.columns import OUTSIDE, SCALE, Columns, axes_for, name_axes

#: where bounds are reached
EDGES = (COLOURS[1], "#FFFFFF", COLOURS[3], COLOURS[4])
LEVELS = 12


def heat_map(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Cells in the colours of their values."""
    return _map(n, x, y, value, by, filled=False)


def contour(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None) -> Any:
    """Bands between round values, and lines between them."""
    return _map(n, x, y, value, by, filled=True)


def _map(n: Columns, x: str | None, y: str | None, value: list[str], by: str | None, filled: bool) -> Any:
    from matplotlib.colors import LogNorm, Normalize
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
    scale = LogNorm(low, high) if n.log else Normalize(low, high)
    drawn = None
    for ax, (words, rows) in zip(axes, panels, strict=True):
        X, Y, Z = _grid(n.numbers(x)[rows], n.numbers(y)[rows], all_values[rows], x, y)
        ax.grid(False)
        if filled and min(Z.shape) > 1:
            steps = _levels(low, high, n.log)
            low, high = steps[0], steps[-1]
            drawn = ax.contourf(X, Y, np.clip(Z, low, high), levels=steps, cmap=SCALE, norm=scale)
            lines = ax.contour(
                X,
                Y,
                np.clip(Z, low, high),
                levels=steps[1:-1][:: 2 if len(steps) > 8 else 1],
                colors="white",
                linewidths=0.6,
            )
            ax.clabel(lines, fmt="%.2g", fontsize=7)
        else:
            drawn = ax.pcolormesh(X, Y, Z, cmap=SCALE, norm=scale, shading="nearest")
        if n.study.feasible:
            _shade(n, ax, rows, x, y)
        ax.set_title(words, loc="left", fontsize=10)
    name_axes(n, figure, axes, x, y, f"hatched: {n.outside()}" if n.study.feasible else "")
    decades = {"ticks": LogLocator(), "format": LogFormatterMathtext()} if n.log else {}
    figure.colorbar(drawn, ax=axes, label=n.label(name), shrink=0.9, **decades)
    return figure


def _levels(low: float, high: float, log: bool) -> np.ndarray:
    """Round levels from below low to above high; of a logarithmic scale two in each decade."""
    from matplotlib.ticker import MaxNLocator

    if log:
        first, last = np.floor(2.0 * np.log10(low)), np.ceil(2.0 * np.log10(high))
        return 10.0 ** (0.5 * np.arange(first, max(last, first + 1.0) + 1.0))
    return np.asarray(MaxNLocator(LEVELS).tick_values(low, high))


def _shade(n: Columns, ax: Any, rows: np.ndarray, x: str, y: str) -> None:
    """Hatch what is not feasible, and draw where each bound is reached: by margins, so that no edge is a
    staircase."""
    from matplotlib.lines import Line2D

    X = Y = worst = None
    edges: list[object] = []
    for name in n.study.feasible:
        values = n.numbers(name)[rows]
        for sign, bound, word in n.bounds(name):
            margin = sign * (values - bound)
            spread = float(np.nanmax(np.abs(margin))) if np.isfinite(margin).any() else 0.0
            X, Y, M = _grid(n.numbers(x)[rows], n.numbers(y)[rows], margin / (spread or 1.0), x, y)
            M = np.where(np.isfinite(M), M, -1.0)
            worst = M if worst is None else np.minimum(worst, M)
            if min(M.shape) > 1 and M.min() < 0.0 <= M.max():
                colour = EDGES[len(edges) % len(EDGES)]
                ax.contour(X, Y, M, levels=[-1e-12], colors=[colour], linewidths=1.8, linestyles="-")
                edges.append(Line2D([], [], color=colour, lw=1.8, label=word))
    if worst is None or min(worst.shape) < 2:
        return
    # a margin of exactly zero is feasible
    ax.contourf(X, Y, worst, levels=[-2.0, -1e-12], colors=[OUTSIDE], alpha=0.25, hatches=["//"])
    if len(edges) > 1:
        ax.legend(handles=edges, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(edges),
                  facecolor="0.75", edgecolor="none", framealpha=1.0)  # fmt: skip


def _grid(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, *names: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y = np.unique(x), np.unique(y)
    Z = np.full((Y.size, X.size), np.nan)
    Z[np.searchsorted(Y, y), np.searchsorted(X, x)] = z
    if X.size * Y.size > 2 * z.size + 4:
        raise StateError(f"{' and '.join(names)} are no grid: draw a scatter plot, or parallel coordinates")
    return X, Y, Z
