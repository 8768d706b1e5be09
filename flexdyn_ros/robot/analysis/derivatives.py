"""Derivatives of the dynamics, and linearization of a motion, for robots of any family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.parameters import names_that_fit
from flexdyn_ros.robot.results import ForwardDerivatives, Linearization
from flexdyn_ros.robot.wrenches import rows_with_wrenches

if TYPE_CHECKING:
    from flexdyn_ros.robot.functions import FamilyFunctions

__all__ = [
    "forward_derivatives_of",
    "inverse_derivatives_of",
    "linearization_of",
    "parameter_derivatives_of",
]


def inverse_derivatives_of(
    functions: FamilyFunctions,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    wrenches: Mapping[str, object] | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Robot.inverse_dynamics_derivatives`."""
    robot, nv = functions.robot, functions.nv
    motion: dict[str, object] = {"q": (q, functions.nq), "v": (v, nv), "a": (a, nv)}
    # efforts of coordinates come first: others, of elements, are 0
    direct = functions.effort_names[:nv] == functions.v_names
    if not direct:  # B(q) tau: the slopes of B belong to those of tau
        motion["tau"] = (robot.inverse_dynamics(q, v, a, wrenches), functions.nu)
    rows = rows_with_wrenches(wrenches, **motion)
    dq, dv = functions.slopes_rows(rows, wrenches)
    da = np.empty((rows.count, nv, nv))
    functions.mass_matrix_rows(rows, da)
    if not direct:
        B = robot.actuation_matrix(rows.take("q"))
        dq, dv, da = (np.linalg.solve(B, x) for x in (dq, dv, da))
    elif functions.nu > nv:
        none = np.zeros((rows.count, functions.nu - nv, nv))
        dq, dv, da = (np.concatenate([x, none], axis=1) for x in (dq, dv, da))
    shape = (*rows.shape, functions.nu, nv)
    return dq.reshape(shape), dv.reshape(shape), da.reshape(shape)


def forward_derivatives_of(
    functions: FamilyFunctions, q: np.ndarray, v: Any, tau: Any, wrenches: Mapping[str, object] | None
) -> ForwardDerivatives:
    """`Robot.forward_dynamics_derivatives`."""
    nv, (A, B) = functions.nv, functions.robot.linearize(q, v, tau, wrenches)
    lower = A[..., nv:, :]
    return ForwardDerivatives(lower[..., :nv].copy(), lower[..., nv:].copy(), B[..., nv:, :].copy())


def parameter_derivatives_of(
    functions: FamilyFunctions,
    q: np.ndarray,
    v: Any,
    tau: Any,
    wrenches: Mapping[str, object] | None,
    patterns: str | Sequence[str],
) -> np.ndarray:
    """`Robot.forward_dynamics_parameter_derivatives`."""
    robot = functions.robot
    names = [parameter.name for parameter in robot.parameters]
    columns = [names.index(name) for name in names_that_fit(names, patterns)]
    a = robot.forward_dynamics(q, v, tau, wrenches)
    singular = ~np.isfinite(a).all(axis=-1)
    M = np.array(np.broadcast_to(robot.mass_matrix(q), (*a.shape, functions.nv)))
    M[singular] = np.eye(functions.nv)
    Y = robot.regressor(q, v, np.where(singular[..., None], 0.0, a)).Y[..., columns]
    force, free = robot.actuation_matrix(q) @ Y, np.flatnonzero(~functions.prescribed)
    found = np.zeros((*a.shape, len(columns)))
    found[..., free, :] = -np.linalg.solve(M[..., free[:, None], free], force[..., free, :])
    found[singular] = np.nan
    return found


def linearization_of(
    functions: FamilyFunctions,
    q: np.ndarray,
    v: Any,
    tau: Any,
    wrenches: Mapping[str, object] | None,
    locked: np.ndarray,
) -> Linearization:
    """`Robot.linearize` with some coordinates locked (nv,)."""
    nv, nu = functions.nv, functions.nu
    tau = np.zeros(nu) if tau is None else tau
    rows = rows_with_wrenches(wrenches, q=(q, functions.nq), v=(v, nv), tau=(tau, nu))
    if locked.any():
        A, B = functions.linearize_by_parts(rows, wrenches, locked)
        kept = np.flatnonzero(np.tile(~locked, 2))
        A, B = A[:, kept[:, None], kept], B[:, kept]
    else:
        A, B = functions.linearize_rows(rows, wrenches)
    n = A.shape[1]
    return Linearization(A.reshape(*rows.shape, n, n), B.reshape(*rows.shape, n, nu))
