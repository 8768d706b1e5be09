"""Pictures of fits: measured against predicted, residuals, deviations."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import needs
from flexdyn_ros.escaping import mathtext
from flexdyn_ros.simulation.plots.style import COLOURS, save_figure
from flexdyn_ros.wording import percent

if TYPE_CHECKING:
    from flexdyn_ros.identification.fitted import Fitted

#: channels in one picture
MOST_CHANNELS = 8
#: a broad band, a thin line over it, and what is between them
MEASURED, PREDICTED, RESIDUAL = COLOURS[5], COLOURS[6], COLOURS[1]


def draw_fit(identified: Fitted, part: int, path: str | PathLike[str]) -> Path:
    """Draw measured and predicted values of one measurement over time, a row for each channel, residuals
    below; returns the path."""
    with needs("matplotlib", "identification"):
        from matplotlib.figure import Figure
    samples = identified.samples
    rows = samples.parts[part]
    channels = list(range(min(len(samples.channels), MOST_CHANNELS)))
    figure: Any = Figure(figsize=(8.0, 0.8 + 1.7 * len(channels)), layout="constrained")
    axes = figure.subplots(len(channels), 1, sharex=True, squeeze=False)[:, 0]
    t = samples.t[rows]
    for axis, i in zip(axes, channels, strict=True):
        measured, predicted = samples.measured[rows, i], samples.predicted[rows, i]
        axis.plot(t, measured, color=MEASURED, linewidth=3.5, label="measured")
        axis.plot(t, predicted, color=PREDICTED, linewidth=0.9, label="predicted")
        axis.plot(t, measured - predicted, color=RESIDUAL, linewidth=0.7, label="residual")
        name = mathtext(samples.channels[i].removesuffix(".effort"))
        axis.set_ylabel(f"{name}\n[{mathtext(samples.units[i])}]", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
        axis.margins(x=0.0)
        share = np.sqrt(np.nanmean((measured - predicted) ** 2)) / max(float(np.nanstd(measured)), 1e-300)
        axis.set_title(f"residual {percent(share)} of the deviation", fontsize=8, loc="right")
    axes[0].legend(fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    axes[-1].set_xlabel("time [s]", fontsize=8)
    save_figure(figure, path, 110)
    return Path(path)
