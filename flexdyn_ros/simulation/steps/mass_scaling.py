"""Selective mass scaling: explicit steps that are too long for the fastest modes of flexible links.

Masses are added where a step could not follow, so that fast modes become slower and everything else stays
(Olovsson, Simonsson & Unosson 2005, for thin solids). Modal coordinates make the added masses diagonal. They
act on accelerations only: statics are those without them.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.robot.motion import Motion

__all__ = ["scaled_masses"]

#: added are h^2 K / 8 and h D / 2: with nothing else to move, h w = sqrt(8) and h d = 2, which the classical
#: Runge-Kutta method bears (2.83 and 2.78)
OF_STIFFNESS, OF_DAMPING = 0.125, 0.5
#: h w up to which a mode is left alone
FOLLOWED = 2.0


def scaled_masses(motion: Motion, M: np.ndarray, dt: float) -> np.ndarray:
    """Masses (nv,) to add to the diagonal of M (nv, nv) for steps of dt [s]; 0 where steps can follow.

    A coordinate's rate w is that with all others free, w^2 = K_ii (M^-1)_ii; damping counts as h w / 4 does.
    Where K couples the modes of a link, K_ii is replaced by the element d_i of a diagonal that bounds K, and
    the fastest rate of what is scaled stays below sqrt(8) / h: w^2 = x' K x / x' (M + h^2 diag(d) / 8) x.
    """
    added = np.zeros(len(M))
    inverse = np.diagonal(np.linalg.inv(M))
    for v, K, D in motion.modal:
        needed = OF_STIFFNESS * dt**2 * bound(K) + OF_DAMPING * dt * bound(D)
        added[v] = np.where(needed * inverse[v] > OF_STIFFNESS * FOLLOWED**2, needed, 0.0)
    return added


def bound(S: np.ndarray) -> np.ndarray:
    """d (m,) such that diag(d) - S has no negative eigenvalue; S (m, m) is symmetric and has none either.

    The diagonal of S where S is diagonal; else that times the sums of the rows of |S_ij| / sqrt(S_ii S_jj).
    """
    diagonal = np.maximum(np.diagonal(S), 0.0)
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return diagonal * np.abs(S / np.outer(root, root)).sum(axis=1)
