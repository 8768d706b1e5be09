"""Doubts about a linear fit: efforts that it leaves over, and guesses why: columns of two joints exchanged, a
position or an effort of the opposite sign, numbers that bodies cannot have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.linear.bodies import Bodies
from flexdyn_ros.identification.linear.least_squares import Estimate, Rows
from flexdyn_ros.identification.linear.models import (
    LinearModel,
    bodies_and_joints,
    linear_model,
    needed_efforts,
)
from flexdyn_ros.identification.linear.motions import Motion, motion_of
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.wording import percent

#: residuals of a fit that are doubtful, as a share of what efforts deviate from their means
POOR = 0.1
#: with other columns or signs residuals are at most this share of those before
BETTER = 0.6
#: samples that are looked at, and singular values that count, of the largest
COMPARED, COUNTING = 120, 1e-10
#: changes whose residuals differ by less than this factor are as good as each other
ALIKE = 1.2
#: an effort of which more than this share is left over is hardly explained
UNEXPLAINED = 0.5
#: masses that are told, over those before
HEAVY = 3.0
#: mean correlation of efforts with those that the robot needs, below which all have the opposite sign
OPPOSITE = -0.3
#: residuals above those of plain least squares by this factor are told, unless they are rounding
RAISED, ROUNDING = 1.05, 1e-6


def fits_poorly(samples: Samples) -> bool:
    """Whether efforts that were predicted are far from those that were measured."""
    there = np.isfinite(samples.measured).any(axis=0)
    measured, predicted = samples.measured[:, there], samples.predicted[:, there]
    apart = np.sqrt(np.nanmean((measured - predicted) ** 2, axis=0))
    return bool(np.any(apart > POOR * np.nanstd(measured, axis=0)))


def unexplained(samples: Samples) -> tuple[str, ...]:
    """Sentences on efforts that are hardly explained."""
    return tuple(
        f"{name}: {percent(share)} of it is left over, the fit explains little: is it the column of this "
        "joint, in these units, with this sign, at these times?"
        for name, share in samples.left_over.items()
        if share > UNEXPLAINED
    )


def resisting(
    robot: Robot, motions: Sequence[Motion], bodies: Bodies, base: BaseParameters, plain: Estimate,
    found: np.ndarray, nearest: np.ndarray, left_over: Mapping[str, float],
) -> tuple[str, ...]:  # fmt: skip
    """A sentence on efforts of which numbers that can be leave far more than plain least squares, and on what
    is in the way: `found` and `nearest` (np,) are both kinds of numbers, `left_over` shares of the efforts
    that the former leave."""
    left, least = plain.left(base.of(found)), plain.left(plain.beta)
    sizes = np.where(plain.sizes > 0.0, plain.sizes, 1.0)
    told = []
    for j, name in enumerate(robot.effort_names):
        if left[j] > RAISED * least[j] and left[j] > ROUNDING * sizes[j]:
            # of an effort, not of what is left of it for numbers that are fitted
            share = left_over.get(f"{name}.effort", left[j] / sizes[j])
            least_share = percent(share * least[j] / left[j])
            told.append(f"{percent(share)} of {name}.effort (plain least squares {least_share})")
    if not told:
        return ()
    low = [f"{base.parameters[i].name} {nearest[i]:.3g}" for i in bodies.too_low(nearest)]
    odd = [f"an inertia of {link} that no mass has" for link in bodies.unphysical(nearest)]
    reason = f": the data ask for {', '.join([*low, *odd])}" if low or odd else ""
    # plain least squares fit efforts of the other sign as well, by masses below zero
    all_opposite = _likeness(robot, [_few(motion, len(motions)) for motion in motions]) < OPPOSITE
    guess = (
        "all efforts seem to have the opposite sign"
        if all_opposite
        else "has an effort the opposite sign, or does the model leave something out?"
    )
    return (f"numbers that bodies and joints can have leave {', '.join(told)}{reason}; {guess}",)


def heavy(base: BaseParameters, before: np.ndarray, found: np.ndarray) -> tuple[str, ...]:
    """A sentence on masses that have grown far, of numbers before and found (np,)."""
    masses = [i for i, p in enumerate(base.parameters) if p.name.endswith("/mass")]
    old, new = float(before[masses].sum()), float(found[masses].sum())
    if not 0.0 < HEAVY * old < new:
        return ()
    return (
        f"masses are {new:.4g} kg in all, {old:.4g} kg before: if the robot does not weigh that, the data "
        'hardly bound them, and what is known of them helps, such as priors={"*/mass": (value, deviation)}',
    )


def exchanged_columns(robot: Robot, measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """As `guesses`, of measurements of which some tell positions and efforts of all joints; warned of too."""
    if len(_joints(robot)) < 2:
        return ()
    motions = []
    for measurement in measurements:
        with suppress(StateError, UnsupportedError):
            motions.append(motion_of(robot, measurement))
    if not motions:
        return ()
    model = linear_model(robot)
    found = guesses(robot, model, bodies_and_joints(robot, model), motions)
    for text in found:
        warnings.warn(text, FlexdynWarning, 3)
    return found


def guesses(
    robot: Robot, model: LinearModel, chosen: Sequence[Parameter], motions: Sequence[Motion]
) -> tuple[str, ...]:
    """A sentence on the change of columns with which plain least squares fit far better, if there is one: two
    joints exchanged, a position or an effort of the opposite sign. Of changes that are as good, the one after
    which efforts are more like those of the robot."""
    if robot.functions.is_constrained:
        # columns of closed mechanisms that are exchanged leave their loops open, which is an error
        return ()
    few = [_few(motion, len(motions)) for motion in motions]
    own = _misfit(model, chosen, few)
    if not own > POOR:
        return ()
    changes = dict(_changes(robot, few))
    found = {text: _misfit(model, chosen, changed) for text, changed in changes.items()}
    least = min(found.values(), default=np.inf)
    if not least < BETTER * own:
        return ()
    alike = [text for text in found if found[text] <= min(BETTER * own, ALIKE * least + COUNTING)]
    best = max(alike, key=lambda text: _likeness(robot, changes[text]))
    return (
        f"{best.split('|')[0]}: residuals are {percent(own)} of the efforts, {percent(found[best])} "
        f"{best.split('|')[1]}",
    )


def _changes(robot: Robot, motions: Sequence[Motion]) -> Iterator[tuple[str, list[Motion]]]:
    """What may be wrong, "|", what it would be then, and the motions with that."""
    for a, b in combinations(_joints(robot), 2):
        if a.unit == b.unit:
            yield (
                f"columns of {a.name} and {b.name} fit better exchanged|with {a.name} for {b.name} and "
                f"{b.name} for {a.name}",
                _exchanged(motions, a, b),
            )
    for c in _joints(robot):
        yield (
            f"{c.name} seems to count the other way|with its position, rates and accelerations negative",
            [_turned(m, c) for m in motions],
        )
    for j, name in enumerate(robot.effort_names):
        if any(np.any(m.known[:, j] & (m.tau[:, j] != 0.0)) for m in motions):
            sign = np.where(np.arange(robot.nu) == j, -1.0, 1.0)
            yield (
                f"{name}.effort seems to have the opposite sign|with it negative",
                [replace(m, tau=m.tau * sign) for m in motions],
            )


def _joints(robot: Robot) -> list[Coordinate]:
    return [c for c in robot.coordinates if c.kind == "joint" and c.q_index >= 0]


def _turned(motion: Motion, c: Coordinate) -> Motion:
    """With position, rate and acceleration of a joint negative."""
    q, v, a = motion.q.copy(), motion.v.copy(), motion.a.copy()
    q[:, c.q_index] *= -1.0
    for rates in (v, a):
        rates[:, c.v_index] *= -1.0
    return replace(motion, q=q, v=v, a=a)


def _likeness(robot: Robot, motions: Sequence[Motion]) -> float:
    """Mean correlation of efforts with those that the robot needs."""
    needed = np.concatenate([needed_efforts(robot, m.q, m.v, m.a) for m in motions])
    tau = np.concatenate([np.where(m.known, m.tau, 0.0) for m in motions])
    size = np.linalg.norm(needed, axis=0) * np.linalg.norm(tau, axis=0)
    return float(np.mean((needed * tau).sum(axis=0) / np.where(size > 0.0, size, 1.0)))


def _few(motion: Motion, parts: int) -> Motion:
    """Some of the samples that are kept, efforts filtered as positions are."""
    every = max(1, len(motion.t[motion.kept]) * parts // COMPARED)
    columns = {name: getattr(motion, name)[motion.kept][::every] for name in ("t", "q", "v", "a", "known")}
    tau, beside = (motion.smoothed(x)[::every] for x in (motion.tau, motion.beside))
    return replace(motion, **columns, tau=tau, beside=beside, cutoff=None)


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
    if not told.any():  # efforts that are constant, as of a free motion
        return 0.0
    weight = np.broadcast_to(1.0 / np.where(size > 0.0, size, 1.0), y.shape)[told]
    W = Y[told] * weight[:, None]
    length = np.linalg.norm(W, axis=0)
    W = W / np.where(length > 0.0, length, 1.0)
    found = np.linalg.lstsq(W, y[told] * weight, rcond=COUNTING)[0]
    return float(np.sqrt(np.mean((y[told] * weight - W @ found) ** 2)))
