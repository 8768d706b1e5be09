"""Fixed steps of trees with elements: their `Motion` around that of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexdyn_ros.families.trees.elements.kernels.steps import AROUND, DRIVEN, elements_steps_size
from flexdyn_ros.families.trees.elements.model import Element, PackedElements
from flexdyn_ros.robot.motion import Motion


def elements_motion(
    tree: Motion, packed: PackedElements, elements: Sequence[Element], nv: int, driven: np.ndarray
) -> Motion:
    """Motion of elements around that of the tree; driven: limits of efforts, rates and coordinates (4, nc) of
    those that are driven."""
    packed.keep_table(tree.table(), tree.work_size)
    functions = {**tree.functions, **AROUND, **(DRIVEN if driven.size else {})}
    heavy = sum(element.inertia is not None for element in elements)
    names = {c.name for e in elements for c in e.kind.coefficients(e.record)}
    return replace(
        tree,
        functions=functions,
        work_size=elements_steps_size(tree.work_size, len(elements), heavy, nv),
        effort_limit=np.concatenate([tree.effort_limit, driven[0]]),
        lower=np.concatenate([tree.lower, driven[2]]),
        upper=np.concatenate([tree.upper, driven[3]]),
        stiff=tree.stiff or bool(names & {"stiffness", "damping"}),
        switches=(*tree.switches, *dict.fromkeys(e.kind.law.kernel.__module__ for e in elements)),
        keep=(tree, packed),
    )
