"""The joints of the URDF in an expanded description, and what moves them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from flexdyn_ros.expanded.frames import angle_rates, yaw_pitch_roll_of_quaternion
from flexdyn_ros.multibody.joints.registry import joint_model
from flexdyn_ros.records import frozen
from flexdyn_ros.robot.interface import RobotInterface


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


@frozen
class Axes:
    """Joints of one axis: position = ratio * a coordinate + offset, mimic joints included."""

    names: tuple[str, ...]
    q_index: np.ndarray
    v_index: np.ndarray
    ratio: np.ndarray
    offset: np.ndarray

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.ratio * q[..., self.q_index] + self.offset, self.ratio * v[..., self.v_index]


@frozen
class PosedJoint:
    """A joint with a quaternion as joints of one axis: displacements, then yaw, pitch and roll.

    q_index, v_index: of the displacements; turn: where the quaternion begins in q, rate: its angular velocity
    in v.
    """

    names: tuple[str, ...]
    q_index: np.ndarray
    v_index: np.ndarray
    turn: int
    rate: int

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angles = yaw_pitch_roll_of_quaternion(q[..., self.turn : self.turn + 4])
        rates = angle_rates(angles, v[..., self.rate : self.rate + 3])
        moved = v[..., self.v_index]
        carried = np.broadcast_to(moved, (*rates.shape[:-1], moved.shape[-1]))
        return (
            np.concatenate((q[..., self.q_index], angles), axis=-1),
            np.concatenate((carried, rates), axis=-1),
        )


def joints_of_the_urdf(robot: RobotInterface) -> Joints:
    """What moves the URDF's own joints, and the column of tau of those that have an actuator."""
    at = {c.name: c for c in robot.coordinates}
    parts: list[Part] = []
    rows: list[tuple[str, int, int, float, float]] = []
    efforts: dict[str, int] = {}

    def flush() -> None:
        if rows:
            names, q, v, ratio, offset = zip(*rows, strict=True)
            parts.append(Axes(names, np.array(q), np.array(v), np.array(ratio), np.array(offset)))
            rows.clear()

    description = robot.description
    for joint in description.joints:
        if joint.name in description.platform_joints or joint.name in description.leg_joints:
            continue  # their family shows them
        model = joint_model(robot.description, joint)
        if model.kernel is not None:
            flush()
            own = [at[c.name] for c in model.coordinates]
            slides = [c for c in own if c.turn_index < 0]
            q_index, v_index = ([getattr(c, name) for c in slides] for name in ("q_index", "v_index"))
            turn = next(c for c in own if c.turn_index >= 0)
            names = tuple(shown.name for shown in model.picture)
            indices = np.array(q_index, dtype=np.intp), np.array(v_index, dtype=np.intp)
            parts.append(PosedJoint(names, *indices, turn.turn_index, turn.v_index))
            continue
        ratio, offset, leader = robot.description.leader_of(joint)
        for screw in model.chain:
            name = leader.name if joint.mimic is not None else model.coordinates[screw.coordinate].name
            c = at[name]
            for shown, part in screw.parts:
                rows.append((shown.name, c.q_index, c.v_index, part * ratio, part * offset))
            if joint.mimic is None:
                efforts[screw.name] = c.v_index
    flush()
    return parts, efforts
