"""What residuals tell: whether they are white, and which estimates hang together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: lags that are looked at, at most this share of the samples
LAGS, SHARE = 20, 0.2
#: residuals below this share of the largest value are rounding
ROUNDING = 1e-10
#: how often white residuals are called coloured, over all channels
LEVEL = 0.01
#: from which correlation on two estimates cannot be told apart
ALIKE = 0.99


class Whiteness(NamedTuple):
    """Ljung-Box test of one channel: statistic, degrees of freedom, probability of at least that statistic
    for white residuals, and whether they pass for white."""

    statistic: float
    freedom: int
    probability: float
    is_white: bool


def whiteness(
    residuals: np.ndarray, measured: np.ndarray, parts: Sequence[slice], channels: Sequence[str]
) -> dict[str, Whiteness]:
    """The test of Ljung & Box (1978) of residuals (n, k) of what was measured, by channel; the statistics of
    parts, which do not follow each other, add. Missing samples are NaN; residuals that are rounding pass."""
    from scipy.stats import chi2

    found = {}
    for i, name in enumerate(channels):
        statistic, freedom = 0.0, 0
        rounding = ROUNDING * np.nanmax(np.abs(measured[:, i]), initial=0.0)
        for part in parts if np.nanmax(np.abs(residuals[:, i]), initial=0.0) > rounding else ():
            own, lags = _ljung_box(residuals[part, i])
            statistic, freedom = statistic + own, freedom + lags
        probability = float(chi2.sf(statistic, freedom)) if freedom else 1.0
        found[name] = Whiteness(statistic, freedom, probability, probability > LEVEL / len(channels))
    return found


def _ljung_box(values: np.ndarray) -> tuple[float, int]:
    """Statistic and number of lags."""
    x = values[np.isfinite(values)]
    lags = min(LAGS, int(SHARE * x.size))
    x = x - x.mean() if x.size else x
    power = float(x @ x)
    if lags < 1 or power == 0.0:
        return 0.0, 0
    n = x.size
    rho = np.array([x[k:] @ x[: n - k] for k in range(1, lags + 1)]) / power
    return float(n * (n + 2) * np.sum(rho**2 / (n - np.arange(1, lags + 1)))), lags


def correlated_pairs(covariance: np.ndarray, names: Sequence[str]) -> tuple[str, ...]:
    """Sentences on estimates that the data cannot tell apart."""
    deviation = np.sqrt(np.diag(covariance))
    safe = np.where(deviation > 0.0, deviation, 1.0)
    correlation = covariance / np.outer(safe, safe)
    rows, columns = np.nonzero(np.triu(np.abs(correlation) > ALIKE, 1))
    return tuple(
        f"these data cannot tell {names[i]} from {names[j]}: correlation {correlation[i, j]:.4f}"
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    )
