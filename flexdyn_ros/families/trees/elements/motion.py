"""Fixed steps of trees with elements, by the layer's functions around the tree's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.families.trees.elements.model import Element
from flexdyn_ros.families.trees.elements.packed import PackedElements
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.motion import Motion

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.elements.oil import Oil


def elements_motion(
    tree: Motion,
    packed: PackedElements,
    elements: Sequence[Element],
    driven: Sequence[Coordinate],
    oil: Oil | None,
) -> Motion:
    """Motion of elements around that of the tree; driven: coordinates of those that are driven."""
    packed.provide_rows()
    if oil is not None:
        from flexdyn_ros.families.trees.elements.kernels.oil import hydraulic
        from flexdyn_ros.families.trees.elements.oil import OIL_SWITCHES

        table = tree.table.with_rows(hydraulic)
        tree = replace(tree, table=table, memory=oil.memory(), switches=(*tree.switches, *OIL_SWITCHES))
    names = {c.name for e in elements for c in e.kind.coefficients(e.record)}
    return replace(
        tree,
        work_size=packed.take_steps(tree.work_size),
        effort_limit=np.concatenate([tree.effort_limit, [c.effort_limit for c in driven]]),
        lower=np.concatenate([tree.lower, [c.lower for c in driven]]),
        upper=np.concatenate([tree.upper, [c.upper for c in driven]]),
        stiff=tree.stiff or bool(names & {"stiffness", "damping"}),
        switches=(*tree.switches, *dict.fromkeys(e.kind.law.kernel.__module__ for e in elements)),
        keep=(tree, packed, oil),
    )
