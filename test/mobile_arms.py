"""The wheeled arm of the specification: its coordinates, worked state, and mobile arms of other shapes."""

from __future__ import annotations

import numpy as np

import flexdyn_ros

#: state of section 17 of the specification of mobile arms: absolute angles, without base/x
Q_I = np.array([0.19, 0.02, 0.5, 1e-6, -4e-3, -9e-3, 0.2, -1e-6, 3e-3, 6e-3])
V_I = np.array([0.01, -0.05, 0.8, 0.0, 0.02, 0.1, -0.6, 0.0, -0.03, 0.2])
TIME, SPEED = 0.1, 0.3


def absolute(robot) -> np.ndarray:
    """T (nv - 1, nv - 1) with q_i = T z: heave, pitch up, absolute angles and modes from ours without base/x.

    For the two-link arm in any of its models (CONTRACT 2.1).
    """
    names = robot.v_names[1:]
    T = np.eye(len(names))
    T[1, 1] = -1.0
    so_far = {names[1]: -1.0}
    for link, joint in (("link_1", "shoulder"), ("link_2", "elbow")):
        row = names.index(joint)
        so_far[joint] = 1.0
        for name, share in so_far.items():
            T[row, names.index(name)] = share
        slope = f"{link}/bending_z/2"
        if slope in names:
            so_far[slope] = 1.0
    return T


def arm(scenario: str | None = None, **options):
    """The shipped arm; options as of load with dots written as double underscores."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    config = None if scenario is None else f"package://flexdyn_ros/config/mobile_arm_{scenario}.yaml"
    return flexdyn_ros.load("mobile_arm", options=given or None, config=config)


def state(robot) -> tuple[np.ndarray, np.ndarray]:
    """q and v of the worked state."""
    back = np.linalg.inv(absolute(robot))
    return np.append(SPEED * TIME, back @ Q_I), np.append(SPEED, back @ V_I)


def efforts(robot, shoulder: float, elbow: float) -> np.ndarray:
    """tau (nv,) of the two motors."""
    tau = np.zeros(robot.nv)
    tau[robot.index("shoulder")], tau[robot.index("elbow")] = shoulder, elbow
    return tau


def held(robot, angles, q0=None):
    """Equilibrium whose absolute link angles are held [rad]; road as at base/x of q0."""
    T = absolute(robot)
    q = robot.neutral() if q0 is None else np.array(q0)
    joints = [robot.index("shoulder"), robot.index("elbow")]
    for _ in range(40):
        found = robot.static_equilibrium(q, hold="joints")
        wrong = (T @ found.q[1:])[[joints[0] - 1, joints[1] - 1]] - angles
        q = found.q.copy()
        if np.abs(wrong).max() < 1e-15:
            break
        q[joints[0]] -= wrong[0]
        q[joints[1]] -= wrong[1] - wrong[0]
    return found
