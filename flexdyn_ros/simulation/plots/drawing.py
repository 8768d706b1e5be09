"""Plots of trajectories with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import needs
from flexdyn_ros.escaping import mathtext
from flexdyn_ros.simulation.plots.panels import NOTHING, USUAL, Panel, panels_of
from flexdyn_ros.simulation.plots.spectra import modal_frequencies
from flexdyn_ros.simulation.plots.style import COLOURS, DASHES, Size, save_figure, size_of, styled

if TYPE_CHECKING:
    from flexdyn_ros.simulation.samples import Samples

#: least height of an axes beside the values in it
LEAST_HEIGHT = 1e-6
#: entries of a legend; more lines than that are drawn without a name each
LEGEND_ROWS = 16
#: events with a line, and those with a name; names are so far apart [shares of the width]
MOST_EVENTS, MOST_NAMED, APART = 50, 8, 0.03
#: circles along a line of another run
CIRCLES = 12


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
    """Draw a trajectory: one panel per quantity and unit, with a letter; events as vertical lines with their
    names, limits that were passed as dotted lines.

    Curves that are equal are drawn once, motions too small to be seen beside their values as changes from the
    start, and small or large numbers in mm, kN, and so on. What stays constant is named below.

    Parameters
    ----------
    trajectory : Samples
    path : path, optional
        File to write; its ending says what kind: svg and pdf keep lines and text, png has pixels.
    panels : sequence of {"position", "velocity", "deflection", "effort", "hydraulics", "energy", "balance",
            "spectrum"}
        balance is energy - work + dissipated less its first value; deflection and spectrum need the robot and
        the spectrum marks its frequencies of vibration with free joints. Default: position, deflection of
        tips, energy. What was not recorded is left out.
    coordinates : sequence of names, optional
        Only these, of q_names, v_names and effort_names; modes are drawn if they are named, or velocities,
        efforts or positions are asked for by `panels`.
    overlay : mapping from a word to a Trajectory, optional
        Others to compare with, such as that of the rigid twin: what has the same name is drawn as a thin line
        with circles.
    title : str, optional
        Default: robot and method; none in the sizes for print, which have captions.
    size : {"screen", "one-column", "two-column"}
        The latter are 89 and 183 mm wide, with letters for print.
    dpi : int, optional
        Of pictures with pixels; default: 150, in the sizes for print 300.

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
    chosen = size_of(size)
    every = [panel for name in panels or USUAL for panel in panels_of(trajectory, name, coordinates)]
    if panels is None and coordinates is None:
        every = [panel for panel in every if not panel.title.startswith("Modal")]
    # what stays constant is not drawn as if it moved
    still = [panel for panel in every if panel.is_constant]
    raw = [panel for panel in every if all(panel is not other for other in still)] or every[:1]
    others = {
        word: [panel for name in panels or USUAL for panel in panels_of(other, name)]
        for word, other in (overlay or {}).items()
    }
    with styled(chosen):
        columns = 1 if len(raw) <= 3 or size == "one-column" else 2
        rows = max(1, -(-len(raw) // columns))
        height = 0.09 * chosen.letters * chosen.titled + min(chosen.row * rows, chosen.highest)
        figure = Figure(figsize=(chosen.widths[columns - 1], height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).T.ravel()
        for i, (ax, panel) in enumerate(zip(axes, raw)):
            shown = panel.scaled(panel.readable()) if overlay else panel.readable()
            _draw(ax, shown, trajectory, chosen)
            _overlay(ax, panel, shown, others, overlay or {}, chosen)
            _add_legend(ax, shown, chosen)
            if len(raw) > 1:
                _add_letter(ax, i, chosen)
        for ax in axes[len(raw) :]:
            ax.set_axis_off()
        _label_times(axes, raw, rows)
        if raw and raw[0].frequency is None:
            _name_events(axes[0], trajectory, chosen)
        _add_texts(figure, title, trajectory, still, chosen)
        if path is not None:
            save_figure(figure, path, dpi or chosen.dpi)
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


# ---- around the panels ----


def _add_texts(
    figure: Any, title: str | None, trajectory: Samples, still: Sequence[Panel], size: Size
) -> None:
    """The title above, and below what is constant, as wide as the figure."""
    if title is None and size.titled:
        title = _title(trajectory)
    letters = 72.0 * figure.get_figwidth() / (0.62 * size.letters)
    if title:
        text = fill(title, max(20, int(letters * size.letters / (size.letters + 3.0))))
        figure.suptitle(text, fontsize=size.letters + 3.0, fontweight="bold")
    if still:
        names = ", ".join(dict.fromkeys(panel.label for panel in still))
        text = fill(f"constant throughout: {names}", max(20, int(letters)))
        figure.supxlabel(text, fontsize=size.letters - 1.0, x=0.01, ha="left")


def _title(trajectory: Samples) -> str:
    return f"{mathtext(trajectory.robot_name)}: {trajectory.by_method}"


def _label_times(axes: Any, drawn: Sequence[Panel], rows: int) -> None:
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


def _name_events(ax: Any, trajectory: Samples, size: Size) -> None:
    """Names of the first events beside their lines, as far as they do not cover each other."""
    begin, end = ax.get_xlim()
    last = -np.inf
    for event in trajectory.events[:MOST_NAMED]:
        if event.time - last < APART * (end - begin):
            continue
        last = event.time
        ax.text(
            event.time, 0.97, f" {mathtext(event.name)}", transform=ax.get_xaxis_transform(), rotation=90.0,
            ha="right", va="top", fontsize=size.letters - 2.0, color="0.35",
        )  # fmt: skip


# ---- one panel ----


def _draw(ax: Any, panel: Panel, trajectory: Samples, size: Size) -> None:
    """Fill one axes."""
    x = trajectory.t if panel.frequency is None else panel.frequency
    colours = {}
    for i, (name, values) in enumerate(panel.lines):
        colour, dashes = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        label = mathtext(name) if i < LEGEND_ROWS else None
        ax.plot(x, values, linestyle=dashes, color=colour, lw=size.line, label=label)
        colours[name] = colour
    named: list[float] = []
    for name, value in panel.limits:
        if name not in colours:
            continue
        ax.axhline(value, color=colours[name], lw=0.7 * size.line, ls=(0, (1, 2)), zorder=0)
        # limits of neighbours are not written over each other
        if all(abs(value - other) > 0.08 * np.ptp(ax.get_ylim()) for other in named):
            ax.text(
                0.995, value, f"limit of {mathtext(name)}", transform=ax.get_yaxis_transform(), ha="right",
                va="bottom", fontsize=size.letters - 2.0, color=colours[name],
            )  # fmt: skip
            named.append(value)
    if panel.frequency is None:
        for event in trajectory.events[:MOST_EVENTS]:
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


def _keep_height(ax: Any, panel: Panel) -> None:
    """At least the panel's least height, and a millionth of its values: rounding is no motion."""
    low, high = ax.get_ylim()
    height = max(panel.least, LEAST_HEIGHT * panel.largest, NOTHING)
    if high - low < height:
        middle = 0.5 * (low + high)
        ax.set_ylim(middle - 0.5 * height, middle + 0.5 * height)


def _add_legend(ax: Any, panel: Panel, size: Size) -> None:
    """Beside the axes, in one column of a page above them, never over the data."""
    if not panel.lines:
        return
    more = len(panel.lines) - LEGEND_ROWS
    look: dict[str, Any] = {
        "frameon": False,
        "borderaxespad": 0.0,
        "fontsize": size.letters - (2.0 if len(panel.lines) > 8 else 1.0),
        "title": f"first {LEGEND_ROWS} of {len(panel.lines)}" if more > 0 else None,
        "title_fontsize": size.letters - 2.0,
        "handlelength": 2.4,
        "labelspacing": 0.3,
    }
    if size.legend_above:
        longest = max(len(name) for name, _ in panel.lines[:LEGEND_ROWS])
        look |= {"loc": "lower left", "bbox_to_anchor": (0.0, 1.02), "columnspacing": 1.0}
        look |= {"ncols": max(1, min(3, 48 // (longest + 8)))}
        # in place of the title: the ordinate says the same
        ax.set_title("", loc="left")
    else:
        look |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02)}
    ax.legend(**look)


def _overlay(
    ax: Any,
    panel: Panel,
    shown: Panel,
    others: dict[str, list[Panel]],
    runs: Mapping[str, Samples],
    size: Size,
) -> None:
    """Lines of other trajectories with the names of those of a panel: thin, darker, with circles."""
    from matplotlib.colors import to_rgb

    names = [name for name, _ in panel.lines]
    for word, found in others.items():
        same = next((p for p in found if (p.title, p.label) == (panel.title, panel.label)), None)
        if same is None:
            continue
        x = runs[word].t if same.frequency is None else same.frequency
        for name, values in same.scaled(shown).lines:
            if name in names:
                i = names.index(name)
                label = mathtext(f"{name}, {word}") if i < LEGEND_ROWS else None
                dark = [0.6 * share for share in to_rgb(COLOURS[i % len(COLOURS)])]
                ax.plot(
                    x, values, "-o", color=dark, lw=0.6 * size.line, label=label, fillstyle="none",
                    markersize=0.4 * size.letters, markevery=max(1, len(x) // CIRCLES),
                )  # fmt: skip


def _mark_modes(ax: Any, panel: Panel, frequencies: np.ndarray, size: Size) -> None:
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
                f, 1.01, f"{f:.3g}", transform=ax.get_xaxis_transform(), ha="center", va="bottom",
                fontsize=size.letters - 2.5,
            )  # fmt: skip
            shown = float(f)
