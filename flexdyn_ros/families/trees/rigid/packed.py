"""A tree's arrays behind one address, as the entries of rigid/kernels/entries.py take them."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels.entries import verbs
from flexdyn_ros.families.trees.rigid.kernels.views import HEADER, TreeModel, work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree


class PackedTree:
    """Keeps the memory of a model alive and hands out its address.

    Parameters
    ----------
    tree : RigidTree

    Attributes
    ----------
    address : int
        Of the header (rigid/kernels/views.py).
    """

    def __init__(self, tree: RigidTree) -> None:
        m: TreeModel = tree.model
        self._ints = np.concatenate([m.parent, m.joint_type, m.q_index, m.v_index, m.q_of_v])
        self._floats = np.concatenate([m.ratio, m.offset, m.placement, m.inertia, m.dof, m.gravity])
        self._work = np.zeros(work_size(m.nb, m.nq, m.nv))
        n_free = int(np.count_nonzero(m.joint_type[1:] == 2))
        self._header = np.array(
            [
                m.nb,
                m.nq,
                m.nv,
                self._ints.ctypes.data,
                self._floats.ctypes.data,
                self._work.ctypes.data,
                tree.has_mimic,
                n_free,
            ],
            dtype=np.int64,
        )
        assert self._header.size == HEADER
        self.address = int(self._header.ctypes.data)
        verbs.prepare_one(self.address)

    @property
    def numbers(self) -> int:
        """Numbers of work memory that the kernels take."""
        return self._work.size

    @property
    def floats(self) -> tuple[np.ndarray, ...]:
        """The arrays of floats that kernels read."""
        return (self._floats,)
