"""Ink of the line drawings of the documentation: the colours and letters of all figures, arrows, angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Arc

from flexdyn_ros.simulation import figure_style

# outlines of letters, so that formulas look the same in every browser; nothing is laid out but by the drawing
plt.style.use(
    figure_style() | {"font.size": 11, "svg.fonttype": "path", "figure.constrained_layout.use": False}
)
#: parts of robots, what is pointed at, and a third quantity: the first colours of the figures
PARTS, ACCENT, THIRD = plt.rcParams["axes.prop_cycle"].by_key()["color"][:3]
#: lines that help, with a contrast of 4.5 on white; surfaces of bodies, of rods and of oil
FAINT, BODY, ROD, OIL = "#767676", "#e4e2f3", "#c3bfe2", "#e8b04a"


def drawing(width: float, height: float, ratios: Sequence[float] = (1.0,)) -> tuple[Any, Any]:
    """A figure of a size [in] and its axes, an array of them where there are several; they are not drawn."""
    figure, axes = plt.subplots(1, len(ratios), figsize=(width, height), width_ratios=ratios)
    for ax in np.atleast_1d(axes):
        ax.set_aspect("equal")
        ax.axis("off")
        # lines are dashed only where they say so
        ax.set_prop_cycle(color=["black"])
    return figure, axes


def arrow(
    ax: Any, start: Sequence, end: Sequence, label: str = "", offset: Sequence = (0.0, 0.0), colour="black"
) -> None:
    """An arrow with its symbol beside the head."""
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=end, xytext=start, arrowprops=style)
    if label:
        ax.text(end[0] + offset[0], end[1] + offset[1], label, color=colour, ha="center", va="center")


def angle_mark(
    ax: Any, at: Sequence, radius: float, low: float, high: float, label: str, *, horizon: bool = False
) -> None:
    """An arc from one direction to another [rad] with its name, with the line that it begins at if wanted."""
    ends = {"theta1": np.degrees(low), "theta2": np.degrees(high)}
    ax.add_patch(Arc(at, 2 * radius, 2 * radius, color=ACCENT, **ends))
    if horizon:
        ax.plot([at[0], at[0] + 1.15 * radius], [at[1], at[1]], color=FAINT, lw=0.7, ls="--")
    x, y = np.asarray(at) + 1.27 * radius * np.array([np.cos(0.5 * (low + high)), np.sin(0.5 * (low + high))])
    ax.text(x, y, label, color=ACCENT, ha="center", va="center")


def save(figures: Mapping[str, Callable[[], Any]], arguments: Sequence[str]) -> None:
    """Draw figures into the folder that is the first argument, else beside this file; with a second
    argument as PNG, too."""
    folder = Path(arguments[0]) if arguments else Path(__file__).parent
    for name, draw in figures.items():
        figure = draw()
        style: dict[str, Any] = {"bbox_inches": "tight", "facecolor": "white"}
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, **style)
        if len(arguments) > 1:
            figure.savefig(folder / f"{name}.png", dpi=80, **style)
        plt.close(figure)
