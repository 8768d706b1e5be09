"""Universal joints: a turn about one axis, then about a second one that the first has turned."""

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

#: square of the sine of the angle between axes that are parallel to rounding
_PARALLEL = 1e-12


def _model(joint: Joint) -> JointModel:
    first = direction(joint, "axis", (1.0, 0.0, 0.0))
    second = direction(joint, "second_axis", (0.0, 1.0, 0.0))
    along = sum(a * b for a, b in zip(first, second, strict=True))
    if not 1.0 - along * along > _PARALLEL:
        written = "axis" if joint.joint_type and joint.joint_type.second_axis is None else "second_axis"
        refuse(joint, "the axes of a universal joint are parallel", written, "two axes at an angle")
    coordinates = stated_coordinates(joint, (("/angle_1", "rad"), ("/angle_2", "rad")))
    axes = zip(coordinates, (first, second), strict=True)
    chain = tuple(Screw(c.name, axis, i) for i, (c, axis) in enumerate(axes))
    return JointModel(coordinates, chain)


UNIVERSAL = JointType(_model, ("axis", "second_axis", *LIMITS, *RESISTANCE))
