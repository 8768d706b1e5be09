"""Fixed steps and forward dynamics of trees with elements, by the layer's functions around the tree's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexdyn_ros.families.trees.elements.kernels import views
from flexdyn_ros.families.trees.elements.kernels.steps import AROUND, DRIVEN, elements_steps_size, solve_rows
from flexdyn_ros.families.trees.elements.model import Element, PackedElements
from flexdyn_ros.numerics.stepping.table import ACCELERATE, EXERT, PREPARE
from flexdyn_ros.robot.motion import Motion


def elements_motion(
    tree: Motion, packed: PackedElements, elements: Sequence[Element], nv: int, driven: np.ndarray
) -> Motion:
    """Motion of elements around that of the tree; driven: limits of efforts, rates and coordinates (4, nc) of
    those that are driven."""
    packed.provide(("energy",))
    packed.provide_steps(tree.functions, tree.work_size, {views.SOLVE: solve_rows})
    functions = {**tree.functions, **AROUND, **(DRIVEN if driven.size else {})}
    names = {c.name for e in elements for c in e.kind.coefficients(e.record)}
    return replace(
        tree,
        functions=functions,
        work_size=_work_size(tree, elements, nv),
        effort_limit=np.concatenate([tree.effort_limit, driven[0]]),
        lower=np.concatenate([tree.lower, driven[2]]),
        upper=np.concatenate([tree.upper, driven[3]]),
        stiff=tree.stiff or bool(names & {"stiffness", "damping"}),
        switches=(*tree.switches, *dict.fromkeys(e.kind.law.kernel.__module__ for e in elements)),
        keep=(tree, packed),
    )


def provide_acceleration(
    tree: Motion, packed: PackedElements, elements: Sequence[Element], nv: int, nu: int
) -> None:
    """Let `packed` give forward dynamics of single states by the functions of a step of no length."""
    needed = {place: tree.functions[place] for place in (PREPARE, ACCELERATE)}
    own = {views.ACCELERATE: AROUND[ACCELERATE]}
    if nu > nv:
        own[views.EXERT] = DRIVEN[EXERT]
    if any(element.inertia is not None for element in elements):
        own[views.SOLVE] = solve_rows
    packed.provide_steps(needed, tree.work_size, own, _work_size(tree, elements, nv) + nv + nu)


def _work_size(tree: Motion, elements: Sequence[Element], nv: int) -> int:
    heavy = sum(element.inertia is not None for element in elements)
    return elements_steps_size(tree.work_size, len(elements), heavy, nv)
