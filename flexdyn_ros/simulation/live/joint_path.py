"""A JointTrajectory as a path in time: splines between its points, the order being that of what the points
give.

Positions alone: straight lines; with velocities: cubics; with accelerations as well: quintics. So does
joint_trajectory_controller of ros2_controllers. Paths keep the limits of joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from flexdyn_ros.control.reference import Reference
from flexdyn_ros.simulation.live.message_fields import duration_seconds, numbers_of, seconds_of

#: positions, velocities, accelerations, efforts (n, k) at the knots; None where not given
Tables = tuple[np.ndarray | None, ...]


#: looks at each polynomial of a path, for its greatest speed and its farthest positions
LOOKS = 65
#: a start that is farther from now is told [s]
FAR = 60.0
#: what to do about it
BY_ANOTHER_CLOCK = "stamped by another clock? A stamp of 0 starts at once"


class TrajectoryError(ValueError):
    """A trajectory is malformed; the message names field, value given, value expected."""


class UnknownJointError(TrajectoryError):
    """A trajectory names joints that cannot be moved, or none."""


class PastTrajectoryError(TrajectoryError):
    """A trajectory is over already."""


@dataclass(frozen=True)
class JointPath:
    """Motion of k joints.

    rows (k,): their velocity coordinates; times (n,): simulated times of the knots [s], rising; coefficients
    (n - 1, d, k): of powers of the time since a knot, lowest first; effort (n, k): feed-forward at the knots,
    or None.
    """

    rows: np.ndarray
    times: np.ndarray
    coefficients: np.ndarray
    effort: np.ndarray | None

    @staticmethod
    def resting(rows: np.ndarray, now: float, here: np.ndarray) -> JointPath:
        """Rest at positions (k,) from a time [s] on."""
        flat = np.stack((here, np.zeros(len(rows))))[None]
        return JointPath(rows, np.array([now, now + 1e-9]), flat, None)

    @property
    def end(self) -> float:
        """Simulated time of the last point [s]."""
        return float(self.times[-1])

    def motion(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration (k,) at a time; the ends hold beyond them, at rest."""
        _, x, v, a = on_spline(self.times, self.coefficients, time)
        return x, v, a if time < self.end else np.zeros_like(a)

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Position, velocity (k,) and feed-forward effort at a time; the ends hold beyond them, at rest."""
        _, position, velocity, _ = on_spline(self.times, self.coefficients, time)
        if self.effort is None:
            return position, velocity, None
        return position, velocity, np.array([np.interp(time, self.times, tau) for tau in self.effort.T])

    def point_at(self, time: float, points: int) -> int:
        """Index of the point, of those of the message, that is moved to at a time; the last one holds."""
        ahead = len(self.times) - int(np.searchsorted(self.times, time, side="right"))
        return max(0, points - max(1, ahead))

    @property
    def start(self) -> np.ndarray:
        """Positions (k,) at the first knot."""
        return self.coefficients[0, 0]

    def looks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Times (m,), positions and velocities (m, k) along the path, some spans at a time: LOOKS in each
        polynomial, its ends among them; the ends alone of straight lines."""
        d = self.coefficients.shape[1]
        shares = np.linspace(0.0, 1.0, LOOKS if d > 2 else 2)
        at_once = max(1, 100_000 // (len(shares) * len(self.rows)))
        for i in range(0, len(self.coefficients), at_once):
            c = self.coefficients[i : i + at_once]
            T = np.diff(self.times[i : i + len(c) + 1])
            s = (T[:, None] * shares)[..., None]
            x, v = np.zeros((*s.shape[:2], c.shape[2])), np.zeros((*s.shape[:2], c.shape[2]))
            for power in range(d - 1, -1, -1):
                v = v * s + x
                x = x * s + c[:, None, power]
            times = (self.times[i : i + len(c), None] + s[..., 0]).ravel()
            yield times, x.reshape(len(times), -1), v.reshape(len(times), -1)

    def greatest_speed(self) -> np.ndarray:
        """Largest |velocity| (k,) of each joint, of LOOKS in each polynomial."""
        return np.max([np.abs(v).max(axis=0) for _, _, v in self.looks()], axis=0)


def on_spline(
    times: np.ndarray, coefficients: np.ndarray, time: float
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The span of knots (n,) that a time lies in, and value, rate and second derivative (k,) of its
    polynomial, of coefficients (n - 1, d, k); the ends hold beyond them, at rest."""
    inside = min(max(time, times[0]), times[-1])
    i = min(int(np.searchsorted(times, inside, side="right")) - 1, len(coefficients) - 1)
    c, k = coefficients[i], np.arange(coefficients.shape[1])
    powers = (inside - times[i]) ** k
    x, v = powers @ c, (k[1:] * powers[:-1]) @ c[1:]
    a = (k[2:] * k[1:-1] * powers[:-2]) @ c[2:]
    return (i, x, v, a) if inside == time else (i, x, np.zeros_like(v), np.zeros_like(a))


def read_path(
    message: Any, rows: Mapping[str, int], now: float, here: np.ndarray, speed: np.ndarray
) -> JointPath:
    """The path of a JointTrajectory that starts from the present state.

    Parameters
    ----------
    rows : mapping from joint name to velocity coordinate
    now : float
        Simulated time [s].
    here, speed : (nv,) arrays
        Present position and velocity by velocity coordinate.

    Raises
    ------
    TrajectoryError
    """
    names = list(message.joint_names)
    if not names:
        raise UnknownJointError("joint_names is empty, expected the names of the joints that move")
    if len(set(names)) < len(names):
        raise UnknownJointError("joint_names has a name more than once")
    index = np.array([rows[name] for name in names], dtype=np.int64)
    stamp = seconds_of(message.header.stamp)
    start = stamp if stamp > 0.0 else now
    points = list(message.points)
    if not points:
        return JointPath.resting(index, now, here[index])
    times = _times(points, start, now)
    positions, velocities, accelerations, efforts = (
        _table(points, field, len(names)) for field in ("positions", "velocities", "accelerations", "effort")
    )
    if positions is None:
        raise TrajectoryError("points have no positions, expected one per joint")
    times, tables = _from_here(
        times, now, (positions, velocities, accelerations, efforts), here[index], speed[index]
    )
    x, v, a, effort = tables
    assert x is not None
    return JointPath(index, times, hermite(times, x[:-1], x[1:], v, a), effort)


def distant_start(message: Any, now: float) -> str:
    """That a trajectory begins more than a minute from now [s], or began; empty: it does not."""
    stamp = seconds_of(message.header.stamp)
    if stamp <= 0.0 or not message.points or abs(stamp - now) <= FAR:
        return ""
    begins = f"begins {stamp - now:.6g} s from now" if stamp > now else f"began {now - stamp:.6g} s ago"
    return f"a trajectory {begins} (stamp {stamp:.3f} s, it is {now:.3f} s): {BY_ANOTHER_CLOCK}"


def along(path: JointPath, held: np.ndarray, columns: np.ndarray, nv: int) -> Reference:
    """A path as positions (nq,), velocities and accelerations (nv,) of a robot, whose other joints stay at
    `held` (nq,); columns (k,): where the positions of the path are in q."""

    def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, a = held.copy(), np.zeros(nv), np.zeros(nv)
        q[columns], v[path.rows], a[path.rows] = path.motion(t)
        return q, v, a

    return reference


def _times(points: list[Any], start: float, now: float) -> np.ndarray:
    times = start + np.array([duration_seconds(point.time_from_start) for point in points])
    if len(times) > 1 and not (np.diff(times) > 0.0).all():
        at = int(np.argmin(np.diff(times) > 0.0)) + 1
        raise TrajectoryError(f"points[{at}].time_from_start is not later than that of the point before it")
    if times[-1] < now - 1e-9:
        text = f"the trajectory ended at {times[-1]:.3f} s, it is {now:.3f} s already"
        raise PastTrajectoryError(f"{text}: {BY_ANOTHER_CLOCK}" if start < now - FAR else text)
    return times


def _table(points: list[Any], field: str, k: int) -> np.ndarray | None:
    """A field of all points as (n, k); None if no point has it."""
    lengths = {len(getattr(point, field)) for point in points}
    if lengths == {0}:
        return None
    if lengths != {k}:
        wrong = next(i for i, point in enumerate(points) if len(getattr(point, field)) != k)
        given = len(getattr(points[wrong], field))
        raise TrajectoryError(
            f"points[{wrong}].{field} has {given} numbers, expected {k} (as many as joint_names)"
        )
    table = np.stack([numbers_of(getattr(point, field)) for point in points])
    if not np.isfinite(table).all():
        raise TrajectoryError(f"points[{int(np.argwhere(~np.isfinite(table))[0, 0])}].{field} is not finite")
    return table


def _from_here(
    times: np.ndarray, now: float, tables: Tables, here: np.ndarray, speed: np.ndarray
) -> tuple[Any, Tables]:
    """The knots with the present state before them, where the first point lies in the future."""
    x, effort = tables[0], tables[3]
    if times[0] <= now + 1e-9 and len(times) > 1:
        return times, tables
    if len(times) == 1 and times[0] <= now + 1e-9:
        # one point, now: it is held at once
        return np.array([now, now + 1e-9]), (_twice(x), None, None, _twice(effort))
    first_effort = None if effort is None else effort[0]
    before = (here, speed, np.zeros_like(here), first_effort)
    joined = [None if t is None else np.vstack((b, t)) for b, t in zip(before, tables, strict=True)]  # type: ignore[arg-type]
    return np.concatenate(([now], times)), tuple(joined)


def _twice(table: np.ndarray | None) -> np.ndarray | None:
    return None if table is None else np.repeat(table, 2, axis=0)


def hermite(
    times: np.ndarray, x0: np.ndarray, x1: np.ndarray, v: np.ndarray | None, a: np.ndarray | None
) -> np.ndarray:
    """Coefficients (n - 1, d, k), d = 2, 4 or 6, of Hermite polynomials from x0 to x1 (n - 1, k) in each span
    between knots (n,), with the velocities and accelerations (n, k) of the knots."""
    T = np.diff(times)[:, None]
    dx = x1 - x0
    if v is None:
        return np.stack((x0, dx / T), axis=1)
    v0, v1 = v[:-1], v[1:]
    if a is None:
        return np.stack((x0, v0, (3 * dx / T - 2 * v0 - v1) / T, (v0 + v1 - 2 * dx / T) / T**2), axis=1)
    a0, a1 = a[:-1], a[1:]
    c3 = (20 * dx - (8 * v1 + 12 * v0) * T - (3 * a0 - a1) * T**2) / (2 * T**3)
    c4 = (-30 * dx + (14 * v1 + 16 * v0) * T + (3 * a0 - 2 * a1) * T**2) / (2 * T**4)
    c5 = (12 * dx - 6 * (v1 + v0) * T + (a1 - a0) * T**2) / (2 * T**5)
    return np.stack((x0, v0, a0 / 2, c3, c4, c5), axis=1)


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
