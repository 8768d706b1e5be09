"""The numbers of a fit: a robot with them, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.errors import needs
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.residuals import Whiteness, correlated_pairs, whiteness
from flexdyn_ros.robot.verbs import Robot

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


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """Numbers of a fit; attributes as of `Identified`."""

    robot: Robot
    table: Any
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
    def correlated(self) -> tuple[str, ...]:
        """Sentences on numbers that the data cannot tell apart."""
        return correlated_pairs(self.covariance, list(self.table["parameter"]))


def table_of(
    names: Sequence[str], values: np.ndarray, covariance: np.ndarray, start: np.ndarray, units: Sequence[str]
) -> Any:
    """The table of numbers."""
    with needs("pandas", "identification"):
        import pandas as pd
    deviation = np.sqrt(np.diag(covariance))
    return pd.DataFrame({
        "parameter": list(names), "value": values, "standard_deviation": deviation,
        "lower": values - NORMAL_95 * deviation, "upper": values + NORMAL_95 * deviation,
        "start": start, "unit": list(units),
    })  # fmt: skip
