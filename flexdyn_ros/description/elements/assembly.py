"""From merged statements to the finished description: each part is built and checked in its own module."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flexdyn_ros.description.elements import formulations
from flexdyn_ros.description.elements import joints as build_joints
from flexdyn_ros.description.elements import links as build_links
from flexdyn_ros.description.elements import robot as build_robot
from flexdyn_ros.description.elements.context import Context
from flexdyn_ros.description.elements.description import Joint, Override, RobotDescription
from flexdyn_ros.description.elements.records import Section
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.blocks import Layer
from flexdyn_ros.description.language.building import build
from flexdyn_ros.description.language.mistakes import end_of_stage, part
from flexdyn_ros.description.language.statements import Statement

if TYPE_CHECKING:
    from flexdyn_ros.description.elements.platform_records import Platform


def assemble(robot: RobotDescription, layer: Layer, overrides: tuple[Override, ...]) -> RobotDescription:
    """The description with all that `<flexdyn>`, YAML and options say."""
    floating = robot.base if robot.base.type == "floating" else None
    context = Context(
        links={link.name: link for link in robot.links},
        joints={joint.name: joint for joint in robot.joints},
        root=robot.root,
        file=robot.file,
        warnings=list(robot.warnings),
    )
    flexible = {}
    for name, said in layer.links.items():
        with part():
            flexible[name] = build_links.build_link(name, said, context)
    flexible_links = {name: link for name, link in flexible.items() if link is not None}
    extended = _extended_joints(layer, context)
    sections = _sections(layer, context)
    said_sections = {section.joint: _section_of(layer, section.joint) for section in sections}
    kind = formulations.kind_of(layer.robot, bool(sections))
    formulations.refuse_mixtures(
        layer.robot, kind, said_sections, {name: layer.links[name] for name in flexible_links}, extended
    )
    if kind == "continuum":
        sections = build_joints.check_chain(list(sections), said_sections, context)
    base = build_robot.build_base(layer.robot, floating)
    return replace(
        robot,
        joints=tuple(extended[joint.name][0] if joint.name in extended else joint for joint in robot.joints),
        gravity=build_robot.build_gravity(layer.robot),
        base=base,
        formulation=formulations.build_formulation(
            layer.robot, kind, base, flexible_links, sections, context.warnings
        ),
        flexible_links=flexible_links,
        sections=sections,
        wheels=build_robot.build_wheels(layer.robot, base, flexible_links, context),
        road=build_robot.build_road(layer.robot, context),
        drive=build_robot.build_drive(layer.robot, context),
        platform=_platform(layer, context),
        extras=_extras(layer, context),
        kind=kind,
        overrides=overrides,
        warnings=tuple(context.warnings),
    )


def _platform(layer: Layer, context: Context) -> Platform | None:
    said = layer.robot.child("platform")
    if said is None:
        return None
    from flexdyn_ros.description.elements.platforms import build_platform

    return build_platform(said, context)


def _extras(layer: Layer, context: Context) -> dict[str, tuple[Any, ...]]:
    """Records of the elements that were added to the schema, by the name of the element."""
    found = {
        rule.name: tuple(build(rule.record, said, context) for said in layer.robot.all(rule.name))
        for rule in schema.added_elements()
        if rule.record is not None
    }
    return {name: records for name, records in found.items() if records}


def _extended_joints(layer: Layer, context: Context) -> dict[str, tuple[Joint, Statement]]:
    found = {}
    for name, said in layer.joints.items():
        with part():
            found[name] = (build_joints.build_joint(context.joints[name], said), said)
    end_of_stage()
    return found


def _sections(layer: Layer, context: Context) -> tuple[Section, ...]:
    return tuple(
        build_joints.build_section(context.joints[name], said.child("section") or said)
        for name, said in layer.joints.items()
        if said.child("section") is not None
    )


def _section_of(layer: Layer, joint: str) -> Statement:
    said = layer.joints[joint]
    return said.child("section") or said
