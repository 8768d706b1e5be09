"""Composing the verbs: time stepping, events, trajectories."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.simulation.comparison import Difference, compare
    from flexdyn_ros.simulation.effort_table import EffortTable, read_efforts
    from flexdyn_ros.simulation.plots.spectra import modal_frequencies, tip_deflections
    from flexdyn_ros.simulation.plots.style import figure_style
    from flexdyn_ros.simulation.recordings.bag import Bag, records
    from flexdyn_ros.simulation.recordings.playback import recorded_robot
    from flexdyn_ros.simulation.simulate import ValveOpenings
    from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics
    from flexdyn_ros.simulation.steps.stepper import DIVERGED, NOT_FINITE, OK, Stepper

__all__ = [
    "DIVERGED",
    "NOT_FINITE",
    "OK",
    "Bag",
    "Difference",
    "EffortTable",
    "FusedHydraulics",
    "Stepper",
    "ValveOpenings",
    "compare",
    "figure_style",
    "modal_frequencies",
    "read_efforts",
    "recorded_robot",
    "records",
    "tip_deflections",
]

__getattr__, __dir__ = lazily(__name__)
