"""The ten numbers of a body, and payloads of a robot that is made anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.verbs import Robot

#: the ten numbers of a body, as they follow its name
INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def is_inertial(name: str) -> bool:
    """Whether a parameter is one of the ten numbers of a body."""
    return name.rpartition("/")[2] in INERTIAL


def about_com(numbers: np.ndarray, rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> tuple[np.ndarray, list[float]]:
    """Centre of mass (3,), and the six entries about it in axes of rpy, of ten numbers about the origin."""
    m, h = float(numbers[0]), numbers[1:4]
    com = h / m if m > 0.0 else np.zeros(3)
    about = tensor_of(numbers[4:].tolist()) - m * (com @ com * np.eye(3) - np.outer(com, com))
    R = rotation_of_rpy(rpy)
    return com, entries_of(R.T @ about @ R)


def tensor_of(entries: Sequence[float]) -> np.ndarray:
    """The matrix (3, 3) of the entries (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def entries_of(tensor: np.ndarray) -> list[float]:
    """The entries (xx, xy, xz, yy, yz, zz) of a matrix (3, 3)."""
    return [float(tensor[i, j]) for i in range(3) for j in range(i, 3)]


def with_payloads(robot: Robot, payloads: Iterable[Payload]) -> Robot:
    """The robot with those payloads."""
    for load in payloads:
        robot = robot.with_payload(load.frame, load.mass, load.com, tensor_of(load.inertia))
    return robot
