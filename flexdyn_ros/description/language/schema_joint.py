"""Schema of the elements of a joint, and of a soft section (a fixed joint made soft)."""

from __future__ import annotations

from flexdyn_ros.description.language.tables import choice, integer, not_negative, number, positive
from flexdyn_ros.description.language.vocabulary import Attribute, Element

ROTOR = Element(
    "rotor",
    "The motor's rotor; adds gear_ratio^2 x inertia to the joint.",
    (
        positive("inertia", "kg m2 (kg)", "on the motor side", required=True),
        positive("gear_ratio", "-", "turns of the motor per turn of the joint", 1.0),
    ),
)

JOINT_ELASTICITY = Element(
    "joint_elasticity",
    "Series spring between motor and joint; needs <rotor>; adds the coordinate JOINT/motor.",
    (
        positive("stiffness", "N m/rad (N/m)", "on the joint side", required=True),
        not_negative("damping", "N m s/rad (N s/m)", "on the joint side", 0.0),
    ),
)

JOINT_SPRING = Element(
    "joint_spring",
    "Parallel spring between parent and child.",
    (
        positive("stiffness", "N m/rad (N/m)", "stiffness", required=True),
        number("reference", "rad (m)", "position without load", 0.0),
    ),
)

FRICTION = Element(
    "friction",
    "Shape of the dry friction whose Coulomb level is URDF's friction.",
    (
        not_negative(
            "static", "N m (N)", "static friction, at least URDF's friction", shown="URDF's friction"
        ),
        positive("stribeck_velocity", "rad/s (m/s)", "velocity scale of the fall from static to Coulomb"),
        positive("smoothing_velocity", "rad/s (m/s)", "width of the smoothed step at zero", 1e-3),
    ),
)

_PRESET = "or preset"

SECTION = Element(
    "section",
    "A soft section with three actuators; the fixed joint's origin is the undeformed section.",
    (
        choice("preset", "bai2022 robio2011", "fills the attributes that are not given (never gravity)"),
        positive("length", "m", "undeformed length", shown=_PRESET),
        positive("radius", "m", "radius of the actuators' circle", shown=_PRESET),
        positive("disc_radius", "m", "radius of the disc that carries the mass", shown="radius"),
        positive("mass", "kg", "of the section itself", shown=_PRESET),
        Attribute(
            "stiffness",
            "numbers",
            "per actuator",
            "N/m",
            above=0.0,
            counts=(1, 3),
            shown=_PRESET,
        ),
        Attribute("damping", "numbers", "per actuator", "N s/m", least=0.0, counts=(1, 3), shown="0"),
        number("lower", "m", "least change of length, above -length", shown=_PRESET),
        number("upper", "m", "greatest change of length", shown=_PRESET),
        not_negative("limit_stiffness", "N/m", "one-sided stop outside the stroke", shown="0"),
        not_negative("limit_damping", "N s/m", "its damping", shown="0"),
        not_negative("bending_stiffness", "N m/rad2", "K_b in 1/2 K_b (theta/2)^2", shown="0"),
        integer("quadrature", "Gauss nodes", least=2, most=64, shown="6 + 1 per rad that strokes allow"),
    ),
    (
        Element(
            "pressure",
            "Actuators driven by pressure: force = area x (p - p_atm).",
            (
                positive("area", "m2", "effective area of an actuator", required=True),
                not_negative("time_constant", "s", "lag of the supply in simulations, first order", 0.0),
                positive("maximum", "Pa", "highest pressure of the supply, absolute", shown="none"),
            ),
        ),
    ),
)
