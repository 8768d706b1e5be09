"""Which functions compute a tree: chosen once, from its description, when the robot is made; what none of
them can compute is refused (docs/limitations.md)."""

from __future__ import annotations

from collections.abc import Mapping

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.families.trees.layers import Layer
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.multibody.constraints.loop import loops_of, place_of_loop, refuse_loops
from flexdyn_ros.multibody.elements.registry import elements_of, place_of, refuse_element
from flexdyn_ros.multibody.links.registry import refuse_links


def refuse_mixtures(description: RobotDescription) -> None:
    """DescriptionError for an element that does not go with the rest of a tree, or has the name of another
    one, of a joint or of a wheel."""
    taken = {wheel.name: "wheel" for wheel in description.wheels}
    taken |= {joint.name: "joint" for joint in description.joints}
    method = description.formulation.method
    if method != "articulated":
        refuse_links(description, f"beside the method {method}")
    for kind, record in elements_of(description):
        if method != "articulated":
            refuse_element(description, kind, record, f"beside the method {method}")
        if record.name in taken:
            message = f"a {taken[record.name]} has this name"
            place_of(description, kind, record).fail(message, "name", record.name, "a name of its own")
        taken[record.name] = rule_of(kind.record).name
    if description.extras:
        _refuse_loops_beside(description, taken)


def _refuse_loops_beside(description: RobotDescription, taken: Mapping[str, str]) -> None:
    """DescriptionError for loops that do not go with the rest, or have a name that is taken."""
    method = description.formulation.method
    if method != "articulated":
        refuse_loops(description, f"beside the method {method}")
    for loop in loops_of(description):
        if loop.name in taken:
            message = f"a {taken[loop.name]} has this name"
            place_of_loop(description, loop).fail(message, "name", loop.name, "a name of its own")
    if not loops_of(description):
        refuse_loops(description, "without a <loop>")


def layers_between(description: RobotDescription) -> tuple[type[Layer], ...]:
    """Layers of what acts between links: elements, loops around them."""
    layers: tuple[type[Layer], ...] = ()
    if elements_of(description):
        from flexdyn_ros.families.trees.elements.layer import Elements

        layers += (Elements,)
    if description.extras and loops_of(description):
        from flexdyn_ros.families.trees.loops.layer import Loops

        layers += (Loops,)
    return layers


def tree_functions(description: RobotDescription) -> TreeFunctions:
    """Functions of a tree: recursions, or Lagrange's equations."""
    formulation, layers = description.formulation, layers_between(description)
    if layers:
        return TreeFunctions(description, layers=layers)
    if formulation.method != "lagrange":
        return TreeFunctions(description)
    # imported only when asked for: with its modes and integrals it costs as much as all the rest
    from flexdyn_ros.families.trees.lagrange.robot import AffineTreeFunctions, LagrangianTreeFunctions

    bends = formulation.flexible and bool(description.flexible_links)
    chosen = AffineTreeFunctions if bends and formulation.frame == "affine" else LagrangianTreeFunctions
    return chosen(description)
