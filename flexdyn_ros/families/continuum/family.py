"""Soft arms, as the registry knows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lxml import etree

from flexdyn_ros.expanded.appearance import Appearance, Centreline
from flexdyn_ros.families.record import Family, Findings

if TYPE_CHECKING:
    from flexdyn_ros.description import RobotDescription
    from flexdyn_ros.expanded.urdf_joints import Joints
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


def _functions(description: RobotDescription) -> FamilyFunctions:
    from flexdyn_ros.families.continuum.robot import ContinuumFunctions

    return ContinuumFunctions(description)


def _check(robot: Robot) -> Findings:
    from flexdyn_ros.families.continuum.checks import check_arm

    return Findings(*check_arm(robot))


def _expand(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    from flexdyn_ros.families.continuum.expanded import cut_sections

    return [cut_sections(root, robot, segments)], {}


def _appearance(description: RobotDescription) -> Appearance:
    sections = description.sections
    lines = {
        s.joint: Centreline(f"{s.joint}/base", float(s.length), radius=max(s.radius, s.disc_radius))
        for s in sections
    }
    return Appearance(centrelines=lines, spans=tuple(section.length for section in sections))


#: of a soft section: part of the name and attribute
_OF_SECTION = {
    "section_mass": "mass",
    "stiffness": "stiffness",
    "damping": "damping",
    "bending_stiffness": "bending_stiffness",
}


def _parameter_paths(description: RobotDescription) -> Iterator[tuple[str, str]]:
    for section in description.sections:
        for part, attribute in _OF_SECTION.items():
            yield f"{section.joint}/{part}", f"joints.{section.joint}.section.{attribute}"


CONTINUUM = Family(
    kind="continuum",
    claims=lambda description: bool(description.sections),
    functions=_functions,
    check=_check,
    expand=_expand,
    appearance=_appearance,
    rviz=lambda description: "continuum",
    controller="soft_arm_controller",
    parameter_paths=_parameter_paths,
)
