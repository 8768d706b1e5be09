"""Definitions of the messages that recordings hold: ours from their files, the standard ones from rosbags."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from flexdyn_ros.errors import needs

STATE = "flexdyn_interfaces/msg/DynamicsState"
DEFLECTIONS = "flexdyn_interfaces/msg/LinkDeflections"
ELEMENT_STATES = "flexdyn_interfaces/msg/ElementStates"
ENERGY = "flexdyn_interfaces/msg/Energy"
JOINT_STATES = "sensor_msgs/msg/JointState"
ODOMETRY = "nav_msgs/msg/Odometry"
TEXT = "std_msgs/msg/String"


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
    # a link to flexdyn_interfaces/msg, installed as files: recordings say what is in them without ROS too
    ours: dict[str, object] = {}
    for file in (files(__package__) / "messages").iterdir():
        ours |= get_types_from_msg(file.read_text("utf-8"), f"flexdyn_interfaces/msg/{file.name[:-4]}")
    store.register(ours)
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
