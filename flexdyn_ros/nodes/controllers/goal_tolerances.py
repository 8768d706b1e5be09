"""How far joints may be from a trajectory: parameters `constraints`, and what a goal of
`~/follow_joint_trajectory` states instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np

from flexdyn_ros.control.goal_watch import Tolerances
from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.controllers.parameters import CONSTRAINTS
from flexdyn_ros.nodes.ros.declaration import declare_family
from flexdyn_ros.simulation.live.joint_path import JointLimits, TrajectoryError, UnknownJointError


def declared_tolerances(node: Any, joints: Sequence[str], limits: JointLimits) -> Mapping[str, float]:
    """Parameters constraints.goal_time, .stopped_velocity_tolerance, .JOINT.trajectory, .JOINT.goal; a goal
    of 0 as `limits` makes it: a goal that succeeds has been reached.

    Raises
    ------
    ParameterError
        If one is negative, or names no joint.
    """
    given = declare_family(node, CONSTRAINTS, joints)
    near = limits.near()
    return given | {f"{joint}.goal": given[f"{joint}.goal"] or near[joint] for joint in joints}


def goal_tolerances(goal: Any, joints: Sequence[str], declared: Mapping[str, float]) -> Tolerances:
    """Tolerances of a goal for its joints, in their order: 0 means what was declared, and -1
    means any.

    Raises
    ------
    TrajectoryError
    """
    for field in ("component_path_tolerance", "component_goal_tolerance"):
        if getattr(goal, field):
            raise TrajectoryError(
                f"{field} has {len(getattr(goal, field))} entries, expected none: joints have one component"
            )
    k = len(joints)
    stopped = declared["stopped_velocity_tolerance"]
    rows = {
        "path_position": np.array([declared[f"{joint}.trajectory"] for joint in joints]),
        "path_velocity": np.zeros(k),
        "goal_position": np.array([declared[f"{joint}.goal"] for joint in joints]),
        "goal_velocity": np.full(k, stopped),
    }
    for phase in ("path", "goal"):
        for entry in getattr(goal, f"{phase}_tolerance"):
            _take(entry, phase, joints, rows)
    late = goal.goal_time_tolerance
    time = late.sec + 1e-9 * late.nanosec or declared["goal_time"] or inf
    bounds = {name: np.where(row == 0.0, inf, row) for name, row in rows.items()}
    return Tolerances(**bounds, goal_time=inf if time < 0.0 else time)


def _take(entry: Any, phase: str, joints: Sequence[str], rows: Mapping[str, np.ndarray]) -> None:
    """Put a JointTolerance in place of what was declared."""
    field = f"{phase}_tolerance"
    if entry.name not in joints:
        raise UnknownJointError(
            f"{field} names {shortened(entry.name)!r}, expected one of {', '.join(joints)}"
        )
    i = list(joints).index(entry.name)
    for what in ("position", "velocity", "acceleration"):
        value = getattr(entry, what)
        if not isfinite(value) or (value < 0.0 and value != -1.0):
            raise TrajectoryError(
                f"{field} of {entry.name}: {what} is {value}, expected at least 0, or -1 for any"
            )
        if what == "acceleration":
            if value > 0.0:
                raise TrajectoryError(
                    f"{field} of {entry.name}: acceleration is {value}, expected 0: it is not measured"
                )
        elif value != 0.0:
            rows[f"{phase}_{what}"][i] = inf if value < 0.0 else value
