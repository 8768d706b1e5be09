"""Linearization of a motion, for robots of any family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.results import Linearization
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches

if TYPE_CHECKING:
    from flexdyn_ros.robot.functions import FamilyFunctions

__all__ = ["linearization_of"]


def linearization_of(
    functions: FamilyFunctions, q: Any, v: Any, tau: Any, wrenches: Mapping[str, Any] | None
) -> Linearization:
    """`Robot.linearize`: slopes of the balance of forces, solved with the mass matrix."""
    robot, nv, nu = functions.robot, functions.nv, functions.nu
    tau = np.zeros(nu) if tau is None else tau
    rows = rows_with_wrenches(wrenches, q=(q, functions.nq), v=(v, nv), tau=(tau, nu))
    a = robot.forward_dynamics(q, v, tau, wrenches).reshape(rows.count, nv)
    singular = ~np.isfinite(a).all(axis=1)
    a[singular] = 0.0
    flat = flat_wrenches(rows, wrenches)
    motion = {name: (rows.take(name), size) for name, size in (("q", functions.nq), ("v", nv), ("tau", nu))}
    dq, dv = functions.slopes_rows(rows_with_wrenches(flat, **motion, a=(a, nv)), flat)
    M = robot.mass_matrix(rows.take("q"))
    M[singular] = np.eye(nv)
    A, B = np.zeros((rows.count, 2 * nv, 2 * nv)), np.zeros((rows.count, 2 * nv, nu))
    A[:, :nv, nv:] = np.eye(nv)
    _add_turn_errors(functions.free_twists, rows.take("v"), A)
    free = np.flatnonzero(~functions.prescribed)
    inverse = np.zeros_like(M)
    inverse[:, free[:, None], free] = np.linalg.inv(M[:, free[:, None], free])
    A[:, nv:, :nv] = -inverse @ dq
    A[:, nv:, nv:] = -inverse @ dv
    direct = functions.effort_names == functions.v_names
    B[:, nv:] = inverse if direct else inverse @ robot.actuation_matrix(rows.take("q"))
    A[singular, nv:] = B[singular, nv:] = np.nan
    return Linearization(A.reshape(*rows.shape, 2 * nv, 2 * nv), B.reshape(*rows.shape, 2 * nv, nu))


def _add_turn_errors(twists: Sequence[int], v: np.ndarray, A: np.ndarray) -> None:
    """Rates w x dq of the small turns of free bodies, in A (count, 2 nv, 2 nv)."""
    for i in twists:
        w = v[:, i : i + 3]
        A[:, i, i + 1], A[:, i, i + 2] = -w[:, 2], w[:, 1]
        A[:, i + 1, i], A[:, i + 1, i + 2] = w[:, 2], -w[:, 0]
        A[:, i + 2, i], A[:, i + 2, i + 1] = -w[:, 1], w[:, 0]
