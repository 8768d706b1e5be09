"""Plots of trajectories with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import UnknownNameError, needs
from flexdyn_ros.escaping import mathtext
from flexdyn_ros.simulation.limits import departures
from flexdyn_ros.simulation.plot_style import COLOURS, STYLES, Size, save_figure, size_of, styled
from flexdyn_ros.simulation.spectra import modal_frequencies, spectra, tip_deflections

if TYPE_CHECKING:
    from flexdyn_ros.simulation.samples import Samples

__all__ = ["picture_formats", "plot_trajectory"]

PANELS = ("position", "velocity", "deflection", "effort", "hydraulics", "energy", "balance", "spectrum")
#: those that are drawn unless others are chosen; of robots that bend also deflection and spectrum
USUAL = ("position", "velocity", "effort", "hydraulics", "energy", "balance")
#: parts of the names of coordinates that deform a link
MODAL = ("/axial/", "/bending_", "/torsion/", "/mode/")
#: values that count as zero [SI], and the least height of an axes beside the values in it
NOTHING, LEAST_HEIGHT = 1e-12, 1e-6
#: what moves by less beside its largest value is constant
CONSTANT = 1e-9
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

    @property
    def is_constant(self) -> bool:
        """No line moves, to rounding; a balance that would show it at its scale is drawn."""
        if self.least > NOTHING:
            return False
        moved = max((float(np.ptp(values)) for _, values in self.lines if values.size), default=0.0)
        return moved <= max(NOTHING, CONSTANT * self.largest)


def plot_trajectory(
    trajectory: Samples,
    path: str | PathLike[str] | None = None,
    *,
    panels: Sequence[str] | None = None,
    coordinates: Sequence[str] | None = None,
    overlay: Mapping[str, Samples] | None = None,
    title: str | None = None,
    size: str = "screen",
    dpi: int | None = None,
) -> Any:
    """Draw a trajectory: one panel per quantity and unit, with a letter; events as vertical lines.

    Parameters
    ----------
    trajectory : Samples
    path : path, optional
        File to write; its ending says what kind: svg and pdf keep lines and text, png has pixels.
    panels : sequence of {"position", "velocity", "deflection", "effort", "hydraulics", "energy", "balance",
            "spectrum"}
        balance is energy - work + dissipated less its first value; deflection and spectrum need the robot and
        the spectrum marks its frequencies of vibration with free joints. What was not recorded, or stays
        constant, is left out and named below. Default: all, but deflection and spectrum only of robots that
        bend.
    coordinates : sequence of names, optional
        Only these, of q_names, v_names and effort_names.
    overlay : mapping from a word to a Trajectory, optional
        Others to compare with, such as that of the rigid twin: what has the same name is drawn dashed.
    title : str, optional
    size : {"screen", "one-column", "two-column"}
        The latter are 89 and 183 mm wide, with letters for print.
    dpi : int, optional
        Of pictures with pixels; default: 130.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnknownNameError
        If there is no such panel, coordinate or size.
    MissingExtraError
        If matplotlib is not installed.
    """
    with needs("matplotlib", "view"):
        from matplotlib.figure import Figure
    if panels is None:
        panels = PANELS if tip_deflections(trajectory) else USUAL
    drawn = [panel for name in panels for panel in _panels(trajectory, name, coordinates)]
    # what stays constant is not drawn as if it moved
    still = [panel for panel in drawn if panel.is_constant]
    drawn = [panel for panel in drawn if all(panel is not other for other in still)] or drawn[:1]
    others = {
        word: [panel for name in panels for panel in _panels(other, name, None)]
        for word, other in (overlay or {}).items()
    }
    chosen = size_of(size)
    with styled(chosen):
        columns = 1 if len(drawn) <= 3 or size == "one-column" else 2
        rows = max(1, -(-len(drawn) // columns))
        height = 0.09 * chosen.letters + chosen.row * rows
        figure = Figure(figsize=(chosen.widths[columns - 1], height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).T.ravel()
        for i, (ax, panel) in enumerate(zip(axes, drawn)):
            _draw(ax, panel, trajectory, chosen)
            _overlay(ax, panel, others, overlay or {})
            _add_legend(ax, panel, chosen)
            if len(drawn) > 1:
                _add_letter(ax, i, chosen)
        for ax in axes[len(drawn) :]:
            ax.set_axis_off()
        _label_times(axes, drawn, rows)
        figure.suptitle(title or _title(trajectory), fontsize=chosen.letters + 3.0, fontweight="bold")
        if still:
            names = ", ".join(dict.fromkeys(panel.label for panel in still))
            figure.supxlabel(
                f"constant throughout: {names}", fontsize=chosen.letters - 1.0, x=0.01, ha="left"
            )
        if path is not None:
            save_figure(figure, path, dpi)
    return figure


def _label_times(axes: Any, drawn: list[_Panel], rows: int) -> None:
    """Names and numbers of abscissas, at the lowest panel of each column and where they change."""
    for i, panel in enumerate(drawn):
        last = i == len(drawn) - 1 or (i + 1) % rows == 0
        if panel.frequency is not None:
            axes[i].set_xlabel("frequency [Hz]; dashed: modes with free joints")
        elif last or drawn[i + 1].frequency is not None:
            axes[i].set_xlabel("time [s]")
        else:
            axes[i].tick_params(labelbottom=False)


def _add_letter(ax: Any, number: int, size: Size) -> None:
    """(a), (b) ... above the ordinate, left of the title."""
    ax.annotate(
        f"({chr(ord('a') + number % 26)})",
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(-3.0 * size.letters, 0.6 * size.letters),
        textcoords="offset points",
        fontweight="bold",
        fontsize=size.letters + 1.0,
        annotation_clip=False,
    ).set_in_layout(False)


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


def _title(trajectory: Samples) -> str:
    times = "steps of" if trajectory.is_fixed else "error control, samples every"
    return f"{mathtext(trajectory.robot_name)}: {trajectory.method}, {times} {trajectory.dt * 1e3:g} ms"


def _panels(trajectory: Samples, quantity: str, coordinates: Sequence[str] | None) -> list[_Panel]:
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


def _hydraulic_panels(t: Samples) -> list[_Panel]:
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


def _draw(ax: Any, panel: _Panel, trajectory: Samples, size: Size) -> None:
    """Fill one axes."""
    x = trajectory.t if panel.frequency is None else panel.frequency
    for i, (name, values) in enumerate(panel.lines):
        style = STYLES[i // len(COLOURS) % len(STYLES)]
        label = mathtext(name) if i < LEGEND_ROWS else None
        ax.plot(x, values, style, color=COLOURS[i % len(COLOURS)], lw=size.line, label=label)
    if panel.title == "Position" and trajectory.robot is not None:
        colour = {name: COLOURS[i % len(COLOURS)] for i, (name, _) in enumerate(panel.lines)}
        for one in departures(trajectory, trajectory.robot.coordinates):
            if one.quantity == "position" and one.name in colour:
                ax.axhline(one.limit, color=colour[one.name], lw=0.7 * size.line, ls=(0, (1, 2)), zorder=0)
    if panel.frequency is None:
        for event in trajectory.events[:50]:
            ax.axvline(
                event.time, color="0.35" if event.terminal else "0.7", lw=0.6 * size.line, ls=":", zorder=0
            )
    # above the frequencies that are marked
    ax.set_title(panel.title, loc="left", pad=(0.6 if panel.frequency is None else 1.8) * size.letters)
    ax.set_ylabel(panel.label)
    if panel.frequency is not None:
        _mark_modes(ax, panel, modal_frequencies(trajectory), size)
    elif trajectory.t.size > 1:
        ax.set_xlim(trajectory.t[0], trajectory.t[-1])
    ax.grid(True, color="0.9", lw=0.5 * size.line)
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


def _add_legend(ax: Any, panel: _Panel, size: Size) -> None:
    """Beside the axes, never over the data."""
    if panel.lines:
        more = len(panel.lines) - LEGEND_ROWS
        heading = f"first {LEGEND_ROWS} of {len(panel.lines)}" if more > 0 else None
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.02),
            borderaxespad=0.0,
            frameon=False,
            fontsize=size.letters - (2.0 if len(panel.lines) > 8 else 1.0),
            title=heading,
            title_fontsize=size.letters - 2.0,
            handlelength=1.4,
            labelspacing=0.3,
        )


def _overlay(ax: Any, panel: _Panel, others: dict[str, list[_Panel]], runs: Mapping[str, Samples]) -> None:
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
                label = mathtext(f"{name}, {word}") if i < LEGEND_ROWS else None
                dark = [0.5 * share for share in to_rgb(COLOURS[i % len(COLOURS)])]
                ax.plot(x, values, "--", color=dark, lw=1.0, label=label)


def _mark_modes(ax: Any, panel: _Panel, frequencies: np.ndarray, size: Size) -> None:
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
                f,
                1.01,
                f"{f:.3g}",
                transform=ax.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=size.letters - 2.5,
            )
            shown = float(f)
