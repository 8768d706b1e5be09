"""Plots of trajectories with matplotlib: `plot_trajectory`."""

from flexdyn_ros.simulation.plots.drawing import picture_formats, plot_trajectory

__all__ = ["picture_formats", "plot_trajectory"]
