"""Roads as kernels/road.py reads them: from a description's words to a header and its numbers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.description.elements.wheels import Road
from flexdyn_ros.errors import StateError
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.wheeled.kernels import road as layout

LOG = logging.getLogger("flexdyn_ros.roads")

#: displacement density Gd(n0) of the classes, geometric means [m3], at n0 = 0.1 cycle/m (ISO 8608)
ISO_DENSITY = {"A": 16e-6, "B": 64e-6, "C": 256e-6, "D": 1024e-6, "E": 4096e-6}
ISO_REFERENCE = 0.1
#: a power of two, so that the straight piece is straight to the last bit [m]
SLOPE_LENGTH = 2.0**23


def iso_waves(
    road_class: str, seed: int = 0, lines: int = 500, n_min: float = 0.011, n_max: float = 2.83
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Amplitudes [m], wave numbers [rad/m] and phases [rad] of a random road of ISO 8608, (lines,) each.

    Gd(n) = Gd(n0) (n/n0)^-2; cells of equal ratio, each with the variance that its density has over the cell,
    so that the variance of the whole is Gd(n0) n0^2 (1/n_min - 1/n_max). The same seed gives the same road.
    """
    edges = np.geomspace(n_min, n_max, lines + 1)
    n = np.sqrt(edges[:-1] * edges[1:])
    variance = ISO_DENSITY[road_class] * ISO_REFERENCE**2 * (1.0 / edges[:-1] - 1.0 / edges[1:])
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, lines)
    return np.sqrt(2.0 * variance), 2.0 * np.pi * n, phases


def iso_road(
    road_class: str, seed: int = 0, **spectrum: Any
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The same road as a function X -> (z, dz/dX) of arrays."""
    A, k, phase = iso_waves(road_class, seed, **spectrum)

    def road(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = np.multiply.outer(np.asarray(X, dtype=float), k) + phase
        return np.sin(angle) @ A, np.cos(angle) @ (A * k)

    return road


def enveloped(
    road: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], radius: float
) -> Callable[[float], tuple[float, float]]:
    """The road that the hub of a rigid wheel follows, as a function X -> (z, dz/dX).

    z_w(X) = max over |s| < r of z(X + s) + sqrt(r^2 - s^2), less r: a disc does
    not go into dips that are narrower than itself.

    Parameters
    ----------
    road : function of an array of abscissae [m] to heights [m] and slopes, such as `iso_road` gives
    radius : of the wheel [m]
    """
    if not radius > 0.0:
        raise StateError(f"radius is {radius}, expected a positive number of metres")

    def hub(X: float) -> tuple[float, float]:
        low, high = -radius, radius
        best = 0.0
        for points in (401, 41, 41, 41, 41, 41):
            s = np.linspace(low, high, points)
            lift = road(X + s)[0] + np.sqrt(np.maximum(radius**2 - s * s, 0.0))
            best = float(s[np.argmax(lift)])
            width = 2.0 * (high - low) / (points - 1)
            low, high = max(best - width, -radius), min(best + width, radius)
        z, slope = road(np.array([X + best]))
        return float(z[0]) + float(np.sqrt(radius**2 - best * best)) - radius, float(slope[0])

    return hub


class PackedRoad:
    """Keeps the memory of a road alive and hands out its address; see kernels/road.py."""

    def __init__(self, road: Road | None) -> None:
        kind, numbers, count = _numbers(road or Road())
        self._callback = None
        function = 0
        if road is not None and road.function is not None:
            self._callback = _callback(road.function)
            function = _address(self._callback)
        self._header = Header(kind, count, np.ascontiguousarray(numbers, dtype=np.float64), function)
        self.address = self._header.address


def _numbers(road: Road) -> tuple[int, Any, int]:
    if road.kind in ("sine", "sines", "iso8608"):
        A, k, phase = _waves(road)
        return layout.SINES, np.concatenate([[road.start, road.offset or 0.0], A, k, phase]), len(A)
    if road.kind == "table":
        X, z = np.array(road.points).T
        return layout.TABLE, np.concatenate([X + road.start, z, _slopes(X, z)]), len(X)
    if road.kind == "bump":
        return layout.BUMP, [road.start, road.height, road.length], 0
    if road.kind == "step":
        return layout.STEP, [road.start, road.height, road.length], 0
    if road.kind == "slope":
        # a table of one straight piece: level before its start, and so long that nobody reaches its end
        X = np.array([road.start, road.start + SLOPE_LENGTH])
        rise = float(road.grade or 0.0)
        return layout.TABLE, np.concatenate([X, [0.0, rise * (X[1] - X[0])], [rise, rise]]), 2
    if road.kind == "callable":
        return layout.CALLABLE, [0.0], 0
    return layout.FLAT, [0.0, 0.0, 0.0], 0


def _waves(road: Road) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if road.kind == "iso8608":
        return iso_waves(
            str(road.road_class),
            int(road.seed or 0),
            int(road.lines or 500),
            float(road.n_min or 0.011),
            float(road.n_max or 2.83),
        )
    rows = [(w.amplitude, w.wavelength, w.phase) for w in road.waves]
    if road.kind == "sine":
        rows = [(float(road.amplitude or 0.0), float(road.wavelength or 1.0), float(road.phase or 0.0))]
    A, length, phase = np.array(rows, dtype=float).T
    return A, 2.0 * np.pi / length, phase


def _slopes(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Slopes at the points of a table: harmonic means, which do not overshoot (Fritsch & Butland 1984); zero
    at the ends, where the road goes on level."""
    slopes = np.zeros_like(z)
    h, d = np.diff(X), np.diff(z) / np.diff(X)
    for i in range(1, len(X) - 1):
        if d[i - 1] * d[i] > 0.0:
            w1, w2 = 2.0 * h[i] + h[i - 1], h[i] + 2.0 * h[i - 1]
            slopes[i] = (w1 + w2) / (w1 / d[i - 1] + w2 / d[i])
    return slopes


def _callback(function: Callable[[float], Any]) -> Any:
    """The function X -> (z, dz/dX) as a C function; what it raises is logged, once, and becomes NaN."""
    warned = False

    def ask(X: float, which: int) -> float:
        nonlocal warned
        try:
            return float(function(X)[which])
        except Exception:  # nothing can pass through compiled code
            if not warned:
                warned = True
                LOG.exception("the road's function failed at X = %g m; the road is not a number there", X)
            return float("nan")

    return layout.ROAD_CALLBACK(ask)


def _address(callback: Any) -> int:
    from ctypes import c_void_p, cast

    return cast(callback, c_void_p).value or 0
