"""Singular poses that a run passes: where the rows of its loops lose rank (dead centres)."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.loops.closing import Closing

#: least singular value of the independent rows, of the largest, below which a sample is looked at, and below
#: which the pose between samples is singular
_LOOK, _SINGULAR = 0.1, 2e-3
#: samples at most that are looked at, minima that are refined, divisions of an interval
_SAMPLES, _MINIMA, _HALVINGS = 20_000, 50, 40
_GOLDEN = 0.5 * (3.0 - 5.0**0.5)


class DeadCentres:
    """Passages of singular poses among the samples of a run.

    The measure is sigma_r / sigma_1 of J M^-1/2 with the diagonal of M at the neutral pose, r the rank there.
    At a singular pose it is zero. Between samples it is taken on a parabola through three of them.
    """

    def __init__(self, closing: Closing) -> None:
        self._closing = closing
        M = closing.open.mass_matrix(closing.functions.neutral())
        self._size = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))

    def measure(self, q: np.ndarray) -> np.ndarray:
        """sigma_r / sigma_1 (n,) at poses q (n, nq)."""
        J = self._closing.geometry.at(q, np.zeros((len(q), self._size.size))).J * self._size
        values = np.linalg.svd(J, compute_uv=False)
        return np.asarray(values[:, self._closing.rank - 1] / np.maximum(values[:, 0], 1e-300))

    def passed(self, q: np.ndarray) -> list[float]:
        """Positions of passages among the samples q (n, nq), as fractions of their numbers."""
        stride = -(-len(q) // _SAMPLES)
        poses = q[::stride]
        if len(poses) < 3 or not self._closing.rank:
            return []
        value = self.measure(poses)
        inner = np.flatnonzero((value[1:-1] <= value[:-2]) & (value[1:-1] < value[2:])) + 1
        inner = inner[value[inner] < _LOOK * value.max()][:_MINIMA]
        return [stride * (i + s) for i in inner if (s := self._between(poses[i - 1 : i + 2])) is not None]

    def _between(self, three: np.ndarray) -> float | None:
        """The place (-1 to 1) of a singular pose about the second of three poses; None if there is none."""
        robot = self._closing.open
        back, on = robot.difference(three[1], three[0]), robot.difference(three[1], three[2])

        def at(s: float) -> float:
            x = 0.5 * s * (on - back) + 0.5 * s * s * (on + back)
            return float(self.measure(robot.integrate(three[1], x, 1.0)[None])[0])

        low, high = -1.0, 1.0
        left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        a, b = at(left), at(right)
        for _ in range(_HALVINGS):
            if a < b:
                high, right, b = right, left, a
                left = low + _GOLDEN * (high - low)
                a = at(left)
            else:
                low, left, a = left, right, b
                right = high - _GOLDEN * (high - low)
                b = at(right)
        return 0.5 * (left + right) if min(a, b) < _SINGULAR else None

    def remarks(self, q: np.ndarray, t: np.ndarray) -> list[str]:
        """One sentence on the passages of a run with poses q (n, nq) at times t (n,), none without."""
        found = self.passed(q)
        if not found:
            return []
        times = np.interp(found, np.arange(len(t)), t)
        names = ", ".join(f"'{loop.name}'" for loop in self._closing.loops)
        more = f", and {len(found) - 1} times more" if len(found) > 1 else ""
        return [
            f"robot '{self._closing.description.name}': at t = {times[0]:.4g} s{more}, the run passes a "
            f"singular pose (dead centre) of the loops {names}; its energy is determined there, the way it "
            "goes on is not"
        ]
