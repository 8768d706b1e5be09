"""Plots of trajectories with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import UnknownNameError, needs
from flexdyn_ros.simulation.spectra import modal_frequencies, spectra, tip_deflections

if TYPE_CHECKING:
    from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["picture_formats", "plot_trajectory"]

PANELS = ("position", "velocity", "deflection", "effort", "hydraulics", "energy", "balance", "spectrum")
#: those that are drawn unless others are chosen; of robots that bend also deflection and spectrum
USUAL = ("position", "velocity", "effort", "hydraulics", "energy", "balance")
#: the qualitative palette of Okabe & Ito (2008), distinct with every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B2A800")
#: dashed lines are those of other runs
STYLES = ("-", ":", "-.")
#: parts of the names of coordinates that deform a link
MODAL = ("/axial/", "/bending_", "/torsion/", "/mode/")
#: values that count as zero [SI], and the least height of an axes beside the values in it
NOTHING, LEAST_HEIGHT = 1e-12, 1e-6
#: least height of the energy balance beside the largest kinetic energy
BALANCE_SCALE = 1e-9
#: entries of a legend; more lines than that are drawn without a name each
LEGEND_ROWS = 16


class _Panel(NamedTuple):
    """One axes: title, label of the ordinate, lines as (name, values), over time or over frequencies [Hz];
    least height of the ordinate, so that rounding is drawn as what it is."""

    title: str
    label: str
    lines: list[tuple[str, np.ndarray]]
    frequency: np.ndarray | None = None
    least: float = 0.0

    @property
    def largest(self) -> float:
        """Largest absolute value of all lines."""
        return max((float(np.abs(values).max(initial=0.0)) for _, values in self.lines), default=0.0)


def plot_trajectory(
    trajectory: Trajectory,
    path: str | PathLike | None = None,
    *,
    panels: Sequence[str] | None = None,
    coordinates: Sequence[str] | None = None,
    overlay: Mapping[str, Trajectory] | None = None,
    title: str | None = None,
    dpi: int = 130,
) -> Any:
    """Draw a trajectory: one panel per quantity and unit, events as vertical lines.

    Parameters
    ----------
    trajectory : Trajectory
    path : path, optional
        File to write; its ending says what kind (png, svg, pdf).
    panels : sequence of {"position", "velocity", "deflection", "effort", "hydraulics", "energy", "balance",
            "spectrum"}
        balance is energy - work + dissipated less its first value; deflection and spectrum need the robot and
        the spectrum marks its frequencies of vibration with free joints. What was not recorded, or stays
            zero to rounding, is left out. Default: all, but
        deflection and spectrum only of robots that bend.
    coordinates : sequence of names, optional
        Only these, of q_names, v_names and effort_names.
    overlay : mapping from a word to a Trajectory, optional
        Others to compare with, such as that of the rigid twin: what has the same name is drawn dashed.
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
    with needs("matplotlib", "view"):
        from matplotlib.figure import Figure
    if panels is None:
        panels = PANELS if tip_deflections(trajectory) else USUAL
    drawn = [panel for name in panels for panel in _panels(trajectory, name, coordinates)]
    # what stays zero, to rounding, is not drawn as if it moved
    still = [panel for panel in drawn if max(panel.largest, panel.least) <= NOTHING]
    drawn = [panel for panel in drawn if all(panel is not other for other in still)] or drawn[:1]
    others = {
        word: [panel for name in panels for panel in _panels(other, name, None)]
        for word, other in (overlay or {}).items()
    }
    columns = 1 if len(drawn) <= 3 else 2
    rows = max(1, -(-len(drawn) // columns))
    figure = Figure(figsize=(8.0 * columns, 0.9 + 2.7 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    flat = axes.T.ravel()
    for ax, panel in zip(flat, drawn, strict=False):
        _draw(ax, panel, trajectory)
        _overlay(ax, panel, others, overlay or {})
        _add_legend(ax, panel)
    for ax in flat[len(drawn) :]:
        ax.set_axis_off()
    for i, panel in enumerate(drawn):
        last = i == len(drawn) - 1 or (i + 1) % rows == 0
        if panel.frequency is not None:
            flat[i].set_xlabel("frequency [Hz]; dashed: modes with free joints")
        elif last or drawn[i + 1].frequency is not None:
            flat[i].set_xlabel("time [s]")
        else:
            flat[i].tick_params(labelbottom=False)
    figure.suptitle(title or _title(trajectory), fontsize=13, fontweight="bold")
    if still:
        zero = ", ".join(dict.fromkeys(panel.label for panel in still))
        figure.supxlabel(f"zero throughout: {zero}", fontsize=9, x=0.01, ha="left")
    if path is not None:
        figure.savefig(path, dpi=dpi)
    return figure


def picture_formats() -> tuple[str, ...]:
    """Endings of the pictures that can be written, without their dots.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    with needs("matplotlib", "view"):
        from matplotlib.backend_bases import FigureCanvasBase
    return tuple(sorted(FigureCanvasBase.get_supported_filetypes()))


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
            UnknownNameError.check("coordinate", name, tuple(known))
    if quantity in tables:
        names, units, values = tables[quantity]
        if quantity == "effort" and not values.any():
            return []
        chosen = [i for i, name in enumerate(names) if coordinates is None or name in coordinates]
        found = []
        for unit in dict.fromkeys(units[i] for i in chosen):
            kind = "attitude" if quantity == "position" and unit == "-" else quantity
            of_unit = [i for i in chosen if units[i] == unit]
            modal = [i for i in of_unit if any(part in names[i] for part in MODAL)]
            others = [(names[i], values[:, i]) for i in of_unit if i not in modal]
            if others:
                found.append(_Panel(kind.capitalize(), f"{kind} [{unit}]", others))
            if modal:
                lines = [(names[i], values[:, i]) for i in modal]
                found.append(_Panel(f"Modal {kind}", f"modal {kind} [{unit}]", lines))
        return found
    UnknownNameError.check("panel", quantity, PANELS)
    if quantity == "deflection":
        tips = list(tip_deflections(trajectory).items())
        return [_Panel("Deflection of tips", "displacement [m]", tips)] if tips else []
    if quantity == "spectrum":
        spectrum = spectra(trajectory)
        if spectrum is None:
            return []
        lines = list(zip(spectrum.names, spectrum.amplitude, strict=True))
        what = "deflection" if spectrum.unit == "m" else "velocity"
        return [_Panel(f"Spectrum of {what}", f"amplitude [{spectrum.unit}]", lines, spectrum.frequency)]
    if quantity == "hydraulics":
        return _hydraulic_panels(t)
    if t.energy is None:
        return []
    if quantity == "balance":
        least = BALANCE_SCALE * float(np.abs(t.energy.kinetic).max(initial=0.0))
        lines = [("E - W + D", t.balance())]
        return [_Panel("Energy balance", "change of E - W + D [J]", lines, None, least)]
    parts = [("kinetic", t.energy.kinetic), ("gravity", t.energy.gravity), ("elastic", t.energy.elastic)]
    parts += [("total", t.energy.total), ("work", t.work), ("dissipated", t.dissipated)]
    return [_Panel("Energy", "energy [J]", [(name, values) for name, values in parts if values.any()])]


def _hydraulic_panels(t: Trajectory) -> list[_Panel]:
    """Pressures and spools of the cylinders of a platform, if they were recorded."""
    if t.hydraulics is None:
        return []
    cylinders = t.hydraulics

    def panel(title: str, label: str, values: np.ndarray) -> _Panel:
        return _Panel(title, label, [(name, values[:, i]) for i, name in enumerate(t.effort_names)])

    return [
        panel("Bore side", "pressure [bar, absolute]", cylinders.pressure_bore / 1e5),
        panel("Rod side", "pressure [bar, absolute]", cylinders.pressure_rod / 1e5),
        panel("Valves", "spool [-]", cylinders.spool),
    ]


def _draw(ax: Any, panel: _Panel, trajectory: Trajectory) -> None:
    """Fill one axes."""
    x = trajectory.t if panel.frequency is None else panel.frequency
    for i, (name, values) in enumerate(panel.lines):
        style = STYLES[i // len(COLOURS) % len(STYLES)]
        label = name if i < LEGEND_ROWS else None
        ax.plot(x, values, style, color=COLOURS[i % len(COLOURS)], lw=1.5, label=label)
    if panel.frequency is None:
        for event in trajectory.events[:50]:
            ax.axvline(event.time, color="0.35" if event.terminal else "0.7", lw=0.9, ls=":", zorder=0)
    # above the frequencies that are marked
    ax.set_title(panel.title, loc="left", fontsize=11, pad=6.0 if panel.frequency is None else 18.0)
    ax.set_ylabel(panel.label)
    if panel.frequency is not None:
        _mark_modes(ax, panel, modal_frequencies(trajectory))
    elif trajectory.t.size > 1:
        ax.set_xlim(trajectory.t[0], trajectory.t[-1])
    ax.grid(True, color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if panel.frequency is None:
        _keep_height(ax, panel)
        ax.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)


def _keep_height(ax: Any, panel: _Panel) -> None:
    """At least the panel's least height, and a millionth of its values: rounding is no motion."""
    low, high = ax.get_ylim()
    height = max(panel.least, LEAST_HEIGHT * panel.largest, NOTHING)
    if high - low < height:
        middle = 0.5 * (low + high)
        ax.set_ylim(middle - 0.5 * height, middle + 0.5 * height)


def _add_legend(ax: Any, panel: _Panel) -> None:
    """Beside the axes, never over the data."""
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


def _overlay(ax: Any, panel: _Panel, others: dict[str, list[_Panel]], runs: Mapping[str, Trajectory]) -> None:
    """Lines of other trajectories with the names of those of a panel, dashed over them, in darker colours."""
    from matplotlib.colors import to_rgb

    names = [name for name, _ in panel.lines]
    for word, found in others.items():
        same = next((p for p in found if (p.title, p.label) == (panel.title, panel.label)), None)
        if same is None:
            continue
        x = runs[word].t if same.frequency is None else same.frequency
        for name, values in same.lines:
            if name in names:
                i = names.index(name)
                label = f"{name}, {word}" if i < LEGEND_ROWS else None
                dark = [0.5 * share for share in to_rgb(COLOURS[i % len(COLOURS)])]
                ax.plot(x, values, "--", color=dark, lw=1.0, label=label)


def _mark_modes(ax: Any, panel: _Panel, frequencies: np.ndarray) -> None:
    """Vertical lines at the frequencies of vibration, with their values above the axes."""
    ax.set_yscale("log")
    top = max((float(values.max()) for _, values in panel.lines), default=1.0)
    if top > 0.0:
        ax.set_ylim(1e-6 * top, 3.0 * top)
    assert panel.frequency is not None
    highest = panel.frequency[-1] if not frequencies.size else min(panel.frequency[-1], 1.4 * frequencies[-1])
    ax.set_xlim(0.0, highest)
    shown = 0.0
    for f in frequencies:
        ax.axvline(f, color="0.45", lw=0.9, ls="--", zorder=0)
        # figures of neighbours are not written over each other
        if f - shown > 0.08 * highest or not shown:
            ax.text(
                f, 1.01, f"{f:.3g}", transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=7
            )
            shown = float(f)
