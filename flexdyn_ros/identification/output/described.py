"""Numbers that a description has under a path."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import StateError
from flexdyn_ros.families.trees.flexible.beams.properties import beam_link
from flexdyn_ros.robot.verbs import Robot

#: numbers of a beam, in the order of `BeamLink.stiffness`, and stations at which their mean is taken
_STIFFNESS = ("GJ", "EIy", "EIz", "EA")
STATIONS = 41
#: attributes of joints by what paths call them
_OF_JOINTS = {"joint_elasticity": "elasticity", "joint_spring": "spring", "friction": "dry_friction"}


def described(robot: Robot, path: str) -> float:
    """A number of the description that a path leads to.

    Raises
    ------
    StateError
        If there is none.
    """
    words = path.split(".")
    told = [o.new for o in robot.description.overrides if o.path == path]
    for value in (_of_records(robot.description, words), _of_beam(robot, words), *reversed(told)):
        if isinstance(value, tuple) and len(set(value)) == 1:
            value = value[0]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    raise StateError(
        f"{path} is neither a parameter of {robot.name} nor a number of its description: give its `start`, "
        "if it is a path that the description leaves open"
    )


def unit_of(robot: Robot, path: str) -> str:
    """The unit that the schema gives a path; "SI" where it knows none."""
    *above, word = path.split(".")
    record = _of_records(robot.description, above)
    about = getattr(type(record), "__element__", None)
    attributes = about.attributes if about is not None else ()
    return next((a.unit for a in attributes if a.name == word and a.unit), "SI")


def _of_records(description: RobotDescription, words: list[str]) -> Any:
    """What links.NAME..., joints.NAME..., platform.hydraulics... leads to, else None."""
    padded = [*words, "", "", ""]
    room, name, rest = padded[0], padded[1], padded[2:]
    found: Any = None
    if room == "links":
        found = description.flexible_links.get(name)
    elif room == "joints" and rest[0] == "section":
        found = next((section for section in description.sections if section.joint == name), None)
        rest = rest[1:]
    elif room == "joints":
        found = next((joint for joint in description.joints if joint.name == name), None)
        rest = [_OF_JOINTS.get(rest[0], rest[0]), *rest[1:]]
    elif room == "platform" and name == "hydraulics" and description.platform is not None:
        # those of all legs
        found = description.platform.legs[0].hydraulics
    for word in rest:
        found = getattr(found, word, None) if word else found
    return found


def _of_beam(robot: Robot, words: list[str]) -> float | None:
    """Stiffness or mass of a flexible link, which follow from its section where the file does not say
    them."""
    if len(words) != 4 or words[0] != "links" or words[2] != "beam":
        return None
    record = robot.description.flexible_links.get(words[1])
    if record is None or record.beam is None:
        return None
    stations = np.linspace(0.0, 1.0, STATIONS)
    beam = beam_link(robot.description, record)
    if words[3] in _STIFFNESS:
        return float(beam.stiffness(stations)[:, _STIFFNESS.index(words[3])].mean())
    if words[3] == "mass_per_length":
        return float(np.mean(beam.beam.mu(stations)))
    return None
