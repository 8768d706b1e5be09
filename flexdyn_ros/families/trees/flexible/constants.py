"""Constants of a flexible link for the articulated path, from its modal integrals; node axes, node's
origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.flexible.beams.modal_integrals import ModalIntegrals
from flexdyn_ros.families.trees.flexible.beams.modes import SectionFields
from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia

#: part of the largest that a number could be (Cauchy-Schwarz), below which it is not kept
_ROUNDING = 1e-15


class Listed(NamedTuple):
    """Flat indices of the numbers of C, X = int u_l x u_k and U that are kept, ascending.

    The others are zero, or below the rounding of the largest that they could be.
    """

    C: np.ndarray
    X: np.ndarray
    U: np.ndarray

    def places(self, m: int, P: int) -> np.ndarray:
        """What `open_link` slices as the places of the numbers of m modes and P pairs."""
        l, k, entry = np.unravel_index(self.C, (m, m, 9))
        C = np.stack([9 * k + entry, l], axis=1)
        l, k, axis = np.unravel_index(self.X, (m, m, 3))
        X = np.stack([3 * k + axis, l], axis=1)
        k, p, axis = np.unravel_index(self.U, (m, P, 3))
        U = np.stack([k, 3 * k + axis, p, 3 * p + axis], axis=1)
        return np.concatenate([C.ravel(), X.ravel(), U.ravel()])


@dataclass(frozen=True)
class LinkConstants:
    """The numbers of `Link` in flexible/kernels/views.py, as arrays; pairs (P, 2), slope modes first_slope
    ...

    rigid (10,), s (m, 3), N (m, 3, 3), C (m, m, 3, 3) = int u_l u_k^T, M, K, D (m, m), e (3,), mass (P,), H
    (P, 3), U (m, P, 3), Q (P, P) = int S_p S_q.
    """

    rigid: np.ndarray
    s: np.ndarray
    N: np.ndarray
    C: np.ndarray
    M: np.ndarray
    K: np.ndarray
    D: np.ndarray
    e: np.ndarray
    mass: np.ndarray
    H: np.ndarray
    U: np.ndarray
    Q: np.ndarray
    pairs: np.ndarray
    first_slope: int
    slopes: int

    def listed(self) -> Listed:
        """Which numbers of C, X and U are worth keeping."""
        modes = np.sqrt(np.einsum("kkii->k", self.C))
        both = (_ROUNDING * np.outer(modes, modes))[..., None]
        pairs = np.sqrt(np.diagonal(self.Q))
        return Listed(
            np.flatnonzero(np.abs(self.C) > both[..., None]),
            np.flatnonzero(np.abs(_axial(self.C)) > both),
            np.flatnonzero(np.abs(self.U) > (_ROUNDING * np.outer(modes, pairs))[..., None]),
        )

    def flat(self, listed: Listed) -> np.ndarray:
        """All numbers in the order in which `open_link` slices them."""
        parts = (
            self.rigid,
            self.s,
            self.N,
            self.C.ravel()[listed.C],
            _axial(self.C).ravel()[listed.X],
            self.M,
            self.K,
            self.D,
            self.e,
            self.mass,
            self.H,
            self.U.ravel()[listed.U],
            self.Q,
        )
        return np.concatenate([np.asarray(part, dtype=float).ravel() for part in parts])

    def rigid_inertia(self) -> RigidInertia:
        """The undeformed link without what sits on its ends."""
        xx, xy, xz, yy, yz, zz = self.rigid[4:]
        second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return RigidInertia(float(self.rigid[0]), self.rigid[1:4], np.trace(second) * np.eye(3) - second)


def link_constants(
    integrals: ModalIntegrals, beam_in_node: Placement, damping: np.ndarray, foreshortened: bool
) -> LinkConstants:
    """Constants of a link whose beam frame lies at `beam_in_node`; its bodies are carried by its sections."""
    T = np.eye(4)
    T[1:, 0], T[1:, 1:] = beam_in_node.p, beam_in_node.R
    C0 = 2.0 * T @ integrals.C @ T.T
    C1 = 2.0 * np.einsum("ia,kab,jb->kij", T, integrals.C1, T)
    R = beam_in_node.R
    C2 = 2.0 * np.einsum("ia,lkab,jb->lkij", R, integrals.C2[:, :, 1:, 1:], R)
    pairs = _pairs(integrals) if foreshortened else np.zeros((0, 2), dtype=np.int64)
    first, last = (int(pairs.min()), int(pairs.max()) + 1) if len(pairs) else (0, 0)
    mass, H, U, Q = _foreshortening(integrals, pairs, beam_in_node)
    second = C0[1:, 1:]
    return LinkConstants(
        rigid=np.concatenate([C0[0], second[0], second[1, 1:], second[2, 2:]]),
        s=C1[:, 0, 1:],
        N=C1[:, 1:, 1:],
        C=C2,
        M=np.einsum("lkii->lk", C2) + 2.0 * integrals.T,
        K=integrals.K,
        D=damping,
        e=R[:, 0],
        mass=mass,
        H=H,
        U=U,
        Q=Q,
        pairs=pairs,
        first_slope=first,
        slopes=last - first,
    )


def section_constants(fields: SectionFields, beam_in_node: Placement) -> np.ndarray:
    """The numbers of a section in the order in which `open_section` slices them."""
    R, p = beam_in_node
    return np.concatenate(
        [p + R @ fields.centre, (fields.u @ R.T).ravel(), (fields.th @ R.T).ravel(), fields.S.ravel()]
    )


def _pairs(integrals: ModalIntegrals) -> np.ndarray:
    """Modes (P, 2) whose foreshortening is not zero."""
    used = np.abs(integrals.point_S).max(axis=0, initial=0.0) > 0.0
    return np.argwhere(np.triu(used)).astype(np.int64)


def _foreshortening(
    integrals: ModalIntegrals, pairs: np.ndarray, beam_in_node: Placement
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """int S_p, H, U, Q over the pairs; node axes, about the node's origin."""
    w, x, u = integrals.point_mass, integrals.point_x, integrals.point_u
    Sp = integrals.point_S[:, pairs[:, 0], pairs[:, 1]]
    mass = w @ Sp
    U = np.einsum("g,gki,gp->kpi", w, u, Sp)
    Q = np.einsum("g,gp,gq->pq", w, Sp, Sp)
    H = np.zeros((len(pairs), 3))
    if x.ndim == 1:
        H[:, 0] = (w * x) @ Sp
    else:
        H += np.einsum("g,gi,gp->pi", w, x, Sp)
    R, p = beam_in_node
    return mass, H @ R.T + np.outer(mass, p), U @ R.T, Q


def _axial(C: np.ndarray) -> np.ndarray:
    """int u_l x u_k dm (..., 3) from int u_l u_k^T dm (..., 3, 3)."""
    return np.stack(
        [C[..., 1, 2] - C[..., 2, 1], C[..., 2, 0] - C[..., 0, 2], C[..., 0, 1] - C[..., 1, 0]], axis=-1
    )
