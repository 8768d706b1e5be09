"""Parameters of the state publisher: transforms, and the picture of what bends."""

from __future__ import annotations

from dataclasses import dataclass

from flexdyn_ros.nodes.ros.declaration import parameter
from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters, RobotParameters

__all__ = ["StatePublisherParameters"]


@dataclass(frozen=True)
class StatePublisherParameters(RobotParameters, LifecycleParameters):
    """Parameters of `state_publisher`."""

    magnification: float = parameter(
        1.0, "of the deflections in deformation_markers", unit="-", low=0.0, high=1e6, read_only=False
    )
    colour: str = parameter(
        "strain",
        "what colours deformation_markers show; displacement and velocity against the undeformed link",
        choices=("strain", "displacement", "moment", "velocity"),
        read_only=False,
    )
    colour_limit: float = parameter(
        0.0,
        "value of the last colour; 0: the largest value so far",
        unit="-, m, N m, m/s",
        low=0.0,
        high=1e12,
        read_only=False,
    )
    ghost: bool = parameter(True, "show undeformed links, transparent", read_only=False)
    legend: bool = parameter(True, "show a bar of the colours with the values at its ends", read_only=False)
    trace_duration: float = parameter(
        5.0, "how long the way of the tip stays to be seen; 0: no trace", unit="s", low=0.0, high=3600.0
    )
    trace_frame: str = parameter(
        "", "link whose way is shown; empty: the one after the most joints, none of a platform"
    )
    marker_frequency: float = parameter(
        30.0, "greatest rate of deformation_markers", unit="Hz", low=0.1, high=1000.0
    )
    publish_frequency: float = parameter(30.0, "greatest rate of /tf", unit="Hz", low=0.1, high=1000.0)
    publish_tf: bool = parameter(
        True, "publish /tf and /tf_static of the joints; false beside robot_state_publisher"
    )
    publish_base_tf: bool = parameter(
        True, "publish /tf_static world -> root link, of a base that moves world -> odom"
    )
    frame_prefix: str = parameter("", "put before every frame name of the robot")
