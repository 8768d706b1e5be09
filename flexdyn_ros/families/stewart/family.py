"""Platforms on six legs, as the registry knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flexdyn_ros.families.record import Family, Findings

if TYPE_CHECKING:
    from flexdyn_ros.description import RobotDescription
    from flexdyn_ros.expanded.urdf_joints import Joints
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


def _functions(description: RobotDescription) -> FamilyFunctions:
    from flexdyn_ros.families.stewart.robot import PlatformFunctions

    return PlatformFunctions(description)


def _check(robot: Robot) -> Findings:
    from flexdyn_ros.families.stewart.checks import check_platform

    return Findings(*check_platform(robot))


def _expand(root: object, robot: Robot, segments: int | None) -> Joints:
    from flexdyn_ros.families.stewart.expanded import PlatformJoints

    joints = PlatformJoints(robot)
    return [joints], joints.efforts


STEWART = Family(
    kind="platform",
    claims=lambda description: description.platform is not None,
    functions=_functions,
    check=_check,
    expand=_expand,
    rviz=lambda description: "platform",
    controller="platform_controller",
)
