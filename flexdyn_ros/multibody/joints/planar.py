"""Planar joints: two displacements in the plane across the axis, then a turn about it."""

from __future__ import annotations

from math import sqrt

from flexdyn_ros.description import Joint
from flexdyn_ros.description.elements.urdf import Vec3
from flexdyn_ros.multibody.joints.joint import (
    LIMITS,
    RESISTANCE,
    JointModel,
    JointType,
    Screw,
    stated_coordinates,
)

#: share of a normal along x above which the first direction is taken from y
_ALONG_X = 0.9


def plane_of(n: Vec3) -> tuple[Vec3, Vec3]:
    """t1 = unit(e - (e.n) n) with e = x, or y where |n_x| > 0.9, and t2 = n x t1, for a unit normal n."""
    e = (0.0, 1.0, 0.0) if abs(n[0]) > _ALONG_X else (1.0, 0.0, 0.0)
    along = e[0] * n[0] + e[1] * n[1] + e[2] * n[2]
    t = [a - along * b for a, b in zip(e, n, strict=True)]
    size = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2])
    x, y, z = (a / size for a in t)
    return (x, y, z), (n[1] * z - n[2] * y, n[2] * x - n[0] * z, n[0] * y - n[1] * x)


def _model(joint: Joint) -> JointModel:
    assert joint.axis is not None  # the reader gives every planar joint one
    t1, t2 = plane_of(joint.axis)
    coordinates = stated_coordinates(joint, (("/x", "m"), ("/y", "m"), ("/angle", "rad")))
    x, y, angle = (c.name for c in coordinates)
    chain = (
        Screw(x, t1, 0, turns=False, pitch=1.0),
        Screw(y, t2, 1, turns=False, pitch=1.0),
        Screw(angle, joint.axis, 2),
    )
    return JointModel(coordinates, chain)


PLANAR = JointType(_model, (*LIMITS, *RESISTANCE), urdf="planar")
