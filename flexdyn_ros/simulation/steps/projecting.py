"""States moved onto the constraints of a robot, and how far that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.robot.verbs import Robot

#: change of a state by constraints that is not worth a word
_NOTHING = 1e-6


class Projected(NamedTuple):
    """A state q (nq,), v (nv,) that meets the constraints; how far its coordinates are from those that were
    given [rad, m], and a sentence that says so, empty where that is not worth a word."""

    q: np.ndarray
    v: np.ndarray
    moved: float
    text: str


def onto_constraints(
    robot: Robot, q: np.ndarray, v: np.ndarray, what: str = "the start", held: Sequence[str] = ()
) -> Projected:
    """The state nearest to q (nq,), v (nv,) that meets the constraints of a robot; what: its name in the
    sentence; held: names of coordinates that stay.

    Raises
    ------
    ConvergenceError
        If none is found from there.
    """
    if not robot.functions.is_constrained:
        return Projected(q, v, 0.0, "")
    place, speed = robot.functions.project(q, v, held)
    moved = float(np.abs(robot.difference(q, place)).max(initial=0.0))
    changed = float(np.abs(speed - v).max(initial=0.0))
    text = ""
    if moved > _NOTHING or changed > _NOTHING * max(1.0, float(np.abs(v).max(initial=0.0))):
        text = (
            f"{what} is moved onto the constraints of robot '{robot.name}': coordinates by up to "
            f"{moved:.3g} rad (m), velocities by up to {changed:.3g} rad/s (m/s)"
        )
    return Projected(place, speed, moved, text)
