"""A flexible tree's arrays behind one address, as the entries of flexible/kernels/entries.py take them."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.entries import verbs
from flexdyn_ros.families.trees.flexible.kernels.views import FLEXIBLE_HEADER, flexible_work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree


class PackedFlexibleTree:
    """Keeps the memory of a model alive and hands out its address; see PackedTree."""

    def __init__(self, tree: RigidTree) -> None:
        m, flexible = tree.model, tree.flexible
        assert flexible is not None
        self._ints = np.concatenate([m.parent, m.joint_type, m.q_index, m.v_index, m.q_of_v])
        self._floats = np.concatenate([m.ratio, m.offset, m.placement, m.inertia, m.dof, m.gravity])
        self._tables, self._numbers = flexible.ints.copy(), flexible.numbers.copy()
        self._size = flexible_work_size(m.nb, m.nq, m.nv, flexible.blocks)
        self._work = np.zeros(self._size)
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
                len(flexible.links),
                self._tables.ctypes.data,
                self._numbers.ctypes.data,
                self._size,
            ],
            dtype=np.int64,
        )
        assert self._header.size == FLEXIBLE_HEADER
        self.address = int(self._header.ctypes.data)
        verbs.prepare_one(self.address)

    @property
    def numbers(self) -> int:
        """Numbers of work memory that the kernels take."""
        return self._size

    @property
    def floats(self) -> tuple[np.ndarray, ...]:
        """The arrays of floats that kernels read."""
        return self._floats, self._numbers
