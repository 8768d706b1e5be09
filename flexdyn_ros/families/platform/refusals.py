"""Validation of the joints and the numbers of a platform's description."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.platforms import Leg
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.multibody.elements.registry import elements_of
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy

#: a leg may come this near to the base-fixed axis of its universal joint: |u . s|; the joint is singular at 1
LARGEST_K = 0.95
#: what neglecting the spin of legs asks for
ROUND_LEGS = "universal, or legs with equal transverse inertias and centres of mass on their axes"
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
    own = {description.joint_to(platform.link).name}
    for leg in platform.legs:
        slider = description.joint(leg.slider)
        u2 = description.joint_to(slider.parent)
        u1 = description.joint_to(u2.parent)
        for joint in (u1, u2, slider):
            _check_passive(joint)
        own |= {slider.name, u2.name, u1.name}
        _check_right_angles(description, u1, u2)
        _check_cross(description, u1.child)
    for joint in description.joints:
        if joint.type != "fixed" and joint.name not in own:
            message = "the joint moves but is no part of the six legs"
            description.place(joint, f"joint '{joint.name}'").fail(message, "type", joint.type, "fixed")


def refuse_beside(description: RobotDescription) -> None:
    """What does not go with platforms in a tree.

    Raises
    ------
    DescriptionError
    """
    taken = {record.name: rule_of(kind.record).name for kind, record in elements_of(description)}
    taken |= {loop.name: "loop" for loop in loops_of(description)}
    for leg in (leg for platform in description.platforms for leg in platform.legs):
        if leg.name in taken:
            place = description.place(leg, f"leg '{leg.name}'")
            place.fail(f"a {taken[leg.name]} has this name", "name", leg.name, "a name of its own")
        taken[leg.name] = "leg"
    legs = {description.joint(name).child for name in description.leg_joints}
    for moving in description.joints:
        if moving.type != "fixed" and moving.name not in description.leg_joints:
            carrier = moving.parent
            while carrier != description.root:
                above = description.joint_to(carrier)
                if carrier in legs:
                    place = description.place(moving, f"joint '{moving.name}'")
                    message = f"the joint moves and hangs on '{carrier}', a link of a leg"
                    place.fail(message, "parent", moving.parent, "a link that is no part of a leg")
                if above.type != "fixed":
                    break
                carrier = above.parent


def check_axis(description: RobotDescription, leg: Leg, u1: Joint, k: float) -> None:
    """k = u . s at home, the cosine of the angle between a leg and the base-fixed axis of its joint."""
    if abs(k) >= LARGEST_K:
        description.place(leg, f"leg '{leg.name}'").fail(
            f"at home the leg nearly lines up with the axis of '{u1.name}': |u.s| = {abs(k):.4g}",
            "slider",
            leg.slider,
            f"a base-fixed axis with |u.s| < {LARGEST_K}; horizontal and tangent to the base circle",
        )


def check_spin(description: RobotDescription, leg: str | None) -> None:
    """Of the leg whose spin is neglected although it is not axisymmetric, if there is one."""
    if leg is not None:
        assert description.platform is not None
        description.place(description.platform, "formulation").fail(
            f"leg '{leg}' is not axisymmetric: spin about its axis cannot be neglected",
            "leg_spin",
            "none",
            ROUND_LEGS,
        )


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
            description.place(u2, f"joint '{u2.name}'").fail(
                f"the second axis of the universal joint is not perpendicular to {what}",
                "axis",
                " ".join(f"{x:g}" for x in u2.axis),
                "an axis perpendicular to the first one and to the z axis of the cylinder",
            )


def _check_cross(description: RobotDescription, link: str) -> None:
    inertial = description.link(link).inertial
    if inertial is not None and (inertial.mass or any(inertial.inertia)):
        expected = "no <inertial>: crosses are massless; give the mass to the cylinder"
        description.place(description.link(link), f"link '{link}'").fail(
            "the cross of a universal joint has mass", "inertial", f"{inertial.mass:g} kg", expected
        )
