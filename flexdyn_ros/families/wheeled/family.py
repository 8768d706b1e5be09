"""Arms on wheels, as the registry knows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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


def _layers(description: RobotDescription) -> tuple[Any, ...]:
    from flexdyn_ros.families.trees.formulations import layers_between
    from flexdyn_ros.families.wheeled.layer import Wheels

    return (Wheels, *layers_between(description))


def _functions(description: RobotDescription) -> FamilyFunctions:
    from flexdyn_ros.families.trees.robot import TreeFunctions

    return TreeFunctions(description, layers=_layers(description))


def _check(robot: Robot) -> Findings:
    from flexdyn_ros.families.wheeled.checks import check_mobile

    found = check_bending(robot)
    warnings, notes = check_mobile(robot)
    return found._replace(warnings=found.warnings + warnings, notes=found.notes + notes)


def _expand(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    from flexdyn_ros.families.wheeled.expanded import hang_wheels

    parts, efforts = expand_tree(root, robot, segments)
    return [*parts, hang_wheels(root, robot)], efforts


def _appearance(description: RobotDescription) -> Appearance:
    from flexdyn_ros.families.wheeled.kernels.road import road_at
    from flexdyn_ros.families.wheeled.roads import PackedRoad

    road = PackedRoad(description.road)

    def heights(x: np.ndarray) -> np.ndarray:
        return np.array([road_at(road.address, float(value))[0] for value in x])

    return replace(tree_appearance(description), wheels=description.wheels, road=heights)


#: parameters of the elements of a wheel
_OF_WHEEL = {"suspension": ("stiffness", "damping"), "tyre": ("stiffness", "damping", "mass")}


def _parameter_paths(description: RobotDescription) -> Iterator[tuple[str, str]]:
    for wheel in description.wheels:
        for element, parts in _OF_WHEEL.items():
            for part in parts:
                yield f"{wheel.name}/{element}_{part}", f"wheels.{wheel.name}.{element}.{part}"


WHEELED = Family(
    kind="mobile",
    claims=lambda description: bool(description.wheels),
    functions=_functions,
    check=_check,
    expand=_expand,
    appearance=_appearance,
    rviz=lambda description: "mobile",
    parameter_paths=_parameter_paths,
    refuse=refuse_in_trees,
    layers=_layers,
)
