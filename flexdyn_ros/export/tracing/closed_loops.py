"""Inverse dynamics of closed mechanisms as graphs: no rank is cut by values.

Mc(f) = a(f) - a(0), with a(f) the constrained accelerations under forces f along the coordinates, is linear,
and C' Mc(C) is the Gram matrix of what columns of forces C do. With b = M a + h of the open tree, a(b) is a,
or the nearest acceleration in the metric of M that the loops allow. So efforts u of actuators B and rests r
of coordinates E that have none by their nature (modes, a floating base, hubs) obey

    [B E]' Mc([B E]) (u; r) = [B E]' (a(b) - a(0)),

of which r has the least norm in the metric of M^-1, then u that of its weights, as in the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.tracing.graph import objects
from flexdyn_ros.robot.analysis.allocation import DRIVEN_KINDS, POSSIBLE, chosen_actuators, effort_weights
from flexdyn_ros.robot.verbs import Robot

#: rounds of the iteration of least norm, and its mu relative to the mean of the diagonal
_ROUNDS, _MU = 5, 1e-6

#: constrained accelerations (nv,) under forces (nv,) along the coordinates
Accelerations = Callable[[np.ndarray], np.ndarray]


def closed_efforts(
    robot: Robot, accelerations: Accelerations, B: np.ndarray, M: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Efforts (nu,) that make the motion for which the open tree needs forces b (nv,); NaN where none can.

    B (nv, nu), M (nv, nv): actuation and mass matrix there.
    """
    if robot.functions.prescribed.any():
        raise UnsupportedError("inverse dynamics of loops with prescribed joints is not computed")
    nv, chosen = robot.nv, chosen_actuators(robot, "all")
    free = np.flatnonzero([c.kind not in DRIVEN_KINDS for c in robot.coordinates])
    limits = np.array([robot.functions.effort_coordinates[i].effort_limit for i in chosen])
    scales = 1.0 / np.sqrt(effort_weights(limits))
    C = np.concatenate([B[:, chosen] * scales, np.eye(nv)[:, free].astype(object)], axis=1)
    still, wanted = accelerations(objects([0.0] * nv)), accelerations(b)
    if not C.shape[1]:
        return _where_made(M @ (wanted - still), b, objects([0.0] * robot.nu))
    # forces that make accelerations of the size of others
    sizes = (
        10.0 * np.sqrt(np.trace(robot.mass_matrix(robot.neutral()))) / _responses(robot, chosen, free, scales)
    )
    Y = np.stack([(accelerations(C[:, k] * size) - still) / size for k, size in enumerate(sizes)], axis=1)
    solve = _two_stages(C.T @ Y, len(chosen), _root_of_inverse(M)[free] if free.size else None)
    x = solve(C.T @ (wanted - still))
    # what is missed, found without differences of accelerations, once more
    x = x + solve(C.T @ (wanted - accelerations(C @ x)))
    tau = objects([0.0] * robot.nu)
    tau[chosen] = scales * x[: len(chosen)]
    tau[free] = tau[free] + x[len(chosen) :]
    return _where_made(M @ (wanted - accelerations(C @ x)), b, tau)


def led_efforts(robot: Robot, accelerations: Accelerations, B: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Efforts (nu,) with which the coordinates of actuators, no more than motions, accelerate as in a (nv,):
    C' Mc(C) u = a_C - C' a(0), C the columns of the actuators in B (nv, nu)."""
    chosen = chosen_actuators(robot, "all")
    C, still = B[:, chosen], accelerations(objects([0.0] * robot.nv))
    F = _factor(np.stack([C.T @ (accelerations(column) - still) for column in C.T], axis=1))
    u = a[chosen] - C.T @ still
    cholesky_solve(F, len(u), u)
    tau = objects([0.0] * robot.nu)
    tau[chosen] = u
    return tau


def _where_made(left: np.ndarray, b: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """tau, or NaN where forces are left that nothing makes."""
    fits = less(_largest(left), POSSIBLE * _largest(b) + 1e-300)
    return objects([select(fits, effort, np.nan) for effort in tau])


def _responses(robot: Robot, chosen: np.ndarray, free: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """sqrt(c' M^-1 c) of every column at neutral."""
    q = robot.neutral()
    columns = np.concatenate(
        [robot.actuation_matrix(q)[:, chosen] * scales, np.eye(robot.nv)[:, free]], axis=1
    )
    return np.sqrt(np.einsum("ik,ik->k", columns, np.linalg.solve(robot.mass_matrix(q), columns)))


def _largest(numbers: np.ndarray) -> Any:
    found: Any = 0.0
    for x in numbers:
        found = select(less(found, abs(x)), abs(x), found)
    return found


def _factor(A: np.ndarray, mu: Any = 0.0) -> np.ndarray:
    F = A + np.eye(len(A)) * mu
    cholesky(F, len(F))
    return F


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
            rest = c - K @ x
            cholesky_solve(F, n, rest)
            x = x + rest
        return x

    return lambda c: K @ solved(solved(c)) if n else c


def _two_stages(K: np.ndarray, n: int, root: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
    """c -> (u; r) with K (u; r) = c, n efforts u: first r of least |root' r|, then u of least norm."""
    efforts = _least(K[:n, :n], K[:n, :n])
    if root is None:
        return efforts
    # (M^-1)_ff = L L'
    L = _factor(root @ root.T)
    through = np.stack([efforts(column) for column in K[:n, n:].T], axis=1)
    rests = _least(_between(L, K[n:, n:] - K[n:, :n] @ through), _between(L, K[n:, n:]))

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
