"""A platform's numbers behind one address, as the entries of kernels/entries.py take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from flexdyn_ros.families.platform.kernels import entries, steps, views
from flexdyn_ros.families.platform.model import PlatformTables
from flexdyn_ros.families.trees.elements.kernels import standing
from flexdyn_ros.families.trees.elements.kernels import views as layout
from flexdyn_ros.families.trees.elements.model import Element, End
from flexdyn_ros.families.trees.elements.packed import PackedElements
from flexdyn_ros.families.trees.motion import tree_table
from flexdyn_ros.families.trees.rigid.kernels import entries as rigid
from flexdyn_ros.families.trees.rigid.kernels import steps as rigid_steps
from flexdyn_ros.families.trees.rigid.kernels.views import DOF_NUMBERS, SMOOTHING, STRIBECK, TreeModel
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.multibody.elements import leg
from flexdyn_ros.numerics.algebra.manifold import FREE
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.numerics.compiling.callbacks import Callback


class PackedPlatform(PackedElements):
    """Keeps the memory of a platform alive and hands out its address: a free body, legs that stand on the
    world, and numbers of what legs are beside that.

    plain: take the kernels of axisymmetric legs where legs are.
    """

    standing_inner = entries.inner
    standing_layer: ClassVar[Mapping[str, Callback]] = {
        **standing.layer,
        **entries.functions,
        **steps.functions,
    }
    standing_calls = tuple(
        (column, field, callers | entries.CALLERS.get(field, frozenset()))
        for column, field, callers in standing.ASKED
    )

    def __init__(self, tables: PlatformTables, *, plain: bool = True) -> None:
        tree, numbers = free_body(tables.numbers), tables.numbers.copy()
        super().__init__(
            PackedTree(tree), tree, _elements_of(tables), tree_table(tree, rigid, rigid_steps), plain=plain
        )
        self.header.put({views.UNIVERSAL: tables.universal, views.NUMBERS: numbers})
        self.header.put({layout.NU: views.LEGS, layout.EFFORTS_AT: 0})
        self.floats = (*self.floats, numbers)
        # legs that are told their forces lose nothing
        self.wrapped = self.wrapped.without("losses")

    def open(self, names: tuple[str, ...]) -> None:
        """See `PackedElements`; cylinders with oil are seen all at once."""
        super().open(names)
        if "actuate" in names:
            self.header.put({layout.SEEN: steps.see_cylinders})


def _elements_of(tables: PlatformTables) -> tuple[Element, ...]:
    kind = leg.KINDS[0]
    ends = zip(tables.feet, tables.anchors, strict=True)
    placed = [tuple(End(i, Placement(np.eye(3), p.copy())) for i, p in enumerate(pair)) for pair in ends]
    return tuple(
        Element(kind, record, base, end, tuple(map(float, kind.numbers(record))))
        for record, (base, end) in zip(tables.leg_records(), placed, strict=True)
    )


def free_body(numbers: np.ndarray) -> RigidTree:
    """The platform without its legs; numbers: of kernels/views.py."""
    none = np.zeros(2, dtype=np.int64)
    dof = np.zeros((6, DOF_NUMBERS))
    dof[:, [STRIBECK, SMOOTHING]] = 1.0
    model = TreeModel(
        nb=2,
        nq=7,
        nv=6,
        parent=none,
        joint_type=np.array([0, FREE], dtype=np.int64),
        q_index=none,
        v_index=none,
        q_of_v=np.array([-1, -1, -1, 0, 1, 2], dtype=np.int64),
        ratio=np.ones(2),
        offset=np.zeros(2),
        turn=np.zeros(2),
        slide=np.zeros(2),
        placement=np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), 2),
        inertia=np.concatenate([np.zeros(10), numbers[views.MASS : views.MASS + 10]]),
        dof=dof.ravel(),
        gravity=numbers[views.GRAVITY : views.GRAVITY + 3].copy(),
    )
    return RigidTree(model, (), (), {}, (), np.zeros(7), has_mimic=False, warnings=())
