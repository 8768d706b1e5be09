"""Dynamics of robots that bend: rigid and flexible trees, mobile arms, soft arms, hydraulic platforms."""

from flexdyn_ros import errors
from flexdyn_ros.dynamics.loading import load
from flexdyn_ros.dynamics.protocol import Robot

__all__ = ["Robot", "errors", "load"]

__version__ = "0.1.0"
