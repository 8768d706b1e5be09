"""Arms on wheels, as the registry knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from flexdyn_ros.families.record import Family, Findings
from flexdyn_ros.families.trees.family import check_bending, expand_tree

if TYPE_CHECKING:
    from flexdyn_ros.description import RobotDescription
    from flexdyn_ros.expanded.urdf_joints import Joints
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


def _functions(description: RobotDescription) -> FamilyFunctions:
    if description.formulation.method == "floating_frame":
        from flexdyn_ros.families.wheeled.robot import MobileFunctions

        return MobileFunctions(description)
    from flexdyn_ros.families.wheeled.articulated import ArticulatedMobileFunctions

    return ArticulatedMobileFunctions(description)


def _check(robot: Robot) -> Findings:
    from flexdyn_ros.families.wheeled.checks import check_mobile

    warnings, notes, links = check_bending(robot)
    beside = check_mobile(robot)
    return Findings(warnings + beside[0], notes + beside[1], links)


def _expand(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    from flexdyn_ros.families.wheeled.expanded import hang_wheels

    parts, efforts = expand_tree(root, robot, segments)
    return [*parts, hang_wheels(root, robot)], efforts


WHEELED = Family(
    kind="mobile",
    claims=lambda description: bool(description.wheels),
    functions=_functions,
    check=_check,
    expand=_expand,
    rviz=lambda description: "mobile",
)
