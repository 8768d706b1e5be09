"""Numbers that a description has under a path."""

from __future__ import annotations

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.verbs import Robot


def described(robot: Robot, path: str) -> float:
    """A number of the description that a path leads to.

    Raises
    ------
    StateError
        If there is none.
    """
    words = path.split(".")
    told = [o.new for o in robot.description.overrides if o.path == path]
    for value in (robot.description.record(words), robot.functions.implied(words), *reversed(told)):
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
    record = robot.description.record(above)
    about = getattr(type(record), "__element__", None)
    attributes = about.attributes if about is not None else ()
    return next((a.unit for a in attributes if a.name == word and a.unit), "SI")
