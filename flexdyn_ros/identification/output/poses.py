"""Where free bodies and platforms are at the first sample."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.robot.verbs import Robot


def free_positions(robot: Robot) -> frozenset[tuple[str, int]]:
    """("q", place) of positions and quaternions of free bodies: their starts are steps from a pose."""
    held = {c.q_index for c in robot.coordinates if c.q_index >= 0}
    steps = pose_steps(robot)
    origins = {c.q_index for c in robot.coordinates if ("d", c.v_index) in steps and c.q_index >= 0}
    return frozenset(("q", i) for i in range(robot.nq) if i not in held or i in origins)


def pose_steps(robot: Robot) -> tuple[tuple[str, int], ...]:
    """("d", place) of the six steps of each free body."""
    return tuple(("d", i) for first in robot.functions.free_twists for i in range(first, first + 6))


def first_pose(robot: Robot, measurement: Measurement) -> np.ndarray | None:
    """q (nq,) with the pose of free bodies, of a platform also by the strokes of its legs; None if neither
    was measured."""
    q = robot.neutral()
    places = [i for kind, i in free_positions(robot)]
    if all(robot.q_names[i] in measurement.columns for i in places):
        q[places] = [_first(measurement, robot.q_names[i]) for i in places]
        return _normalized(robot, q)
    strokes = [f"{leg}.stroke" for leg in robot.effort_names]
    if not all(name in measurement.columns for name in strokes):
        return None
    shortest = np.array([leg.shortest for leg in robot.legs])
    lengths = shortest + [_first(measurement, name) for name in strokes]
    return np.asarray(robot.forward_kinematics(lengths).q)


def _first(measurement: Measurement, name: str) -> float:
    """The first value that is there."""
    values = measurement[name]
    return float(values[np.isfinite(values)][0])


def _normalized(robot: Robot, q: np.ndarray) -> np.ndarray:
    """With quaternions of unit length."""
    for i, name in enumerate(robot.q_names):
        if name.endswith("/qx"):
            q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
    return q
