"""Revolute, continuous and prismatic joints: one coordinate of their name, limits as the URDF has them."""

from __future__ import annotations

from flexdyn_ros.description import Joint
from flexdyn_ros.multibody.joints.joint import JointCoordinate, JointModel, JointType, Screw


def _model(joint: Joint) -> JointModel:
    assert joint.axis is not None  # the reader gives every moving joint one
    slides, limit = joint.type == "prismatic", joint.limit
    coordinate = JointCoordinate(
        joint.name,
        "m" if slides else "rad",
        joint.name,
        limit.lower,
        limit.upper,
        limit.velocity,
        limit.effort,
        joint.damping,
        joint.friction,
    )
    screw = Screw(joint.name, joint.axis, turns=not slides, pitch=float(slides))
    return JointModel((coordinate,), (screw,), wraps=joint.type == "continuous")


REVOLUTE_JOINT = JointType(_model, urdf="revolute")
CONTINUOUS_JOINT = JointType(_model, urdf="continuous")
PRISMATIC_JOINT = JointType(_model, urdf="prismatic")
