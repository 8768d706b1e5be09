"""Platforms on six legs, as the registry knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.families.record import Family, Findings
from flexdyn_ros.families.trees.family import check_bending, expand_tree, refuse_in_trees, tree_appearance

if TYPE_CHECKING:
    from flexdyn_ros.description import RobotDescription
    from flexdyn_ros.expanded.urdf_joints import Joints
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


def _functions(description: RobotDescription) -> FamilyFunctions:
    from flexdyn_ros.families.platform.robot import PlatformFunctions

    return PlatformFunctions(description)


def _check(robot: Robot) -> Findings:
    from flexdyn_ros.families.platform.checks import check_platform

    return Findings(*check_platform(robot))


def _expand(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    from flexdyn_ros.families.platform.expanded import PlatformJoints, limit_platform

    limit_platform(root, robot)
    joints = PlatformJoints(robot)
    return [joints], joints.efforts


def _appearance(description: RobotDescription) -> Appearance:
    """The platform and the link that its legs stand on are plates."""
    platform = description.platform
    assert platform is not None
    above = {joint.child: joint for joint in description.joints}
    points: dict[str, list[Sequence[float]]] = {platform.link: [leg.anchor for leg in platform.legs]}
    for leg in platform.legs:
        joint = description.joint(leg.slider)
        while joint.parent in above and above[joint.parent].type != "floating":
            joint = above[joint.parent]
        points.setdefault(joint.parent, []).append(joint.xyz)
    sliders = {leg.name: description.joint(leg.slider) for leg in platform.legs}
    return Appearance(
        plates={link: np.array(rows) for link, rows in points.items()},
        legs={name: (slider.parent, slider.child) for name, slider in sliders.items()},
        carried=platform.link,
    )


def _mounted_functions(description: RobotDescription) -> FamilyFunctions:
    from flexdyn_ros.families.platform.mounting import mounted_functions

    return mounted_functions(description)


def _refuse_beside(description: RobotDescription) -> None:
    """What a tree cannot have, beside a platform or not."""
    from flexdyn_ros.families.platform.refusals import refuse_beside

    refuse_in_trees(description)
    refuse_beside(description)


def _check_mounted(robot: Robot) -> Findings:
    from flexdyn_ros.families.platform.checks import check_mounted

    found, (warnings, notes) = check_bending(robot), check_mounted(robot)
    return found._replace(warnings=found.warnings + warnings, notes=found.notes + notes)


def _expand_mounted(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    from flexdyn_ros.families.platform.expanded import MountedJoints, limit_platform

    parts, efforts = expand_tree(root, robot, segments)
    limit_platform(root, robot.mechanism)
    joints = MountedJoints(robot)
    return [*parts, joints], efforts | joints.efforts


def _appearance_mounted(description: RobotDescription) -> Appearance:
    return replace(_appearance(description), centrelines=tree_appearance(description).centrelines)


#: platforms that are part of a tree, which stand before trees alone
MOUNTED = Family(
    kind="tree",
    claims=lambda description: description.platform_joint is not None,
    functions=_mounted_functions,
    check=_check_mounted,
    expand=_expand_mounted,
    appearance=_appearance_mounted,
    rviz=lambda description: "platform",
    refuse=_refuse_beside,
)

STEWART = Family(
    kind="platform",
    claims=lambda description: description.platform is not None and description.platform_joint is None,
    functions=_functions,
    check=_check,
    expand=_expand,
    appearance=_appearance,
    rviz=lambda description: "platform",
    controller="platform_controller",
    joint_driven=False,
)
