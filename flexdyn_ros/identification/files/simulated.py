"""Columns of a trajectory that was simulated."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["columns_of"]


def columns_of(trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Positions, velocities and efforts."""
    wanted = (
        *trajectory.q_names, *(f"{key}.velocity" for key in trajectory.v_names),
        *(f"{key}.effort" for key in trajectory.effort_names),
    )  # fmt: skip
    return {key: trajectory[key] for key in wanted}
