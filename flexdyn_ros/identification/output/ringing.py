"""Frequencies and damping ratios of vibrations that die away, from samples of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.signals import low_passed

#: samples in a period of the highest frequency that is looked for
PER_PERIOD = 5.0
#: exponentials that are fitted for each vibration: noise, drift and what forces the rest have theirs
ORDERS = 4
#: vibrations are damped less than this, and their frequencies further apart than this factor
MOST_DAMPED, APART = 0.1, 1.3


class Vibration(NamedTuple):
    """amplitude exp(-ratio w t) cos(w t + ...) with w the natural frequency: frequency [Hz], ratio, and
    amplitude at the first sample."""

    frequency: float
    ratio: float
    amplitude: float


def vibrations(values: np.ndarray, step: float, count: int, highest: float) -> tuple[Vibration, ...]:
    """The strongest weakly damped vibrations in values (n,), at most `count`, by rising frequency: ESPRIT
    (Roy & Kailath 1989) after a low pass at twice the highest frequency [Hz] that is looked for.

    Raises
    ------
    StateError
        If there are too few samples.
    """
    stride = max(1, int(1.0 / (2.0 * PER_PERIOD * highest * step)))
    if stride > 1:
        values = low_passed(values, 2.0 * highest, step)[::stride]
    order, h = ORDERS * count, stride * step
    y = values - values.mean()
    if y.size < 4 * order:
        raise StateError(f"{y.size} samples, expected at least {4 * order} to tell {count} vibrations")
    poles = _poles(y, order, h)
    waves = np.exp(np.outer(h * np.arange(y.size), poles))
    amplitudes = 2.0 * np.abs(np.linalg.lstsq(waves, y.astype(complex), rcond=None)[0])
    found: list[Vibration] = []
    for i in np.argsort(-amplitudes):
        rate = abs(poles[i])
        one = Vibration(rate / (2.0 * np.pi), -poles[i].real / rate if rate else 1.0, float(amplitudes[i]))
        apart = all(max(one.frequency, x.frequency) > APART * min(one.frequency, x.frequency) for x in found)
        if poles[i].imag > 0.0 and abs(one.ratio) < MOST_DAMPED and one.frequency < highest and apart:
            found.append(one)
    return tuple(sorted(found[:count]))


def _poles(y: np.ndarray, order: int, h: float) -> np.ndarray:
    """Rates (order,) of the exponentials that a signal is a sum of [1/s]."""
    windows = np.lib.stride_tricks.sliding_window_view(y, y.size // 2).T
    U = np.linalg.svd(windows, full_matrices=False)[0][:, :order]
    return np.asarray(np.log(np.linalg.eigvals(np.linalg.pinv(U[:-1]) @ U[1:]).astype(complex)) / h)
