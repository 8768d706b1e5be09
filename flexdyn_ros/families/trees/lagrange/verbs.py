"""The Lagrangian path of rigid trees: the same verbs from transforms and energies instead of recursive
forces.

What `formulation.method = lagrange` selects. It is there as an independent answer, not for speed: inverse and
forward dynamics go through the mass matrix.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.families.trees.lagrange.model import Equations, LagrangeModel, build_lagrange, equations
from flexdyn_ros.families.trees.rigid.kernels.views import TreeModel
from flexdyn_ros.robot.analysis.partial import solved


class LagrangianPath:
    """M and h of a tree by the recursive Lagrangian formulation (Book 1984), and what follows from them.

    All arguments are rows: q (N, nq), the others (N, nv), checked already; load is sum J^T w of external
    wrenches.
    """

    def __init__(self, tree: TreeModel, model: LagrangeModel | None = None) -> None:
        self.model = build_lagrange(tree) if model is None else model
        self._tree = tree

    def equations(self, q: np.ndarray, v: np.ndarray) -> Equations:
        """M (N, nv, nv) and the parts of h (N, nv)."""
        return equations(self.model, q, v)

    def terms(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Parts of h (N, 5, nv): velocity, gravity, elastic, damping, external (zero)."""
        e = self.equations(q, v)
        return np.stack([e.velocity, e.gravity, e.elastic, e.damping, np.zeros_like(e.gravity)], axis=1)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M (N, nv, nv)."""
        return self.equations(q, np.zeros((len(q), self._tree.nv))).M

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, load: np.ndarray) -> np.ndarray:
        """tau = M a + h - load."""
        e = self.equations(q, v)
        return np.einsum("nij,nj->ni", e.M, a) + e.h - load

    def energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic, gravity and elastic energy (N, 3) [J]."""
        e = self.equations(q, v)
        return np.stack([e.kinetic, e.gravitational, e.strain], axis=1)

    def derivatives(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d tau / dq and d tau / dv (N, nv, nv) of the inverse dynamics, by the complex step.

        Raises
        ------
        UnsupportedError
            For trees with free bodies.
        """
        if self.model.nq != self.model.nv:
            raise UnsupportedError(
                "derivatives with affine section frames are computed for a fixed base only"
            )
        steps = 1e-30j * np.eye(self.model.nv)

        def slopes(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            e = self.equations(q, v)
            tau = np.einsum("nkij,nj->nki", e.M, a) + e.h
            return np.ascontiguousarray(np.swapaxes(tau.imag / 1e-30, 1, 2))

        return slopes(q[:, None] + steps, v[:, None]), slopes(q[:, None], v[:, None] + steps)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, load: np.ndarray) -> np.ndarray:
        """a of M a + h = tau + load; NaN where M is singular."""
        e = self.equations(q, v)
        return solved(e.M, tau - e.h + load)
