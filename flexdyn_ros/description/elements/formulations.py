"""The kind of a robot, and the formulation it gets where the text leaves it open."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flexdyn_ros.description.elements.description import Formulation, Joint
from flexdyn_ros.description.elements.joints import Section
from flexdyn_ros.description.elements.lines import Ends
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.description.elements.urdf import Base
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.blocks import Layer
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.errors import FlexdynWarning

# per kind: the attributes that have a meaning, with the values allowed (None: any) ; the first is the default
_ROTARY = ("consistent", "paper", "none")
_STIFFENING = ("full", "geometric", "none")
_BOOL = (True, False)
_ALLOWED: dict[str, dict[str, tuple[object, ...]]] = {
    "tree": {
        "method": ("articulated", "lagrange"),
        "flexible": _BOOL,
        "rotary_inertia": _ROTARY,
        "frame": ("so3", "affine"),
        "stiffening": _STIFFENING,
        "preset": (None, "paper"),
    },
    "floating_frame": {
        "method": ("floating_frame", "articulated"),
        "flexible": _BOOL,
        "rotary_inertia": ("none", "consistent"),
        "frame": ("so3",),
        "stiffening": ("none", "geometric"),
        "suspension": ("small_angle", "exact"),
    },
    "mobile": {
        "method": ("articulated", "floating_frame"),
        "flexible": _BOOL,
        "rotary_inertia": _ROTARY,
        "frame": ("so3",),
        "stiffening": _STIFFENING,
        "suspension": ("small_angle", "exact"),
    },
    "continuum": {
        "rotary_inertia": ("consistent", "none"),
        "kinematics": ("exact", "modal"),
        "order": (11, ...),
        "mass_model": ("distributed", "lumped", "lumped2"),
        "energy_ratio": (0.56, ...),
    },
    "platform": {"flexible": _BOOL, "leg_spin": ("universal", "none")},
    "tree with a platform": {
        "method": ("articulated",),
        "flexible": _BOOL,
        "rotary_inertia": _ROTARY,
        "frame": ("so3",),
        "stiffening": _STIFFENING,
        "leg_spin": ("universal", "none"),
    },
}
_ALLOWED["wheels with a platform"] = _ALLOWED["tree with a platform"] | {
    "suspension": _ALLOWED["mobile"]["suspension"]
}
#: to its first order alone the foreshortening leaves a mass matrix that is not positive definite
_GEOMETRIC = (
    "stiffening 'geometric' is computed as 'full' by the methods articulated and lagrange: without the terms "
    "of second order the mass matrix would lose its definiteness at tip deflections of a tenth of the length"
)
_PAPER = {"method": "lagrange", "rotary_inertia": "paper", "frame": "affine", "stiffening": "none"}


#: kinds of which `_ALLOWED` has more than one set of attributes
_KIND_OF = {
    "floating_frame": "mobile",
    "tree with a platform": "tree",
    "wheels with a platform": "mobile",
}


def kind_of(robot: Statement, has_sections: bool, alone: bool) -> str:
    """`platform` if there is a platform alone; else `continuum` if a section, else `mobile` if a wheel, else
    `tree`."""
    if alone:
        return "platform"
    if has_sections:
        return "continuum"
    return "mobile" if robot.all("wheel") else "tree"


def build_formulation(
    robot: Statement,
    kind: str,
    base: Base,
    flexible_links: Mapping[str, FlexibleLink],
    sections: tuple[Section, ...],
    elastic: Sequence[str],
    messages: list[str],
) -> Formulation:
    """The formulation with the defaults of the kind; what belongs to another kind is refused.

    elastic: names of elastic joints; messages: the user is warned of what is added here.

    Warns
    -----
    FlexdynWarning
        Where another stiffening is computed than the one requested.
    """
    statement = robot.child("formulation") or Statement(rule_of(Formulation), robot.place)
    allowed = _ALLOWED[_family(robot, statement, kind, base, elastic)]
    _refuse_foreign(statement, kind, allowed)
    values: dict[str, Any] = {name: choices[0] for name, choices in allowed.items()}
    if statement.get("preset") == "paper":
        beside = [name for name in statement.values if name not in ("preset", "flexible")]
        if beside:
            statement.fail(f"'{beside[0]}' beside a preset", beside[0], "the preset alone")
        values |= _PAPER
    values |= {name: value.value for name, value in statement.values.items()}
    formulation = Formulation(**{name: values.get(name) for name in Formulation.__dataclass_fields__})
    _check(statement, kind, base, formulation, flexible_links, sections, elastic)
    if formulation.stiffening == "geometric" and formulation.method != "floating_frame":
        messages.append(_GEOMETRIC)
        warnings.warn(_GEOMETRIC, FlexdynWarning, stacklevel=2)
        formulation = replace(formulation, stiffening="full")
    return formulation


def _family(robot: Statement, statement: Statement, kind: str, base: Base, elastic: Sequence[str]) -> str:
    """floating_frame has defaults of its own: it is the default method of planar bases with wheels, but for
    elastic joints and elements between frames, which it does not know."""
    if kind in ("tree", "mobile") and robot.all("platform"):
        return "tree with a platform" if kind == "tree" else "wheels with a platform"
    method = statement.get("method")
    if kind == "mobile" and base.type == "planar" and (method == "floating_frame" or method is None):
        lines = (r.name for r in schema.named_elements() if r.record and issubclass(r.record, Ends))
        if method or not (elastic or any(robot.all(name) for name in lines)):
            return "floating_frame"
    return kind


def _refuse_foreign(statement: Statement, kind: str, allowed: Mapping[str, tuple[object, ...]]) -> None:
    for name, value in statement.values.items():
        if name not in allowed:
            kinds = sorted({_KIND_OF.get(k, k) for k in _ALLOWED if name in _ALLOWED[k]})
            message = f"'{name}' belongs to robots of kind {' or '.join(kinds)}, this one is of kind {kind}"
            statement.fail(message, name, "one of " + ", ".join(allowed))
        choices = allowed[name]
        if ... not in choices and value.value not in choices:
            words = ", ".join(str(choice) for choice in choices if choice is not None)
            statement.fail(
                f"{name} = {value.value} is not offered for this robot of kind {kind}",
                name,
                f"one of {words}",
            )


def _check(
    statement: Statement,
    kind: str,
    base: Base,
    formulation: Formulation,
    flexible_links: Mapping[str, FlexibleLink],
    sections: tuple[Section, ...],
    elastic: Sequence[str],
) -> None:
    if formulation.method == "floating_frame" and formulation.flexible and elastic:
        statement.fail(f"floating_frame with the elastic joint '{elastic[0]}'", "method", "articulated")
    if formulation.method == "floating_frame" and base.type != "planar":
        statement.fail(f"floating_frame with a {base.type} base", "method", "a planar base, or articulated")
    if formulation.frame == "affine" and formulation.method != "lagrange":
        statement.fail("affine frames need the method lagrange", "frame", "so3, or method lagrange")
    if formulation.rotary_inertia == "none" and kind != "continuum":
        for link in flexible_links.values():
            if link.modes.torsion:
                message = f"link '{link.link}' has torsion modes, which a line mass cannot have"
                statement.fail(message, "rotary_inertia", "consistent, or no torsion modes")
    if len(sections) > 1 and formulation.mass_model != "distributed":
        statement.fail("several sections have the distributed mass only", "mass_model", "distributed")


def refuse_mixtures(
    layer: Layer,
    kind: str,
    sections: Mapping[str, Statement],
    flexible: Iterable[str],
    joints: Mapping[str, Joint],
) -> None:
    """Platforms mix with no soft sections, continuum with nothing flexible; wheels, road and drive belong to
    mobile robots."""
    if layer.robot.all("platform"):
        for name, section in sections.items():
            section.fail(f"soft section '{name}' in a robot with a platform", None, "one of them")
    if kind in ("platform", "continuum"):
        of_kind = f"in a robot of kind {kind}"
        for name in flexible:
            layer.links[name].fail(f"flexible link '{name}' {of_kind}", None, "no flexible links")
        for name, joint in joints.items():
            if joint.elasticity is not None:
                layer.joints[name].fail(f"elastic joint '{name}' {of_kind}", None, "no elastic joints")
        for wheel in layer.robot.all("wheel") if kind == "continuum" else ():
            wheel.fail(f"a wheel {of_kind}", None, "no wheels")
    if kind != "mobile":
        for tag in ("road", "drive"):
            for child in layer.robot.all(tag):
                child.fail(f"<{tag}> in a robot without wheels", None, "a <wheel>, or nothing")
