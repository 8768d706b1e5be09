"""Derivatives of the dynamics, and linearization of a motion, for robots of any family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.robot.arguments import flat_wrenches, rows_with_wrenches
from flexdyn_ros.robot.parameters import names_that_fit
from flexdyn_ros.robot.results import ForwardDerivatives, Linearization, LinearizationWithStates

if TYPE_CHECKING:
    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.motion import OilSlopes


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


#: step of the differences of fourth order that give the rates of cylinders by q
_TURN = 1e-3


def linearization_with_oil(
    functions: FamilyFunctions,
    q: Any,
    v: Any,
    tau: Any,
    wrenches: Mapping[str, object] | None,
    locked: np.ndarray,
    states: Any,
    commands: Any,
    dry: Callable[..., Linearization] = linearization_of,
) -> LinearizationWithStates:
    """`Robot.linearize` with commands of valves; dry: A and B without them, as of `linearization_of`.

    Cylinders pull with F(l, l', z), their states move as z' = R(l, l', z, u): slopes of both, by complex
    steps of the kernels, go around A and B of the robot at the efforts F. l' changes with q where the robot
    moves, by differences of fourth order.
    """
    robot, nv, nu = functions.robot, functions.nv, functions.nu
    memory = None if robot.motion is None else robot.motion.memory
    if memory is None:
        raise UnsupportedError(f"robot '{robot.name}' has no cylinders on oil whose valves could open")
    given = {"q": (q, functions.nq), "v": (v, nv), **({} if tau is None else {"tau": (tau, nu)})}
    rows = rows_with_wrenches(wrenches, **given)
    flat, loads = [rows.take(name) for name in given], flat_wrenches(rows, wrenches) or {}
    kept = np.flatnonzero(~locked)
    found = []
    for i in range(rows.count):
        one, speed = flat[0][i], flat[1][i]
        effort = np.zeros(nu) if tau is None else flat[2][i].copy()
        names, at, forces, slopes = memory.oil_slopes(
            one, speed, None if tau is None else effort, states, commands
        )
        effort[at] = forces
        held = {name: load[i] for name, load in loads.items()}
        A, B = dry(functions, one, speed, effort, held or None, locked)
        found.append(_around(A, B, at, slopes, *_lines(functions, one, speed, at, kept)))
    n = 2 * kept.size + len(names)
    A, B = (np.reshape([each[k] for each in found], (*rows.shape, n, -1)) for k in range(2))
    return LinearizationWithStates(A, B, names)


def _lines(
    functions: FamilyFunctions, q: np.ndarray, v: np.ndarray, at: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (n, m) of the lengths of cylinders by the kept coordinates, and of their rates."""
    robot = functions.robot
    lines = robot.actuation_matrix(q)[:, at].T
    turned = np.zeros((at.size, kept.size))
    if v.any():
        for k, i in enumerate(kept):
            way = np.zeros(functions.nv)
            way[i] = _TURN
            ends = [robot.actuation_matrix(robot.integrate(q, way, x))[:, at].T @ v for x in (1, -1, 2, -2)]
            turned[:, k] = (8.0 * (ends[0] - ends[1]) - ends[2] + ends[3]) / (12.0 * _TURN)
    return lines[:, kept], turned


def _around(
    A: np.ndarray, B: np.ndarray, at: np.ndarray, slopes: OilSlopes, lines: np.ndarray, turned: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A and B of one state with the states of the oil behind (dq, dv)."""
    n, m, ns = at.size, lines.shape[1], len(slopes.rates)
    # slopes by (dq, dv, z, openings)
    forces, rates = (
        np.hstack([x[:, :n] @ lines + x[:, n : 2 * n] @ turned, x[:, n : 2 * n] @ lines, x[:, 2 * n :]])
        for x in slopes
    )
    both, inputs = np.zeros((2 * m + ns, 2 * m + ns)), np.zeros((2 * m + ns, B.shape[1]))
    both[: 2 * m, : 2 * m], inputs[: 2 * m] = A, B
    both[: 2 * m] += B[:, at] @ forces[:, : 2 * m + ns]
    both[2 * m :], inputs[2 * m :, at] = rates[:, : 2 * m + ns], rates[:, 2 * m + ns :]
    inputs[: 2 * m, at] = B[:, at] @ forces[:, 2 * m + ns :]
    return both, inputs
