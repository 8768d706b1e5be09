"""Schema of the platform, its legs and their hydraulics."""

from __future__ import annotations

from flexdyn_ros.description.language.tables import (
    choice,
    not_negative,
    number,
    positive,
    reference,
    required,
    vector,
)
from flexdyn_ros.description.language.vocabulary import Attribute, Element

_CONDUCTANCE = "m3/(s Pa)"
_LUGRE = ("model", ("lugre",))
_AIR = ("model", ("air",))

HYDRAULICS = Element(
    "hydraulics",
    "Servo-hydraulic cylinders; in <platform> for all legs, in a <leg> for that one.",
    children=(
        Element(
            "cylinder",
            "Differential cylinder, bore > rod.",
            required(
                positive("bore", "m", "diameter of the piston"),
                positive("rod_diameter", "m", "diameter of the rod"),
                positive("dead_volume_bore", "m3", "dead volume, bore side"),
                positive("dead_volume_rod", "m3", "dead volume, rod side"),
            ),
        ),
        Element(
            "valve",
            "Servo valve.",
            (
                positive("rated_flow", "m3/s", "flow at the rated pressure drop", required=True),
                positive("rated_pressure_drop", "Pa", "pressure drop of the rating", required=True),
                choice("rating", "edge valve", "drop per edge, or of the whole valve", required=True),
                positive("flow_ratio", "-", "rod side over bore side", 1.0),
                positive("natural_frequency_hz", "Hz", "spool, second order"),
                positive("damping_ratio", "-", "spool, second order"),
                positive("time_constant", "s", "spool, first order"),
                number("overlap", "-", "dead zone; negative = underlap", 0.0, above=-1.0, below=1.0),
                number("null_opening", "-", "opening at zero command", 0.0, above=-1.0, below=1.0),
                positive("slew_rate", "1/s", "fastest change of the opening", shown="none"),
                positive("transition_pressure", "Pa", "below it the orifice is laminar", 2e4),
            ),
            one_of=(("natural_frequency_hz", "damping_ratio"), ("time_constant",)),
            one_of_needed=True,
        ),
        Element(
            "fluid",
            "The oil.",
            (
                positive("bulk_modulus", "Pa", "of the oil without air", required=True),
                choice(
                    "model", "air constant", "effective bulk modulus with undissolved air, or constant", "air"
                ),
                not_negative(
                    "air_fraction", "-", "volume share at atmospheric pressure", below=1.0, needed=_AIR
                ),
                positive("polytropic_exponent", "-", "of the air", 1.4),
                positive("cavitation_pressure", "Pa", "absolute", 3e4),
            ),
        ),
        Element(
            "supply",
            "Pressures, all absolute.",
            (
                positive("pressure", "Pa", "supply", required=True),
                positive("tank_pressure", "Pa", "tank", required=True),
                positive("atmospheric_pressure", "Pa", "atmosphere", 101325.0),
                positive("relief_pressure", "Pa", "relief valves of the chambers open", shown="none"),
                not_negative("relief_conductance", _CONDUCTANCE, "of the relief valves", 0.0),
                not_negative("makeup_conductance", "m3/(s sqrt Pa)", "of the anti-cavitation valves", 0.0),
            ),
        ),
        Element(
            "leakage",
            "Laminar leakage.",
            (
                not_negative("internal", _CONDUCTANCE, "between the chambers", 0.0),
                not_negative("external_bore", _CONDUCTANCE, "bore side to tank", 0.0),
                not_negative("external_rod", _CONDUCTANCE, "rod side to tank", 0.0),
            ),
        ),
        Element(
            "friction",
            "Friction of the seals; none without this element.",
            (
                choice("model", "stribeck lugre", "law", required=True),
                not_negative("coulomb", "N", "Coulomb friction", required=True),
                not_negative("static", "N", "static friction, at least coulomb", required=True),
                positive(
                    "stribeck_velocity", "m/s", "scale of the fall from static to Coulomb", required=True
                ),
                positive(
                    "smoothing_velocity", "m/s", "width of the smoothed step", needed=("model", ("stribeck",))
                ),
                not_negative("viscous", "N s/m", "viscous friction", 0.0),
                positive("bristle_stiffness", "N/m", "of LuGre's bristles", only=_LUGRE, needed=_LUGRE),
                not_negative("bristle_damping", "N s/m", "of LuGre's bristles", only=_LUGRE, needed=_LUGRE),
            ),
        ),
        Element(
            "end_stop",
            "Contact at both ends of the stroke.",
            (
                positive("stiffness", "N/m", "stiffness", required=True),
                not_negative("damping", "s/m", "damping, times stiffness times depth", required=True),
            ),
        ),
        Element(
            "cushion",
            "Throttling near the ends of the stroke.",
            (
                positive("length", "m", "where it begins", required=True),
                positive("minimum", "-", "least opening", most=1.0, required=True),
            ),
        ),
        Element(
            "control",
            "Force control.",
            (
                choice("law", "feedback_linearization pi", "control law", "feedback_linearization"),
                not_negative("kp", "1/s", "proportional gain", 100.0),
                not_negative("ki", "1/s2", "integral gain", 0.0),
                Attribute("lead", "boolean", "compensates the spool", default=True),
            ),
        ),
    ),
)

LEG = Element(
    "leg",
    "One of the six legs, in order.",
    (
        reference("name", "name of the leg"),
        reference("slider", "prismatic joint"),
        vector("anchor", "m", "upper joint in platform axes", required=True),
        positive("ball_limit", "rad", "for workspace margins", shown="none"),
        positive("diameter", "m", "for workspace margins", shown="none"),
    ),
    (HYDRAULICS,),
    key="name",
)

PLATFORM = Element(
    "platform",
    "A hexapod: URDF holds the open mechanism, this closes it.",
    (
        reference("link", "link whose pose is the coordinates; child of a floating joint"),
        positive("min_singular_value", "-", "acceptance in forward kinematics", 0.1),
    ),
    (LEG, HYDRAULICS),
)
