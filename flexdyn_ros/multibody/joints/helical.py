"""Helical joints: a turn about an axis that moves along it by pitch times the angle; one coordinate."""

from __future__ import annotations

from flexdyn_ros.description import Joint
from flexdyn_ros.multibody.joints.joint import (
    LIMITS,
    RESISTANCE,
    JointModel,
    JointType,
    Screw,
    direction,
    refuse,
    stated_coordinates,
)


def _model(joint: Joint) -> JointModel:
    axis = direction(joint, "axis", (0.0, 0.0, 1.0))
    pitch = None if joint.joint_type is None else joint.joint_type.pitch
    if not pitch:
        message = "a helical joint needs a pitch" if pitch is None else "the pitch of a helical joint is 0"
        refuse(joint, message, "pitch", "a number of m/rad that is not 0 (a revolute joint has none)")
    coordinates = stated_coordinates(joint, (("", "rad"),))
    return JointModel(coordinates, (Screw(joint.name, axis, pitch=pitch),))


HELICAL = JointType(_model, ("axis", "pitch", *LIMITS, *RESISTANCE))
