"""ROS 2 nodes: they carry numbers between messages and the library, and compute nothing themselves."""

import sys
from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.nodes.dynamics_server.node import DynamicsServer
    from flexdyn_ros.nodes.dynamics_server.services import SERVICES
    from flexdyn_ros.nodes.hydraulic_actuators import HydraulicActuators
    from flexdyn_ros.nodes.one_shot import Follower, call, publish
    from flexdyn_ros.nodes.ros.declaration import ParameterError
    from flexdyn_ros.nodes.ros.plain_fields import fill, plain
    from flexdyn_ros.nodes.simulator.node import Simulator
    from flexdyn_ros.simulation.live.message_fields import doubles, matrix_from_pose, numbers_of, seconds_of

__all__ = [
    "SERVICES", "DynamicsServer", "Follower", "HydraulicActuators", "ParameterError", "Simulator", "call",
    "doubles", "fill", "matrix_from_pose", "numbers_of", "plain", "publish", "seconds_of",
]  # fmt: skip

__getattr__, __dir__ = lazily(__name__)

if sys.argv[:1] == ["-m"] and any(word.startswith("flexdyn_ros.nodes.") for word in sys.orig_argv):
    # `python -m flexdyn_ros.nodes.NODE` imports for seconds before it can listen to signals in its own way
    from flexdyn_ros.nodes.ros.surroundings import stand_by
    from flexdyn_ros.nodes.starting import end_at_signals, look_around

    end_at_signals()
    look_around()
    stand_by()
