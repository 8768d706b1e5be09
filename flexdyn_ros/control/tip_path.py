"""A path of a soft arm's tip as motion of its actuators: inverse kinematics along the way, and splines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.verbs import Robot


class PoseSpace:
    """Poses (7,), position and quaternion x y z w, and displacements (6,): turn [rad], then way [m], both in
    world axes; conventions of a platform's coordinates."""

    @staticmethod
    def integrate(pose: np.ndarray, twist: np.ndarray, dt: float) -> np.ndarray:
        """The pose (7,) after dt [s] of a constant twist (6,)."""
        turned = Rotation.from_rotvec(twist[:3] * dt) * Rotation.from_quat(pose[3:])
        return np.concatenate((pose[:3] + twist[3:] * dt, turned.as_quat()))

    @staticmethod
    def difference(pose0: np.ndarray, pose1: np.ndarray) -> np.ndarray:
        """The displacements (..., 6) from poses (..., 7) to others."""
        turn = Rotation.from_quat(pose1[..., 3:]) * Rotation.from_quat(pose0[..., 3:]).inv()
        return np.concatenate((turn.as_rotvec(), pose1[..., :3] - pose0[..., :3]), axis=-1)

    @staticmethod
    def of_matrix(T: np.ndarray) -> np.ndarray:
        """The pose (7,) of a matrix (4, 4)."""
        return np.concatenate((T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()))

    @staticmethod
    def matrix(pose: np.ndarray) -> np.ndarray:
        """The matrix (4, 4) of a pose (7,)."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
        return T


#: poses per second that are solved for; so many per span if there are fewer; in all at most
RATE, LEAST, MOST = 50.0, 12, 2000
#: strokes and efforts may be exceeded by this share of their range
SLACK = 1e-6
#: bend that is given to a straight arm, which cannot tell where to bend [share of the stroke]
NUDGE = 1e-3


class TipPath:
    """t -> (q, v, a) of a soft arm whose tip follows a path; beyond the ends at rest.

    The tip is the distal end of the last section, before its plate. Shapes are solved for at poses along the
    way, each from the one before, and joined by cubic splines that start with the present velocity and end at
    rest: between them the tip is off the path by a part of the fourth order of their distance. At most 2000
    are solved for, of long paths fewer per second.

    Parameters
    ----------
    robot : Robot, a soft arm
    times : (n,) array
        At which the path has its points, rising [s].
    tip : callable
        t -> position (3,) or pose (4, 4) of the tip in the world.
    q, v : (nq,), (nv,) arrays
        Shape and velocity at the beginning.
    look : callable, optional
        Called before every pose that is solved for; what it raises ends the work.

    Raises
    ------
    StateError
        If the tip cannot come somewhere along the path: where, when, how near it comes, and why; or if the
        path has more points than are solved for.
    """

    def __init__(
        self,
        robot: Robot,
        times: np.ndarray,
        tip: Callable[[float], np.ndarray],
        q: np.ndarray,
        v: np.ndarray,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        count = len(times) - 1
        if count > MOST:
            raise StateError(f"the path has {count} points, expected at most {MOST}")
        most = MOST // count
        spans = [
            np.linspace(t0, t1, int(np.clip(np.ceil(RATE * (t1 - t0)), min(LEAST, most), most)) + 1)[1:]
            for t0, t1 in zip(times[:-1], times[1:], strict=True)
        ]
        self.times = np.concatenate((times[:1], *spans))
        lower, upper = _strokes(robot)
        shapes = [q]
        for t in self.times[1:]:
            look()
            start = np.clip(shapes[-1], lower, upper)
            if np.ptp(start.reshape(-1, 3), axis=1).max() < NUDGE * (upper - lower).max():
                start = start + NUDGE * (upper - lower) * np.resize((1.0, 0.5, 0.0), len(start))
            goal = tip(float(t))
            found = robot.inverse_kinematics(goal, start)
            if not found.converged:
                raise StateError(_why(robot, goal, found, float(t - times[0]), (lower, upper)))
            shapes.append(found.q)
        self.shapes = np.stack(shapes)
        self._spline = CubicSpline(self.times, self.shapes, bc_type=((1, v.copy()), (1, np.zeros(robot.nv))))

    @property
    def end(self) -> float:
        """When the path ends [s]."""
        return float(self.times[-1])

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Length changes (nq,) of the actuators, rates and accelerations (nv,)."""
        rest = np.zeros(self.shapes.shape[1])
        if t >= self.end:
            return self.shapes[-1], rest, rest
        inside = max(t, float(self.times[0]))
        return self._spline(inside), self._spline(inside, 1), self._spline(inside, 2)


def _why(
    robot: Robot, goal: np.ndarray, found: Any, since: float, strokes: tuple[np.ndarray, np.ndarray]
) -> str:
    """Why the tip cannot come somewhere."""
    lower, upper = strokes
    is_pose = goal.shape == (4, 4)
    place = goal[:3, 3] if is_pose else goal
    where = ", ".join(f"{x:.4g}" for x in place)
    what = "a pose at" if is_pose else "the position"
    slack = SLACK * (upper - lower)
    ends = [
        f"{c.name} at its {'longest' if x >= high - s else 'shortest'} ({x:.4g} m)"
        for c, x, low, high, s in zip(robot.coordinates, found.q, lower, upper, slack, strict=True)
        if x >= high - s or x <= low + s
    ]
    limits = f", with {', '.join(ends)}" if ends else ""
    unit = "m or rad" if is_pose else "m"
    return (
        f"the tip cannot reach {what} ({where}) m of {since:.3g} s from now: it comes as near as "
        f"{float(found.residual):.3g} {unit}{limits}"
    )


def check_shapes(
    robot: Robot, times: np.ndarray, q: np.ndarray, efforts: tuple[np.ndarray, np.ndarray]
) -> None:
    """Refuse shapes (n, nq) at times (n,) [s] outside the strokes, or that require more than the actuators
    can exert: efforts (nu,), least and largest [N].

    Raises
    ------
    StateError
    """
    _check(robot, times, q, _strokes(robot), "would be", "m long beyond its rest", "stroke")
    rest = np.zeros_like(q)
    tau = robot.inverse_dynamics(q, rest, rest)
    _check(robot, times, tau, efforts, "would need", "N to hold that shape", "range")


def _check(
    robot: Robot,
    times: np.ndarray,
    values: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    verb: str,
    unit: str,
    what: str,
) -> None:
    low, high = limits
    room = np.where(np.isfinite(high - low), high - low, 1.0) * SLACK
    beyond = (values < low - room) | (values > high + room)
    if not beyond.any():
        return
    i = int(np.argmax(beyond.any(axis=1)))
    k = int(np.argmax(beyond[i]))
    raise StateError(
        f"{robot.coordinates[k].name} {verb} {values[i, k]:.4g} {unit}, {times[i] - times[0]:.3g} s from "
        f"now; its {what} is {low[k]:.4g} to {high[k]:.4g}"
    )


def _strokes(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest length changes (nq,) of the actuators [m]."""
    c = robot.coordinates
    return np.array([x.lower for x in c]), np.array([x.upper for x in c])
