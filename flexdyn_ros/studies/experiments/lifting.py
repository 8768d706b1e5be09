"""A lift: a payload held at a reach, and how far wheels, joints and booms are from their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.studies.experiments.poses import end_frame, joint_names, largest_strain, pose_of
from flexdyn_ros.studies.experiments.registry import experiment


@experiment(
    "smallest_wheel_force", "wheel_margin", "torque_margin", "strain_margin", "margin", "strain", "sag",
    reach="m", height="m", payload="kg", smallest_wheel_force="N", wheel_margin="", torque_margin="",
    strain_margin="", margin="", sag="m", strain="",
)  # fmt: skip
def lift(
    robot: Robot,
    reach: float,
    height: float = 1.0,
    payload: float | None = None,
    frame: str | None = None,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    torque_limits: Mapping[str, float] | None = None,
    strain_limit: float = 1e-3,
) -> dict[str, Any]:
    """Hold a payload at a reach, at rest, and tell how far each limit is.

    reach: horizontal distance of the frame from the base link [m], height: above the base link [m], of the
    undeformed robot; payload: point mass at the frame [kg] (or by payload.FRAME.mass); pose: where the search
    for joint positions begins; torque_limits by joint [N m], default the effort limits; strain_limit of the
    booms.

    Results: wheel_margin, the smallest wheel force over its value without payload; torque_margin and
    strain_margin, 1 - used share of the limit; margin, the least of the three (0: a wheel lifts, or a limit
    is reached); the same as smallest_wheel_force [N], strain; sag, how much lower the payload lets the frame
    hang [m].

    Raises
    ------
    StateError
        If the frame does not get there.
    """
    frame = end_frame(robot, frame)
    q = _pose_at(robot, frame, reach, height, pose_of(robot, pose))
    joints = joint_names(robot)
    loaded = robot if payload is None else robot.with_payload(frame, payload)
    rest = loaded.static_equilibrium(q, hold="joints")
    empty = robot.with_payload(frame, 0.0)
    before = empty.static_equilibrium(q, hold="joints").q
    sag = empty.frames(before, frame)[2, 3] - loaded.frames(rest.q, frame)[2, 3]
    found: dict[str, Any] = {}
    if robot.wheel_names:
        still = np.zeros(robot.nv)
        free = empty.wheel_forces(before, still).normal
        after = loaded.wheel_forces(rest.q, still).normal
        found |= {"smallest_wheel_force": after.min(), "wheel_margin": (after / free).min()}
    limits = {c.name: c.effort_limit for c in robot.coordinates if c.name in joints} | dict(
        torque_limits or {}
    )
    used = [abs(rest.tau[robot.index(name)]) / limits[name] for name in joints if np.isfinite(limits[name])]
    strain = largest_strain(loaded, rest.q)
    found |= {"torque_margin": 1.0 - max(used, default=0.0), "strain_margin": 1.0 - strain / strain_limit}
    margins = [value for name, value in found.items() if name.endswith("_margin")]
    return found | {"margin": min(margins), "strain": strain, "sag": sag}


def _pose_at(robot: Robot, frame: str, reach: float, height: float, q: np.ndarray) -> np.ndarray:
    """Joint positions that bring the frame there, the base standing as it does at q."""
    from scipy.optimize import least_squares

    at = [robot.q_names.index(name) for name in joint_names(robot)]
    base = robot.frames(q, robot.frame_names[0])[:3, 3]

    def placed(x: np.ndarray) -> np.ndarray:
        moved = q.copy()
        moved[at] = x
        return moved

    def missing(x: np.ndarray) -> np.ndarray:
        place = robot.frames(placed(x), frame)[:3, 3]
        return np.array([place[0] - base[0] - reach, place[1] - base[1], place[2] - base[2] - height])

    found = least_squares(missing, q[at], xtol=1e-12, ftol=1e-12, gtol=1e-12)
    if np.linalg.norm(found.fun) > 1e-6:
        raise StateError(f"{frame} does not get to a reach of {reach:g} m at a height of {height:g} m")
    return placed(found.x)
