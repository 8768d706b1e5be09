"""Sensors and motors between a robot and its columns: factor, offset, and a low pass of second order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

#: names of their numbers
SENSOR = re.compile(r"(.+)\.(factor|offset|cutoff|ratio)")
#: where they start unless told: no low pass has a start of its own
START = {"factor": 1.0, "offset": 0.0, "ratio": 0.5**0.5}


class Sensor(NamedTuple):
    """column = factor * low pass(value) + offset; natural frequency of the low pass [Hz], infinite without
    one, and its damping ratio."""

    factor: float = 1.0
    offset: float = 0.0
    cutoff: float = np.inf
    ratio: float = START["ratio"]

    def seen(self, values: np.ndarray, step: float) -> np.ndarray:
        """What it makes of values (n,), a step apart [s], at rest before the first."""
        if np.isfinite(self.cutoff):
            values = _low_passed(values, self.cutoff, self.ratio, step)
        return self.factor * values + self.offset


def sensors_of(values: Mapping[str, float]) -> dict[str, Sensor]:
    """Sensors by column, of numbers COLUMN.factor and so on."""
    found: dict[str, Sensor] = {}
    for name, value in values.items():
        match = SENSOR.fullmatch(name)
        if match:
            found[match[1]] = found.get(match[1], Sensor())._replace(**{match[2]: value})
    return found


def _low_passed(values: np.ndarray, cutoff: float, ratio: float, step: float) -> np.ndarray:
    """w^2 / (s^2 + 2 z w s + w^2) by the trapezoidal rule, from rest at the first value."""
    from scipy.signal import lfilter, lfilter_zi

    g = np.pi * max(cutoff, 1e-6) * step  # w h / 2
    below = np.array([1.0 + 2.0 * ratio * g + g * g, 2.0 * (g * g - 1.0), 1.0 - 2.0 * ratio * g + g * g])
    above = g * g * np.array([1.0, 2.0, 1.0])
    b, a = above / below[0], below / below[0]
    found, _ = lfilter(b, a, values, zi=lfilter_zi(b, a) * values[0])
    return np.asarray(found)
