"""Parameters of all nodes: where the robot comes from, and the life cycle; and those of the server."""

from __future__ import annotations

from dataclasses import dataclass

from flexdyn_ros.nodes.ros.declaration import parameter

__all__ = ["DynamicsServerParameters", "LifecycleParameters", "RobotParameters"]


@dataclass(frozen=True)
class RobotParameters:
    """Where a node's robot comes from."""

    robot_description: str = parameter(
        "", "URDF text of the robot; empty: description_file, else the latched topic"
    )
    description_file: str = parameter(
        "", "path, package:// URI or shipped name of the robot; empty: the latched topic"
    )
    description_timeout: float = parameter(
        10.0,
        "how long to wait for a description on the latched topic robot_description",
        unit="s",
        low=0.0,
        high=3600.0,
    )
    config_files: tuple[str, ...] = parameter((), "YAML files with flexdyn settings, later ones win")
    options: tuple[str, ...] = parameter(
        (), "settings as path=value, e.g. formulation.flexible=false; win over files"
    )


@dataclass(frozen=True)
class LifecycleParameters:
    """What every node has."""

    autostart: bool = parameter(True, "configure and activate at start, without a lifecycle manager")


@dataclass(frozen=True)
class DynamicsServerParameters(RobotParameters, LifecycleParameters):
    """Parameters of `dynamics_server`."""

    robots: tuple[str, ...] = parameter(
        (),
        "names of several robots, each with robot_description, ... of its own below NAME. ; empty: one",
    )
    publish_description: bool = parameter(
        False, "publish the user's own description, latched, on robot_description (of the first robot)"
    )
    max_samples: int = parameter(100000, "largest number of samples in one request", low=1, high=100_000_000)
    max_seconds: float = parameter(
        60.0,
        "largest work on one request, in processor time; a request that would take more is refused",
        unit="s",
        low=0.001,
        high=86400.0,
    )
    max_waiting: int = parameter(
        64, "largest number of requests that are worked on in turn; more are refused", low=1, high=10000
    )
    max_waiting_samples: int = parameter(
        200000, "largest number of samples of all these requests together", low=1, high=100_000_000
    )
    max_simulations: int = parameter(
        8, "largest number of goals of the action ~/simulate that wait; more are refused", low=1, high=1000
    )
