"""Signals: uniform grids, zero-phase filters, derivatives, delays, vibrations that die away."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

#: degree of the splines whose slope is the derivative
DEGREE = 5
#: samples that are filtered at either end beside the data, in periods of the cut-off
PADDING = 3.0


def on_grid(t: np.ndarray, step: float) -> np.ndarray:
    """Times from the first to the last, a step apart."""
    if not step > 0.0:
        raise StateError(f"the step of a grid is {step}, expected more than 0 s")
    return t[0] + step * np.arange(int((t[-1] - t[0]) / step * (1.0 + 1e-12)) + 1)


def filled_in(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values with lines in place of what is missing."""
    there = np.isfinite(values)
    if there.all() or not there.any():
        return values
    return np.interp(t, t[there], values[there])


def means_of_held(t: np.ndarray, values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Means, over the steps that begin at the times of a uniform grid, of values that are held until the next
    sample; without missing ones."""
    step = grid[1] - grid[0] if grid.size > 1 else t[-1] - t[0]
    times = np.append(t, t[-1] + step)
    integral = np.concatenate([[0.0], np.cumsum(values * np.diff(times))])
    edges = np.append(grid, grid[-1] + step)
    return np.asarray(np.diff(np.interp(edges, times, integral)) / np.diff(edges))


def low_passed(values: np.ndarray, cutoff: float, step: float, order: int = 4) -> np.ndarray:
    """Values (n, ...) on a uniform grid, through a Butterworth low pass of a cut-off [Hz] forward and
    backward, continued oddly at both ends."""
    from scipy.signal import butter, sosfiltfilt

    if not 0.0 < cutoff < 0.5 / step:
        raise StateError(f"the cut-off is {cutoff:g} Hz, expected between 0 and {0.5 / step:g} Hz")
    sections = butter(order, cutoff, fs=1.0 / step, output="sos")
    pad = min(len(values) - 1, int(PADDING / (cutoff * step)) + 1)
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=pad))


def derivative(t: np.ndarray, values: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
    """Rates of values (n, ...) at their times, or at others between them, from the slope of a spline of
    degree 5 through them."""
    return np.asarray(_spline(t, values).derivative()(t if at is None else at))


def between_samples(t: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (n, ...) at times between theirs, on a spline of degree 5 through them."""
    return np.asarray(_spline(t, values)(at))


def _spline(t: np.ndarray, values: np.ndarray) -> BSpline:
    from scipy.interpolate import make_interp_spline

    degree = min(DEGREE, (len(t) - 1) // 2 * 2 - 1)
    if degree < 1:
        raise StateError(f"{len(t)} samples, expected at least 3 for a derivative")
    return make_interp_spline(t, values, k=degree)


def lag_of(t: np.ndarray, values: np.ndarray, reference: np.ndarray, longest: float) -> float:
    """Time by which values follow the reference [s], at most `longest` either way."""
    if values.shape != t.shape or reference.shape != t.shape:
        raise StateError(f"columns of {values.shape} and {reference.shape} samples, expected {t.shape}")
    if not longest >= 0.0:
        raise StateError(f"the longest delay is {longest:g} s, expected at least 0")
    step = float(np.median(np.diff(t)))
    # one more on either side, for the curve through the best and its neighbours
    most = min(int(np.ceil(min(longest / step, t.size) - 1e-9)) + 1, (t.size - 2) // 2)
    x, y = (filled_in(t, signal) for signal in (values, reference))
    scores = np.array([_correlation(x, y, k) for k in range(-most, most + 1)])
    if not np.isfinite(scores).all():
        raise StateError("a column is constant: its delay cannot be told")
    best, part = 0, 0.0
    if most > 0:
        best = 1 + int(np.argmax(scores[1:-1]))
        before, at, after = scores[best - 1 : best + 2]
        # at an end of what is looked through, more may lie beyond
        bend, rise = 2.0 * at - before - after, after - before
        part = np.clip(0.5 * rise / bend, -1.0, 1.0) if bend > 0.0 else np.sign(rise)
    return float(np.clip(step * (best - most + part), -longest, longest))


def _correlation(x: np.ndarray, y: np.ndarray, lag: int) -> float:
    """Of x(i + lag) with y(i)."""
    a, b = (x[lag:], y[: y.size - lag]) if lag >= 0 else (x[:lag], y[-lag:])
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else np.nan


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
    largest = np.argsort(-amplitudes)
    for i in largest[poles[largest].imag > 0.0]:
        rate = abs(poles[i])
        one = Vibration(rate / (2.0 * np.pi), -poles[i].real / rate, float(amplitudes[i]))
        apart = all(max(one.frequency, x.frequency) > APART * min(one.frequency, x.frequency) for x in found)
        if abs(one.ratio) < MOST_DAMPED and one.frequency < highest and apart:
            found.append(one)
    return tuple(sorted(found[:count]))


def _poles(y: np.ndarray, order: int, h: float) -> np.ndarray:
    """Rates (order,) of the exponentials that a signal is a sum of [1/s]."""
    windows = np.lib.stride_tricks.sliding_window_view(y, y.size // 2).T
    U = np.linalg.svd(windows, full_matrices=False)[0][:, :order]
    return np.asarray(np.log(np.linalg.eigvals(np.linalg.pinv(U[:-1]) @ U[1:]).astype(complex)) / h)
