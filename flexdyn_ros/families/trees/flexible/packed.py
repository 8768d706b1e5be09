"""A flexible tree's arrays behind one address, as the entries of flexible/kernels/entries.py take them."""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.entries import verbs
from flexdyn_ros.families.trees.flexible.kernels.views import flexible_work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.packed import PackedTree


def pack_flexible(tree: RigidTree) -> PackedTree:
    """The memory of a tree with flexible links."""
    m, flexible = tree.model, tree.flexible
    assert flexible is not None
    size = flexible_work_size(m.nb, m.nq, m.nv, flexible.blocks)
    words = (len(flexible.links), flexible.ints.copy(), flexible.numbers.copy(), size)
    return PackedTree(tree, verbs, size, words)
