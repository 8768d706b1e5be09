"""Dynamics of rigid and flexible trees, mobile manipulators, soft continuum arms and Stewart platforms."""

from typing import TYPE_CHECKING

from flexdyn_ros import errors
from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.checking import Report, check
    from flexdyn_ros.expanding import Expanded, expand
    from flexdyn_ros.loading import load
    from flexdyn_ros.robot.verbs import Robot
    from flexdyn_ros.simulation.simulate import simulate
    from flexdyn_ros.simulation.steps.continuous import continuous
    from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = [
    "Expanded",
    "Report",
    "Robot",
    "Trajectory",
    "check",
    "continuous",
    "errors",
    "expand",
    "load",
    "simulate",
]

__version__ = "0.2.0"

__getattr__, __dir__ = lazily(
    __name__, packages=("bridges", "control", "export", "identification", "studies")
)
