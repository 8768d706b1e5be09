"""Soft arms, as the registry knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

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


CONTINUUM = Family(
    kind="continuum",
    claims=lambda description: bool(description.sections),
    functions=_functions,
    check=_check,
    expand=_expand,
    rviz=lambda description: "continuum",
    controller="soft_arm_controller",
)
