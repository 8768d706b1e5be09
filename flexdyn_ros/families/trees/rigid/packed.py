"""A tree's arrays behind one address, as the entries of rigid/kernels/entries.py take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.rigid.kernels.views import work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE


class PackedTree:
    """Keeps the memory of a model alive and hands out its address.

    Parameters
    ----------
    tree : RigidTree
    numbers : int, optional
        Numbers of work memory that the kernels take; those of a rigid tree by default.
    words : sequence of int or array
        What the header holds behind the words of a rigid tree; see `Header`.

    Attributes
    ----------
    address : int
        Of the header (rigid/kernels/views.py).
    floats : tuple of the arrays of floats that kernels read
    """

    def __init__(self, tree: RigidTree, numbers: int | None = None, words: Sequence[object] = ()) -> None:
        m = tree.model
        ints = np.concatenate([m.parent, m.joint_type, m.q_index, m.v_index, m.q_of_v])
        joints = m.ratio, m.offset, m.turn, m.slide
        floats = np.concatenate([*joints, m.placement, m.inertia, m.dof, m.gravity])
        self.floats = (floats, *(x for x in words if isinstance(x, np.ndarray) and x.dtype == np.float64))
        self.numbers = work_size(m.nb, m.nq, m.nv) if numbers is None else numbers
        n_free = int(np.count_nonzero((m.joint_type[1:] == FREE) | (m.joint_type[1:] == BALL)))
        own = (m.nb, m.nq, m.nv, ints, floats, tree.has_mimic, n_free)
        self.header = Header(*own, *words)
        self.address = self.header.address
