"""A MultiDOFJointTrajectory as the motion of a platform's pose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.simulation.live.joint_path import TrajectoryError, hermite, on_spline
from flexdyn_ros.simulation.live.message_fields import duration_seconds, seconds_of

#: how far the length of a quaternion may be from one
QUATERNION = 1e-3
#: poses that are looked at between two points, and in all
LOOKS_PER_POINT, MOST_LOOKS = 8, 4000
#: how far a margin may be below zero, or below that of the pose at the start [m, rad]
SLACK = 1e-6


@dataclass(frozen=True)
class PosePath:
    """Poses at knots and splines between them.

    times (n,): simulated times of the knots [s], rising; poses (n, 7); coefficients (n - 1, d, 6): of powers
    of the time since a knot, of the displacement from the knot's pose (turn; way), world axes.
    """

    robot: Any
    times: np.ndarray
    poses: np.ndarray
    coefficients: np.ndarray

    @property
    def end(self) -> float:
        """Simulated time of the last point [s]."""
        return float(self.times[-1])

    def __call__(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pose (7,), twist and its rate (6,) at a time; the ends are held beyond them."""
        i, d, v, a = on_spline(self.times, self.coefficients, time)
        return self.robot.integrate(self.poses[i], d, 1.0), *_turning(d[:3], v, a)


def _turning(theta: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Twist and its rate while the rotation vector theta changes as v and a say.

    w = theta' + theta x theta'/2 + theta x (theta x theta')/6 (left trivialisation of exp, to third order).
    """
    v, a = v.copy(), a.copy()
    rate, rate2 = v[:3].copy(), a[:3].copy()
    c = np.cross(theta, rate)
    v[:3] = rate + 0.5 * c + np.cross(theta, c) / 6.0
    d = np.cross(theta, rate2)
    a[:3] = rate2 + 0.5 * d + (np.cross(rate, c) + np.cross(theta, d)) / 6.0
    return v, a


def read_pose_path(message: Any, robot: Any, now: float, q: np.ndarray, v: np.ndarray) -> PosePath:
    """The path of a MultiDOFJointTrajectory that starts from the present pose q (7,) and twist v (6,).

    `robot` is a platform, or `control.PoseSpace` where the pose is that of a frame. One joint, of any name;
    transforms are poses in the world. Twists (world axes) and
    accelerations may be given; twists that are not follow from the neighbouring points.

    Raises
    ------
    TrajectoryError
    """
    if len(message.joint_names) != 1:
        raise TrajectoryError(f"joint_names has {len(message.joint_names)} names, expected one")
    points = list(message.points)
    if not points:
        return PosePath(robot, np.array([now, now + 1e-9]), np.stack([q, q]), np.zeros((1, 1, 6)))
    stamp = seconds_of(message.header.stamp)
    start = stamp if stamp > 0.0 else now
    times = start + np.array([duration_seconds(point.time_from_start) for point in points])
    if len(times) > 1 and not (np.diff(times) > 0.0).all():
        raise TrajectoryError("time_from_start does not rise from point to point")
    if times[-1] <= now:
        raise TrajectoryError(f"the last point is at {times[-1]:g} s, expected after {now:g} s")
    poses = np.stack([_pose(point, i) for i, point in enumerate(points)])
    twists = _vectors(points, "velocities")
    accelerations = _vectors(points, "accelerations")
    later = times > now
    times, poses = np.concatenate(([now], times[later])), np.concatenate((q[None], poses[later]))
    steps = robot.difference(poses[:-1], poses[1:])
    if twists is None:
        twists = _slopes(times, steps, v)
    else:
        twists = np.concatenate((v[None], twists[later]))
    if accelerations is not None:
        accelerations = np.concatenate((np.zeros((1, 6)), accelerations[later]))
    coefficients = hermite(times, np.zeros_like(steps), steps, twists, accelerations)
    return PosePath(robot, times, poses, coefficients)


def check_reach(path: PosePath) -> None:
    """Refuse a path on which a leg leaves its stroke, a joint its limits, legs touch, or the platform passes
    a singularity. A pose that is beyond a limit at the start may stay as far beyond, not farther.

    Raises
    ------
    TrajectoryError
    """
    robot, spans = path.robot, len(path.times) - 1
    looks = max(1, min(LOOKS_PER_POINT, MOST_LOOKS // spans))
    shares = np.arange(1, looks + 1) / looks
    between = (path.times[:-1, None] + np.diff(path.times)[:, None] * shares).ravel()
    times = np.concatenate((path.times[:1], between))
    try:
        q = np.stack([path(t)[0] for t in times])
        margins, legs = robot.workspace_margins(q), robot.inverse_kinematics(q)
    except FlexdynError as error:
        raise TrajectoryError(f"the points cannot be reached: {error}") from None
    kinds = {
        "a universal joint is beyond its limits": margins.angle,
        "a spherical joint is beyond its limit": margins.ball,
        "legs touch": margins.interference,
        "the platform passes a singularity": margins.determinant * np.sign(margins.determinant[0]),
    }
    strokes = np.array([leg.stroke for leg in robot.legs])
    room = np.minimum(legs.stroke, strokes - legs.stroke)
    kinds |= {name: room[:, i] for i, name in enumerate(robot.effort_names)}
    beyond = {what: margin < min(0.0, margin[0]) - SLACK for what, margin in kinds.items()}
    found = [(int(np.argmax(rows)), what) for what, rows in beyond.items() if rows.any()]
    if not found:
        return
    at, what = min(found)
    if what in robot.effort_names:
        i = robot.effort_names.index(what)
        low = legs.length[at, i] - legs.stroke[at, i]
        what = (
            f"{what} would be {legs.length[at, i]:.4g} m long, expected {low:.4g} to {low + strokes[i]:.4g} m"
        )
    raise TrajectoryError(f"the path cannot be followed: {times[at] - times[0]:.3g} s from now {what}")


def _pose(point: Any, i: int) -> np.ndarray:
    if len(point.transforms) != 1:
        raise TrajectoryError(f"points[{i}].transforms has {len(point.transforms)} entries, expected 1")
    t, r = point.transforms[0].translation, point.transforms[0].rotation
    pose = np.array([t.x, t.y, t.z, r.x, r.y, r.z, r.w])
    if not np.isfinite(pose).all():
        raise TrajectoryError(f"points[{i}].transforms[0] holds a number that is not finite")
    length = np.linalg.norm(pose[3:])
    if abs(length - 1.0) > QUATERNION:
        raise TrajectoryError(f"points[{i}].transforms[0].rotation has length {length:g}, expected 1")
    pose[3:] /= length
    return pose


def _vectors(points: list[object], field: str) -> np.ndarray | None:
    """Twists or their rates (n, 6), angular first; None if no point has any."""
    given = [getattr(point, field) for point in points]
    if not any(len(x) for x in given):
        return None
    rows = []
    for i, entry in enumerate(given):
        if len(entry) != 1:
            raise TrajectoryError(
                f"points[{i}].{field} has {len(entry)} entries, expected 1 as at the others"
            )
        a, b = entry[0].angular, entry[0].linear
        rows.append((a.x, a.y, a.z, b.x, b.y, b.z))
    array = np.array(rows)
    if not np.isfinite(array).all():
        raise TrajectoryError(f"points.{field} holds a number that is not finite")
    return array


def _slopes(times: np.ndarray, steps: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Twists at the knots: the present one, the mean of the neighbouring speeds, and rest at the end."""
    speeds = steps / np.diff(times)[:, None]
    inner = 0.5 * (speeds[:-1] + speeds[1:])
    return np.concatenate((v[None], inner, np.zeros((1, 6))))
