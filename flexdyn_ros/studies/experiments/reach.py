"""The workspace of a platform: which poses strokes, joints, forces and singularities allow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.robot.verbs import Robot
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
