"""Dynamics of closed mechanisms as graphs: no rank is cut by values.

With M = L' D L from the tips to the root, so that coordinates of separate branches have no number in L
(Featherstone 2008, section 6.5), and W = L'^-1 J', forces f make the accelerations

    K f = M^-1 (f + J' lam) = L^-1 D^-1 (y + W lam),    G lam = -W' D^-1 y,    y = L'^-1 f,    G = W' D^-1 W

that the loops allow, beside those of dJ/dt v. lam is of least norm by rounds (kernels/traced.py), or of rows
that are known to be independent.

Efforts u of actuators B and rests r of coordinates E that have none by their nature (modes, a floating base,
hubs) make the motion for which the open tree needs forces b = M a + h if

    [B E]' K [B E] (u; r) = [B E]' K b,

of which r has the least norm in the metric of M^-1, then u that of its weights, as in the library. C' K C is
the Gram matrix of what columns of forces C do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import ROUNDING, cholesky, cholesky_solve
from flexdyn_ros.numerics.numbers.functions import both, less, select
from flexdyn_ros.numerics.tracing.graph import objects
from flexdyn_ros.robot.analysis.allocation import POSSIBLE, chosen_actuators, effort_weights, free_coordinates
from flexdyn_ros.robot.verbs import Robot

#: rounds of the iteration of least norm of efforts, and its mu relative to the mean of the diagonal
_ROUNDS, _MU = 5, 1e-6
#: what adds to the diagonal that may be zero; share of what actuators move without loops that is nothing
_SMALL, _HELD = 1e-6, 1e-9
#: those of multipliers
_LOOP_ROUNDS, _LOOP_MU = 3, 1e-8
#: share of the largest row at the neutral pose below which one is nothing
_NOTHING = 1e-9
#: share of the largest pivot above which rows are clearly independent; part of accelerations that other rows
#: may miss; how far loops may be open [m, rad, of the velocities]: as in the library
_CLEAR, _CONTRADICTORY, _OPEN = 1e-6, 1e-8, 1e-6
#: accelerations that in balance are counted as that [m/s2, rad/s2]
_BALANCE = 1e-3


class LoopRows(NamedTuple):
    """Rows of all loops at a state: residuals, rates, dJ/dt v (m,), and J (m, nv)."""

    phi: np.ndarray
    rate: np.ndarray
    bias: np.ndarray
    J: np.ndarray


class ClosedDynamics:
    """Accelerations of a closed mechanism at one state, of which M (nv, nv) and the rows are known; without
    rows, of an open tree.

    certain: answers are NaN where the library would say something, or take other rows than those that are
    independent at the neutral pose.
    """

    def __init__(self, robot: Robot, M: np.ndarray, rows: LoopRows, v: np.ndarray, *, certain: bool) -> None:
        at_neutral = np.zeros((0, robot.nv))
        if len(rows.J):
            neutral = robot.neutral()
            at_neutral = robot.loop_jacobian(neutral) / np.sqrt(np.diag(robot.mass_matrix(neutral)))
        sizes = np.linalg.norm(at_neutral, axis=1)
        taken = np.flatnonzero(sizes > _NOTHING * sizes.max(initial=0.0))
        kept = _independent(at_neutral, taken) if certain else taken
        self.M, self._L = M, _from_tips(M)
        self._J, self._bias = rows.J[kept], rows.bias[kept]
        rows_to_tips = [self._to_tips(row) for row in self._J]
        self._W = np.array(rows_to_tips, dtype=object).reshape(-1, robot.nv).T
        self._share = objects([1.0 / d for d in np.diag(self._L)])
        G = self._gram()
        self._solve = _solver(G, certain)
        others = np.setdiff1d(taken, kept)
        self._others = rows.J[others], rows.bias[others]
        #: whether loops are closed and their rows clearly independent; None where nobody asks
        self._good = both(_closed(rows, v), _clear(G)) if certain else None

    def allowed(self, force: np.ndarray) -> np.ndarray:
        """K f (nv,)."""
        return self._moved(force, objects([0.0] * len(self._bias)))

    def accelerations(self, force: np.ndarray) -> np.ndarray:
        """a (nv,) under forces B tau - h."""
        a = self._moved(force, self._bias)
        if self._good is None:
            return a
        good = self._good
        for row, bias in zip(*self._others, strict=True):
            parts = [x for x in row * a if not _is_zero(x)]
            size: Any = abs(bias)
            for x in parts:
                size = size + abs(x)
            good = both(good, less(abs(sum(parts, bias)), _CONTRADICTORY * (size + _BALANCE)))
        return objects([select(good, x, np.nan) for x in a])

    def are_allowed(self, a: np.ndarray) -> Any:
        """Whether accelerations (nv,) are those of a motion that the loops allow."""
        good: Any = self._good
        for rows, biases in ((self._J, self._bias), self._others):
            for row, bias in zip(rows, biases, strict=True):
                size, missed = abs(bias) + 1.0, bias
                for x in row * a:
                    size, missed = size + abs(x), missed + x
                good = both(good, less(abs(missed), _OPEN * size))
        return good

    def _moved(self, force: np.ndarray, bias: np.ndarray) -> np.ndarray:
        y = self._to_tips(force) * self._share
        x = y
        if len(bias):
            x = y + self._share * (self._W @ self._solve(-(self._W.T @ y) - bias))
        for i in range(len(x)):
            x[i] = x[i] - self._L[i, :i] @ x[:i]
        return x

    def open_size(self, C: np.ndarray) -> Any:
        """Sum of c' M^-1 c of columns of forces C (nv, k)."""
        return sum(((y * y) @ self._share for y in map(self._to_tips, C.T)), 0.0)

    def _to_tips(self, x: np.ndarray) -> np.ndarray:
        """L'^-1 x."""
        x = x.copy()
        for i in range(len(x) - 1, -1, -1):
            x[:i] = x[:i] - self._L[i, :i] * x[i]
        return x

    def _gram(self) -> np.ndarray:
        """G, whose two halves are the same numbers."""
        m, scaled = self._W.shape[1], self._W * self._share[:, None]
        G = np.empty((m, m), dtype=object)
        for i in range(m):
            for k in range(i + 1):
                G[i, k] = G[k, i] = self._W[:, i] @ scaled[:, k]
        return G


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0


def _from_tips(M: np.ndarray) -> np.ndarray:
    """L and, on its diagonal, D of M = L' D L; NaN where M is not positive definite to rounding."""
    A = M.copy()
    for k in range(len(A) - 1, -1, -1):
        d = A[k, k] = select(less(ROUNDING * M[k, k], A[k, k]), A[k, k], np.nan)
        shares = A[k, :k] * (1.0 / d)
        for i in range(k):
            if not _is_zero(A[k, i]):
                A[i, : i + 1] = A[i, : i + 1] - shares[: i + 1] * A[k, i]
        A[k, :k] = shares
    return A


def _independent(J: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Those of rows J[taken], one after the other, that the ones before do not give."""
    kept: list[int] = []
    for i in taken:
        known = np.linalg.qr(J[kept].T)[0]
        if np.linalg.norm(J[i] - known @ (known.T @ J[i])) > np.sqrt(_CLEAR) * np.linalg.norm(J[i]):
            kept.append(int(i))
    return np.array(kept, dtype=np.intp)


def _closed(rows: LoopRows, v: np.ndarray) -> Any:
    """Whether the loops are closed, and stay so."""
    open_by = less(_largest(rows.phi), _OPEN)
    return both(open_by, less(_largest(rows.rate), _OPEN * _largest([1.0, *v])))


def _clear(G: np.ndarray) -> Any:
    """Whether what elimination leaves on the diagonal of G is far from rounding."""
    F = _factor(G)
    first, good = _largest(np.diag(G)), True
    for d in np.diag(F):
        good = both(good, less(_CLEAR * first, d * d))
    return good


def _solver(G: np.ndarray, certain: bool) -> Callable[[np.ndarray], np.ndarray]:
    """c -> lam with G lam = c."""
    n = len(G)
    if certain or not n:
        return lambda c: _solved(_factor(G), c)
    F = _factor(G, np.trace(G) * (_LOOP_MU / n))

    def solve(c: np.ndarray) -> np.ndarray:
        lam = objects([0.0] * n)
        for _ in range(_LOOP_ROUNDS):
            lam = lam + _solved(F, c - G @ lam)
        return lam

    return solve


def closed_efforts(robot: Robot, dynamics: ClosedDynamics, B: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Efforts (nu,) that make the motion for which the open tree needs forces b (nv,); NaN where none can.

    B (nv, nu): actuation matrix there.
    """
    tau, left = nearest_efforts(robot, dynamics, B, b)
    return _where_made(dynamics.M @ left, b, tau)


def nearest_efforts(
    robot: Robot, dynamics: ClosedDynamics, B: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Efforts (nu,) that leave of b (nv,) the least forces f in the metric of M^-1, and K f (nv,)."""
    nv, chosen = robot.nv, chosen_actuators(robot, "all")
    free = free_coordinates(robot)
    limits = np.array([robot.functions.effort_coordinates[i].effort_limit for i in chosen])
    scales = 1.0 / np.sqrt(effort_weights(limits))
    C = np.concatenate([B[:, chosen] * scales, np.eye(nv)[:, free].astype(object)], axis=1)
    tau, left = objects([0.0] * robot.nu), dynamics.allowed(b)
    if C.shape[1]:
        Y = np.stack([dynamics.allowed(column) for column in C.T], axis=1)
        root = _root_of_inverse(dynamics.M)[free] if free.size else None
        n, size = len(chosen), dynamics.open_size(C[:, : len(chosen)])
        solve = _two_stages(C.T @ Y, n, root, size)
        x = solve(C.T @ left)
        # what rounding missed
        x = x + solve(C.T @ dynamics.allowed(b - C @ x))
        # actuators that loops let move nothing do nothing
        move = less(_HELD * size, np.trace((C.T @ Y)[:n, :n]))
        x[:n] = [select(move, effort, 0.0) for effort in x[:n]]
        tau[chosen] = scales * x[: len(chosen)]
        tau[free] = tau[free] + x[len(chosen) :]
        left = dynamics.allowed(b - C @ x)
    return tau, left


def led_efforts(
    robot: Robot, dynamics: ClosedDynamics, B: np.ndarray, h: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Efforts (nu,) with which the coordinates of actuators, no more than motions, accelerate as in a (nv,):
    C' K C u = C' (a - a_0), C the columns of the actuators in B (nv, nu), a_0 without efforts, h (nv,) bias
    forces."""
    chosen = chosen_actuators(robot, "all")
    C, tau = B[:, chosen], objects([0.0] * robot.nu)
    K = C.T @ np.stack([dynamics.allowed(column) for column in C.T], axis=1)
    tau[chosen] = _solved(_factor(K), a[chosen] - C.T @ dynamics.accelerations(-h))
    return tau


def _where_made(left: np.ndarray, b: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """tau, or NaN where forces are left that nothing makes."""
    fits = less(_largest(left), POSSIBLE * _largest(b) + 1e-300)
    return objects([select(fits, effort, np.nan) for effort in tau])


def _largest(numbers: Sequence[Any] | np.ndarray) -> Any:
    found: Any = 0.0
    for x in numbers:
        found = select(less(found, abs(x)), abs(x), found)
    return found


def _factor(A: np.ndarray, mu: Any = 0.0) -> np.ndarray:
    F = A + np.eye(len(A)) * mu
    cholesky(F, len(F))
    return F


def _solved(F: np.ndarray, c: np.ndarray) -> np.ndarray:
    x = c.copy()
    cholesky_solve(F, len(x), x)
    return x


def _least(K: np.ndarray, of: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """c -> the solution x of K x = c of least norm, K positive semidefinite, smaller than or like `of`.

    Rounds of x <- x + (K + mu 1)^-1 (c - K x) leave rounding times 1/mu along what K takes to zero; K times
    the solution z of K z = x is free of it.
    """
    n = len(K)
    F = _factor(K, np.trace(of) * (_MU / n)) if n else K

    def solved(c: np.ndarray) -> np.ndarray:
        x = objects([0.0] * n)
        for _ in range(_ROUNDS):
            x = x + _solved(F, c - K @ x)
        return x

    return lambda c: K @ solved(solved(c)) if n else c


def _two_stages(
    K: np.ndarray, n: int, root: np.ndarray | None, size: Any
) -> Callable[[np.ndarray], np.ndarray]:
    """c -> (u; r) with K (u; r) = c, n efforts u: first r of least |root' r|, then u of least norm.

    size: of the diagonal for efforts without loops, which may let no actuator move.
    """
    efforts = _least(K[:n, :n], K[:n, :n] + np.eye(n) * (_SMALL * size))
    if root is None:
        return efforts
    # (M^-1)_ff = L L'
    L = _factor(root @ root.T)
    through = np.stack([efforts(column) for column in K[:n, n:].T], axis=1)
    # eigenvalues from 0 to 1; all are 0 where loops hold every one of these coordinates
    size = _between(L, K[n:, n:]) + _SMALL * np.eye(len(L))
    rests = _least(_between(L, K[n:, n:] - K[n:, :n] @ through), size)

    def solve(c: np.ndarray) -> np.ndarray:
        y = rests(_forwards(L, c[n:] - K[n:, :n] @ efforts(c[:n])))
        r = _backwards(L, y)
        return np.concatenate([efforts(c[:n] - K[:n, n:] @ r), r])

    return solve


def _forwards(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L^-1 b."""
    x = b.copy()
    for i in range(len(L)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def _backwards(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L'^-1 b."""
    return _forwards(L.T[::-1, ::-1], b[::-1])[::-1]


def _between(L: np.ndarray, A: np.ndarray) -> np.ndarray:
    """L^-1 A L'^-1."""
    half = np.stack([_forwards(L, column) for column in A.T], axis=1)
    return np.stack([_forwards(L, row) for row in half], axis=0)


def _root_of_inverse(M: np.ndarray) -> np.ndarray:
    """R (nv, nv) with R R' = M^-1."""
    L = _factor(M)
    return np.stack([_backwards(L, e) for e in np.eye(len(L)).astype(object)], axis=1)
