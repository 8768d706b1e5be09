"""Whether a motion along a path keeps its tolerances, and when it has reached its goal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import NamedTuple

import numpy as np

#: velocity below which a joint has arrived, by default [rad/s, m/s]
STOPPED = 0.01
#: seconds at rest after which a goal that is not reached, and may be late without limit, is missed
AT_REST = 5.0


class Outcome(Enum):
    """Outcome of a motion."""

    REACHED = "reached"
    LEFT_PATH = "left path"
    MISSED_GOAL = "missed goal"


class Verdict(NamedTuple):
    """How a motion ended, and for people: which joint, how far, how far it may be."""

    outcome: Outcome
    text: str


@dataclass(frozen=True)
class Tolerances:
    """Largest errors of k joints, inf where any is borne.

    path_position, path_velocity (k,): while the path runs [rad, m; rad/s, m/s]; goal_position, goal_velocity
    (k,): at its end; goal_time: by which the end may be late [s].
    """

    path_position: np.ndarray
    path_velocity: np.ndarray
    goal_position: np.ndarray
    goal_velocity: np.ndarray
    goal_time: float = inf


class GoalWatch:
    """Judges a motion state by state.

    Parameters
    ----------
    joints : tuple of str
        Names of the k joints.
    end : float
        Time at which the path ends [s].
    tolerances : Tolerances
    """

    def __init__(self, joints: tuple[str, ...], end: float, tolerances: Tolerances) -> None:
        self.joints, self.end, self.tolerances = joints, end, tolerances
        #: since when the joints have been at rest after the end [s]; None: they move
        self._rest: float | None = None

    def check(self, t: float, position_error: np.ndarray, velocity_error: np.ndarray) -> Verdict | None:
        """The verdict at time t [s] on errors (k,), reference less state; None: the motion goes on."""
        bounds = self.tolerances
        if t < self.end:
            wrong = self._worst(t, position_error, velocity_error, "path")
            return None if wrong is None else Verdict(Outcome.LEFT_PATH, wrong)
        wrong = self._worst(t, position_error, velocity_error, "goal")
        if wrong is None:
            return Verdict(Outcome.REACHED, f"reached {t - self.end:.3g} s after the end of the trajectory")
        if t > self.end + bounds.goal_time:
            text = f"{wrong}, {t - self.end:.3g} s after the end of the trajectory"
            return Verdict(Outcome.MISSED_GOAL, f"{text}, goal time tolerance {bounds.goal_time:.3g} s")
        if bounds.goal_time == inf and self._has_been_at_rest(t, velocity_error):
            return Verdict(Outcome.MISSED_GOAL, f"{wrong}, and the joints are at rest")
        return None

    def _has_been_at_rest(self, t: float, speed: np.ndarray) -> bool:
        if not (np.abs(speed) <= np.minimum(self.tolerances.goal_velocity, STOPPED)).all():
            self._rest = None
            return False
        self._rest = t if self._rest is None else self._rest
        return t - self._rest > AT_REST

    def _worst(self, t: float, x: np.ndarray, v: np.ndarray, phase: str) -> str | None:
        """The joint that is farthest beyond its tolerance; None if all are within."""
        bounds = self.tolerances
        for error, bound, what in (
            (x, bounds.path_position if phase == "path" else bounds.goal_position, "position"),
            (v, bounds.path_velocity if phase == "path" else bounds.goal_velocity, "velocity"),
        ):
            # a number that is not finite is within no tolerance
            outside = ~(np.abs(error) <= bound)
            if outside.any():
                i = int(np.argmax(np.where(outside, np.abs(error) / bound, -1.0)))
                return (
                    f"{what} of {self.joints[i]} is {error[i]:.4g} from its reference at t = {t:.3f} s, "
                    f"{phase} tolerance {bound[i]:.4g}"
                )
        return None
