"""Trees of rigid bodies, flexible links and elastic joints, as the registry knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lxml import etree

from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.expanded.appearance import Appearance, Centreline
from flexdyn_ros.expanded.urdf_joints import Joints, joints_of_the_urdf
from flexdyn_ros.families.record import Family, Findings
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.multibody.links.registry import deforming_links
from flexdyn_ros.robot.coordinates import MODAL

if TYPE_CHECKING:
    from flexdyn_ros.description import RobotDescription
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


def _functions(description: RobotDescription) -> FamilyFunctions:
    from flexdyn_ros.families.trees.formulations import tree_functions

    return tree_functions(description)


def _layers(description: RobotDescription) -> tuple[Any, ...]:
    from flexdyn_ros.families.trees.formulations import layers_between

    return layers_between(description)


def refuse_in_trees(description: RobotDescription) -> None:
    """DescriptionError for what cannot be mixed in a tree, on wheels or not."""
    from flexdyn_ros.families.trees.formulations import refuse_mixtures

    refuse_mixtures(description)


def check_bending(robot: Robot) -> Findings:
    """What there is to say of flexible links, and of elements."""
    found = Findings()
    if robot.description.flexible_links:
        from flexdyn_ros.families.trees.checks import check_tree, report_links

        links = report_links(robot.description)
        found = Findings(*check_tree(robot, links), links)
    if robot.elements:
        from flexdyn_ros.families.trees.elements.checks import (
            findings_of_oil,
            held_by_springs,
            notes_of_elements,
        )

        doubts, notes = findings_of_oil(robot)
        found = found._replace(
            warnings=found.warnings + doubts,
            notes=found.notes + notes_of_elements(robot) + notes,
            held=held_by_springs(robot),
        )
    if robot.functions.is_constrained:
        from flexdyn_ros.families.trees.loops.checks import doubts_of_loops, notes_of_loops

        found = found._replace(
            warnings=found.warnings + doubts_of_loops(robot), notes=found.notes + notes_of_loops(robot)
        )
    return found


def tree_appearance(description: RobotDescription) -> Appearance:
    """The centre lines of flexible links, bent or held rigid."""
    if not description.flexible_links:
        return Appearance()
    from flexdyn_ros.families.trees.flexible.model import settled_link

    lines = {
        name: Centreline(
            f"{name}/beam",
            float(settled_link(description, link).beam.length),
            None if link.beam is None else link.beam.section,
        )
        for name, link in description.flexible_links.items()
    }
    return Appearance(centrelines=lines)


def expand_tree(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    """The joints of the URDF, and those of the segments of the links that bend."""
    from flexdyn_ros.families.trees.flexible.expanded import cut_flexible_links

    for kind, _ in deforming_links(robot.description).values():
        tag = rule_of(kind.record).name
        raise UnsupportedError(f"the expanded description of a robot with <{tag}> links is not possible yet")
    parts, efforts = joints_of_the_urdf(robot)
    bending = {c.body for c in robot.coordinates if c.kind in MODAL}
    if bending:
        parts.append(cut_flexible_links(root, robot, bending, segments))
    if robot.elements:
        from flexdyn_ros.families.trees.elements.expanded import show_lines

        lines, driven = show_lines(root, robot)
        parts.append(lines)
        efforts |= driven
    if any(loop.type == "distance" for loop in loops_of(robot.description)):
        from flexdyn_ros.families.trees.elements.expanded import show_rods

        parts.append(show_rods(root, robot))
    return parts, efforts


def _rviz(description: RobotDescription) -> str:
    return "flexible" if description.flexible_links and description.formulation.flexible else "tree"


TREES = Family(
    kind="tree",
    claims=lambda description: True,
    functions=_functions,
    check=check_bending,
    expand=expand_tree,
    appearance=tree_appearance,
    rviz=_rviz,
    refuse=refuse_in_trees,
    layers=_layers,
)
