"""Ball joints: a quaternion, and the angular velocity in the axes of the joint frame."""

from __future__ import annotations

from flexdyn_ros.description import Joint
from flexdyn_ros.multibody.joints import floating
from flexdyn_ros.multibody.joints.joint import RESISTANCE, JointModel, JointType, Shown, stated_coordinates
from flexdyn_ros.numerics.algebra import manifold


def _model(joint: Joint) -> JointModel:
    return JointModel(
        coordinates=stated_coordinates(joint, (("/wx", "rad"), ("/wy", "rad"), ("/wz", "rad")), turns=True),
        kernel=manifold.BALL,
        quaternion=tuple(f"{joint.name}/{name}" for name in floating.QUATERNION),
        shown=tuple(Shown(f"{joint.name}/{suffix}", kind, axis) for suffix, kind, axis in floating.TURNS),
    )


BALL = JointType(_model, RESISTANCE)
