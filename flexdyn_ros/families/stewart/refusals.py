"""Validation of the joints and the numbers of a platform's description."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.platforms import Leg
from flexdyn_ros.errors import DescriptionError, UnsupportedError
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy

__all__ = ["LARGEST_K", "check_axis", "check_mechanism"]

#: a leg may come this near to the base-fixed axis of its universal joint: |u . s|; the joint is singular at 1
LARGEST_K = 0.95
#: error of right angles between axes
ROUNDING = 1e-6


def check_mechanism(description: RobotDescription) -> None:
    """Six legs and nothing else moves; axes cross at right angles; crosses weigh nothing.

    Raises
    ------
    DescriptionError, UnsupportedError
    """
    platform = description.platform
    assert platform is not None
    if description.base.type != "fixed":
        raise UnsupportedError(
            f"a platform on a {description.base.type} base is not computed; the base must be fixed"
        )
    own = {next(j.name for j in description.joints if j.child == platform.link)}
    for leg in platform.legs:
        slider = description.joint(leg.slider)
        u2 = _parent(description, slider.parent)
        u1 = _parent(description, u2.parent)
        for joint in (u1, u2, slider):
            _check_passive(joint)
        own |= {slider.name, u2.name, u1.name}
        _check_right_angles(description, u1, u2)
        _check_cross(description, u1.child)
    for joint in description.joints:
        if joint.type != "fixed" and joint.name not in own:
            raise DescriptionError(
                "the joint moves but is no part of the six legs",
                file=description.file,
                line=joint.line,
                element=f"joint '{joint.name}'",
                attribute="type",
                value=joint.type,
                expected="fixed",
            )


def check_axis(description: RobotDescription, leg: Leg, u1: Joint, k: float) -> None:
    """k = u . s at home, the cosine of the angle between a leg and the base-fixed axis of its joint."""
    if abs(k) >= LARGEST_K:
        raise DescriptionError(
            f"at home the leg nearly lines up with the axis of '{u1.name}': |u.s| = {abs(k):.4g}",
            file=description.file,
            line=leg.line,
            element=f"leg '{leg.name}'",
            attribute="slider",
            value=leg.slider,
            expected=f"a base-fixed axis with |u.s| < {LARGEST_K}; horizontal and tangent to the base circle",
        )


def _parent(description: RobotDescription, link: str) -> Joint:
    return next(joint for joint in description.joints if joint.child == link)


def _check_passive(joint: Joint) -> None:
    extras = {
        "damping": joint.damping,
        "friction": joint.friction,
        "<mimic>": joint.mimic,
        "<rotor>": joint.rotor,
        "<joint_elasticity>": joint.elasticity,
        "<joint_spring>": joint.spring,
        "<friction>": joint.dry_friction,
    }
    for name, value in extras.items():
        if value:
            raise UnsupportedError(
                f"joint '{joint.name}' of a leg has {name}: joints of a platform's legs are ideal; "
                "friction of the cylinders belongs in <hydraulics>"
            )


def _check_right_angles(description: RobotDescription, u1: Joint, u2: Joint) -> None:
    """Second axis perpendicular to the first and to the leg (z of the cylinder)."""
    assert u1.axis is not None
    assert u2.axis is not None
    b = rotation_of_rpy(u2.rpy) @ np.asarray(u2.axis)
    for what, cosine in ((f"the axis of '{u1.name}'", float(b @ u1.axis)), ("the leg (z)", u2.axis[2])):
        if abs(cosine) > ROUNDING:
            raise DescriptionError(
                f"the second axis of the universal joint is not perpendicular to {what}",
                file=description.file,
                line=u2.line,
                element=f"joint '{u2.name}'",
                attribute="axis",
                value=" ".join(f"{x:g}" for x in u2.axis),
                expected="an axis perpendicular to the first one and to the z axis of the cylinder",
            )


def _check_cross(description: RobotDescription, link: str) -> None:
    inertial = description.link(link).inertial
    if inertial is not None and (inertial.mass or any(inertial.inertia)):
        raise DescriptionError(
            "the cross of a universal joint has mass",
            file=description.file,
            line=description.link(link).line,
            element=f"link '{link}'",
            attribute="inertial",
            value=f"{inertial.mass:g} kg",
            expected="no <inertial>: crosses are massless; give the mass to the cylinder",
        )
