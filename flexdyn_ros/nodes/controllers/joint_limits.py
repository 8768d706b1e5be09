"""Limits of joints that trajectories keep, and the default tolerance of goals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from flexdyn_ros.nodes.controllers.trajectory import JointPath, TrajectoryError

#: how far a path may lie beyond a limit, for the rounding of who planned it: a share of the range, or of
#: 1 rad or m where that is infinite
SLACK = 1e-4
#: how far a joint may be from its goal where nobody says it [rad, m], and at most as a share of its range
NEAR, NEAR_SHARE = 0.05, 0.05


@dataclass(frozen=True)
class JointLimits:
    """Limits by velocity coordinate (nv,): names, least and greatest position [rad, m], greatest speed."""

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray

    @classmethod
    def of(cls, coordinates: Iterable[Any]) -> JointLimits:
        """Limits of coordinates, in the order of their velocities."""
        ordered = sorted(coordinates, key=lambda c: int(c.v_index))
        return cls(
            tuple(c.name for c in ordered),
            np.array([c.lower for c in ordered], dtype=np.float64),
            np.array([c.upper for c in ordered], dtype=np.float64),
            np.array([c.velocity_limit for c in ordered], dtype=np.float64),
        )

    def check(self, path: JointPath, remark: str = "") -> None:
        """Refuse a path that leaves the range of a joint; one that begins beyond a limit may stay as far
        beyond, not farther.

        remark: what may explain it, such as a start that is far away.

        Raises
        ------
        TrajectoryError
        """
        lower, upper = self.lower[path.rows], self.upper[path.rows]
        span = upper - lower
        slack = SLACK * np.where(np.isfinite(span), span, 1.0)
        here = path.start
        low, high = np.minimum(lower, here) - slack, np.maximum(upper, here) + slack
        for times, x, _ in path.looks():
            excess = np.maximum(low - x, x - high)
            if excess.max() > 0.0:
                i, k = np.unravel_index(int(np.argmax(excess)), excess.shape)
                raise TrajectoryError(
                    f"{self.names[path.rows[k]]} would be at {x[i, k]:.6g}, "
                    f"{times[i] - path.times[0]:.6g} s after the start, "
                    f"expected {lower[k]:.6g} to {upper[k]:.6g} (its limits)"
                    + (f"; {remark}" if remark else "")
                )

    def too_fast(self, path: JointPath) -> str:
        """The joint of a path that is fastest beyond its velocity limit, in words; empty: none is."""
        limit, speed = self.velocity[path.rows], path.greatest_speed()
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.where(speed > limit * (1.0 + 1e-9), speed / limit, 0.0)
        if not excess.any():
            return ""
        k = int(np.argmax(excess))
        return (
            f"{self.names[path.rows[k]]} would move at {speed[k]:.4g}, its velocity limit is {limit[k]:.4g}"
        )

    def near(self) -> dict[str, float]:
        """Default tolerance of the goal of each joint."""
        span = NEAR_SHARE * (self.upper - self.lower)
        bound = np.minimum(NEAR, np.where(span > 0.0, span, inf))
        return dict(zip(self.names, bound.tolist(), strict=True))
