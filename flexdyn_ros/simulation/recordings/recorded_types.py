"""Definitions of the messages that recordings hold: ours as text, the standard ones from rosbags."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flexdyn_ros.errors import needs

__all__ = ["DEFLECTIONS", "ENERGY", "JOINT_STATES", "ODOMETRY", "STATE", "TEXT", "definition", "types"]

STATE = "flexdyn_interfaces/msg/DynamicsState"
DEFLECTIONS = "flexdyn_interfaces/msg/LinkDeflections"
ENERGY = "flexdyn_interfaces/msg/Energy"
JOINT_STATES = "sensor_msgs/msg/JointState"
ODOMETRY = "nav_msgs/msg/Odometry"
TEXT = "std_msgs/msg/String"

#: fields of our messages, as in flexdyn_interfaces/msg (a test compares them): a recording that is written
#: without ROS says what is in it all the same
OUR_MESSAGES = {
    STATE: """
std_msgs/Header header
string robot
string[] position_names
float64[] positions
string[] velocity_names
float64[] velocities
float64[] accelerations
string[] effort_names
float64[] efforts
""",
    "flexdyn_interfaces/msg/LinkDeflection": """
string link
string frame_id
float64 length
float64[] stations
geometry_msgs/Vector3[] displacements
geometry_msgs/Vector3[] rotations
geometry_msgs/Vector3[] curvatures
float64[] strains
geometry_msgs/Vector3[] moments
float64[] axial_forces
""",
    DEFLECTIONS: """
std_msgs/Header header
string robot
LinkDeflection[] links
""",
    ENERGY: """
std_msgs/Header header
string robot
float64 kinetic
float64 gravity
float64 elastic
float64 total
float64 work
float64 dissipated
""",
    "flexdyn_interfaces/msg/WheelStates": """
std_msgs/Header header
string[] names
float64[] normal_forces
float64[] suspension_forces
float64[] travels
bool[] in_contact
float64 drive_force
float64 drive_force_with_slope
""",
    "flexdyn_interfaces/msg/HydraulicState": """
uint32 VALVE_SATURATED=1
uint32 STROKE_LOW=2
uint32 STROKE_HIGH=4
uint32 CAVITATION=8
uint32 OVER_PRESSURE=16
uint32 STALE_COMMAND=32
uint32 STALE_LEG_STATE=64
uint32 INPUT_REJECTED=128
uint32 FORCED_STEP=256
uint32 FORCE_UNREACHABLE=512
uint32 FAULT=32768
std_msgs/Header header
string[] names
float64[] force
float64[] force_hydraulic
float64[] force_friction
float64[] force_stop
float64[] pressure_bore
float64[] pressure_rod
float64[] flow_bore
float64[] flow_rod
float64[] spool
float64[] valve_command
float64[] stroke
uint32[] flags
""",
}


@lru_cache(maxsize=1)
def types() -> Any:
    """Type store of rosbags with the standard messages of ROS 2 Jazzy and ours.

    Raises
    ------
    MissingExtraError
        If rosbags is not installed.
    """
    with needs("rosbags", "record"):
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in OUR_MESSAGES.items():
        store.register(get_types_from_msg(text, name))
    return store


def definition(name: str) -> tuple[str, str]:
    """Text of a message type with all types in it, and the hash that ROS 2 gives it.

    Parameters
    ----------
    name : str
        As in "sensor_msgs/msg/JointState".
    """
    store = types()
    text, _ = store.generate_msgdef(name, ros_version=2)
    return text, store.hash_rihs01(name)
