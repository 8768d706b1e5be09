"""Small motions of a robot with loops about a state: linear equations, modes, static equilibrium.

With the multipliers lam of the motion, at fixed (a, lam),

    K = d(M a + h - B tau - J' lam)/dq,  C = dh/dv,  Gq = d(J a + dJ/dt v)/dq,  Gv = d(dJ/dt v)/dv:

    [ M  -J' ] [ da   ]     [ K   C  ] [ dq ]
    [ J   0  ] [ dlam ] = - [ Gq  Gv ] [ dv ]

K holds -sum lam_i Hess phi_i: the pendulum on a rod has no other stiffness. The derivatives of the open tree
are those of its tangents; those of J' lam and of J a + dJ/dt v are differences of eighth order (of v of
second order, in which dJ/dt v is quadratic), exact to some 1e-12 of their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError, SingularityError
from flexdyn_ros.families.trees.loops.closing import Closing
from flexdyn_ros.families.trees.loops.dynamics import Constrained, Solution, least_efforts, null_space
from flexdyn_ros.families.trees.loops.forces import Forces
from flexdyn_ros.families.trees.loops.geometry import Geometry
from flexdyn_ros.robot.analysis.modes import modes_of
from flexdyn_ros.robot.arguments import rows_with_wrenches
from flexdyn_ros.robot.functions import add_turn_errors
from flexdyn_ros.robot.results import Equilibrium, Modes

#: central differences of eighth order: steps and weights (Fornberg 1988), and the step [rad, m]
_AHEAD = np.array([1.0, 2.0, 3.0, 4.0])
_WEIGHTS = np.array([4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0])
_STEP = 0.02
#: of Newton's iteration: largest step [rad, m], rounds, residual relative to the forces, halvings of a step
_LARGEST, _ROUNDS, _BALANCED, _HALVINGS = 0.3, 100, 1e-12, 30
_TOLERANCE = 1e-9
#: rounds of the damped iteration
_DAMPED_ROUNDS = 500
#: share of the largest number of J that is rounding
_ROUNDING = 1e-13


class Curvature(NamedTuple):
    """Derivatives at one state: of J' lam by q (nv, nv), of J a + dJ/dt v by q and by v (m, nv)."""

    force: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray


def differences(nv: int) -> tuple[np.ndarray, np.ndarray]:
    """Moves (8 nv, nv) of each coordinate, and the weights (8,) that make a derivative of what is there."""
    steps = np.concatenate([_AHEAD, -_AHEAD]) * _STEP
    weights = np.concatenate([_WEIGHTS, -_WEIGHTS]) / _STEP
    return (steps[:, None, None] * np.eye(nv)).reshape(-1, nv), weights


def curvature(geometry: Geometry, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray) -> Curvature:
    """Derivatives of the loops at q (nq,), v, a (nv,), lam (m,)."""
    robot, nv = geometry.robot, geometry.robot.nv
    moves, weights = differences(nv)
    around = geometry.at(
        robot.integrate(np.tile(q, (len(moves), 1)), moves, 1.0), np.tile(v, (len(moves), 1))
    )
    force = np.einsum("nij,i->nj", around.J, lam).reshape(8, nv, nv)
    rate = (around.J @ a + around.bias).reshape(8, nv, -1)
    by_force, by_q = (np.einsum("s,skj->jk", weights, x) for x in (force, rate))
    pairs = geometry.at(np.tile(q, (2 * nv, 1)), v + np.concatenate([np.eye(nv), -np.eye(nv)])).bias
    return Curvature(by_force, by_q, 0.5 * (pairs[:nv] - pairs[nv:]).T)


def linearized(
    loops: Closing,
    state: Mapping[str, np.ndarray],
    solution: Solution,
    locked: np.ndarray,
    slopes: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """A (N, 2 nv, 2 nv) and B (N, 2 nv, nu) at rows of q, v, tau and the accelerations and multipliers there,
    with `locked` (nv,) coordinates at rest, whose own rows and columns are not meant."""
    f, robot, nv = loops.functions, loops.open, loops.functions.nv
    count = len(state["q"])
    A, B = np.zeros((count, 2 * nv, 2 * nv)), np.zeros((count, 2 * nv, f.nu))
    A[:, :nv, nv:] = np.eye(nv)
    add_turn_errors(f.free_twists, state["v"], A)
    M, J = robot.mass_matrix(state["q"]), loops.geometry.at(state["q"], state["v"]).J
    efforts = robot.actuation_matrix(state["q"])
    for i in range(count):
        if not np.isfinite(solution.a[i]).all():
            A[i, nv:] = B[i, nv:] = np.nan
            continue
        bent = curvature(loops.geometry, *(x[i] for x in (state["q"], state["v"], *solution[:2])))
        force = -np.concatenate([slopes[0][i] - bent.force, slopes[1][i], -efforts[i]], axis=1)
        target = -np.concatenate([bent.by_q, bent.by_v, np.zeros((len(bent.by_q), f.nu))], axis=1)
        own = np.where(locked | locked[:, None], np.eye(nv), M[i])
        factors = Constrained(own[None], np.where(locked, 0.0, J[i])[None])
        change = factors.solve(force[None], target[None])[0][0]
        A[i, nv:], B[i, nv:] = change[:, : 2 * nv], change[:, 2 * nv :]
    return A, B


class Rest(NamedTuple):
    """What holds a robot at rest: efforts (nu,), multipliers (m,), forces that are missing (nv,)."""

    tau: np.ndarray
    multipliers: np.ndarray
    left: np.ndarray


def held_at_rest(forces: Forces, q: np.ndarray, locked: np.ndarray) -> Rest:
    """The least efforts of all actuators and of locked coordinates that hold the robot at q (nq,), and the
    multipliers of least norm under them."""
    loops = forces.closing
    f, robot, nv = loops.functions, loops.open, loops.functions.nv
    still = np.zeros(nv)
    needed = robot.inverse_dynamics(q, still, still)[:nv]
    chosen = np.array([f.effort_names.index(name) for name in f.robot.actuators], dtype=np.intp)
    B, J = robot.actuation_matrix(q)[:, chosen], loops.geometry.at(q[None], still[None]).J[0]
    N = null_space(J)
    M_inverse = np.linalg.inv(robot.mass_matrix(q))
    both = np.concatenate([B, np.eye(nv)[:, locked]], axis=1)
    weights = np.concatenate([forces.weights(chosen), np.ones(int(locked.sum()))])
    rest = ~locked
    u, missing, _ = least_efforts(
        N.T @ needed, N.T @ both, N.T[:, rest], M_inverse[np.ix_(rest, rest)], weights
    )
    tau, left = np.zeros(f.nu), np.zeros(nv)
    tau[chosen] = u[: chosen.size]
    left[rest] = missing
    lam = np.linalg.lstsq(J.T, needed - both @ u - left, rcond=1e-10)[0]
    return Rest(tau, lam, left)


def tangent(
    geometry: Geometry, q: np.ndarray, v: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Motions (dq, dv) = (N x, P x + N y) of free coordinates along which q (nq,), v (nv,) stay on the
    loops: J N = 0, J P + d(J v)/dq N = 0."""
    robot, nv = geometry.robot, geometry.robot.nv
    moves, weights = differences(nv)
    around = geometry.at(
        robot.integrate(np.tile(q, (len(moves), 1)), moves, 1.0), np.tile(v, (len(moves), 1))
    )
    turned = np.einsum("s,skj->jk", weights, (around.J @ v).reshape(8, nv, -1))
    J = geometry.at(q[None], v[None]).J[0][:, free]
    N = null_space(J)
    return N, -np.linalg.pinv(J, rcond=1e-9) @ turned[:, free] @ N


def modes_with_loops(forces: Forces, q: np.ndarray, locked: np.ndarray) -> Modes:
    """Modes at rows of q (N, nq) on the motions that loops leave: N' K N x = omega^2 N' M N x."""
    loops = forces.closing
    f, robot, nv = loops.functions, loops.open, loops.functions.nv
    found = []
    for one in q:
        rest, still = held_at_rest(forces, one, locked), np.zeros(nv)
        motion = {"q": (one, f.nq), "v": (still, nv), "a": (still, nv), "tau": (rest.tau, f.nu)}
        slopes = robot.functions.slopes_rows(rows_with_wrenches(None, **motion), None)
        for layer in f.layers:
            layer.add_springs(one[None], *slopes)
        K, D = (x[0] for x in slopes)
        K = K - curvature(loops.geometry, one, still, still, rest.multipliers).force
        J = loops.geometry.at(one[None], still[None]).J[0]
        N = np.zeros((nv, 0))
        free = np.flatnonzero(~locked)
        own = null_space(J[:, free])
        N = np.zeros((nv, own.shape[1]))
        N[free] = own
        M = robot.mass_matrix(one)
        small = [N.T @ x @ N for x in (M, K, D)]
        modes = modes_of(small[0], small[1], small[2], np.zeros(N.shape[1], dtype=bool))
        found.append(modes._replace(shape=N @ modes.shape))
    if not found:
        # as many as at the neutral pose
        one = modes_with_loops(forces, f.neutral()[None], locked)
        return Modes(*(part[:0] for part in one))
    if len({modes.frequency.size for modes in found}) > 1:
        raise SingularityError("the loops leave different numbers of motions at the poses of this batch", 0.0)
    return Modes(*(np.stack(parts) for parts in zip(*found, strict=True)))


class _Balance(NamedTuple):
    """Forces (nv,) that are missing at a pose, gaps of the loops (m,), and J (m, nv)."""

    force: np.ndarray
    gap: np.ndarray
    J: np.ndarray
    load: np.ndarray


def equilibrium(
    loops: Closing, q: np.ndarray, tau: np.ndarray, held: np.ndarray, wrenches: Mapping[str, Any] | None
) -> Equilibrium:
    """Static equilibrium near q (nq,), by Newton's iteration on poses and multipliers together:

        h - B tau - J' lam = 0,  phi = 0;      [ K  -J' ] [ dq   ]
                                               [ J   0  ] [ dlam ]

    solved by least squares, since rows may be redundant; steps are bounded, and halved until the size of both
    residuals falls. Where that ends nowhere, K + mu M takes the place of K, with mu in proportion to the
    residual: long steps of an overdamped motion, which ends at rest (pseudo-transient continuation, Kelley &
    Keyes 1998). Held coordinates stay, and get the effort that this takes.
    """
    f, robot, nv = loops.functions, loops.open, loops.functions.nv
    free, still = np.flatnonzero(~held), np.zeros(nv)
    scale = max(1e-300, float(np.abs(tau).max(initial=0.0)))

    def balance(q: np.ndarray, lam: np.ndarray | None) -> tuple[_Balance, np.ndarray]:
        found = loops.geometry.at(q[None], still[None])
        # rows that only held coordinates move have nothing but rounding in the columns of the free ones
        J = np.where(np.abs(found.J[0]) > _ROUNDING * np.abs(found.J[0]).max(), found.J[0], 0.0)
        load = robot.inverse_dynamics(q, still, still, wrenches)[:nv] - robot.actuation_matrix(q) @ tau
        if lam is None:
            lam = np.linalg.lstsq(J[:, free].T, load[free], rcond=1e-10)[0]
        return _Balance((load - J.T @ lam)[free], found.residual[0], J, load), lam

    def stiffness(q: np.ndarray, lam: np.ndarray) -> np.ndarray:
        motion = {"q": (q, f.nq), "v": (still, nv), "a": (still, nv), "tau": (tau, f.nu)}
        rows = rows_with_wrenches(wrenches, **motion)
        K = robot.functions.slopes_rows(rows, wrenches)[0][0]
        return np.asarray(K - curvature(loops.geometry, q, still, still, lam).force)

    begin = q
    for damped in (False, True):
        q, (now, lam), mu = begin, balance(begin, None), 0.0
        for iteration in range(_DAMPED_ROUNDS if damped else _ROUNDS):
            scale = max(scale, float(np.abs(now.load).max(initial=0.0)))
            missing = np.concatenate([now.force / scale, now.gap])
            size = np.abs(missing).max(initial=0.0)
            K, J = stiffness(q, lam), now.J[:, free]
            inner = K[np.ix_(free, free)]
            if damped:
                M = robot.mass_matrix(q)[np.ix_(free, free)]
                mu = mu or np.abs(np.linalg.eigvals(np.linalg.solve(M, inner))).max(initial=0.0) / size
                inner = inner + mu * size * M
            system = np.block([[inner / scale, -J.T], [J, np.zeros((len(J), len(J)))]])
            step = -np.linalg.lstsq(system, missing, rcond=1e-12)[0]
            largest = np.abs(step[: free.size]).max(initial=0.0)
            if size <= _BALANCED or (largest < 1e-14 and size <= _TOLERANCE):
                return _at_rest(loops, q, tau, held, now, K, iteration, lam)
            length = min(1.0, _LARGEST / max(largest, 1e-300))
            for _ in range(_HALVINGS):
                dq = np.zeros(nv)
                dq[free] = length * step[: free.size]
                there = robot.integrate(q, dq, 1.0)
                trial, new = balance(there, lam + length * scale * step[free.size :])
                left = np.linalg.norm(np.concatenate([trial.force / scale, trial.gap]))
                if damped or left < np.linalg.norm(missing):
                    break
                length *= 0.5
            else:
                if size <= _TOLERANCE:
                    return _at_rest(loops, q, tau, held, now, K, iteration, lam)
                break
            q, now, lam = there, trial, new
    raise ConvergenceError(
        f"no equilibrium found near the start: {np.abs(now.force).max(initial=0.0):.3g} of forces up to "
        f"{scale:.3g} are left, loops are open by {np.abs(now.gap).max():.3g}; hold coordinates that nothing "
        "supports, or start nearer",
        float(np.abs(now.force).max(initial=0.0)),
        _ROUNDS,
    )


def _at_rest(
    loops: Closing,
    q: np.ndarray,
    tau: np.ndarray,
    held: np.ndarray,
    now: _Balance,
    K: np.ndarray,
    iterations: int,
    lam: np.ndarray,
) -> Equilibrium:
    """The result: efforts of held coordinates, and whether N' K N has no negative eigenvalue."""
    free = np.flatnonzero(~held)
    N = null_space(now.J[:, free])
    own = N.T @ K[np.ix_(free, free)] @ N
    values = np.linalg.eigvalsh(0.5 * (own + own.T)) if own.size else np.zeros(1)
    stable = bool(values[0] >= -1e-12 * np.abs(values).max() - 1e-9)
    efforts = tau.copy()
    efforts[: len(held)][held] += (now.load - now.J.T @ lam)[held]
    return Equilibrium(q, efforts, float(np.abs(now.force).max(initial=0.0)), stable, iterations)
