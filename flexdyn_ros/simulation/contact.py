"""Loss and regain of contact of wheels, as events of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Watch

__all__ = ["contact_watches"]

#: ground force below which a wheel counts as off the ground [N]; a cut one is exactly 0
SMALLEST_FORCE = 1e-9


def contact_watches(robot: Robot) -> list[Watch]:
    """One event per wheel, WHEEL/contact, where its ground force passes zero; the end of the simulation for
    contact `stop`."""
    robot_on_wheels: Any = robot
    if not robot.description.wheels:
        return []
    road = robot.description.road
    stop = road is not None and road.contact == "stop"
    lets_go = road is not None and road.contact == "unilateral"

    forces = _Forces(robot_on_wheels)

    def watch(index: int, wheel: str) -> Watch:
        def force(t: float, q: np.ndarray, v: np.ndarray) -> float:
            return float(robot_on_wheels.wheel_forces(q, v).normal[index]) - SMALLEST_FORCE

        def many(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return forces.of(q, v)[:, index] - SMALLEST_FORCE

        return Watch(force, lambda q: f"{wheel}/contact", stop, -1.0 if stop else 0.0, many, lets_go)

    return [watch(i, name) for i, name in enumerate(robot_on_wheels.wheel_names)]


class _Forces:
    """Ground forces of all wheels for rows of states; the watches of all wheels ask for the same rows."""

    def __init__(self, robot: Any) -> None:
        self._robot = robot
        self._rows: tuple[Any, Any] = (None, None)
        self._found = np.zeros((0, 0))

    def of(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(n, wheels) [N]."""
        if self._rows[0] is not q or self._rows[1] is not v:
            self._rows, self._found = (q, v), self._robot.wheel_forces(q, v).normal
        return self._found
