"""Floating joints and bases: position and quaternion, angular velocity and velocity in the joint's axes."""

from __future__ import annotations

from flexdyn_ros.description import Joint
from flexdyn_ros.multibody.joints.joint import JointCoordinate, JointModel, JointType, Shown
from flexdyn_ros.numerics.algebra.manifold import FREE
from flexdyn_ros.robot.coordinates import POSE_NAMES, TWIST_NAMES, TWIST_UNITS

#: numbers of a quaternion, after the joint's name
QUATERNION = POSE_NAMES[3:]
#: turns that show an attitude, R = Rz Ry Rx
TURNS = (
    ("yaw", "continuous", (0.0, 0.0, 1.0)),
    ("pitch", "continuous", (0.0, 1.0, 0.0)),
    ("roll", "continuous", (1.0, 0.0, 0.0)),
)
#: one-axis joints that show a floating joint, from the parent on
SIX_AXES = (
    ("x", "prismatic", (1.0, 0.0, 0.0)),
    ("y", "prismatic", (0.0, 1.0, 0.0)),
    ("z", "prismatic", (0.0, 0.0, 1.0)),
    *TURNS,
)


def free_model(prefix: str) -> JointModel:
    """The model of a free body whose coordinates are PREFIX/x ..., PREFIX/wx ..."""
    positions = ("", "", "", *POSE_NAMES[:3])
    return JointModel(
        coordinates=tuple(
            JointCoordinate(f"{prefix}/{name}", unit, f"{prefix}/{position}" if position else "")
            for name, unit, position in zip(TWIST_NAMES, TWIST_UNITS, positions, strict=True)
        ),
        kernel=FREE,
        quaternion=tuple(f"{prefix}/{name}" for name in QUATERNION),
        shown=tuple(Shown(f"{prefix}/{suffix}", kind, axis) for suffix, kind, axis in SIX_AXES),
        driven=False,
    )


def _model(joint: Joint) -> JointModel:
    return free_model(joint.name)


FLOATING = JointType(_model)
