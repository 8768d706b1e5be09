"""From statements about a joint to its rotor, springs and friction, or to a soft section."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil, pi
from typing import Any

from flexdyn_ros.description.elements.context import Context
from flexdyn_ros.description.elements.description import Joint
from flexdyn_ros.description.elements.records import (
    DryFriction,
    JointElasticity,
    JointSpring,
    Pressure,
    Rotor,
    Section,
)
from flexdyn_ros.description.language.statements import Statement, complete

# Values of spec continuum 9: `robio2011` is Table I of Godage et al. (ROBIO 2011); of `bai2022`, stiffness
# and
# damping are assumed.
PRESETS: dict[str, dict[str, Any]] = {
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
#: where the numbers of presets come from (continuum specification, section 9)
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
_NEEDED = ("length", "radius", "mass", "stiffness", "lower", "upper")
_DEFAULTS: dict[str, Any] = {
    "damping": (0.0,),
    "limit_stiffness": 0.0,
    "limit_damping": 0.0,
    "bending_stiffness": 0.0,
}
_MOVABLE = ("revolute", "continuous", "prismatic")


def build_joint(joint: Joint, said: Statement) -> Joint:
    """The joint with what `<flexdyn>` adds to it (all but a section)."""
    rotor, elasticity = said.child("rotor"), said.child("joint_elasticity")
    spring, friction = said.child("joint_spring"), said.child("friction")
    for child in (rotor, elasticity, spring, friction):
        if child is not None:
            _check_movable(joint, child)
    if elasticity is not None and rotor is None:
        elasticity.fail("<joint_elasticity> needs <rotor>", None, '<rotor inertia="..."/> of the same joint')
    return replace(
        joint,
        rotor=None if rotor is None else Rotor(**complete(rotor)),
        elasticity=None if elasticity is None else JointElasticity(**complete(elasticity)),
        spring=None if spring is None else JointSpring(**complete(spring)),
        dry_friction=None if friction is None else _friction(joint, friction),
    )


def _check_movable(joint: Joint, said: Statement) -> None:
    if joint.type not in _MOVABLE:
        said.fail(f"joint '{joint.name}' is {joint.type}", None, "a joint of type " + ", ".join(_MOVABLE))
    if joint.mimic is not None:
        said.fail(f"joint '{joint.name}' mimics another", None, "a joint with a coordinate of its own")


def _friction(joint: Joint, said: Statement) -> DryFriction:
    friction = DryFriction(**complete(said))
    if friction.static is not None and friction.static < joint.friction:
        said.fail("static friction is below URDF's friction", "static", f"a number >= {joint.friction:g}")
    return friction


def build_section(joint: Joint, said: Statement) -> Section:
    """The soft section that the fixed joint becomes."""
    if joint.type != "fixed":
        said.fail(f"joint '{joint.name}' is {joint.type}", None, "a section is a fixed joint")
    preset = PRESETS.get(said.get("preset"), {})
    values = complete(said, **{**_DEFAULTS, **preset})
    for name in _NEEDED:
        if values[name] is None:
            said.fail(f"attribute '{name}' of <section> is missing", name, f"{name}, or a preset")
    values["disc_radius"] = values["disc_radius"] or values["radius"]
    for name in ("stiffness", "damping"):
        values[name] = values[name] * 3 if len(values[name]) == 1 else values[name]
    bending = _check_stroke(said, values)
    values["quadrature"] = values["quadrature"] or _nodes(bending)
    pressure = said.child("pressure")
    return Section(
        **values,
        joint=joint.name,
        pressure=None if pressure is None else Pressure(**complete(pressure)),
        line=said.place.line,
    )


def _nodes(bending: float) -> int:
    """Gauss nodes of a section that bends so far within its strokes [rad].

    6 + one per radian, a tenth beyond the strokes: the mass matrix and the velocity terms are then within
    1e-10 of those with many more nodes (docs/theory/continuum.md has the figures).
    """
    return 6 + ceil(1.1 * bending)


def _check_stroke(said: Statement, values: dict[str, Any]) -> float:
    """The greatest bending angle within the strokes [rad]."""
    lower, upper = values["lower"], values["upper"]
    if lower <= -values["length"]:
        said.fail("the section would lose all its length", "lower", f"a number > {-values['length']:g} m")
    if lower >= upper:
        said.fail("the stroke is empty", "lower", f"lower < upper = {upper:g} m")
    # spec continuum 2: bending angle 2 sqrt(l1^2 + l2^2 + l3^2 - l1 l2 - l2 l3 - l3 l1) / (3 r), greatest
    # with
    # one actuator at one end of the stroke and two at the other
    bending = 2.0 * (upper - lower) / (3.0 * values["radius"])
    if bending > 2.0 * pi:
        message = f"the section bends by {bending:.3g} rad at the limits"
        said.fail(message, "upper", "at most 2 pi: a shorter stroke or a greater radius")
    return float(bending)


def check_chain(sections: list[Section], said: dict[str, Statement], context: Context) -> tuple[Section, ...]:
    """The sections from base to tip; they must follow each other through fixed joints only."""
    for joint in context.joints.values():
        if joint.type != "fixed":
            at = said[sections[0].joint]
            at.fail(
                f"joint '{joint.name}' is {joint.type}, a soft arm has fixed joints only",
                None,
                "fixed joints",
            )
    depth = {section.joint: _above(section.joint, context) for section in sections}
    ordered = sorted(sections, key=lambda section: len(depth[section.joint]))
    for before, after in pairwise(ordered):
        if before.joint not in depth[after.joint]:
            message = f"sections '{before.joint}' and '{after.joint}' do not follow each other"
            said[after.joint].fail(message, None, "one chain of sections")
    return tuple(ordered)


def _above(joint: str, context: Context) -> list[str]:
    """Joints from this one to the root."""
    names = [joint]
    parent = context.parent(context.joints[joint].parent)
    while parent is not None:
        names.append(parent.name)
        parent = context.parent(parent.parent)
    return names
