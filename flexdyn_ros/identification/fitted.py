"""The numbers of a fit: a robot with them, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.errors import needs
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from pandas import DataFrame

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


#: half width of a 95 % interval, in standard deviations
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Samples:
    """Measured and predicted values (n, k) of k channels at times (n,) of several measurements, one after the
    other; NaN where nothing was measured.

    Attributes
    ----------
    names : tuple of str
        Of the measurements.
    parts : tuple of slice
        Their rows.
    channels, units : tuples of k str
    """

    names: tuple[str, ...]
    parts: tuple[slice, ...]
    channels: tuple[str, ...]
    units: tuple[str, ...]
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray

    @property
    def left_over(self) -> dict[str, float]:
        """Root mean square of measured less predicted over that of measured, by channel; NaN without any."""
        there = np.isfinite(self.measured) & np.isfinite(self.predicted)
        off = np.where(there, self.measured - self.predicted, 0.0)
        ends = [np.linalg.norm(x, axis=0) for x in (off, np.where(there, self.measured, 0.0))]
        shares = ends[0] / np.where(ends[1] > 0.0, ends[1], np.nan)
        return dict(zip(self.channels, shares.tolist(), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """Numbers of a fit; attributes as of `Identified`."""

    robot: Robot
    table: DataFrame
    covariance: np.ndarray
    residuals: np.ndarray
    values: Mapping[str, float]
    deviations: Mapping[str, float]
    samples: Samples
    start: Robot
    base: BaseParameters | None = None
    warnings: tuple[str, ...] = ()

    @cached_property
    def whiteness(self) -> dict[str, Whiteness]:
        """Ljung-Box test of the residuals of every channel."""
        return whiteness(self.residuals, self.samples.measured, self.samples.parts, self.samples.channels)

    @property
    def is_white(self) -> bool:
        """Whether the residuals pass for white: the model explains all but noise."""
        return all(one.is_white for one in self.whiteness.values())

    @cached_property
    def rms(self) -> dict[str, float]:
        """Root of the mean square of the residuals by channel."""
        squares = np.nanmean(self.residuals**2, axis=0)
        return dict(zip(self.samples.channels, np.sqrt(squares).tolist(), strict=True))

    @cached_property
    def left_over(self) -> dict[str, float]:
        """Share of each channel that the fit leaves over: root mean square of the residuals over that of what
        was measured."""
        return self.samples.left_over

    @cached_property
    def correlated(self) -> tuple[str, ...]:
        """Sentences on numbers that the data cannot tell apart."""
        return correlated_pairs(self.covariance, list(self.table["parameter"]))


def table_of(
    names: Sequence[str],
    values: np.ndarray,
    covariance: np.ndarray,
    start: np.ndarray,
    units: Sequence[str],
    expressions: Sequence[str] = (),
) -> DataFrame:
    """The table of numbers, with what short names stand for if there are such."""
    with needs("pandas", "identification"):
        import pandas as pd
    deviation = np.sqrt(np.diag(covariance))
    return pd.DataFrame({
        "parameter": list(names), "value": values, "standard_deviation": deviation,
        "lower": values - NORMAL_95 * deviation, "upper": values + NORMAL_95 * deviation,
        "start": start, "unit": list(units), **({"expression": list(expressions)} if expressions else {}),
    })  # fmt: skip
