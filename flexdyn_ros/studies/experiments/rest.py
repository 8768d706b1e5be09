"""Experiments at rest: static equilibrium, and modes of vibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.studies.experiments.poses import end_frame, largest_strain, pose_of
from flexdyn_ros.studies.experiments.registry import experiment


@experiment(
    "sag", "deflection", "strain", "largest_effort", "first_frequency", "mass", "stable",
    sag="m", deflection="m", largest_effort="N m (N)", first_frequency="Hz", mass="kg",
)  # fmt: skip
def static(
    robot: Robot,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    force: Sequence[float] = (0.0, 0.0, 0.0),
    frame: str | None = None,
    hold: Sequence[str] | str = "joints",
) -> dict[str, object]:
    """Static equilibrium of a held robot under its weight and a force at a frame.

    pose: where joints are held; force (3,) [N] in world axes; hold: coordinates that are held.

    Results: sag, how much lower the frame hangs than undeformed [m]; deflection, how far it moved [m];
    strain, the largest of all fibres; largest_effort of what is held; first_frequency of small vibrations
    there, held coordinates locked [Hz], 0 where nothing vibrates; mass [kg]; stable.
    """
    frame, q = end_frame(robot, frame), pose_of(robot, pose)
    wrench = np.concatenate([np.zeros(3), np.asarray(force, dtype=float)])
    rest = robot.static_equilibrium(q, hold=hold, wrenches={frame: wrench} if wrench.any() else None)
    found = robot.modes(rest.q, lock=hold).frequency
    moved = robot.frames(rest.q, frame)[:3, 3] - robot.frames(q, frame)[:3, 3]
    return {
        "sag": -moved[2],
        "deflection": np.linalg.norm(moved),
        "strain": largest_strain(robot, rest.q),
        "largest_effort": np.abs(rest.tau).max(initial=0.0),
        "first_frequency": found[found > 0.0].min() if (found > 0.0).any() else 0.0,
        "mass": robot.mass,
        "stable": bool(rest.stable),
    }


@experiment("first_frequency", "stable", "mass", frequency="Hz", first_frequency="Hz", mass="kg")
def modes(
    robot: Robot,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    lock: Sequence[str] | str = (),
    count: int = 6,
) -> dict[str, object]:
    """Frequencies and damping ratios of small vibrations about a pose.

    lock: coordinates that stand still, "joints" for all joints.

    Results: first_frequency, the lowest above zero [Hz]; frequency, the lowest `count` (list) [Hz];
    damping_ratio (list); stable; mass [kg].
    """
    found = robot.modes(pose_of(robot, pose), lock=lock)
    moving = found.frequency[found.frequency > 0.0]
    return {
        "first_frequency": moving[0] if moving.size else 0.0,
        "frequency": found.frequency[:count],
        "damping_ratio": found.damping_ratio[:count],
        "stable": not bool(found.unstable),
        "mass": robot.mass,
    }
