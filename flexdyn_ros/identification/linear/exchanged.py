"""Positions that belong to other joints than their columns say: efforts fit far better with two exchanged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.linear.least_squares import Rows
from flexdyn_ros.identification.linear.models import LinearModel, bodies_and_joints, linear_model
from flexdyn_ros.identification.linear.motions import Motion, motion_of
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.wording import percent

#: residuals of a fit that are doubtful, as a share of what efforts deviate from their means
POOR = 0.1
#: with two columns exchanged residuals are at most this share of those before
BETTER = 0.6
#: samples that are looked at, and singular values that count, of the largest
COMPARED, COUNTING = 120, 1e-10


def fits_poorly(samples: Samples) -> bool:
    """Whether efforts that were predicted are far from those that were measured."""
    there = np.isfinite(samples.measured).any(axis=0)
    measured, predicted = samples.measured[:, there], samples.predicted[:, there]
    apart = np.sqrt(np.nanmean((measured - predicted) ** 2, axis=0))
    return bool(np.any(apart > POOR * np.nanstd(measured, axis=0)))


def exchanged_columns(robot: Robot, measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """As `exchanged_positions`, of measurements of which some tell positions and efforts of all joints;
    warned of too."""
    if next(_pairs(robot), None) is None:
        return ()
    motions = []
    for measurement in measurements:
        with suppress(StateError, UnsupportedError):
            motions.append(motion_of(robot, measurement))
    if not motions:
        return ()
    model = linear_model(robot)
    found = exchanged_positions(robot, model, bodies_and_joints(robot, model), motions)
    for text in found:
        warnings.warn(text, FlexdynWarning, 3)
    return found


def exchanged_positions(
    robot: Robot, model: LinearModel, chosen: Sequence[Parameter], motions: Sequence[Motion]
) -> tuple[str, ...]:
    """A sentence on the two joints whose columns fit far better exchanged, if there are such."""
    few = [_few(motion, len(motions)) for motion in motions]
    own = _misfit(model, chosen, few)
    if not own > POOR:
        return ()
    found = {pair: _misfit(model, chosen, _exchanged(few, *pair)) for pair in _pairs(robot)}
    best = min(found, key=lambda pair: found[pair], default=None)
    if best is None or not found[best] < BETTER * own:
        return ()
    one, other = (c.name for c in best)
    return (
        f"columns of {one} and {other} fit better exchanged: residuals are {percent(own)} of the efforts, "
        f"{percent(found[best])} with {one} for {other} and {other} for {one}",
    )


def _pairs(robot: Robot) -> Iterator[tuple[Coordinate, Coordinate]]:
    joints = [c for c in robot.coordinates if c.kind == "joint" and c.q_index >= 0]
    return ((a, b) for a, b in combinations(joints, 2) if a.unit == b.unit)


def _few(motion: Motion, parts: int) -> Motion:
    """Some of the samples that are kept, efforts filtered as positions are."""
    every = max(1, len(motion.t[motion.kept]) * parts // COMPARED)
    columns = {name: getattr(motion, name)[motion.kept][::every] for name in ("t", "q", "v", "a", "known")}
    return replace(motion, **columns, tau=motion.smoothed(motion.tau)[::every], cutoff=None)


def _exchanged(motions: Sequence[Motion], one: Coordinate, other: Coordinate) -> list[Motion]:
    return [
        replace(
            motion,
            q=_swapped(motion.q, one.q_index, other.q_index),
            v=_swapped(motion.v, one.v_index, other.v_index),
            a=_swapped(motion.a, one.v_index, other.v_index),
        )
        for motion in motions
    ]


def _swapped(values: np.ndarray, i: int, j: int) -> np.ndarray:
    new = values.copy()
    new[:, [i, j]] = values[:, [j, i]]
    return new


def _misfit(model: LinearModel, chosen: Sequence[Parameter], motions: Sequence[Motion]) -> float:
    """Root mean square of what least squares leave of efforts, each as a share of its deviation."""
    rows = Rows.of(model, chosen, motions)
    tau = np.concatenate([np.where(m.known, m.tau, np.nan) for m in motions])
    size = np.nanstd(tau, axis=0)
    Y, y = np.concatenate(rows.regressors), np.concatenate(rows.efforts)
    told = np.isfinite(y) & (size > 0.0)
    weight = np.broadcast_to(1.0 / np.where(size > 0.0, size, 1.0), y.shape)[told]
    W = Y[told] * weight[:, None]
    length = np.linalg.norm(W, axis=0)
    W = W / np.where(length > 0.0, length, 1.0)
    found = np.linalg.lstsq(W, y[told] * weight, rcond=COUNTING)[0]
    return float(np.sqrt(np.mean((y[told] * weight - W @ found) ** 2)))
