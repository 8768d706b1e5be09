"""The workspace of a platform: which poses strokes, joints, forces and singularities allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.studies.experiments.poses import (
    end_frame,
    held_joints,
    joint_names,
    largest_strain,
    pose_of,
)
from flexdyn_ros.studies.experiments.registry import experiment


@experiment(
    "volume", "share_of_box", "lost_by_stroke", "lost_by_angle", "lost_by_force", "lost_by_singularity",
    "largest_force", "reach", "height", "smallest_margin", "mass",
    volume="m3", mass="kg", force_limit="N", largest_force="N", reach="m", singular_margin="",
    smallest_margin="", height="m",
)  # fmt: skip
def workspace(
    robot: Robot,
    extent: Sequence[float] = (0.8, 0.8, 0.4),
    tilt: float = 0.0,
    force_limit: float | None = None,
    singular_margin: float = 0.2,
    samples: int = 4096,
) -> dict[str, object]:
    """Volume of positions about home that a platform reaches, holds at rest, and that are far from singular.

    extent: sides of the box about home that is looked at [m]; tilt: at every position the platform is also
    tilted by this angle about six axes [rad], and has to get there, too; force_limit: of a leg, default its
    effort limit [N]; singular_margin: least singular value of the homogeneous leg Jacobian; samples:
    positions, a Sobol sequence that is always the same.

    Results: volume [m3]; share_of_box; lost_by_stroke, lost_by_angle, lost_by_force, lost_by_singularity,
    shares of the box outside of each bound; largest_force within the volume [N]; reach, the largest
    horizontal distance from home [m]; height, of the volume [m]; smallest_margin, the least singular value
    within.
    """
    if not robot.legs:
        raise UnsupportedError(f"robot {robot.name!r} is no platform; stewart_1t is")
    q, turns = _poses(robot.neutral().tobytes(), tuple(extent), tilt, samples)
    margins = robot.workspace_margins(q)
    force = np.abs(robot.inverse_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))).max(axis=-1)
    limit = force_limit if force_limit is not None else min(c.effort_limit for c in robot.coordinates)
    if not np.isfinite(limit):
        limit = min(j.limit.effort for j in robot.description.joints if j.type == "prismatic" and j.limit)

    def kept(good: np.ndarray) -> np.ndarray:
        return np.nan_to_num(good).astype(bool).reshape(-1, turns).all(axis=1)

    least = margins.singular_values[:, -1]
    by = {
        "stroke": kept(margins.stroke >= 0.0),
        "angle": kept((margins.angle >= 0.0) & (margins.ball >= 0.0) & (margins.interference >= 0.0)),
        "force": kept(force <= limit),
        "singularity": kept((least >= singular_margin) & (margins.mask & 64 == 0)),
    }
    inside = np.logical_and.reduce(list(by.values()))
    place = q[::turns, :3][inside] - robot.neutral()[:3]
    far = bool(inside.any())
    return {
        "volume": inside.mean() * np.prod(extent),
        "share_of_box": inside.mean(),
        **{f"lost_by_{name}": 1.0 - good.mean() for name, good in by.items()},
        "largest_force": force.reshape(-1, turns)[inside].max() if far else 0.0,
        "reach": np.linalg.norm(place[:, :2], axis=1).max() if far else 0.0,
        "height": np.ptp(place[:, 2]) if far else 0.0,
        "smallest_margin": least.reshape(-1, turns)[inside].min() if far else 0.0,
        "mass": robot.mass,
    }


@lru_cache(maxsize=4)
def _poses(home: bytes, extent: tuple[float, ...], tilt: float, samples: int) -> tuple[np.ndarray, int]:
    """Poses (samples times turns, 7): positions of a Sobol sequence, each level and tilted about six axes."""
    from scipy.stats import qmc

    start = np.frombuffer(home)
    side = (qmc.Sobol(3, seed=0).random(samples) - 0.5) * np.asarray(extent)
    turns = 7 if tilt else 1
    q = np.tile(start, (samples, turns, 1))
    q[:, :, :3] += side[:, None, :]
    for k in range(1, turns):
        angle = (k - 1) * np.pi / 3.0
        q[:, k, 3:] = [
            np.sin(tilt / 2) * np.cos(angle),
            np.sin(tilt / 2) * np.sin(angle),
            0.0,
            np.cos(tilt / 2),
        ]
    return q.reshape(-1, 7), turns


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
    is reached); the same as smallest_wheel_force [N], strain (NaN of booms without sections); sag, how much
    lower the payload lets the frame hang [m].

    Raises
    ------
    StateError
        If the frame does not get there.
    """
    frame = end_frame(robot, frame)
    joints = joint_names(robot)
    q = _pose_at(robot, frame, reach, height, pose_of(robot, pose), joints)
    loaded = robot if payload is None else robot.with_payload(frame, payload)
    rest = loaded.static_equilibrium(q, hold=held_joints(robot))
    empty = robot.with_payload(frame, 0.0)
    before = empty.static_equilibrium(q, hold=held_joints(robot)).q
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
    margins = [x for name, x in found.items() if name.endswith("_margin") and not np.isnan(x)]
    return found | {"margin": min(margins), "strain": strain, "sag": sag}


@experiment(
    "pressure", "pressure_margin", "sag", "sag_margin", "margin",
    reach="m", height="m", payload="kg", pressure_limit="Pa", sag_limit="m", pressure="Pa", sag="m",
    pressure_margin="", sag_margin="", margin="",
)  # fmt: skip
def lift_with_oil(
    robot: Robot,
    reach: float,
    height: float = 1.0,
    payload: float = 0.0,
    frame: str | None = None,
    pose: Mapping[str, float] | None = None,
    joints: Sequence[str] = (),
    pressure_limit: float = 2e7,
    sag_limit: float = 0.05,
) -> dict[str, Any]:
    """Hold a payload at a reach by hydraulic cylinders with shut valves, and tell how far each limit is.

    reach: horizontal distance of the frame from the base link [m], height: above the base link [m], of the
    undeformed robot; payload: point mass at the frame [kg]; pose: where the search for the positions of
    `joints` begins, which bring the frame there; pressure_limit of the chambers [Pa]; sag_limit: what the
    payload may lower the frame by [m].

    Results: pressure, the highest of the chambers that carry, while the others are at tank pressure [Pa];
    sag, how much lower the payload lets the frame hang [m]; pressure_margin, sag_margin, 1 - used share of
    the limit; margin, the lesser of them.

    Raises
    ------
    StateError
        If the frame does not get there.
    UnsupportedError
        For robots without cylinders on oil.
    """
    if robot.hydraulics is None:
        raise UnsupportedError(f"robot {robot.name!r} has no cylinders on oil; boom has")
    frame, names = end_frame(robot, frame), tuple(robot.hydraulics.names)
    q = _pose_at(robot, frame, reach, height, pose_of(robot, pose), joints)
    loaded, empty = (robot.with_payload(frame, mass) for mass in (payload, 0.0))
    rest, before = (each.static_equilibrium(q, hold=names) for each in (loaded, empty))
    sag = empty.frames(before.q, frame)[2, 3] - loaded.frames(rest.q, frame)[2, 3]
    column = robot.hydraulics.model.column
    bore, ring, tank = column("bore_area"), column("rod_area"), column("tank")
    # F = A1 p1 - A2 p2 - (A1 - A2) p_atm
    loads = rest.tau[[robot.effort_names.index(name) for name in names]]
    loads = loads + (bore - ring) * column("atmosphere")
    pressure = np.maximum((loads + ring * tank) / bore, (bore * tank - loads) / ring).max()
    margins = {"pressure_margin": 1.0 - pressure / pressure_limit, "sag_margin": 1.0 - sag / sag_limit}
    return {"pressure": pressure, "sag": sag, **margins, "margin": min(margins.values())}


def _pose_at(
    robot: Robot, frame: str, reach: float, height: float, q: np.ndarray, joints: Sequence[str]
) -> np.ndarray:
    """Positions of joints that bring the frame there, the base standing as it does at q."""
    from scipy.optimize import least_squares

    at = [robot.q_names.index(name) for name in joints]
    base = robot.frames(q, robot.frame_names[0])[:3, 3]

    def placed(x: np.ndarray) -> np.ndarray:
        moved = q.copy()
        moved[at] = x
        return robot.functions.closed(moved, joints)

    def missing(x: np.ndarray) -> np.ndarray:
        place = robot.frames(placed(x), frame)[:3, 3]
        return np.array([place[0] - base[0] - reach, place[1] - base[1], place[2] - base[2] - height])

    found = least_squares(missing, q[at], xtol=1e-12, ftol=1e-12, gtol=1e-12)
    if np.linalg.norm(found.fun) > 1e-6:
        raise StateError(f"{frame} does not get to a reach of {reach:g} m at a height of {height:g} m")
    return placed(found.x)
