"""From merged statements to the finished description: each part is built and checked in its own module."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

from flexdyn_ros.description.elements import formulations
from flexdyn_ros.description.elements.description import Gravity, Joint, Override, RobotDescription
from flexdyn_ros.description.elements.joints import (
    DryFriction,
    JointElasticity,
    JointSpring,
    JointType,
    Rotor,
    Section,
    check_chain,
)
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.description.elements.platforms import Platform, moves_nothing_else, with_hydraulics_of_legs
from flexdyn_ros.description.elements.urdf import Base, Context, Vec3
from flexdyn_ros.description.elements.wheels import Drive, Road, Wheel
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.blocks import Layer
from flexdyn_ros.description.language.mistakes import end_of_stage, part
from flexdyn_ros.description.language.statements import Statement, complete
from flexdyn_ros.description.language.vocabulary import Attribute, Part, Record, declared, rule_of

#: fields of a Joint that `<flexdyn>` fills
_OF_JOINT: dict[str, type] = {
    "rotor": Rotor,
    "elasticity": JointElasticity,
    "spring": JointSpring,
    "dry_friction": DryFriction,
    "joint_type": JointType,
}


def assemble(robot: RobotDescription, layer: Layer, overrides: tuple[Override, ...]) -> RobotDescription:
    """The description with all that `<flexdyn>`, YAML and options state."""
    context = Context(
        links={link.name: link for link in robot.links},
        joints={joint.name: joint for joint in robot.joints},
        file=robot.file,
        warnings=list(robot.warnings),
    )
    flexible = {}
    for name, statement in layer.links.items():
        with part():
            if any(statement.children.values()):
                flexible[name] = build(FlexibleLink, statement, replace(context, owner=name), link=name)
    extended = {}
    for name, statement in layer.joints.items():
        with part():
            extended[name] = _extended(robot.joint(name), statement, replace(context, owner=name))
    end_of_stage()
    stated_sections = {
        name: section
        for name, statement in layer.joints.items()
        if (section := statement.child("section")) is not None
    }
    sections = tuple(
        build(Section, statement, replace(context, owner=name), joint=name)
        for name, statement in stated_sections.items()
    )
    base = _base(layer.robot, robot.base, context)
    elements = any(layer.robot.all(rule.name) for rule in schema.named_elements())
    mixed = bool(flexible or elements or base.type != "fixed" or layer.robot.all("wheel"))
    stated = layer.robot.all("platform")
    alone = len(stated) == 1 and not mixed and moves_nothing_else(stated[0], context)
    kind = formulations.kind_of(layer.robot, bool(sections), alone)
    formulations.refuse_mixtures(layer, kind, stated_sections, flexible, extended)
    if kind == "continuum":
        sections = check_chain(sections, stated_sections, context)
    context = replace(context, base=base, flexible=flexible)
    for i, each in enumerate(stated):
        if each.get("link") in [other.get("link") for other in stated[:i]]:
            each.fail(f"there is a platform '{each.get('link')}' already", "link", "a link of its own")
    platforms = tuple(build(Platform, each, context) for each in stated)
    elastic = [name for name, joint in extended.items() if joint.elasticity is not None]
    return replace(
        robot,
        joints=tuple(extended.get(joint.name, joint) for joint in robot.joints),
        gravity=_gravity(layer.robot, context),
        base=base,
        formulation=formulations.build_formulation(
            layer.robot, kind, base, flexible, sections, elastic, context.warnings
        ),
        flexible_links=flexible,
        sections=sections,
        wheels=tuple(build(Wheel, each, context) for each in layer.robot.all("wheel")),
        road=_road(layer.robot, context),
        drive=_single(Drive, layer.robot, context),
        platforms=tuple(map(with_hydraulics_of_legs, platforms)),
        extras=_extras(layer, context),
        kind=kind,
        overrides=overrides,
        warnings=tuple(context.warnings),
    )


def _single(record: type[Record], parent: Statement, context: Context) -> Record | None:
    """The record of a single child element, None if nothing is stated of it."""
    statement = parent.child(rule_of(record).name)
    return None if statement is None else build(record, statement, context)


def _extended(joint: Joint, statement: Statement, context: Context) -> Joint:
    """The joint with what `<flexdyn>` adds to it (all but a section)."""
    added: dict[str, Any] = {name: _single(record, statement, context) for name, record in _OF_JOINT.items()}
    elasticity = statement.child("joint_elasticity")
    if elasticity is not None and added["rotor"] is None:
        expected = '<rotor inertia="..."/> of the same joint'
        elasticity.fail("<joint_elasticity> needs <rotor>", None, expected)
    stated = statement.child("joint_type")
    if stated is not None:
        added["joint_type"] = replace(added["joint_type"], place=stated.place)
    return replace(joint, **added)


def _gravity(robot: Statement, context: Context) -> Vec3:
    return (_single(Gravity, robot, context) or Gravity()).gravity


def _base(robot: Statement, urdf: Base, context: Context) -> Base:
    """The base as `<base>` states it, or floating as the URDF does."""
    base, statement = _single(Base, robot, context), robot.child("base")
    if base is None or statement is None:
        return urdf
    if urdf.type == "floating":
        if statement.get("type") not in (None, "floating"):
            statement.fail(f"the URDF's joint '{urdf.joint}' makes the base floating", "type", "floating")
        base = replace(base, type="floating", joint=urdf.joint, world=urdf.world)
    if base.type == "floating" and (any(base.xyz) or any(base.rpy)):
        context.warnings.append("<base>: xyz and rpy of a floating base have no effect; its pose is in q")
    return base


def _road(robot: Statement, context: Context) -> Road | None:
    """The road as `<road>` states it, or a Python callable that options give."""
    statement = robot.child("road")
    function = None if statement is None else statement.values.pop("callable", None)
    if statement is None or function is None:
        return _single(Road, robot, context)
    return Road("callable", contact=statement.get("contact") or "monitor", function=function.value)


def _extras(layer: Layer, context: Context) -> dict[str, tuple[object, ...]]:
    """Records of elements between frames, and of those that were added, by the name of the element."""
    found: dict[str, tuple[object, ...]] = {
        rule.name: tuple(build(rule.record, each, context) for each in layer.robot.all(rule.name))
        for rule in schema.named_elements()
        if rule.record is not None
    }
    return {name: records for name, records in found.items() if records}


# From the values of an element to its record, by the declarations of the record's fields.


def build(record: type[Record], statement: Statement, context: object, **more: object) -> Record:
    """The record of an element and, within it, those of its child elements.

    context is handed to the record's `settle` and `check` (vocabulary.element); more are values of fields
    that are no attributes. A field `line` gets the line of the element.

    Raises
    ------
    DescriptionError
        If something required is missing, or the record's own checks refuse it.
    """
    given = complete(statement)
    settle = getattr(record, "settle", None)
    if settle is not None:
        settle(given, statement, context)
    defaults = {f.name: f.default for f in fields(record)}  # type: ignore[arg-type]
    values = {"line": statement.place.line} | more if "line" in defaults else more
    for name, attribute in declared(record, Attribute):
        # not given, and no default of the schema: the record may have its own
        if given[attribute.name] is not None or defaults[name] is MISSING:
            values[name] = given[attribute.name]
    for name, child in declared(record, Part):
        if child.many:
            every = statement.all(_tag(child))
            values[name] = tuple(build(child.records[0], each, context) for each in every)
        else:
            built = _build_child(child, statement, context)
            if built is not None:
                values[name] = getattr(built, child.attribute) if child.attribute else built
            elif defaults[name] is MISSING:
                statement.fail(f"<{_tag(child)}> is missing", None, _example(child))
    made = record(**values)
    check = getattr(made, "check", None)
    if check is not None:
        check(statement, context)
    return made


def _tag(part: Part) -> str:
    return rule_of(part.records[0]).name


def _example(part: Part) -> str:
    """The element as it might be written, with what it needs."""
    rule = rule_of(part.records[0])
    return f"<{' '.join((rule.name, *(a.name for a in rule.attributes if a.required)))}/>"


def _build_child(part: Part, statement: Statement, context: object) -> object:
    """The record of the one child element of a part; None if it is not there."""
    found = [(each, record) for record in part.records for each in statement.all(rule_of(record).name)]
    if len(found) > 1:
        tags = [f"<{each.element.name}>" for each, _ in found]
        found[1][0].fail(f"{tags[0]} and {tags[1]} in one {statement.element.name}", None, "one")
    return build(found[0][1], found[0][0], context) if found else None
