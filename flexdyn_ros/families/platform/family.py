"""Platforms on six legs, as the registry knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from flexdyn_ros.description.elements.platforms import prefix_of
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.families.record import Family, Findings

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
    """The platforms and the links that their legs stand on are plates."""
    above = {joint.child: joint for joint in description.joints}
    points: dict[str, list[Sequence[float]]] = {}
    legs: dict[str, tuple[str, str]] = {}
    for platform in description.platforms:
        points.setdefault(platform.link, []).extend(leg.anchor for leg in platform.legs)
        for leg in platform.legs:
            joint = slider = description.joint(leg.slider)
            legs[leg.name] = slider.parent, slider.child
            while joint.parent in above and above[joint.parent].type != "floating":
                joint = above[joint.parent]
            points.setdefault(joint.parent, []).append(joint.xyz)
    return Appearance(
        plates={
            link: np.array(rows) for link, rows in points.items() if link not in description.flexible_links
        },
        legs=legs,
        carried={p.link: prefix_of(p, description.platforms) for p in description.platforms},
    )


def mounted(within: Family) -> Family:
    """Robots of a family of trees with platforms in them: it stands before that family."""

    def functions(description: RobotDescription) -> FamilyFunctions:
        from flexdyn_ros.families.platform.mounting import Mounting, with_legs
        from flexdyn_ros.families.trees.robot import TreeFunctions

        assert within.layers is not None
        with_elements = with_legs(description)
        return TreeFunctions(with_elements, layers=(Mounting, *within.layers(with_elements)))

    def refuse(description: RobotDescription) -> None:
        from flexdyn_ros.families.platform.refusals import refuse_beside

        within.refuse(description)
        refuse_beside(description)

    def check(robot: Robot) -> Findings:
        from flexdyn_ros.families.platform.checks import check_mounted

        found, (warnings, notes) = within.check(robot), check_mounted(robot)
        return found._replace(warnings=found.warnings + warnings, notes=found.notes + notes)

    def expand(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
        from flexdyn_ros.families.platform.expanded import mounted_joints

        parts, efforts = within.expand(root, robot, segments)
        joints = mounted_joints(root, robot)
        return [*parts, *joints], efforts | {name: at for each in joints for name, at in each.efforts.items()}

    def appearance(description: RobotDescription) -> Appearance:
        own = _appearance(description)
        return replace(within.appearance(description), plates=own.plates, legs=own.legs, carried=own.carried)

    return replace(
        within,
        claims=lambda description: bool(description.mounts) and within.claims(description),
        functions=functions,
        refuse=refuse,
        check=check,
        expand=expand,
        appearance=appearance,
        rviz=lambda description: "platform",
    )


STEWART = Family(
    kind="platform",
    claims=lambda description: description.platform is not None and not description.mounts,
    functions=_functions,
    check=_check,
    expand=_expand,
    appearance=_appearance,
    rviz=lambda description: "platform",
    controller="platform_controller",
    joint_driven=False,
)
