"""What the package knows of a family of robots: one record of data and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.expanded.urdf_joints import Joints, joints_of_the_urdf

if TYPE_CHECKING:
    from lxml import etree

    from flexdyn_ros.families.trees.checks import FlexibleLinkReport
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


class Findings(NamedTuple):
    """Results of the checks that are a family's own."""

    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    links: tuple[FlexibleLinkReport, ...] = ()


def _expand_joints(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    """The joints of the URDF alone."""
    return joints_of_the_urdf(robot)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of robots; functions import what they need when they are called.

    Parameters
    ----------
    kind : str
        `Robot.kind`, by which others name the family.
    claims : callable (description) -> bool
        Whether a description is of this family. Of several that claim one, the first in the registry has it.
    functions : callable (description) -> FamilyFunctions
        What computes the verbs; DescriptionError or UnsupportedError if it cannot.
    check : callable (robot) -> Findings
        Model checks and warnings of `flexdyn_ros.check`.
    expand : callable (root, robot, segments) -> (parts, efforts)
        Adds the family's frames and joints to the tree of elements of the expanded description; what moves
        its joints, and the column of tau of each that has an actuator.
    elements : tuple of classes
        Elements of `<flexdyn>` that only this family has, made by `vocabulary.element`.
    rviz : callable (description) -> str
        Which of the files rviz/NAME.rviz shows the robot.
    controller : str
        The node that leads the robot by default: pd_controller leads every robot that is driven joint by
        joint, another one robots of its family alone.
    """

    kind: str
    claims: Callable[[RobotDescription], bool]
    functions: Callable[[RobotDescription], FamilyFunctions]
    check: Callable[[Robot], Findings] = lambda robot: Findings()
    expand: Callable[[etree._Element, Robot, int | None], Joints] = _expand_joints
    elements: tuple[type, ...] = ()
    rviz: Callable[[RobotDescription], str] = lambda description: "tree"
    controller: str = "pd_controller"
