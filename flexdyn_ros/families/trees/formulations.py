"""Which functions compute a tree: chosen once, from its description, when the robot is made."""

from __future__ import annotations

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.multibody.elements.registry import elements_of


def tree_functions(description: RobotDescription) -> TreeFunctions:
    """Functions of a tree whose joints are stiff: recursions, or Lagrange's equations."""
    formulation = description.formulation
    if elements_of(description):
        from flexdyn_ros.families.trees.elements.robot import ElementTreeFunctions

        return ElementTreeFunctions(description)
    if formulation.method != "lagrange":
        return TreeFunctions(description)
    # imported only when asked for: with its modes and integrals it costs as much as all the rest
    from flexdyn_ros.families.trees.lagrange.robot import AffineTreeFunctions, LagrangianTreeFunctions

    bends = formulation.flexible and bool(description.flexible_links)
    chosen = AffineTreeFunctions if bends and formulation.frame == "affine" else LagrangianTreeFunctions
    return chosen(description)
