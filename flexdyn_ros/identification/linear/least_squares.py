"""Least squares with the weight that the residuals of each effort ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.linear.models import LinearModel
from flexdyn_ros.identification.linear.motions import Motion
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot


@dataclass(frozen=True, eq=False)
class Rows:
    """Regressors Y (n, nu, np), efforts (n, nu) less what is held, and that, of each motion; efforts that are
    not known are NaN."""

    motions: tuple[Motion, ...]
    regressors: tuple[np.ndarray, ...]
    efforts: tuple[np.ndarray, ...]
    held: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, model: LinearModel, chosen: Sequence[Parameter], motions: Sequence[Motion]) -> Rows:
        known = model.parameters
        names = [p.name for p in known]
        columns = [names.index(p.name) for p in chosen]
        rest = np.array([p.value for p in known])
        rest[columns] = 0.0
        regressors, efforts, held = [], [], []
        for motion in motions:
            Y, tau0 = model.regressor(motion.q, motion.v, motion.a)
            offset = tau0 + Y @ rest
            regressors.append(motion.smoothed(Y[..., columns]))
            held.append(motion.smoothed(offset))
            smooth = motion.smoothed(motion.tau)
            efforts.append(np.where(motion.known[motion.kept], smooth - held[-1], np.nan))
        return cls(tuple(motions), tuple(regressors), tuple(efforts), tuple(held))

    def triangle(self) -> np.ndarray:
        """Triangular factor of all rows that are known."""
        R = np.zeros((0, self.regressors[0].shape[-1]))
        for Y, tau in zip(self.regressors, self.efforts, strict=True):
            R = np.asarray(np.linalg.qr(np.vstack([R, Y[np.isfinite(tau)]]), mode="r"))
        return R

    def of_effort(self, j: int, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (m, nb) and efforts (m,) of one effort, of all motions."""
        known = [np.isfinite(tau[:, j]) for tau in self.efforts]
        W = [Y[there, j][:, columns] for Y, there in zip(self.regressors, known, strict=True)]
        y = [tau[there, j] for tau, there in zip(self.efforts, known, strict=True)]
        return np.concatenate(W), np.concatenate(y)

    def samples(self, robot: Robot, values: np.ndarray) -> Samples:
        """Efforts measured and predicted with those numbers."""
        every = zip(self.regressors, self.efforts, self.held, strict=True)
        pairs = [(tau + held, Y @ values + held) for Y, tau, held in every]
        return efforts_of(robot, self.motions, pairs)


def efforts_of(
    robot: Robot, motions: Sequence[Motion], pairs: Sequence[tuple[np.ndarray, np.ndarray]]
) -> Samples:
    """Efforts of the actuators, of (measured, predicted) pairs of arrays (n, nu) for each motion."""
    driven = [i for i, name in enumerate(robot.effort_names) if name in set(robot.actuators)]
    measured, predicted = (np.concatenate(part) for part in zip(*pairs, strict=True))
    ends = np.cumsum([0, *(len(tau) for tau, _ in pairs)]).tolist()
    units = units_of(robot)[2]
    return Samples(
        names=tuple(motion.name for motion in motions),
        parts=tuple(slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)),
        channels=tuple(f"{robot.effort_names[i]}.effort" for i in driven),
        units=tuple(units[i] for i in driven),
        t=np.concatenate([motion.t[motion.kept] for motion in motions]),
        measured=measured[:, driven],
        predicted=predicted[:, driven],
    )


#: weights are settled when they change by less than this share
SETTLED, MOST_ROUNDS = 1e-6, 50
#: a residual is rounding below this share of the largest effort
ROUNDING = 1e-13
#: residuals beyond so many deviations count linearly (Huber 1981: 95 % as good for normal noise)
HUBER = 1.345


def estimate(
    rows: Rows, base: BaseParameters, robust: bool
) -> tuple[np.ndarray, list[np.ndarray | None], np.ndarray]:
    """Base parameters (nb,), weights of samples by effort (None: all 1), deviations (nu,) of the noise."""
    blocks = [rows.of_effort(j, base.leading) for j in range(rows.efforts[0].shape[1])]
    count = sum(len(y) for _, y in blocks)
    if count <= base.rank:
        raise StateError(f"too short: {count} efforts were measured, expected more than {base.rank}")
    weights: list[np.ndarray | None] = [None] * len(blocks)
    factors = [_factor(W, y, None) for W, y in blocks]
    largest = max(np.abs(y).max(initial=0.0) for _, y in blocks)
    if largest == 0.0:
        raise StateError("all efforts are 0: they tell nothing")
    sigma = np.ones(len(blocks))
    beta = np.zeros(base.rank)
    for _ in range(MOST_ROUNDS):
        beta = _solved(factors, sigma)
        residuals = [y - W @ beta for W, y in blocks]
        squares = [_mean_square(r, w) for r, w in zip(residuals, weights, strict=True)]
        new = np.sqrt(np.array(squares) / (1.0 - base.rank / count))
        new = np.maximum(new, ROUNDING * largest)
        settled = np.all(np.abs(new - sigma) <= SETTLED * new)
        sigma = new
        if robust:
            weights = [_huber(r, s) for r, s in zip(residuals, sigma, strict=True)]
            factors = [_factor(W, y, w) for (W, y), w in zip(blocks, weights, strict=True)]
        if settled:
            break
    return beta, weights, sigma


def _factor(W: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Triangular factor of the rows [W y] of one effort: all that their least squares need."""
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    return np.asarray(np.linalg.qr(root * np.column_stack([W, y]), mode="r"))


def _solved(factors: Sequence[np.ndarray], sigma: np.ndarray) -> np.ndarray:
    stacked = np.vstack([R / s for R, s in zip(factors, sigma, strict=True)])
    size = np.linalg.norm(stacked[:, :-1], axis=0)
    found, *_ = np.linalg.lstsq(stacked[:, :-1] / size, stacked[:, -1], rcond=None)
    return np.asarray(found / size)


def _mean_square(residual: np.ndarray, weights: np.ndarray | None) -> float:
    if not residual.size:
        return 0.0
    if weights is None:
        return float(np.mean(residual**2))
    # normal noise beyond HUBER counts less: 1.4826 median |r| is its deviation
    return float((1.4826 * np.median(np.abs(residual))) ** 2)


def _huber(residual: np.ndarray, sigma: float) -> np.ndarray:
    size = np.abs(residual) / sigma
    return np.where(size > HUBER, HUBER / np.maximum(size, HUBER), 1.0)


def covariance_of(
    rows: Rows, base: BaseParameters, weights: Sequence[np.ndarray | None], sigma: np.ndarray
) -> np.ndarray:
    """Covariance (nb, nb) of the base parameters; with weights of samples that of Huber's estimate."""
    factors = []
    spread = np.zeros((base.rank, base.rank))
    for j, (w, s) in enumerate(zip(weights, sigma, strict=True)):
        W, y = rows.of_effort(j, base.leading)
        factors.append(_factor(W, y, w)[:, :-1] / s)
        spread += 0.0 if w is None else (W * (w**2)[:, None]).T @ W / s**2
    inverse = _inverse_square(np.vstack(factors))
    return inverse if all(w is None for w in weights) else inverse @ spread @ inverse


def _inverse_square(R: np.ndarray) -> np.ndarray:
    """The inverse of R^T R, whose parts may be of very different sizes: some efforts fit to rounding, others
    hardly at all. What rounding hides is as uncertain as that lets it be."""
    size = np.linalg.norm(R, axis=0)
    _, singular, directions = np.linalg.svd(R / size, full_matrices=False)
    singular = np.maximum(singular, np.finfo(float).eps * singular[0])
    half = directions.T / singular / size[:, None]
    return half @ half.T
