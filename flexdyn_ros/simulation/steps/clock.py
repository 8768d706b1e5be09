"""Times and steps that float64 can tell apart, counted before memory is taken for them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, ulp
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.arguments import finite_number
from flexdyn_ros.robot.verbs import Robot

#: shortest step [s]: far below what any motion of a robot needs, far above where its square is 0
LEAST_STEP = 1e-15
#: most steps or samples of a run, whose times take 8 bytes each
MOST_STEPS = 500_000_000
#: spacings of float64 at a time that a step spans at least
LEAST_SPACINGS = 4.0


def positive(value: Any, name: str) -> float:
    """A positive number as a float; StateError otherwise."""
    number = float(value)
    if not (isfinite(number) and number > 0.0):
        raise StateError(f"{name} is {value}, expected a positive number")
    return number


def check_clock(t0: object, duration: float, dt: float) -> float:
    """The start t0 of a run of `duration` seconds by steps or samples of dt, as a float.

    Raises
    ------
    StateError
        If t0 is not finite, steps are too short, too many, or not told apart at such times.
    """
    start = finite_number(t0, "t0")
    if dt < LEAST_STEP:
        raise StateError(f"the time between steps is {dt:g} s, expected at least {LEAST_STEP:g} s")
    if not duration / dt <= MOST_STEPS:
        raise StateError(
            f"{duration / dt:.3g} steps of {dt:g} s in {duration:g} s, expected at most {MOST_STEPS:g}"
        )
    spacing = ulp(max(abs(start), abs(start + duration)))
    if dt < LEAST_SPACINGS * spacing:
        raise StateError(
            f"t0 is {start:g} s, where float64 numbers are {spacing:.3g} s apart, too far for steps of "
            f"{dt:g} s; "
            f"expected |t0| below {dt * 2.0**50:.3g} s"
        )
    return start


# States moved onto the constraints of a robot, and how far that is.

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
