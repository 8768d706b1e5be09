"""A platform's numbers behind one address, as the entries of kernels/entries.py take them."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.stewart.kernels.views import WORK_NUMBERS
from flexdyn_ros.families.stewart.model import PlatformTables
from flexdyn_ros.families.trees.rigid.kernels.views import DOF_NUMBERS, SMOOTHING, STRIBECK, TreeModel
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.numerics.algebra.manifold import FREE


class PackedPlatform:
    """Keeps the memory of a model alive and hands out its address; see PackedTree.

    plain: take the kernels of axisymmetric legs where all legs are.
    """

    def __init__(self, tables: PlatformTables, *, plain: bool = True) -> None:
        #: numbers of work memory that the kernels take
        self.numbers = WORK_NUMBERS
        numbers = tables.numbers.copy()
        #: the arrays of floats that kernels read
        self.floats = (numbers,)
        self._header = Header(tables.universal, plain and tables.axisymmetric, numbers)
        self.address = self._header.address


def pose_manifold(gravity: np.ndarray) -> PackedTree:
    """A free body without mass: its configuration space is that of a platform's pose."""
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
        inertia=np.zeros(20),
        dof=dof.ravel(),
        gravity=np.asarray(gravity, dtype=float),
    )
    return PackedTree(RigidTree(model, (), (), {}, (), np.zeros(7), has_mimic=False, warnings=()))
