"""Wheels on a general tree (method `articulated`): their forces around the recursions of trees.

The second, independent path for planar bases, and the only one for floating bases, whose wheels always have
the exact kinematics of their mounts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.kernels.tree_wheels import tree_wheel_slopes_many, tree_wheels_many
from flexdyn_ros.families.wheeled.packed_wheels import PackedWheels

__all__ = ["ArticulatedWheels"]


class _NoShortcut:
    """In place of a one-sample entry: sends the verb on to its general path."""

    def load(self) -> Callable[..., int]:
        return _refuse


def _refuse(*arguments: Any) -> int:
    raise TypeError


class ArticulatedWheels:
    """Entries by the names of trees/flexible/kernels/entries.py, with the forces of the wheels; immutable."""

    inverse_dynamics_one = forward_dynamics_one = mass_matrix_one = _NoShortcut()

    def __init__(self, tree: RigidTree, general: Any, packed: PackedWheels, wheels: int) -> None:
        self._general, self._packed, self._nv, self._count = general, packed, tree.model.nv, wheels
        self._given = np.array([c.prescribed for c in tree.coordinates], dtype=bool)
        for name in ("frames_many", "jacobian_many", "momenta_many", "integrate_many", "difference_many"):
            setattr(self, name, getattr(general, name))
        self.mass_matrix_many = general.mass_matrix_many

    def wheels(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In rows of q, v: the six numbers of `wheels_many` (N, wheels, 6), the generalized forces of all
        wheels and of the hubs' weight (N, 2, nv), and the energies of springs and tyres and of that weight
        (N, 2)."""
        out = np.empty((len(q), self._count, 6))
        force, energy = np.empty((len(q), 2, self._nv)), np.empty((len(q), 2))
        # entries take no read-only arrays
        tree_wheels_many(
            self._packed.address, self._packed.wheel_work(), np.array(q), np.array(v), out, force, energy
        )
        return out, force, energy

    def _push(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalized force (N, nv) of wheels and of the hubs' weight."""
        return self.wheels(q, v)[1].sum(axis=1)

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
            address, self._packed.work(), M, q, v, tau.copy(), self._given, a, bodies, points, w
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

    def bias_terms_many(self, address: int, work: Any, q: Any, v: Any, terms: Any) -> int:
        """Parts of h."""
        status = self._general.bias_terms_many(address, work, q, v, terms)
        if status == 0:
            force = self.wheels(q, v)[1]
            terms[:, 4] -= force[:, 0]
            terms[:, 1] -= force[:, 1]
        return status

    def energy_many(self, address: int, work: Any, q: Any, v: Any, energy: Any) -> int:
        """Kinetic, gravity and elastic energy."""
        status = self._general.energy_many(address, work, q, v, energy)
        if status == 0:
            springs = self.wheels(q, v)[2]
            energy[:, 2] += springs[:, 0]
            energy[:, 1] += springs[:, 1]
        return status

    def inverse_dynamics_derivatives_many(
        self,
        address: int,
        work: Any,
        q: Any,
        v: Any,
        a: Any,
        bodies: Any,
        points: Any,
        w: Any,
        dq: Any,
        dv: Any,
    ) -> int:
        """Derivatives by q and v."""
        status = self._general.inverse_dynamics_derivatives_many(
            address, work, q, v, a, bodies, points, w, dq, dv
        )
        if status == 0:
            by_q, by_v = np.empty_like(dq), np.empty_like(dv)
            room = self._packed.wheel_work(np.complex128)
            tree_wheel_slopes_many(address, room, np.array(q), np.array(v), by_q, by_v)
            dq -= by_q
            dv -= by_v
        return status
