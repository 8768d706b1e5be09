"""Wheels on a general tree (method `articulated`): their forces around the recursions of trees.

The second, independent path for planar bases, and the only one for floating bases, whose wheels always have
the exact kinematics of their mounts. It goes through numpy: for checks and short studies, not for compiled
steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.kernels.road import road_at
from flexdyn_ros.model.roads import PackedRoad
from flexdyn_ros.model.tree import RigidTree

__all__ = ["ArticulatedWheels"]

#: step of the central differences of wheel forces [m, rad]; the rest of the derivatives is exact
STEP = 1e-6


class _NoShortcut:
    """In place of a one-sample entry: sends the verb on to its general path."""

    def load(self) -> Callable[..., int]:
        return _refuse


def _refuse(*arguments: Any) -> int:
    raise TypeError


class ArticulatedWheels:
    """Entries by the names of kernels/flexible.py, with the forces of the wheels; immutable."""

    inverse_dynamics_one = forward_dynamics_one = mass_matrix_one = _NoShortcut()

    def __init__(self, description: RobotDescription, tree: RigidTree, general: Any, packed: Any) -> None:
        self._general, self._packed, self._nv = general, packed, tree.model.nv
        self._wheels = description.wheels
        self._road = PackedRoad(description.road)
        road = description.road
        self._unilateral = road is not None and road.contact == "unilateral"
        planar = description.base.type == "planar"
        self._small = planar and description.formulation.suspension != "exact"
        self._gravity = description.gravity[2]
        frames = [tree.frames[wheel.link] for wheel in description.wheels]
        self._bodies = np.array([frame.body for frame in frames], dtype=np.int64)
        self._mounts = [f.placement.p + f.placement.R @ w.xyz for f, w in zip(frames, description.wheels)]
        self._level = self._turns(tree)
        at = {c.name: (c.q_index, c.v_index) for c in tree.coordinates}
        self._hubs = [at.get(f"{wheel.name}/hub_z") for wheel in description.wheels]
        self._given = np.array([c.prescribed for c in tree.coordinates], dtype=bool)
        self._of_v = np.array([c.q_index for c in tree.coordinates])
        for name in ("frames_many", "jacobian_many", "momenta_many", "integrate_many", "difference_many"):
            setattr(self, name, getattr(general, name))
        self.mass_matrix_many = general.mass_matrix_many

    def _turns(self, tree: RigidTree) -> np.ndarray:
        """Rotations (wheels, 3, 3) of the wheels' bodies where all coordinates are zero."""
        return self._poses(tree.neutral[None])[0, :, :3, :3]

    def _poses(self, q: np.ndarray) -> np.ndarray:
        """Poses (N, wheels, 4, 4) of the wheels' bodies."""
        same = np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), (len(self._wheels), 1))
        poses = np.empty((len(q), len(self._wheels), 4, 4))
        q = np.array(q)  # entries take no read-only arrays
        self._general.frames_many(self._packed.address, self._packed.work(), q, self._bodies, same, poses)
        return poses

    def _jacobians(self, q: np.ndarray) -> np.ndarray:
        """Jacobians (N, wheels, 6, nv) of the origins of the wheels' bodies."""
        J = np.empty((len(self._wheels), len(q), 6, self._nv))
        q = np.array(q)  # entries take no read-only arrays
        for j, body in enumerate(self._bodies):
            work = self._packed.work()
            self._general.jacobian_many(self._packed.address, work, q, int(body), np.zeros(3), J[j])
        return J.transpose(1, 0, 2, 3)

    def wheels(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In rows of q, v: the six numbers of `wheels_many` (N, wheels, 6), the generalized force of all
        (N, nv) and the energy of springs and tyres (N,)."""
        poses, J = self._poses(q), self._jacobians(q)
        out = np.zeros((len(q), len(self._wheels), 6))
        force, energy = np.zeros((len(q), self._nv)), np.zeros(len(q))
        for s in range(len(q)):
            for j in range(len(self._wheels)):
                energy[s] += self._one(j, q[s], v[s], poses[s, j], J[s, j], out[s, j], force[s])
        return out, force, energy

    def _one(self, j: int, q: Any, v: Any, pose: Any, J: Any, out: Any, force: Any) -> float:
        """One wheel: writes out (6,), adds to force (nv,), returns its energy."""
        wheel, turn = self._wheels[j], pose[:3, :3]
        omega, speed = J[:3] @ v, J[3:] @ v
        if self._small:
            lever = self._level[j] @ self._mounts[j]
            since = turn @ self._level[j].T
            place = pose[:3, 3] + lever + [0.0, 0.0, lever[0] * np.arctan2(since[2, 0], since[0, 0])]
            rate = speed + [0.0, 0.0, -lever[0] * omega[1]]
            arm = np.array([lever[0], 0.0, 0.0])
        else:
            arm = turn @ self._mounts[j]
            place, rate = pose[:3, 3] + arm, speed + np.cross(omega, arm)
        ground, grade, _ = road_at(self._road.address, float(place[0]))
        sinking = grade * rate[0]
        hub, spring, tyre = self._hubs[j], wheel.suspension, wheel.tyre
        low, lowering = (ground, sinking) if hub is None else (q[hub[0]], v[hub[1]])
        length, rising = place[2] - low, rate[2] - lowering
        F = spring.stiffness * (spring.free_length - length) - spring.damping * rising
        push, energy = F, 0.5 * spring.stiffness * (spring.free_length - length) ** 2
        taken = spring.damping * rising**2
        if tyre is not None:
            squeeze, rolling = tyre.radius - (low - ground), lowering - sinking
            push = tyre.stiffness * squeeze - tyre.damping * rolling
            energy += 0.5 * tyre.stiffness * squeeze**2
            taken += tyre.damping * rolling**2
        if self._unilateral and push < 0.0:
            push, F = 0.0, F if tyre is not None else 0.0
        up = np.array([0.0, 0.0, F])
        force += J.T @ np.concatenate([np.cross(arm, up), up])
        if hub is not None and tyre is not None:
            force[hub[1]] += push - F + tyre.mass * self._gravity
        out[:] = push, F, spring.free_length - length, grade, push * sinking, taken
        return energy

    # ---- entries ----

    def inverse_dynamics_many(self, address: int, work: Any, q: Any, v: Any, a: Any, tau: Any) -> int:
        """tau = M a + h."""
        status = self._general.inverse_dynamics_many(address, work, q, v, a, tau)
        if status == 0:
            tau -= self.wheels(q, v)[1]
        return status

    def inverse_dynamics_loaded(
        self, address: int, work: Any, q: Any, v: Any, a: Any, bodies: Any, points: Any, w: Any, tau: Any
    ) -> int:
        """tau = M a + h - sum J' w."""
        status = self._general.inverse_dynamics_loaded(address, work, q, v, a, bodies, points, w, tau)
        if status == 0:
            tau -= self.wheels(q, v)[1]
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
        push = np.zeros_like(tau) if bad.any() else self.wheels(q, v)[1]
        tau += push
        status = self._general.partial_dynamics_many(address, work, M, q, v, tau, given, a, bodies, points, w)
        tau -= push
        return status

    def bias_terms_many(self, address: int, work: Any, q: Any, v: Any, terms: Any) -> int:
        """Parts of h; that of the hubs' weight is external here."""
        status = self._general.bias_terms_many(address, work, q, v, terms)
        if status == 0:
            terms[:, 4] -= self.wheels(q, v)[1]
        return status

    def energy_many(self, address: int, work: Any, q: Any, v: Any, energy: Any) -> int:
        """Kinetic, gravity and elastic energy."""
        status = self._general.energy_many(address, work, q, v, energy)
        if status == 0:
            energy[:, 2] += self.wheels(q, v)[2]
            for wheel, hub in zip(self._wheels, self._hubs):
                if hub is not None and wheel.tyre is not None:
                    energy[:, 1] -= self._gravity * wheel.tyre.mass * q[:, hub[0]]
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
        """Derivatives by q and v; those of the wheels by central differences."""
        status = self._general.inverse_dynamics_derivatives_many(
            address, work, q, v, a, bodies, points, w, dq, dv
        )
        if status:
            return status
        for i in range(self._nv):
            step = np.zeros((len(q), self._nv))
            step[:, i] = STEP
            above, below = np.empty_like(q), np.empty_like(q)
            self._general.integrate_many(address, q, step, 1.0, above)
            self._general.integrate_many(address, q, step, -1.0, below)
            dq[:, :, i] -= (self.wheels(above, v)[1] - self.wheels(below, v)[1]) / (2.0 * STEP)
            dv[:, :, i] -= (self.wheels(q, v + step)[1] - self.wheels(q, v - step)[1]) / (2.0 * STEP)
        return 0
