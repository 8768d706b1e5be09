"""Columns of a trajectory that was simulated."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.simulation.trajectory import Trajectory

#: what is kept of the cylinders
_OF_LEGS = ("pressure_bore", "pressure_rod", "stroke")


def columns_of(trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Positions, velocities and efforts; of cylinders pressures, strokes, and the openings that were held
    from each sample on."""
    wanted = (
        *trajectory.q_names, *(f"{key}.velocity" for key in trajectory.v_names),
        *(f"{key}.effort" for key in trajectory.effort_names),
    )  # fmt: skip
    columns = {key: trajectory[key] for key in wanted}
    if trajectory.hydraulics is not None:
        for leg in trajectory.effort_names:
            columns |= {key: trajectory[key] for part in _OF_LEGS for key in (f"{leg}.{part}",)}
            columns[f"{leg}.valve_command"] = _led_to(trajectory[f"{leg}.valve_command"])
            del columns[f"{leg}.effort"]
    return columns


def _led_to(commands: np.ndarray) -> np.ndarray:
    """Commands from each sample on, of those that led to it."""
    return np.append(commands[1:], commands[-1])
