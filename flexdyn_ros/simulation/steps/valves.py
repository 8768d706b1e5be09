"""What `simulate` tells the cylinders of a platform, and what it keeps of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.stepper import METHODS

__all__ = ["ValveOpenings", "command_mode"]

#: methods that move cylinders whose valves are commanded
_STEPPED = ("auto", "adaptive_staggered", *METHODS)


@dataclass(frozen=True, eq=False)
class ValveOpenings:
    """Control of `simulate` that opens the valves of a platform instead of asking for forces.

    Parameters
    ----------
    openings : (6,) array, or callable (t, q, v) -> (6,)
        Valve openings, clamped to -1..1; positive lets the rod out. A callable is called at every dt and its
        answer held.
    """

    openings: np.ndarray | Callable[[float, np.ndarray, np.ndarray], object]


def command_mode(robot: Robot, method: str, control: object) -> str:
    """How cylinders take what `control` gives: "force", "valve"; "direct" without cylinders.

    Cylinders of a platform act by "auto", "adaptive_staggered" and "staggered"; by the other fixed steps if
    control opens valves. Without control the valves are closed.

    Raises
    ------
    UnsupportedError
        For valve openings where no cylinders act.
    """
    opens_valves = isinstance(control, ValveOpenings)
    if robot.hydraulics is None:
        if opens_valves:
            raise UnsupportedError(f"robot '{robot.name}' has no hydraulics whose valves could open")
        return "direct"
    if opens_valves and method not in _STEPPED:
        raise UnsupportedError(
            f"method {method} does not carry cylinders; expected auto, staggered or other fixed steps"
        )
    if opens_valves:
        return "valve"
    if method in ("auto", "adaptive_staggered", "staggered"):
        return "valve" if control is None else "force"
    return "direct"
