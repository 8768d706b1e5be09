"""Which parameters are asked for, by names and patterns."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot

__all__ = ["INERTIAL", "bodies_and_joints", "chosen_parameters", "is_inertial"]

#: the ten numbers of a body, as they follow its name
INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def is_inertial(name: str) -> bool:
    """Whether a parameter is one of the ten numbers of a body."""
    return name.rpartition("/")[2] in INERTIAL


def bodies_and_joints(robot: Robot) -> tuple[Parameter, ...]:
    """The parameters of rigid bodies and joints.

    Those of beams hold the mode shapes, which a description with another stiffness chooses anew: they are
    fitted as numbers of the description.
    """
    joints = {joint.name for joint in robot.description.joints}
    return tuple(p for p in robot.parameters if is_inertial(p.name) or p.name.rpartition("/")[0] in joints)


def chosen_parameters(robot: Robot, patterns: str | Sequence[str] | None) -> tuple[Parameter, ...]:
    """The parameters of a robot that fit patterns, in their order; None: the inertial ones.

    Raises
    ------
    UnknownNameError
        For a pattern that fits none.
    """
    known = robot.parameters
    if patterns is None:
        return tuple(p for p in known if is_inertial(p.name))
    wanted = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for pattern in wanted:
        if not any(fnmatchcase(p.name, pattern) for p in known):
            raise UnknownNameError("parameter", pattern, [p.name for p in known])
    return tuple(p for p in known if any(fnmatchcase(p.name, pattern) for pattern in wanted))
