"""Numbers that bodies and joints can have: of those that fit as well as any, the nearest to former ones.

With base parameters b = G x of scaled numbers x, least squares leave J0 + |w|^2 with b = beta + H w, where
H H^T is the covariance of beta. The numbers are x = start + N z + G^+ H w, N the null space of G, so that the
two programmes, least |w| and least distance within a bound of |w|, are well scaled whatever noise there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexdyn_ros.errors import ConvergenceError, needs
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.linear.bodies import Bodies
from flexdyn_ros.identification.linear.least_squares import Estimate

#: least eigenvalues of the scaled pseudo-inertias that are asked for, the first that can be had
MARGINS = (1e-6, 1e-8)
#: shares by which the residual may exceed the least one for numbers that are nearer to the former ones, the
#: first with which the solver ends
SLACKS = (1e-4, 1e-3, 1e-2)
#: weights of efforts change where what bodies can have leaves this share more than plain least squares, and
#: more than rounding, a share of the effort; where an effort is left with more than was measured, deviations
#: are at least this share of the efforts
RAISED, ROUNDING, BALANCED = 1.1, 1e-8, 0.01
#: rounds of weights; rounds of one optimum, the share of the expected size below which it is solved again,
#: and the factor by which a larger one is expected where the solver fails
MOST_ROUNDS, MOST_SCALES, SMALL, FURTHER = 8, 6, 0.3, 1e3


def nearest_values(matrix: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(np, nb): how numbers p change with base parameters b = matrix p, with the least change by scale."""
    scaled = matrix * scale
    return np.asarray(scale[:, None] * np.linalg.pinv(scaled))


def physical_values(
    bodies: Bodies, base: BaseParameters, estimate: Estimate
) -> tuple[np.ndarray, np.ndarray, Estimate]:
    """Numbers (np,) that bodies and joints can have, base parameters (nb,) of the least residual, and the
    estimate with the weights that such numbers ask for: an effort that they fit worse than plain least
    squares do counts less. Where plain least squares leave no more of an effort than was measured, they do
    neither.

    Raises
    ------
    ConvergenceError
        If there are none.
    """
    now, floor = estimate, 0.0 * estimate.sizes
    plain = np.maximum(estimate.left(estimate.beta), estimate.sigma)
    for _ in range(MOST_ROUNDS):
        values, best = _best(bodies, base, now, ())
        left = estimate.left(base.of(values))
        worse = ((left > estimate.sizes) & (plain <= estimate.sizes))[: estimate.efforts]
        # no effort has next to no weight beside others that are known to rounding
        floor = np.where(np.any(worse), BALANCED * estimate.sizes, floor)
        shares = np.where(left > ROUNDING * estimate.sizes, left / plain, 1.0)
        sigma = estimate.raised(shares, floor)
        if np.all(np.abs(np.log(sigma / now.sigma)) <= np.log(RAISED)):
            break
        now = estimate.weighted(sigma)
    if np.any(worse):
        limited = np.flatnonzero(plain[: estimate.efforts] <= estimate.sizes[: estimate.efforts])
        with suppress(ConvergenceError):
            values, best = _best(bodies, base, now, limited[estimate.sizes[limited] > 0.0].tolist())
    return values, best, now


def _best(
    bodies: Bodies, base: BaseParameters, estimate: Estimate, limited: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (np,) nearest to the former ones of those with nearly the least residual, and base parameters
    with the least one; the efforts in `limited` are left with no more than was measured."""
    gain = nearest_values(base.matrix, bodies.scale)
    nearest = bodies.before + gain @ (estimate.beta - base.of(bodies.before))
    if bodies.are_physical(nearest) and not limited:
        return bodies.clipped(nearest), estimate.beta
    size = np.sqrt(estimate.counts.sum())
    programme = _Programme.of(bodies, base, estimate, nearest, gain, size, limited)
    for margin in MARGINS:
        found = None if limited else programme.nearest(SLACKS[0], 0.0, margin)
        if found is not None:
            return found, estimate.beta
        best = programme.least(margin)
        if best is not None:
            tried = (programme.nearest(slack, best[1], margin) for slack in SLACKS)
            found = next((values for values in tried if values is not None), best[0])
            return found, base.of(best[0])
    raise ConvergenceError("no numbers that bodies and joints can have were found near those of the data")


@dataclass(frozen=True, eq=False)
class _Programme:
    """Scaled numbers x = start + null z + along u, with sqrt(1 + |u|^2) the residual over that of plain
    least squares."""

    bodies: Bodies
    start: np.ndarray
    null: np.ndarray
    along: np.ndarray
    limits: tuple[tuple[np.ndarray, np.ndarray], ...]

    @classmethod
    def of(
        cls, bodies: Bodies, base: BaseParameters, estimate: Estimate, nearest: np.ndarray,
        gain: np.ndarray, size: float, limited: Sequence[int],
    ) -> _Programme:  # fmt: skip
        """Around the nearest numbers of plain least squares; `size` is the residual of those."""
        from scipy.linalg import null_space

        scaled = base.matrix * bodies.scale
        along = (gain / bodies.scale[:, None]) @ estimate.half * size
        limits = tuple(
            (estimate.factors[j][:, :-1] @ scaled / most, estimate.factors[j][:, -1] / most)
            for j in limited
            for most in (float(np.linalg.norm(estimate.factors[j][:, -1])),)
        )
        return cls(bodies, nearest / bodies.scale, null_space(scaled), along, limits)

    def least(self, margin: float) -> tuple[np.ndarray, float] | None:
        """Numbers (np,) with the least |u|, and that; solved again while it is far from what was expected, so
        that the tolerance of the solver means the same for all noise."""
        found, expected = None, 1.0
        for _ in range(MOST_SCALES):
            new = self._solved(None, margin, expected)
            if new is None and found is not None:
                break
            if new is None:
                expected *= FURTHER
                continue
            found, before, expected = new, expected, new[1]
            if SMALL * before <= expected <= before / SMALL or expected == 0.0:
                break
        return found

    def nearest(self, slack: float, least: float, margin: float) -> np.ndarray | None:
        """Those nearest to the former ones, with a residual of at most (1 + slack) of the least one."""
        most = np.sqrt((1.0 + slack) ** 2 * (1.0 + least**2) - 1.0)
        before = self.bodies.before / self.bodies.scale
        found = self._solved(before, margin, most, 1.0)
        return None if found is None else found[0]

    def _solved(
        self, goal: np.ndarray | None, margin: float, size: float, most: float | None = None
    ) -> tuple[np.ndarray, float] | None:
        """Numbers that make |u|, or the distance from the scaled numbers `goal`, least, and |u|; u is a
        variable times size, of length `most` at most."""
        bodies, along = self.bodies, self.along * size
        # of y = (bound of the goal, z, u)
        X = np.concatenate([np.zeros((len(self.start), 1)), self.null, along], axis=1)
        bound, U = np.eye(X.shape[1])[0], np.eye(X.shape[1])[X.shape[1] - along.shape[1] :]
        cones = _Cones()
        if goal is None:
            cones.ball(0.0, bound, np.zeros(len(U)), U)
        else:
            cones.ball(0.0, bound, self.start - goal, X)
        if most is not None:
            cones.ball(most, 0.0 * bound, np.zeros(len(U)), U)
        for A, aim in self.limits:
            cones.ball(1.0, 0.0 * bound, A @ self.start - aim, A @ X)
        if bodies.consistent:
            for body in bodies.bodies:
                parts = bodies.scale[body.columns, None, None] * body.bases
                constant = body.constant + np.tensordot(self.start[body.columns], parts, 1)
                linear = np.tensordot(parts, X[body.columns], (0, 0))
                cones.definite(constant - margin * np.eye(4), linear)
            least = (bodies.lower / bodies.scale)[bodies.joint]
            cones.positive(self.start[bodies.joint] - least, X[bodies.joint])
        inner = bodies.known.inner * bodies.scale
        for row, low, high in zip(inner, bodies.known.lower, bodies.known.upper, strict=True):
            unit = float(np.abs(row).max())
            for sign, limit in ((1.0, low), (-1.0, high)):
                if np.isfinite(limit):
                    cones.positive([sign * (row @ self.start - limit) / unit], [sign * row @ X / unit])
        y = cones.least(bound)
        if y is None:
            return None
        values = bodies.clipped(bodies.scale * (self.start + X @ y))
        length = size * float(np.linalg.norm(U @ y))
        return (values, length) if bodies.are_physical(values) else None


class _Cones:
    """Constraints c + C y in K, for Clarabel."""

    def __init__(self) -> None:
        with needs("clarabel", "identification"):
            import clarabel
        self._solver = clarabel
        self._rows: list[tuple[Any, np.ndarray, np.ndarray]] = []

    def ball(self, most: float, by: np.ndarray, c: np.ndarray, C: np.ndarray) -> None:
        """|c + C y| <= most + by y."""
        cone = self._solver.SecondOrderConeT(len(c) + 1)
        self._rows.append((cone, np.r_[most, c], np.vstack([by, C])))

    def positive(self, c: Any, C: Any) -> None:
        """c + C y >= 0."""
        if len(c):
            self._rows.append((self._solver.NonnegativeConeT(len(c)), np.asarray(c), np.asarray(C)))

    def definite(self, c: np.ndarray, C: np.ndarray) -> None:
        """The symmetric part of c (n, n) + C (n, n, ny) y has no negative eigenvalue."""
        # the upper triangle by columns, its products the scalar product of matrices
        j, i = np.tril_indices(len(c))
        size = np.where(i == j, 0.5, np.sqrt(0.5))
        C = size[:, None] * (C[i, j] + C[j, i])
        self._rows.append((self._solver.PSDTriangleConeT(len(c)), size * (c[i, j] + c[j, i]), C))

    def least(self, goal: np.ndarray) -> np.ndarray | None:
        """The y that makes goal y least; None where none is found."""
        from scipy.sparse import csc_matrix

        settings = self._solver.DefaultSettings()
        settings.verbose = False
        # threads of so small programmes wait for each other, busily, for as long as the solver takes
        settings.max_threads = 1
        cones, c, C = zip(*self._rows, strict=True)
        nothing = csc_matrix((goal.size, goal.size))
        matrix = csc_matrix(-np.vstack(C))
        solver = self._solver.DefaultSolver(nothing, goal, matrix, np.concatenate(c), cones, settings)
        found = solver.solve()
        good = found.status in (self._solver.SolverStatus.Solved, self._solver.SolverStatus.AlmostSolved)
        return np.array(found.x) if good else None
