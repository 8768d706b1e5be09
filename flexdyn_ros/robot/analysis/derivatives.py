"""Derivatives of the dynamics, and linearization of a motion, for robots of any family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.parameters import names_that_fit
from flexdyn_ros.robot.results import ForwardDerivatives, Linearization
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches

if TYPE_CHECKING:
    from flexdyn_ros.robot.functions import FamilyFunctions

__all__ = [
    "forward_derivatives_of",
    "inverse_derivatives_of",
    "linearization_of",
    "linearized_by_parts",
    "parameter_derivatives_of",
]


def inverse_derivatives_of(
    functions: FamilyFunctions, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Robot.inverse_dynamics_derivatives`."""
    robot, nv = functions.robot, functions.nv
    motion: dict[str, Any] = {"q": (q, functions.nq), "v": (v, nv), "a": (a, nv)}
    direct = functions.effort_names == functions.v_names
    if not direct:  # B(q) tau: the slopes of B belong to those of tau
        motion["tau"] = (robot.inverse_dynamics(q, v, a, wrenches), functions.nu)
    rows = rows_with_wrenches(wrenches, **motion)
    dq, dv = functions.slopes_rows(rows, wrenches)
    da = np.empty((rows.count, nv, nv))
    functions.mass_matrix_rows(rows, da)
    if not direct:
        B = robot.actuation_matrix(rows.take("q"))
        dq, dv, da = (np.linalg.solve(B, x) for x in (dq, dv, da))
    shape = (*rows.shape, functions.nu, nv)
    return dq.reshape(shape), dv.reshape(shape), da.reshape(shape)


def forward_derivatives_of(
    functions: FamilyFunctions, q: Any, v: Any, tau: Any, wrenches: Mapping[str, Any] | None
) -> ForwardDerivatives:
    """`Robot.forward_dynamics_derivatives`."""
    nv, (A, B) = functions.nv, functions.robot.linearize(q, v, tau, wrenches)
    lower = A[..., nv:, :]
    return ForwardDerivatives(lower[..., :nv].copy(), lower[..., nv:].copy(), B[..., nv:, :].copy())


def parameter_derivatives_of(
    functions: FamilyFunctions,
    q: Any,
    v: Any,
    tau: Any,
    wrenches: Mapping[str, Any] | None,
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
    functions: FamilyFunctions, q: Any, v: Any, tau: Any, wrenches: Mapping[str, Any] | None
) -> Linearization:
    """`Robot.linearize`."""
    nv, nu = functions.nv, functions.nu
    tau = np.zeros(nu) if tau is None else tau
    rows = rows_with_wrenches(wrenches, q=(q, functions.nq), v=(v, nv), tau=(tau, nu))
    A, B = functions.linearize_rows(rows, wrenches)
    return Linearization(A.reshape(*rows.shape, 2 * nv, 2 * nv), B.reshape(*rows.shape, 2 * nv, nu))


def linearized_by_parts(
    functions: FamilyFunctions, rows: Rows, wrenches: Mapping[str, Any] | None
) -> tuple[np.ndarray, np.ndarray]:
    """A and B in rows: slopes of the balance of forces, solved with the mass matrix."""
    robot, nv, nu = functions.robot, functions.nv, functions.nu
    motion = {name: rows.take(name) for name in ("q", "v", "tau")}
    flat = flat_wrenches(rows, wrenches)
    q, v, tau = (array.reshape(*rows.shape, array.shape[1]) for array in motion.values())
    loads = None if flat is None else {name: w.reshape(*rows.shape, 6) for name, w in flat.items()}
    a = robot.forward_dynamics(q, v, tau, loads).reshape(rows.count, nv)
    singular = ~np.isfinite(a).all(axis=1)
    a[singular] = 0.0
    sized = {name: (array, array.shape[1]) for name, array in (*motion.items(), ("a", a))}
    dq, dv = functions.slopes_rows(rows_with_wrenches(flat, **sized), flat)
    M = robot.mass_matrix(motion["q"])
    M[singular] = np.eye(nv)
    A, B = np.zeros((rows.count, 2 * nv, 2 * nv)), np.zeros((rows.count, 2 * nv, nu))
    A[:, :nv, nv:] = np.eye(nv)
    _add_turn_errors(functions.free_twists, motion["v"], A)
    free = np.flatnonzero(~functions.prescribed)
    inverse = np.zeros_like(M)
    inverse[:, free[:, None], free] = np.linalg.inv(M[:, free[:, None], free])
    A[:, nv:, :nv] = -inverse @ dq
    A[:, nv:, nv:] = -inverse @ dv
    direct = functions.effort_names == functions.v_names
    B[:, nv:] = inverse if direct else inverse @ robot.actuation_matrix(motion["q"])
    A[singular, nv:] = B[singular, nv:] = np.nan
    return A, B


def _add_turn_errors(twists: Sequence[int], v: np.ndarray, A: np.ndarray) -> None:
    """Rates w x dq of the small turns of free bodies, in A (count, 2 nv, 2 nv)."""
    for i in twists:
        w = v[:, i : i + 3]
        A[:, i, i + 1], A[:, i, i + 2] = -w[:, 2], w[:, 1]
        A[:, i + 1, i], A[:, i + 1, i + 2] = w[:, 2], -w[:, 0]
        A[:, i + 2, i], A[:, i + 2, i + 1] = -w[:, 1], w[:, 0]
