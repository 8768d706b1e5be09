"""The regressor of a tree: tau = Y p + tau0, p the parameters of `parameters.py`.

Columns of a body are what its wrench does along its link's Jacobian: J^T (n; f), with f = m a + alpha x c +
w x (w x c) and n = c x a + I alpha + w x I w about the link's origin, a its acceleration less gravity, c mass
times centre of mass (Atkeson, An & Hollerbach 1986). A number of a joint acts on the joint's own effort.
Rigid trees have a recursion for it (rigid/kernels/regressor.py). The columns of beams are differences of
inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from flexdyn_ros.families.trees.rigid import parameters as rigid
from flexdyn_ros.families.trees.rigid.kernels.regressor import (
    joint_columns_many,
    regressor_many,
    regressor_one,
)
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.parameters import links_of, unit_rows_of
from flexdyn_ros.numerics.algebra.placement import cross_matrices
from flexdyn_ros.robot.analysis.probes import Probes
from flexdyn_ros.robot.arguments import Rows, warn_of_overflow
from flexdyn_ros.robot.entries.functions import EntryFunctions
from flexdyn_ros.robot.parameters import Parameter


def parameters_of(tree: RigidTree) -> tuple[Parameter, ...]:
    """All parameters."""
    found = rigid.parameters_of(tree)
    if tree.flexible is None:
        return found
    from flexdyn_ros.families.trees.flexible.parameters import beam_parameters

    return found + beam_parameters(tree)


def changed(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree with other values of some."""
    bodies = rigid.changed(tree, values)
    if tree.flexible is None:
        return bodies
    from flexdyn_ros.families.trees.flexible.parameters import with_beams

    return with_beams(bodies, values)


def warn_of_changes(before: RigidTree, after: RigidTree) -> None:
    """Warn of other values that no real robot has; to be called by `with_parameters`."""
    if after.flexible is not None:
        from flexdyn_ros.families.trees.flexible.parameters import warn_of_gain

        warn_of_gain(before, after)


class TreeRegressor:
    """Y and tau0 of one tree."""

    def __init__(self, functions: EntryFunctions, tree: RigidTree) -> None:
        self._functions = functions
        parameters = parameters_of(tree)
        names = [parameter.name for parameter in parameters]
        self.links = links_of(tree)
        self._joints = unit_rows_of(tree)
        self.shape = functions.nv, len(names)
        self.is_rigid = tree.flexible is None
        if self.is_rigid:
            self._tables = *functions.placements(self.links), *self._joints
            self.work = functions.heads.memory.floats
            return
        first = 10 * len(self.links) + len(self._joints[0])
        self._beams = Probes(parameters, functions.probe, range(first, len(names)))

    def one(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, Y: np.ndarray) -> int:
        """Write Y (nv, np) of one state of a rigid tree; the entry's status."""
        return regressor_one(self._functions.address, self.work, *self._tables, q, v, a, Y)

    def rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Y (N, nv, np) and tau0 (N, nv) at rows of q, v, a."""
        Y, tau0 = self._computed(rows)
        data = {name: rows.take(name) for name in rows.names}
        warn_of_overflow(Y, data, "the regressor", rows.shape)
        return Y, tau0

    def _computed(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        Y = np.zeros((rows.count, *self.shape))
        if self.is_rigid:
            self._functions.call(self._of_rigid_tree, rows, ("q", "v", "a"), Y)
            return Y, np.zeros(Y.shape[:2])
        q, v, a = (rows.take(name) for name in ("q", "v", "a"))
        Y[:, :, self._beams.chosen], tau0 = self._beams.columns(rows)
        for b, (J, wrenches) in enumerate(self._wrenches(q, v, a)):
            Y[:, :, 10 * b : 10 * b + 10] = np.swapaxes(J, 1, 2) @ wrenches
        joint_columns_many(10 * len(self.links), *self._joints, q, v, a, Y)
        return Y, tau0

    def _of_rigid_tree(self, address: int, work: np.ndarray, *arrays: np.ndarray) -> int:
        return regressor_many(address, work, *self._tables, *arrays)

    def _wrenches(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of each body: J (N, 6, nv) and the wrench (N, 6, 10) for a unit of each number, world axes."""
        functions, links = self._functions, self.links
        sized = {"q": (q, functions.nq), "v": (v, functions.nv)}
        rows = Rows(sized)
        poses = np.empty((rows.count, len(links), 4, 4))
        J = np.empty((rows.count, len(links), 6, functions.nv))
        functions.frames_rows(rows, links, poses)
        functions.jacobians_rows(rows, links, J)
        speed = np.einsum("nkij,nj->nki", J, v)
        rate = np.einsum("nkij,nj->nki", J, a) + functions.jacobian_rates_rows(rows, links)
        rate[..., 3:] -= functions.gravity
        for b in range(len(links)):
            R = poses[:, b, :3, :3]
            parts = (speed[:, b, :3], rate[:, b, :3], rate[:, b, 3:])
            yield J[:, b], _turned(R, _unit_wrenches(*(np.einsum("nij,ni->nj", R, x) for x in parts)))


def _unit_wrenches(w: np.ndarray, alpha: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(n; f) (N, 6, 10) for a unit of mass, m c (3) and the tensor xx xy xz yy yz zz, in body axes."""
    Y = np.zeros((len(w), 6, 10))
    Y[:, 3:, 0] = a
    turning = cross_matrices(w)
    Y[:, 3:, 1:4] = cross_matrices(alpha) + turning @ turning
    Y[:, :3, 1:4] = -cross_matrices(a)
    Y[:, :3, 4:] = _times(alpha) + turning @ _times(w)
    return Y


def _times(x: np.ndarray) -> np.ndarray:
    """(N, 3, 6): I x as a matrix times xx xy xz yy yz zz."""
    T = np.zeros((len(x), 3, 6))
    for row, columns in enumerate(((0, 1, 2), (1, 3, 4), (2, 4, 5))):
        for axis, column in enumerate(columns):
            T[:, row, column] = x[:, axis]
    return T


def _turned(R: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """Wrenches (N, 6, k) in world axes."""
    return np.concatenate([R @ wrenches[:, :3], R @ wrenches[:, 3:]], axis=1)
