"""Parameters of the state publisher: transforms, and the picture of what bends."""

from __future__ import annotations

from flexdyn_ros.description.language.vocabulary import boolean, choice, element, number, text
from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters, RobotParameters


@element("state_publisher", "Parameters of `state_publisher`.")
class StatePublisherParameters(RobotParameters, LifecycleParameters):
    magnification: float = number(
        "-", "of the deflections in deformation_markers", within=(0.0, 1e6), live=True, default=1.0
    )
    colour: str = choice(
        "strain displacement moment velocity",
        "what colours deformation_markers show; displacement and velocity against the undeformed link",
        live=True,
        default="strain",
    )
    colour_limit: float = number(
        "-, m, N m, m/s",
        "value of the last colour; 0: the largest value so far",
        within=(0.0, 1e12),
        live=True,
        default=0.0,
    )
    ghost: bool = boolean("show undeformed links, transparent", live=True, default=True)
    legend: bool = boolean("show a bar of the colours with the values at its ends", live=True, default=True)
    trace_duration: float = number(
        "s", "how long the path of the tip stays visible; 0: no trace", within=(0.0, 3600.0), default=5.0
    )
    trace_frame: str = text(
        "link whose path is shown; empty: the link after the most joints, of platforms none", default=""
    )
    marker_frequency: float = number(
        "Hz", "greatest rate of deformation_markers", within=(0.1, 1000.0), default=30.0
    )
    publish_frequency: float = number("Hz", "greatest rate of /tf", within=(0.1, 1000.0), default=30.0)
    publish_tf: bool = boolean(
        "publish /tf and /tf_static of the joints; false beside robot_state_publisher", default=True
    )
    publish_base_tf: bool = boolean(
        "publish /tf_static world -> root link, of a base that moves world -> odom", default=True
    )
    frame_prefix: str = text("put before every frame name of the robot", default="")
