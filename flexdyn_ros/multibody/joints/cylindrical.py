"""Cylindrical joints: a turn about an axis and a displacement along it."""

from __future__ import annotations

from flexdyn_ros.description import Joint
from flexdyn_ros.multibody.joints.joint import (
    LIMITS,
    RESISTANCE,
    JointModel,
    JointType,
    Screw,
    direction,
    stated_coordinates,
)


def _model(joint: Joint) -> JointModel:
    axis = direction(joint, "axis", (0.0, 0.0, 1.0))
    coordinates = stated_coordinates(joint, (("/angle", "rad"), ("/displacement", "m")))
    angle, displacement = (c.name for c in coordinates)
    chain = (Screw(angle, axis, 0), Screw(displacement, axis, 1, turns=False, pitch=1.0))
    return JointModel(coordinates, chain)


CYLINDRICAL = JointType(_model, ("axis", *LIMITS, *RESISTANCE))
