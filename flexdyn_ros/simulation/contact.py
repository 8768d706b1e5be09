"""Loss and regain of contact of wheels, as events of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.simulation.events import Watch

__all__ = ["contact_watches"]

#: ground force below which a wheel counts as off the ground [N]; a cut one is exactly 0
SMALLEST_FORCE = 1e-9


def contact_watches(robot: Robot) -> list[Watch]:
    """One event per wheel, WHEEL/contact, where its ground force passes zero; the end of the simulation for
    contact `stop`."""
    robot_on_wheels: Any = robot
    if robot.kind != "mobile":
        return []
    road = robot.description.road
    stop = road is not None and road.contact == "stop"

    def watch(index: int, wheel: str) -> Watch:
        def force(t: float, q: np.ndarray, v: np.ndarray) -> float:
            return float(robot_on_wheels.wheel_forces(q, v).normal[index]) - SMALLEST_FORCE

        def forces(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return robot_on_wheels.wheel_forces(q, v).normal[:, index] - SMALLEST_FORCE

        return Watch(force, lambda q: f"{wheel}/contact", stop, -1.0 if stop else 0.0, forces)

    return [watch(i, name) for i, name in enumerate(robot_on_wheels.wheel_names)]
