"""Motion in which some accelerations are given: the mass matrix of the others, for robots of any family."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import ROUNDING
from flexdyn_ros.robot.arguments import (
    Rows,
    flat_wrenches,
    numbers,
    refuse_nonfinite,
    rows_with_wrenches,
    warn_of_overflow,
)
from flexdyn_ros.robot.interface import RobotInterface


def partial_motion(
    robot: RobotInterface,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    a: np.ndarray,
    given: np.ndarray,
    wrenches: Mapping[str, object] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """(force, a), both (..., nv), of M a + h = force + sum J^T w; given (nv,) marks accelerations that stay.

    force is B tau, but for the coordinates in `given` what it takes to move them so. Costs one mass matrix
    and one factorisation; where that of the others is singular the rows are NaN with a FlexdynWarning, a
    single state raises SingularityError.

    Raises
    ------
    DimensionError, StateError, UnknownNameError, SingularityError
    """
    nv = robot.nv
    tau = np.zeros(robot.nu) if tau is None else tau
    # accelerations of coordinates that are not given are no input: whatever they hold must not count
    a = np.where(given, numbers(a, "a", nv), 0.0)
    rows = rows_with_wrenches(wrenches, q=(q, robot.nq), v=(v, nv), tau=(tau, robot.nu), a=(a, nv))
    data = {name: rows.take(name) for name in ("q", "v", "tau", "a")}
    refuse_nonfinite(data)
    q, a = data["q"], data["a"].copy()
    M = robot.mass_matrix(q)
    force = np.einsum("nij,nj->ni", robot.actuation_matrix(q), data["tau"])
    resistance = robot.bias_forces(q, data["v"]) - _loads(robot, q, rows, wrenches)
    free = np.flatnonzero(~given)
    missing = force - resistance - np.einsum("nij,nj->ni", M, a)
    a[:, free] = solved(M[:, free[:, None], free], missing[:, free])
    robot.functions.warn_of_singular(a, data, rows.shape)
    needed = resistance + np.einsum("nij,nj->ni", M, a)
    force[:, given] = needed[:, given]
    warn_of_unknown_efforts(force, a, data, rows.shape)
    shape = (*rows.shape, nv)
    return force.reshape(shape), a.reshape(shape)


def warn_of_unknown_efforts(
    force: np.ndarray, a: np.ndarray, data: Mapping[str, np.ndarray], batch: tuple[int, ...]
) -> None:
    """`warn_of_overflow` where forces are not finite though accelerations are."""
    overflows = np.isfinite(a).all(axis=1) & ~np.isfinite(force).all(axis=1)
    if overflows.any():
        warn_of_overflow(np.where(overflows[:, None], np.nan, 0.0), data, "an effort", batch)
        force[overflows] = np.nan


def _loads(
    robot: RobotInterface, q: np.ndarray, rows: Rows, wrenches: Mapping[str, object] | None
) -> np.ndarray:
    """sum J^T w (count, nv)."""
    flat = flat_wrenches(rows, wrenches) or {}
    refuse_nonfinite({f"wrenches[{name!r}]": w for name, w in flat.items()})
    total = np.zeros((rows.count, robot.nv))
    for name, w in flat.items():
        total += np.einsum("nij,ni->nj", robot.jacobian(q, name), w)
    return total


def solved(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """M^-1 x, rows (n, k); NaN where M is not positive definite to rounding."""
    solution = np.full(x.shape, np.nan)
    for i in range(len(x)):
        try:
            L = np.linalg.cholesky(M[i])
        except np.linalg.LinAlgError:
            continue
        if (np.diag(L) ** 2 < ROUNDING * np.diag(M[i])).any():
            continue
        solution[i] = np.linalg.solve(L.T, np.linalg.solve(L, x[i]))
    return solution
