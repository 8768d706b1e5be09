"""Plots of trajectories with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import MissingExtraError, UnknownNameError
from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["plot_trajectory"]

PANELS = ("position", "velocity", "effort", "energy", "balance")
#: the qualitative palette of Okabe & Ito (2008), told apart with every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B2A800")
STYLES = ("-", "--", ":", "-.")
#: entries of a legend; more lines than that are drawn without a name each
LEGEND_ROWS = 16


class _Panel(NamedTuple):
    """One axes: title, label of the ordinate, lines as (name, values)."""

    title: str
    label: str
    lines: list[tuple[str, np.ndarray]]


def plot_trajectory(
    trajectory: Trajectory,
    path: str | PathLike | None = None,
    *,
    panels: Sequence[str] = PANELS,
    coordinates: Sequence[str] | None = None,
    title: str | None = None,
    dpi: int = 130,
) -> Any:
    """Draw a trajectory: one panel per quantity and unit, events as vertical lines.

    Parameters
    ----------
    trajectory : Trajectory
    path : path, optional
        File to write; its ending says what kind (png, svg, pdf).
    panels : sequence of {"position", "velocity", "effort", "energy", "balance"}
        balance is energy - work + dissipated less its first value. What was not recorded is left out.
    coordinates : sequence of names, optional
        Only these, of q_names, v_names and effort_names.
    title : str, optional
    dpi : int

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnknownNameError
        If there is no such panel or coordinate.
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "view") from None
    drawn = [panel for name in panels for panel in _panels(trajectory, name, coordinates)]
    columns = 1 if len(drawn) <= 3 else 2
    rows = max(1, -(-len(drawn) // columns))
    figure = Figure(figsize=(8.0 * columns, 0.9 + 2.7 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    flat = axes.T.ravel()
    for ax, panel in zip(flat, drawn, strict=False):
        _draw(ax, panel, trajectory)
    for ax in flat[len(drawn) :]:
        ax.set_axis_off()
    for column in range(columns):
        last = max((i for i in range(len(drawn)) if i // rows == column), default=None)
        if last is not None:
            flat[last].set_xlabel("time [s]")
            flat[last].tick_params(labelbottom=True)
    figure.suptitle(title or _title(trajectory), fontsize=13, fontweight="bold")
    if path is not None:
        figure.savefig(path, dpi=dpi)
    return figure


def _title(trajectory: Trajectory) -> str:
    return f"{trajectory.robot_name}: {trajectory.method}, dt = {trajectory.dt * 1e3:g} ms"


def _panels(trajectory: Trajectory, quantity: str, coordinates: Sequence[str] | None) -> list[_Panel]:
    """Panels of one quantity, one for each unit."""
    t = trajectory
    tables = {
        "position": (t.q_names, t.q_units, t.q),
        "velocity": (t.v_names, t.v_units, t.v),
        "effort": (t.effort_names, t.effort_units, t.tau),
    }
    if coordinates is not None:
        known = {*t.q_names, *t.v_names, *t.effort_names}
        for name in coordinates:
            if name not in known:
                raise UnknownNameError("coordinate", name, tuple(known))
    if quantity in tables:
        names, units, values = tables[quantity]
        if quantity == "effort" and not values.any():
            return []
        chosen = [i for i, name in enumerate(names) if coordinates is None or name in coordinates]
        found = []
        for unit in dict.fromkeys(units[i] for i in chosen):
            lines = [(names[i], values[:, i]) for i in chosen if units[i] == unit]
            kind = "attitude" if quantity == "position" and unit == "-" else quantity
            found.append(_Panel(kind.capitalize(), f"{kind} [{unit}]", lines))
        return found
    if quantity not in PANELS:
        raise UnknownNameError("panel", quantity, PANELS)
    if t.energy is None:
        return []
    if quantity == "balance":
        return [_Panel("Energy balance", "change of E - W + D [J]", [("E - W + D", t.balance())])]
    parts = [("kinetic", t.energy.kinetic), ("gravity", t.energy.gravity), ("elastic", t.energy.elastic)]
    parts += [("total", t.energy.total), ("work", t.work), ("dissipated", t.dissipated)]
    return [_Panel("Energy", "energy [J]", [(name, values) for name, values in parts if values.any()])]


def _draw(ax: Any, panel: _Panel, trajectory: Trajectory) -> None:
    """Fill one axes."""
    for i, (name, values) in enumerate(panel.lines):
        style = STYLES[i // len(COLOURS) % len(STYLES)]
        label = name if i < LEGEND_ROWS else None
        ax.plot(trajectory.t, values, style, color=COLOURS[i % len(COLOURS)], lw=1.5, label=label)
    for event in trajectory.events[:50]:
        ax.axvline(event.time, color="0.35" if event.terminal else "0.7", lw=0.9, ls=":", zorder=0)
    ax.set_title(panel.title, loc="left", fontsize=11)
    ax.set_ylabel(panel.label)
    if trajectory.t.size > 1:
        ax.set_xlim(trajectory.t[0], trajectory.t[-1])
    ax.grid(True, color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)
    if panel.lines:
        more = len(panel.lines) - LEGEND_ROWS
        heading = f"first {LEGEND_ROWS} of {len(panel.lines)}" if more > 0 else None
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.02),
            borderaxespad=0.0,
            frameon=False,
            fontsize=8 if len(panel.lines) > 8 else 9,
            title=heading,
            title_fontsize=8,
            ncols=2 if len(panel.lines) > 8 else 1,
        )
