"""Wheels on a general tree (method `articulated`): their forces around the recursions of trees.

The second, independent path for planar bases, and the only one for floating bases, whose wheels always have
the exact kinematics of their mounts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.kernels.tree_wheels import (
    WHEEL_ROWS,
    tree_wheels_many,
    weigh_hubs,
    wheeled_header,
    wheels_push,
)
from flexdyn_ros.families.wheeled.kernels.tree_wheels import slopes as wheels
from flexdyn_ros.families.wheeled.packed_wheels import PackedWheels
from flexdyn_ros.numerics.verbs.kernels_of import InterpretedKernels

__all__ = ["ArticulatedWheels", "WheelsAround"]

#: entries and C functions of the tree that wheels leave as they are, or that the verbs add wheels to
_OF_THE_TREE = (
    "mass_matrix_many", "status", "frames", "jacobian", "momenta", "bias_terms", "energy", "moved",
)  # fmt: skip


class WheelsAround(NamedTuple):
    """What wheels add to a tree, in rows of states.

    numbers (N, wheels, 6): of `wheels_many`; force (N, 2, nv): generalized, of all wheels and of the hubs'
    weight; energy (N, 2): of springs and tyres, and of that weight.
    """

    numbers: np.ndarray
    force: np.ndarray
    energy: np.ndarray


class ArticulatedWheels:
    """Entries by the names of trees/flexible/kernels/entries.py, with the forces of the wheels; immutable."""

    def __init__(self, tree: RigidTree, general: Any, packed: PackedWheels, wheels: int) -> None:
        self._general, self._packed, self._nv, self._count = general, packed, tree.model.nv, wheels
        self._given = np.array([c.prescribed for c in tree.coordinates], dtype=bool)
        for name in _OF_THE_TREE:
            setattr(self, name, getattr(general, name))

    def wheels(self, q: np.ndarray, v: np.ndarray) -> WheelsAround:
        """In rows of q, v."""
        out = np.empty((len(q), self._count, 6))
        force, energy = np.empty((len(q), 2, self._nv)), np.empty((len(q), 2))
        # entries take no read-only arrays
        tree_wheels_many(
            self._packed.address, np.zeros(self._packed.numbers), np.array(q), np.array(v), out, force, energy
        )
        return WheelsAround(out, force, energy)

    def _push(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalized force (N, nv) of wheels and of the hubs' weight."""
        return self.wheels(q, v).force.sum(axis=1)

    @property
    def kernels(self) -> InterpretedKernels:
        """The tree's kernels with the forces of the wheels."""
        tree, nv, count = self._general.kernels, self._nv, self._count

        def inverse(address: int, work: Any, q: Any, v: Any, a: Any, tau: Any) -> None:
            size = wheeled_header(address)[WORK_SIZE]
            rows, wrench = work[size : size + WHEEL_ROWS * count], work[size + WHEEL_ROWS * count :]
            force = np.zeros(nv, dtype=tau.dtype)
            wheels_push(address, work[:size], q, v, rows, wrench, force)
            weigh_hubs(address, force)
            tree.prepare(address, work)
            tree.inverse(address, work, q, v, a, tau)
            tau -= force

        return InterpretedKernels(tree.prepare, inverse, tree.mass, tree.frames)

    # ---- entries ----

    def inverse_dynamics_many(self, address: int, work: Any, q: Any, v: Any, a: Any, tau: Any) -> int:
        """tau = M a + h."""
        status = self._general.inverse_dynamics_many(address, work, q, v, a, tau)
        if status == 0:
            tau -= self._push(q, v)
        return status

    def inverse_dynamics_loaded(
        self, address: int, work: Any, q: Any, v: Any, a: Any, bodies: Any, points: Any, w: Any, tau: Any
    ) -> int:
        """tau = M a + h - sum J' w."""
        status = self._general.inverse_dynamics_loaded(address, work, q, v, a, bodies, points, w, tau)
        if status == 0:
            tau -= self._push(q, v)
        return status

    def forward_dynamics_many(self, address: int, work: Any, q: Any, v: Any, tau: Any, a: Any) -> int:
        """a = M^-1 (tau - h), of prescribed coordinates 0."""
        none = np.zeros((0, 3)), np.zeros((len(q), 0, 6))
        return self.forward_dynamics_loaded(address, work, q, v, tau, np.zeros(0, dtype=np.int64), *none, a)

    def forward_dynamics_loaded(
        self, address: int, work: Any, q: Any, v: Any, tau: Any, bodies: Any, points: Any, w: Any, a: Any
    ) -> int:
        """a = M^-1 (tau - h + sum J' w), of prescribed coordinates 0."""
        a[...] = 0.0
        M = np.empty((self._nv, self._nv))
        return self.partial_dynamics_many(
            address, work, M, q, v, tau.copy(), self._given, a, bodies, points, w
        )

    def partial_dynamics_many(
        self, address: int, work: Any, M: Any, q: Any, v: Any, tau: Any, given: Any, a: Any, bodies: Any,
        points: Any, w: Any,
    ) -> int:  # fmt: skip
        """Motion with some accelerations given."""
        bad = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
        push = np.zeros_like(tau) if bad.any() else self._push(q, v)
        tau += push
        status = self._general.partial_dynamics_many(address, work, M, q, v, tau, given, a, bodies, points, w)
        tau -= push
        return status

    def balance_slopes(
        self,
        address: int,
        work: Any,
        q: Any,
        v: Any,
        a: Any,
        tau: Any,
        bodies: Any,
        points: Any,
        w: Any,
        slopes: Any,
    ) -> int:
        """Derivatives of the balance of forces by q and v."""
        status = self._general.balance_slopes(address, work, q, v, a, tau, bodies, points, w, slopes)
        if status == 0:
            of_wheels = np.empty_like(slopes)
            wheels.balance_slopes(address, work, q, v, a, tau, bodies, points, w, of_wheels)
            slopes += of_wheels
        return status
