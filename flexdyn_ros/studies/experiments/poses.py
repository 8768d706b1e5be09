"""What experiments share: poses by the names of joints, and the frame that they look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, UnknownNameError
from flexdyn_ros.robot.verbs import Robot


def joint_names(robot: Robot) -> tuple[str, ...]:
    """The driven joints, in the order of the robot's actuators."""
    return tuple(c.name for c in robot.coordinates if c.kind == "joint" and c.actuated and not c.prescribed)


def pose_of(robot: Robot, pose: Mapping[str, float] | Sequence[float] | None) -> np.ndarray:
    """q (nq,): the neutral pose with joints as given, by name or in the order of the driven joints."""
    q = robot.neutral()
    if pose is None:
        return q
    if not isinstance(pose, Mapping):
        names = joint_names(robot)
        if len(pose) != len(names):
            raise DimensionError(f"pose has {len(pose)} numbers, expected {len(names)}: {', '.join(names)}")
        pose = dict(zip(names, pose, strict=True))
    for name, value in pose.items():
        if name not in robot.q_names:
            raise UnknownNameError("coordinate in pose", name, robot.q_names)
        q[robot.q_names.index(name)] = float(value)
    return q


def end_frame(robot: Robot, frame: str | None) -> str:
    """The frame that was named, else the last one of the robot."""
    if frame is None:
        return robot.frame_names[-1]
    return frame


def largest_strain(robot: Robot, q: np.ndarray) -> float:
    """Largest fibre strain [-] over all bent links at q (..., nq); 0 for robots that do not bend."""
    found: Any = robot.deflections(q)
    return max((float(np.abs(d.strain).max(initial=0.0)) for d in found.values()), default=0.0)
