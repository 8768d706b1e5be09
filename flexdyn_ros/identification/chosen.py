"""Which parameters are asked for, by names and patterns."""

from __future__ import annotations

from collections.abc import Sequence

from flexdyn_ros.identification.inertial import is_inertial
from flexdyn_ros.identification.linear.models import LinearModel
from flexdyn_ros.robot.parameters import Parameter, names_that_fit
from flexdyn_ros.robot.verbs import Robot


def bodies_and_joints(robot: Robot, model: LinearModel) -> tuple[Parameter, ...]:
    """The parameters of rigid bodies, joints, soft sections and wheels.

    Those of beams hold the mode shapes, which a description with another stiffness chooses anew: they are
    fitted as numbers of the description.
    """
    description = robot.description
    owners = {joint.name for joint in description.joints} | {wheel.name for wheel in description.wheels}
    owners |= {c.name for c in robot.coordinates if c.kind == "actuator"}
    return tuple(p for p in model.parameters if is_inertial(p.name) or p.name.rpartition("/")[0] in owners)


def chosen_parameters(model: LinearModel, patterns: str | Sequence[str] | None) -> tuple[Parameter, ...]:
    """The parameters of a robot that fit patterns, in their order; None: the inertial ones.

    Raises
    ------
    UnknownNameError
        For a pattern that fits none.
    """
    known = model.parameters
    if patterns is None:
        return tuple(p for p in known if is_inertial(p.name))
    names = names_that_fit([p.name for p in known], patterns)
    return tuple(p for p in known if p.name in names)
