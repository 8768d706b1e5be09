"""A motion as single moments, for films and pages that are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def moments_of(viewer: Any, rate: float, most: int) -> tuple[list[Callable[[], None]], float]:
    """What moves the robot of a viewer now, as functions that each show one moment.

    Parameters
    ----------
    viewer : Viewer
    rate : float
        Moments per second; fewer where there would be too many.
    most : int

    Returns
    -------
    list of functions
        One swing of a mode, one tour, a trajectory from its begin to its end at its speed; else one moment.
    float
        Moments per second.
    """
    seconds = viewer.length
    count = int(np.clip(round(seconds * rate), 1, most))
    shares = np.arange(count) / count
    show = {"mode": _mode, "tour": _tour, "run": _run}.get(viewer.source)
    if show is None or count < 2:
        return [viewer.redraw_now], rate
    return [partial(viewer.show_moment, partial(show, viewer, share)) for share in shares.tolist()], (
        count / seconds
    )


def _mode(viewer: Any, share: float) -> None:
    viewer.show_mode_at(2.0 * np.pi * share)


def _tour(viewer: Any, share: float) -> None:
    viewer.q = viewer.reach.in_turn(2.0 * np.pi * viewer.robot.nv * share)
    viewer.v = np.zeros(viewer.robot.nv)


def _run(viewer: Any, share: float) -> None:
    playback = viewer.playback
    viewer.show_still(playback.start + share * (playback.end - playback.start))
