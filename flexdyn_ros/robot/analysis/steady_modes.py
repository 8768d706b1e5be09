"""Modes of vibration about steady rotation, for robots of any family."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.results import Modes

#: the linear equations of a steady motion may change by this share of the largest of their terms, and
#: vibrations grow by this share of the highest frequency: rounding
STEADY = 1e-9
#: parts of a turn [rad], or of a way [m], after which the equations of a steady motion are compared
LATER = (0.7, 2.1)
#: of the largest part of the bias forces, what may be left unbalanced
BALANCED = 1e-6


#: of a state (q, v), the motions that constraints leave: (dq, dv) = (N x, P x + N y), N and P (m, k) of the
#: coordinates that are not locked
Tangent = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def steady_modes_of(
    robot: RobotInterface,
    q: np.ndarray,
    v: np.ndarray,
    locked: np.ndarray,
    tangent: Tangent | None = None,
) -> Modes:
    """Modes of x' = A x, x = (dq, dv), about a steady motion (q, v), locked (nv,) coordinates left out.

    A is that of `Robot.linearize` under the efforts that keep v as it is. With M, and G and K of the same
    equations, M x'' + (D + G) x' + K x = 0: G has the gyroscopic terms, K the centrifugal ones (Meirovitch
    1974). Eigenvalues s come in complex pairs, whose shapes are complex: parts move out of phase.
    Each pair is a mode of frequency |s| / 2 pi and damping ratio -Re s / |s|. Of real eigenvalues s1, s2 with
    alike shapes, an overdamped mode has sqrt(s1 s2) / 2 pi and -(s1 + s2) / (2 sqrt(s1 s2)); 0 and infinity
    where s1 s2 <= 0. With a `tangent` x are the motions that constraints leave.

    Raises
    ------
    StateError
        If A changes along the motion: there are no modes then, but Floquet exponents.
    UnsupportedError
        Of robots with hydraulics, whose oil is a spring of `Robot.modes` but has no part in A.
    """
    if robot.hydraulics is not None:
        raise UnsupportedError(f"modes about steady rotation of '{robot.name}', which oil drives")
    rows = Rows({"q": (q, robot.nq), "v": (v, robot.nv)})
    names = tuple(name for name, held in zip(robot.v_names, locked, strict=True) if held)
    positions, velocities = rows.take("q"), rows.take("v")
    nv, free = robot.nv, np.flatnonzero(~locked)
    leaves = tangent or (lambda q, v: (np.eye(free.size), np.zeros((free.size, free.size))))
    m = leaves(robot.neutral(), np.zeros(nv))[0].shape[1]
    frequency, ratio = np.zeros((rows.count, m)), np.zeros((rows.count, m))
    shape, unstable = np.zeros((rows.count, nv, m), dtype=complex), np.zeros(rows.count, dtype=bool)
    for i, (q_i, v_i) in enumerate(zip(positions, velocities, strict=True)):
        A, M = _steady_matrix(robot, q_i, v_i, names), robot.mass_matrix(q_i)[np.ix_(free, free)]
        _warn_of_imbalance(robot, q_i, v_i, locked)
        if tangent is not None:
            N, P = tangent(q_i, v_i)
            T = np.block([[N, np.zeros_like(N)], [P, N]])
            A, M = np.linalg.lstsq(T, A @ T, rcond=None)[0], N.T @ M @ N
        s, ways = _pairs(*np.linalg.eig(A), M)
        ways = ways if tangent is None else N @ ways
        fastest = np.abs(s).max(initial=1.0)
        # rounding moves double eigenvalues, such as the two zeros of a joint without spring, by its root
        s[np.abs(s) < np.sqrt(64.0 * len(A) * np.finfo(float).eps) * fastest] = 0.0
        found, ratios = _of_pairs(s)
        order = np.argsort(found, kind="stable")
        frequency[i], ratio[i], shape[i][free] = found[order], ratios[order], ways[:, order]
        unstable[i] = (s.real > STEADY * fastest).any()
    flat = (frequency, ratio, shape, unstable)
    return Modes(*(x.reshape(rows.shape + x.shape[1:])[()] for x in flat))


def _steady_matrix(
    robot: RobotInterface, q: np.ndarray, v: np.ndarray, locked: tuple[str, ...]
) -> np.ndarray:
    """A (2 m, 2 m) at (q, v), which is the same at later times of the motion."""

    def matrix(q: np.ndarray) -> np.ndarray:
        tau = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
        # efforts of coordinates whose motion is prescribed follow from it
        tau[[robot.effort_names.index(n) for n in locked if n in robot.effort_names]] = 0.0
        return robot.linearize(q, v, tau, lock=locked).A

    A, fastest = matrix(q), float(np.abs(v).max(initial=0.0))
    if fastest == 0.0:
        return A
    m = len(A) // 2
    kept = [name for name in robot.v_names if name not in locked]
    for part in LATER:
        change = np.abs(matrix(robot.integrate(q, v, part / fastest)) - A)[m:]
        if change.max(initial=0.0) > STEADY * np.abs(A[m:]).max(initial=0.0):
            row = kept[int(np.argmax(change.max(axis=1)))]
            raise StateError(
                f"the motion is not steady: the linear equation of '{row}' changes by "
                f"{change.max() / np.abs(A[m:]).max():.2g} of the largest within {part / fastest:.3g} s; "
                "expected a v that turns the robot as a whole, about an axis along gravity if there is any"
            )
    return A


def _warn_of_imbalance(robot: RobotInterface, q: np.ndarray, v: np.ndarray, locked: np.ndarray) -> None:
    """Warn of coordinates without an actuator that would accelerate at (q, v); with constraints, whose forces
    may balance them, the efforts that hold the motion say so."""
    if robot.functions.is_constrained:
        return
    idle = ~(locked | np.isin(robot.v_names, robot.actuators))
    terms = np.array(robot.bias_terms(q, v)[:])
    size = np.sqrt(np.diag(robot.mass_matrix(q)))
    left = np.where(idle, np.abs(terms.sum(axis=0)), 0.0) / size
    largest = float((np.abs(terms).sum(axis=0) / size).max(initial=0.0))
    if left.max(initial=0.0) > BALANCED * largest:
        worst = int(np.argmax(left))
        text = (
            f"robot '{robot.name}' is not balanced at (q, v): '{robot.v_names[worst]}' would accelerate by "
            f"{left[worst] / size[worst]:.3g} {robot.coordinates[worst].unit}/s2; modes are about a state of "
            "steady rotation, in which deflections balance the centrifugal forces"
        )
        warnings.warn(text, FlexdynWarning, 4)


def _pairs(s: np.ndarray, x: np.ndarray, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (m, 2), complex pairs or two real ones, and shapes (m, m) of unit M-norm whose largest
    entry is real."""
    m = len(M)
    ways = x[:m] / np.sqrt(np.einsum("ik,ij,jk->k", x[:m].conj(), M, x[:m]).real)
    largest = ways[np.abs(ways).argmax(axis=0), np.arange(2 * m)]
    ways = ways * (np.abs(largest) / largest)
    above = np.flatnonzero(s.imag > 0.0)
    real = [int(i) for i in np.flatnonzero(s.imag == 0.0)]
    found: list[tuple[Any, Any, np.ndarray]] = [(s[i], s[i].conjugate(), ways[:, i]) for i in above]
    # an overdamped mode by itself has one shape for both of its eigenvalues
    real.sort(key=lambda i: abs(s[i]))
    while real:
        i = real.pop(0)
        alike = np.abs([ways[:, i].conj() @ M @ ways[:, j] for j in real])
        found.append((s[i], s[real.pop(int(np.argmax(np.round(alike, 6))))], ways[:, i]))
    return (
        np.array([pair[:2] for pair in found], dtype=complex).reshape(m, 2),
        np.array([pair[2] for pair in found], dtype=complex).reshape(m, m).T,
    )


def _of_pairs(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (m,) [Hz] and damping ratios of pairs of eigenvalues (m, 2)."""
    product, total = s.prod(axis=1).real, s.sum(axis=1).real
    vibrates = product > 0.0
    omega = np.sqrt(np.where(vibrates, product, 1.0))
    frequency = np.where(vibrates, omega / (2.0 * np.pi), 0.0)
    return frequency, np.where(vibrates, -total / (2.0 * omega), np.inf)
