"""Elements of a joint: rotor, springs, friction, and the soft section that a fixed joint becomes."""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise
from math import ceil, pi
from typing import Any

from flexdyn_ros.description.elements.urdf import Context, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import (
    child,
    choice,
    element,
    integer,
    not_negative,
    number,
    numbers,
    positive,
    text,
    vector,
)
from flexdyn_ros.description.places import Place

#: `robio2011` is Table I of Godage et al. (ROBIO 2011); of `bai2022`, stiffness and damping are assumed
PRESETS: dict[str, dict[str, object]] = {
    "bai2022": {
        "length": 0.15,
        "radius": 0.0125,
        "mass": 0.15,
        "stiffness": (1700.0,),
        "damping": (15.0,),
        "lower": 0.0,
        "upper": 0.030,
    },
    "robio2011": {
        "length": 0.15,
        "radius": 0.009,
        "mass": 0.05,
        "stiffness": (700.0,),
        "damping": (15.0,),
        "lower": 0.0,
        "upper": 0.044,
        "limit_stiffness": 1e6,
        "bending_stiffness": 0.1,
    },
}
_TABLE = "Godage et al. 2011, Table I"
_ENERGIES = "reconstructed from published energies"
#: where the numbers of presets come from
PRESET_ORIGINS: dict[str, dict[str, str]] = {
    "bai2022": {
        "length": _ENERGIES,
        "radius": _ENERGIES,
        "mass": _ENERGIES,
        "stiffness": "ASSUMED",
        "damping": "ASSUMED; that of the 2011 source",
        "lower": "published",
        "upper": "published",
    },
    "robio2011": dict.fromkeys(PRESETS["robio2011"], _TABLE),
}
_MOVABLE = ("revolute", "continuous", "prismatic")


class _OfMovable:
    """What only a joint with a coordinate of its own may have."""

    def check(self, statement: Statement, context: Context) -> None:
        joint = context.joints[context.owner]
        if joint.type not in _MOVABLE:
            expected = "a joint of type " + ", ".join(_MOVABLE)
            statement.fail(f"joint '{joint.name}' is {joint.type}", None, expected)
        if joint.mimic is not None:
            message = f"joint '{joint.name}' mimics another"
            statement.fail(message, None, "a joint with a coordinate of its own")


@element("rotor", "The motor's rotor; adds gear_ratio^2 x inertia to the joint.")
class Rotor(_OfMovable):
    inertia: float = positive("kg m2 (kg)", "on the motor side")
    gear_ratio: float = positive("-", "turns of the motor per turn of the joint", default=1.0)


@element(
    "joint_elasticity",
    "Series spring between motor and joint; needs <rotor>; adds the coordinate JOINT/motor.",
)
class JointElasticity(_OfMovable):
    stiffness: float = positive("N m/rad (N/m)", "on the joint side")
    damping: float = not_negative("N m s/rad (N s/m)", "on the joint side", default=0.0)


@element("joint_spring", "Parallel spring between parent and child.")
class JointSpring(_OfMovable):
    stiffness: float = positive("N m/rad (N/m)", "stiffness")
    reference: float = number("rad (m)", "position without load", default=0.0)


@element("friction", "Shape of the dry friction whose Coulomb level is URDF's friction.")
class DryFriction(_OfMovable):
    static: float | None = not_negative(
        "N m (N)", "static friction, at least URDF's friction", shown="URDF's friction", default=None
    )
    stribeck_velocity: float | None = positive(
        "rad/s (m/s)", "velocity scale of the fall from static to Coulomb", default=None
    )
    smoothing_velocity: float = positive("rad/s (m/s)", "width of the smoothed step at zero", default=1e-3)

    def check(self, statement: Statement, context: Context) -> None:
        super().check(statement, context)
        coulomb = context.joints[context.owner].friction
        if self.static is not None and self.static < coulomb:
            message = "static friction is below URDF's friction"
            statement.fail(message, "static", f"a number >= {coulomb:g}")


@element("pressure", "Actuators driven by pressure: force = area x (p - p_atm).")
class Pressure:
    area: float = positive("m2", "effective area of an actuator")
    time_constant: float = not_negative("s", "lag of the supply in simulations, first order", default=0.0)
    maximum: float | None = positive(
        "Pa", "highest pressure of the supply, absolute", shown="none", default=None
    )


_PRESET = "or preset"


@element(
    "section",
    "A soft section with three actuators; the fixed joint's origin is the undeformed section.",
    kw_only=True,
)
class Section:
    """A fixed joint made soft; stiffness and damping hold one number per actuator."""

    joint: str
    preset: str | None = choice(
        " ".join(PRESETS), "fills the attributes that are not given (never gravity)", default=None
    )
    length: float = positive("m", "undeformed length", shown=_PRESET)
    radius: float = positive("m", "radius of the actuators' circle", shown=_PRESET)
    disc_radius: float = positive("m", "radius of the disc that carries the mass", shown="radius")
    mass: float = positive("kg", "of the section itself", shown=_PRESET)
    stiffness: Vec3 = numbers("N/m", "per actuator", above=0.0, counts=(1, 3), shown=_PRESET)
    damping: Vec3 = numbers("N s/m", "per actuator", least=0.0, counts=(1, 3), default=(0.0,))
    lower: float = number("m", "least change of length, above -length", shown=_PRESET)
    upper: float = number("m", "greatest change of length", shown=_PRESET)
    limit_stiffness: float = not_negative("N/m", "one-sided stop outside the stroke", default=0.0)
    limit_damping: float = not_negative("N s/m", "its damping", default=0.0)
    bending_stiffness: float = not_negative("N m/rad2", "K_b in 1/2 K_b (theta/2)^2", default=0.0)
    quadrature: int = integer(
        "Gauss nodes", within=(2, 64), shown="6 + 1 per rad that strokes allow", default=8
    )
    pressure: Pressure | None = child(Pressure, default=None)
    line: int | None = None

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        joint = context.joints[context.owner]
        if joint.type != "fixed":
            statement.fail(f"joint '{joint.name}' is {joint.type}", None, "a section is a fixed joint")
        preset = PRESETS.get(values["preset"], {})
        values |= {name: value for name, value in preset.items() if name not in statement.values}
        for attribute in statement.element.attributes:
            if attribute.shown == _PRESET and values[attribute.name] is None:
                name = attribute.name
                statement.fail(f"attribute '{name}' of <section> is missing", name, f"{name}, or a preset")
        values["disc_radius"] = values["disc_radius"] or values["radius"]
        for name in ("stiffness", "damping"):
            values[name] = values[name] * 3 if len(values[name]) == 1 else values[name]
        bending = _check_stroke(statement, values)
        values["quadrature"] = values["quadrature"] or _nodes(bending)


def _nodes(bending: float) -> int:
    """Gauss nodes of a section that bends so far within its strokes [rad].

    6 + one per radian, a tenth beyond the strokes: the mass matrix and the velocity terms are then within
    1e-10 of those with many more nodes (docs/theory/continuum.md has the figures).
    """
    return 6 + ceil(1.1 * bending)


def _check_stroke(statement: Statement, values: dict[str, Any]) -> float:
    """The greatest bending angle within the strokes [rad]."""
    lower, upper = values["lower"], values["upper"]
    if lower <= -values["length"]:
        statement.fail(
            "the section would lose all its length", "lower", f"a number > {-values['length']:g} m"
        )
    if lower >= upper:
        statement.fail("the stroke is empty", "lower", f"lower < upper = {upper:g} m")
    # bending angle 2 sqrt(l1^2 + l2^2 + l3^2 - l1 l2 - l2 l3 - l3 l1) / (3 r) (docs/theory/continuum.md),
    # greatest with one actuator at one end of the stroke and two at the other
    bending = 2.0 * (upper - lower) / (3.0 * values["radius"])
    if bending > 2.0 * pi:
        message = f"the section bends by {bending:.3g} rad at the limits"
        statement.fail(message, "upper", "at most 2 pi: a shorter stroke or a greater radius")
    return float(bending)


def check_chain(
    sections: tuple[Section, ...], statements: dict[str, Statement], context: Context
) -> tuple[Section, ...]:
    """The sections from base to tip; they must follow each other through fixed joints only."""
    for joint in context.joints.values():
        if joint.type != "fixed":
            message = f"joint '{joint.name}' is {joint.type}, a soft arm has fixed joints only"
            statements[sections[0].joint].fail(message, None, "fixed joints")
    depth = {section.joint: _above(section.joint, context) for section in sections}
    ordered = sorted(sections, key=lambda section: len(depth[section.joint]))
    for before, after in pairwise(ordered):
        if before.joint not in depth[after.joint]:
            message = f"sections '{before.joint}' and '{after.joint}' do not follow each other"
            statements[after.joint].fail(message, None, "one chain of sections")
    return tuple(ordered)


def _above(joint: str, context: Context) -> list[str]:
    """Joints from this one to the root."""
    names = [joint]
    parent = context.parent(context.joints[joint].parent)
    while parent is not None:
        names.append(parent.name)
        parent = context.parent(parent.parent)
    return names


# `<joint_type>`: joints that URDF has no word for, and numbers for each coordinate of a joint.

#: URDF types of the joints that may have a <joint_type>
_URDF_TYPES = ("floating", "planar")


@element(
    "joint_type",
    "Type of a joint that is `floating` in the URDF, and limits of its coordinates (of `planar` joints too).",
)
class JointType:
    """The names of the types, and which attributes each one takes, are those of multibody/joints.

    lower, upper, velocity, effort, damping, friction: one number for each coordinate, None where not given.
    place: of the element, for errors.
    """

    type: str | None = text(
        "ball, universal, helical or cylindrical; nothing or planar for planar joints",
        is_text=True,
        default=None,
    )
    axis: Vec3 | None = vector(
        "-",
        "universal, helical, cylindrical: axis in the joint frame",
        shown="1 0 0 (universal), 0 0 1",
        default=None,
    )
    second_axis: Vec3 | None = vector(
        "-", "universal: second axis, in the frame that the first turns", shown="0 1 0", default=None
    )
    pitch: float | None = number("m/rad", "helical: displacement per angle, not 0", default=None)
    lower: tuple[float, ...] | None = numbers("rad (m)", "lower limits", shown="none", default=None)
    upper: tuple[float, ...] | None = numbers("rad (m)", "upper limits", shown="none", default=None)
    velocity: tuple[float, ...] | None = numbers(
        "rad/s (m/s)", "velocity limits", least=0.0, shown="none", default=None
    )
    effort: tuple[float, ...] | None = numbers(
        "N m (N)", "effort limits; 0: not driven", least=0.0, shown="none", default=None
    )
    damping: tuple[float, ...] | None = numbers(
        "N m s/rad (N s/m)", "viscous damping", least=0.0, shown="0", default=None
    )
    friction: tuple[float, ...] | None = numbers(
        "N m (N)", "Coulomb friction", least=0.0, shown="0", default=None
    )
    place: Place = field(default=Place(None, None, "joint_type"))

    def check(self, statement: Statement, context: Context) -> None:
        joint = context.joints[context.owner]
        if joint.type not in _URDF_TYPES:
            message = f"joint '{joint.name}' is {joint.type}: <joint_type> has no meaning there"
            statement.fail(message, None, "a joint of type floating (planar: for its limits)")
        if "mimic" in joint.unused:
            message = f"joint '{joint.name}' mimics another"
            statement.fail(message, None, "a joint with coordinates of its own")
