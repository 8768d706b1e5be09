"""Fourier series that begin and end at rest, within limits of position, speed and acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: share of the range of a joint that is kept free at either end
MARGIN = 0.02


@dataclass(frozen=True, eq=False)
class Fourier:
    """Sums of sines and cosines of n joints at times t (m,), of a period [s] (Swevers et al. 1997).

    A motion is n rows of a vector: 2 H amplitudes, which are changed as little as makes rate and acceleration
    vanish at the start, and so at the end, and scaled to the limits; last where in its range its middle lies.

    Attributes
    ----------
    t : (m,) array
    shapes : tuple of (m, 2 H) arrays
        Of position, rate, acceleration.
    lower, upper, speed, acceleration : (n,) arrays
        Limits; position finite, others may be infinite.
    """

    t: np.ndarray
    shapes: tuple[np.ndarray, np.ndarray, np.ndarray]
    at_rest: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def of(
        cls, t: np.ndarray, period: float, harmonics: int, lower: np.ndarray, upper: np.ndarray,
        speed: np.ndarray, acceleration: np.ndarray,
    ) -> Fourier:  # fmt: skip
        """Series of that many harmonics."""
        w = 2.0 * np.pi * np.arange(1, harmonics + 1) / period
        angle = t[:, None] * w
        sine, cosine = np.sin(angle), np.cos(angle)
        position = np.hstack([sine, cosine])
        rate = np.hstack([w * cosine, -w * sine])
        second = np.hstack([-(w**2) * sine, -(w**2) * cosine])
        # amplitudes of which rate and acceleration vanish at t = 0: sum w a = 0, sum w^2 b = 0
        rows = np.zeros((2, 2 * harmonics))
        rows[0, :harmonics], rows[1, harmonics:] = w, w**2
        at_rest = np.eye(2 * harmonics) - rows.T @ np.linalg.solve(rows @ rows.T, rows)
        return cls(t, (position, rate, second), at_rest, lower, upper, speed, acceleration)

    @property
    def size(self) -> int:
        """Length of the vector of a motion."""
        return self.lower.size * (self.at_rest.shape[0] + 1)

    def motion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a (m, n) of a vector, within the limits."""
        rows = x.reshape(self.lower.size, -1)
        amplitudes = rows[:, :-1] @ self.at_rest
        q, v, a = (shape @ amplitudes.T for shape in self.shapes)
        span = (1.0 - 2.0 * MARGIN) * (self.upper - self.lower)
        middle = 0.5 * (q.max(axis=0) + q.min(axis=0))
        share = np.max([
            np.ptp(q, axis=0) / np.maximum(span, 1e-300), np.abs(v).max(axis=0) / self.speed,
            np.abs(a).max(axis=0) / self.acceleration, np.full(span.size, 1e-300),
        ], axis=0)  # fmt: skip
        factor = 1.0 / np.maximum(share, 1.0)
        q, v, a = factor * (q - middle), factor * v, factor * a
        room = np.maximum(span - np.ptp(q, axis=0), 0.0)
        centre = 0.5 * (self.lower + self.upper) + 0.5 * room * np.tanh(rows[:, -1])
        return q + centre, v, a
