"""Data that were not fitted: how well a robot predicts them, and what files tell of each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.linear.fit import fit_linear
from flexdyn_ros.identification.linear.motions import motion_of
from flexdyn_ros.identification.linear.rows import efforts_of
from flexdyn_ros.identification.measurement import measurements_of
from flexdyn_ros.robot.verbs import Robot


class HeldOut(NamedTuple):
    """One measurement that was left out: its name, and by channel the root mean square of its residuals, and
    of those of the data that were fitted."""

    name: str
    rms: dict[str, float]
    fitted: dict[str, float]


def predicted_efforts(robot: Robot, data: object, *, cutoff: float | None = None) -> Samples:
    """Efforts measured, and those that a robot needs for the motion that was measured; arguments as of
    `fit_linear`."""
    motions = [motion_of(robot, m, cutoff) for m in measurements_of(robot, data)]
    pairs = []
    for motion in motions:
        predicted = motion.smoothed(robot.inverse_dynamics(motion.q, motion.v, motion.a))
        measured = np.where(motion.known[motion.kept], motion.smoothed(motion.tau), np.nan)
        pairs.append((measured, predicted))
    return efforts_of(robot, motions, pairs)


def cross_validation(robot: Robot, data: object, **options: Any) -> tuple[HeldOut, ...]:
    """Every measurement predicted from a fit to all others.

    Parameters
    ----------
    robot : Robot
    data : several Measurements, Trajectories or paths
    options
        Of `fit_linear`.

    Raises
    ------
    StateError
        For a single measurement, and as `fit_linear` does.
    """
    every = measurements_of(robot, data)
    if len(every) < 2:
        raise StateError("cross-validation takes at least two measurements, one is left out each time")
    found = []
    for left_out in every:
        fit = fit_linear(robot, [m for m in every if m is not left_out], **options)
        held = predicted_efforts(fit.robot, left_out, cutoff=options.get("cutoff"))
        square = np.nanmean((held.measured - held.predicted) ** 2, axis=0)
        rms = dict(zip(held.channels, np.sqrt(square).tolist(), strict=True))
        found.append(HeldOut(left_out.name, rms, fit.rms))
    return tuple(found)
