"""Fixed joints: no coordinate."""

from __future__ import annotations

from flexdyn_ros.description import Joint
from flexdyn_ros.multibody.joints.joint import JointModel, JointType


def _model(joint: Joint) -> JointModel:
    return JointModel()


FIXED = JointType(_model, urdf="fixed")
