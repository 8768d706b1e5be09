"""Accelerations and forces of a robot with loops: M a + h = B tau + J' lam, J a + dJ/dt v = 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.loops.kernels.forward import NOTHING

#: eigenvalues of J M^-1 J' relative to the largest that count as zero
CUT = 1e-10


class Solution(NamedTuple):
    """Accelerations (N, nv) and multipliers (N, m); rank (N,); share (N,) of the loops' accelerations that
    nothing can give; the row (N,) that vanished last."""

    a: np.ndarray
    multipliers: np.ndarray
    rank: np.ndarray
    left: np.ndarray
    weakest: np.ndarray


class Constrained:
    """The factors of M and of G = J M^-1 J' (N, m, m), for N states.

    G has the rank of J. With its eigenvalues above `CUT` times the largest it has the pseudo-inverse that
    gives the multipliers of least norm and, where rows contradict each other, accelerations of least squares.
    """

    def __init__(self, M: np.ndarray, J: np.ndarray) -> None:
        self.J = J
        root = np.linalg.inv(np.linalg.cholesky(M))
        self._M_inverse = np.swapaxes(root, 1, 2) @ root
        W = root @ np.swapaxes(J, 1, 2)
        G = np.swapaxes(W, 1, 2) @ W
        values, self._vectors = np.linalg.eigh(G)
        largest = np.maximum(values[:, -1:], 1e-300) if values.shape[1] else values
        self._kept = values > CUT * largest
        self._inverse = np.where(self._kept, 1.0 / np.where(self._kept, values, 1.0), 0.0)

    @property
    def rank(self) -> np.ndarray:
        """Independent rows (N,)."""
        return np.asarray(self._kept.sum(axis=1))

    def free(self, force: np.ndarray) -> np.ndarray:
        """M^-1 force (N, nv, ...)."""
        return np.asarray(self._M_inverse @ force)

    def pseudo(self, c: np.ndarray) -> np.ndarray:
        """G^+ c (N, m, k)."""
        turned = np.swapaxes(self._vectors, 1, 2) @ c
        return np.asarray(self._vectors @ (self._inverse[..., None] * turned))

    def solve(self, force: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (N, nv, k) and multipliers (N, m, k) of M a = force + J' lam, J a = target."""
        a = self.free(force)
        lam = self.pseudo(target - self.J @ a)
        return a + self.free(np.swapaxes(self.J, 1, 2) @ lam), lam

    def determinate(self) -> np.ndarray:
        """Marks (N, m) the rows whose multipliers are determined: G^+ G keeps them."""
        P = np.einsum("nik,nk,njk->nij", self._vectors, self._kept, self._vectors)
        return np.asarray(np.abs(P - np.eye(P.shape[1])).max(axis=2) < 1e-8)

    def __call__(self, force: np.ndarray, bias: np.ndarray) -> Solution:
        """Accelerations under forces (N, nv), with dJ/dt v = bias (N, m)."""
        a_free = self.free(force[..., None])
        lam = self.pseudo(-bias[..., None] - self.J @ a_free)
        a = a_free + self.free(np.swapaxes(self.J, 1, 2) @ lam)
        missed = np.abs((self.J @ a)[..., 0] + bias).max(axis=1, initial=0.0)
        sizes = np.abs(self.J) @ np.abs(a_free)
        scale = np.maximum((sizes[..., 0] + np.abs(bias)).max(axis=1, initial=0.0), NOTHING)
        last = np.take_along_axis(
            self._vectors, np.maximum(self._vectors.shape[2] - self.rank - 1, 0)[:, None, None], axis=2
        )[..., 0]
        return Solution(a[..., 0], lam[..., 0], self.rank, missed / scale, np.abs(last).argmax(axis=1))


def null_space(J: np.ndarray) -> np.ndarray:
    """Orthonormal columns (nv, k) that J (m, nv) takes to zero."""
    _, values, rows = np.linalg.svd(J)
    largest = float(values.max(initial=0.0))
    # singular values of J are square roots of those of J J'
    rank = int((values > np.sqrt(CUT) * max(largest, 1e-300)).sum())
    return rows[rank:].T


def least_efforts(
    needed: np.ndarray, B: np.ndarray, rest: np.ndarray, M_inverse: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Efforts u and rests r that give needed forces (k,) along the motions that loops leave.

    B (k, nu) and rest (k, nr) are the columns of both there. Of all B u + rest r = needed those of least
    r' M_inverse r, and of these those of least u' W u, W = diag(weights). The third result is what is left.
    """
    nu, columns = B.shape[1], np.concatenate([B, rest], axis=1)
    z = np.linalg.lstsq(columns, needed, rcond=CUT)[0] if columns.size else np.zeros(columns.shape[1])
    left = needed - columns @ z
    idle = null_space(columns) if columns.shape[0] else np.eye(columns.shape[1])
    stages = []
    if rest.shape[1]:
        stages.append(
            np.concatenate([np.zeros((rest.shape[1], nu)), np.linalg.cholesky(M_inverse).T], axis=1)
        )
    stages.append(np.concatenate([np.diag(np.sqrt(weights)), np.zeros((nu, rest.shape[1]))], axis=1))
    for root in stages:
        if not (idle.shape[1] and root.size):
            continue
        # relative to the root: where idle motions leave nothing, all that is turned is rounding
        left_hand, values, rows = np.linalg.svd(root @ idle)
        rank = int((values > CUT * np.linalg.norm(root)).sum())
        z = z - idle @ rows[:rank].T @ ((left_hand[:, :rank].T @ (root @ z)) / values[:rank])
        idle = idle @ rows[rank:].T
    return z[:nu], z[nu:], left
