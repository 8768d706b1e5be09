"""The joints of the URDF in an expanded description, and what moves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexdyn_ros.expanded.frames import angle_rates, yaw_pitch_roll_of_quaternion
from flexdyn_ros.robot.interface import RobotInterface

#: one-axis joints that stand for a floating one, from the parent on: (suffix, type, axis)
SIX_AXES = (
    ("x", "prismatic", "1 0 0"),
    ("y", "prismatic", "0 1 0"),
    ("z", "prismatic", "0 0 1"),
    ("yaw", "continuous", "0 0 1"),
    ("pitch", "continuous", "0 1 0"),
    ("roll", "continuous", "1 0 0"),
)


class Part(Protocol):
    """Joints of an expanded description that belong together.

    names: of its joints. state(q, v): their positions and velocities (..., k) [rad or m, per s] for q
    (..., nq), v (..., nv), whose leading dimensions broadcast.
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


#: parts of an expanded description, and the column of tau of each joint that has an actuator
Joints = tuple[list[Part], dict[str, int]]


@dataclass(frozen=True)
class Axes:
    """Joints of one axis: position = ratio * a coordinate + offset, mimic joints included."""

    names: tuple[str, ...]
    q_index: np.ndarray
    v_index: np.ndarray
    ratio: np.ndarray
    offset: np.ndarray

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.ratio * q[..., self.q_index] + self.offset, self.ratio * v[..., self.v_index]


@dataclass(frozen=True)
class FloatingJoint:
    """A floating joint as six of one axis; where it begins in q and v."""

    names: tuple[str, ...]
    q_index: int
    v_index: int

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, begin = self.q_index, self.v_index
        angles = yaw_pitch_roll_of_quaternion(q[..., at + 3 : at + 7])
        rates = angle_rates(angles, v[..., begin : begin + 3])
        carried = np.broadcast_to(v[..., begin + 3 : begin + 6], rates.shape)
        return (
            np.concatenate((q[..., at : at + 3], angles), axis=-1),
            np.concatenate((carried, rates), axis=-1),
        )


def joints_of_the_urdf(robot: RobotInterface) -> Joints:
    """What moves the URDF's own joints, and the column of tau of those that have an actuator."""
    at = {c.name: c for c in robot.coordinates}
    starts = {name: i for i, name in enumerate(robot.q_names)}
    parts: list[Part] = []
    rows: list[tuple[str, int, int, float, float]] = []
    efforts: dict[str, int] = {}

    def flush() -> None:
        if rows:
            names, q, v, ratio, offset = zip(*rows, strict=True)
            parts.append(Axes(names, np.array(q), np.array(v), np.array(ratio), np.array(offset)))
            rows.clear()

    for joint in robot.description.joints:
        if joint.type == "fixed":
            continue
        if joint.type == "floating":
            flush()
            names = tuple(f"{joint.name}/{suffix}" for suffix, _, _ in SIX_AXES)
            parts.append(FloatingJoint(names, starts[f"{joint.name}/x"], at[f"{joint.name}/wx"].v_index))
            continue
        ratio, offset, leader = robot.description.leader_of(joint)
        c = at[leader.name]
        rows.append((joint.name, c.q_index, c.v_index, ratio, offset))
        if joint.mimic is None:
            efforts[joint.name] = c.v_index
    flush()
    return parts, efforts
