"""Parameters that a node was given and does not have: which, and which one may be meant."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.nodes.parameters import NODES, declared_names

#: parameters that every node of ROS has
OF_ROS = ("use_sim_time", "start_type_description_service")
#: and those whose names begin so
PREFIXES_OF_ROS = ("qos_overrides.",)


@cache
def names_of_node(node: str) -> tuple[str, ...]:
    """Names of the parameters of a node of ours; NAME stands for a coordinate."""
    return tuple(name for name, _ in declared_names(NODES[node]))


def unknown(node: str, given: Iterable[str]) -> list[str]:
    """Those of the given parameters that a node does not have."""
    return [name for name in given if not _has(node, name)]


def is_of_another(name: str) -> bool:
    """Whether some node of ours has a parameter of that name."""
    return any(_has(node, name) for node in NODES)


def complaint(node: str, name: str) -> str:
    """That a node has no parameter of that name, and which one may be meant."""
    return f"{node}: {UnknownNameError('parameter', name, names_of_node(node))}"


def _has(node: str, name: str) -> bool:
    if name in OF_ROS or name.startswith(PREFIXES_OF_ROS) or name in names_of_node(node):
        return True
    # of coordinates: constraints.elbow.goal, initial.positions.boom_1/bending_z/1
    for pattern in names_of_node(node):
        before, found, after = pattern.partition("NAME")
        if found and name.startswith(before) and name.endswith(after) and len(name) > len(before + after):
            return True
    # of several robots: left.description_file
    return "robots" in names_of_node(node) and name.rpartition(".")[2] in _robot_names()


@cache
def _robot_names() -> tuple[str, ...]:
    from flexdyn_ros.nodes.ros.robot_parameters import RobotParameters

    return tuple(about.name for about in rule_of(RobotParameters).attributes)
