"""Parameters of a tree: of its rigid bodies and joints, then of its beams."""

from __future__ import annotations

from collections.abc import Mapping

from flexdyn_ros.families.trees.rigid import parameters as rigid
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.parameters import Parameter


def parameters_of(tree: RigidTree) -> tuple[Parameter, ...]:
    """All parameters."""
    found = rigid.parameters_of(tree)
    if tree.flexible is None:
        return found
    from flexdyn_ros.families.trees.flexible.parameters import beam_parameters

    return found + beam_parameters(tree)


def changed(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree with other values of some."""
    bodies = rigid.changed(tree, values)
    if tree.flexible is None:
        return bodies
    from flexdyn_ros.families.trees.flexible.parameters import with_beams

    return with_beams(bodies, values)
