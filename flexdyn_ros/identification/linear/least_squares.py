"""Least squares with the weight that the residuals of each effort ask for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.linear.rows import Rows

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
