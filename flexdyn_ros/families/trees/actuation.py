"""Which coordinates of a tree have an actuator of their own: none where a cylinder moves the joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.rigid.model import RigidTree


def with_actuation(
    tree: RigidTree, description: RobotDescription, driven: Iterable[tuple[int, int]]
) -> RigidTree:
    """The tree whose coordinates are actuated as `<actuation>` says; driven: nodes at the ends of each
    cylinder, between which joints are passive unless that names them active."""
    stated: Any = next(iter(description.extras.get("actuation", ())), None)
    active, passive = ((), ()) if stated is None else (stated.active, stated.passive)
    moved = {tree.body_links[node] for ends in driven for node in _between(tree, *ends)}
    children = {joint.name: joint.child for joint in description.joints}
    idle = (moved - {children[name] for name in active}) | {children[name] for name in passive}
    if not idle:
        return tree
    coordinates = tuple(
        replace(c, actuated=False) if c.kind in ("joint", "motor") and c.body in idle else c
        for c in tree.coordinates
    )
    return replace(tree, coordinates=coordinates)


def _between(tree: RigidTree, base: int, end: int) -> set[int]:
    """Nodes whose joints are on the way from one node to another."""
    return _below(tree, base) ^ _below(tree, end)


def _below(tree: RigidTree, node: int) -> set[int]:
    """A node and those that carry it, without the world."""
    found = set()
    while node > 0:
        found.add(node)
        node = int(tree.model.parent[node])
    return found
