"""What experiments share: poses by the names of joints, and the frame that they look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from flexdyn_ros.control import joint_inertia
from flexdyn_ros.errors import DimensionError, UnknownNameError, UnsupportedError
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
    return robot.functions.closed(q, [name for name in pose if name in robot.v_names])


def held_joints(robot: Robot) -> Sequence[str]:
    """ "joints", or of closed mechanisms the actuators: loops hold the other joints."""
    return robot.actuators if robot.functions.is_constrained else "joints"


def end_frame(robot: Robot, frame: str | None) -> str:
    """The frame that was named, else the last one of the robot."""
    if frame is None:
        return robot.frame_names[-1]
    return frame


def largest_strain(robot: Robot, q: np.ndarray) -> float:
    """Largest fibre strain [-] over all bent links at q (..., nq) whose sections are known, NaN if none
    is; 0 for robots that do not bend."""
    found = [float(np.abs(d.strain).max(initial=0.0)) for d in robot.deflections(q).values()]
    return max((strain for strain in found if not np.isnan(strain)), default=np.nan if found else 0.0)


def largest_moment(robot: Robot, q: np.ndarray, tau: np.ndarray, wrenches: Mapping[str, object]) -> float:
    """Largest section moment [N m] over all bent links at rest at q (nq,), by equilibrium; from the mode
    shapes where the robot has no `loads`; 0 for robots that do not bend."""
    found = robot.deflections(q)
    still = np.zeros(robot.nv)
    try:
        loads = robot.loads(q, still, still, tau, wrenches) if found else {}
    except UnsupportedError:
        loads = {}
    moments = (loads.get(name, bent).moment for name, bent in found.items())
    return max((float(np.linalg.norm(m, axis=-1).max(initial=0.0)) for m in moments), default=0.0)


def servo_gains(
    robot: Robot, q: np.ndarray, frequency: float, damping_ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (nv,) of servos of that frequency [Hz] on the inertia of each joint at q."""
    inertia = joint_inertia(robot, q)
    w = 2.0 * np.pi * frequency
    return w * w * inertia, 2.0 * damping_ratio * w * inertia


def servo(
    robot: Robot, q: np.ndarray, tau: np.ndarray, frequency: float, damping_ratio: float
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """The law tau + P (q_d - q) - D v that holds the joints at q."""
    P, D = servo_gains(robot, q, frequency, damping_ratio)
    joints = np.flatnonzero(P)
    at = np.array([robot.coordinates[i].q_index for i in joints])
    target, stiffness, damping = q[at], P[joints], D[joints]
    held = np.zeros(robot.nu)
    held[joints] = np.asarray(tau)[joints]

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = held.copy()
        out[joints] += stiffness * (target - q[at]) - damping * v[joints]
        return out

    return law
