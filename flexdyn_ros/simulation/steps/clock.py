"""Times and steps that float64 can tell apart, counted before memory is taken for them."""

from __future__ import annotations

from math import isfinite, ulp
from typing import Any

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.arguments import finite_number

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
