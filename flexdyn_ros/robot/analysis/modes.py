"""Modes of vibration about a state of rest, for robots of any family."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, SingularityError, UnknownNameError
from flexdyn_ros.numerics.algebra.assignment import assign
from flexdyn_ros.records import frozen
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.results import Modes

#: eigenvalues of M^-1 K below this [1/s2] count as zero: gravity over a millimetre, times the rounding of
#: doubles
SMALLEST_EIGENVALUE = 1e-9
#: velocities up to which checks make dense matrices of a robot
MOST_ANALYSED = 300


def chosen_coordinates(
    names: Sequence[str] | str, coordinates: tuple[Coordinate, ...], what: str
) -> np.ndarray:
    """Mask (nv,) of the coordinates in `names`; the word "joints" stands for all of kind joint.

    Raises
    ------
    UnknownNameError
    """
    mask = np.zeros(len(coordinates), dtype=bool)
    index = {c.name: c.v_index for c in coordinates}
    for name in (names,) if isinstance(names, str) else names:
        if name == "joints":
            mask |= np.array([c.kind == "joint" for c in coordinates], dtype=bool)
        elif name in index:
            mask[index[name]] = True
        else:
            raise UnknownNameError(f"coordinate in {what}", name, ("joints", *index))
    return mask


def modes_of(M: np.ndarray, K: np.ndarray, D: np.ndarray, locked: np.ndarray) -> Modes:
    """Modes of M a + D v + K dq = 0 with some coordinates locked.

    Parameters
    ----------
    M, K, D : (..., nv, nv)
        Mass matrix, stiffness d(h - damping)/dq and damping dh/dv at v = 0. Away from equilibrium the K of a
        free body is not symmetric; its symmetric part is the second derivative of the potential along the
        body's turns.
    locked : (nv,) bool

    Returns
    -------
    Modes
        frequency sqrt(eigenvalue of M^-1 K) / 2 pi [Hz] and shape of the undamped robot; damping ratio of the
        complex pair of the damped one that belongs to the mode (see `_damping_ratios`). (..., m) with m = nv
        - number locked.

    Raises
    ------
    SingularityError
        If M of a single state is not positive definite; in a batch its rows are NaN, with a FlexdynWarning.
    """
    batch, nv = M.shape[:-2], M.shape[-1]
    free = np.flatnonzero(~locked)
    m = free.size
    pick = np.ix_(free, free)
    count = int(np.prod(batch))
    frequency, ratio = np.zeros((count, m)), np.zeros((count, m))
    shape, unstable = np.zeros((count, nv, m)), np.zeros(count, dtype=bool)
    blocks: list[Any] = [A.reshape(count, nv, nv) for A in (M, K, D)]
    singular = 0
    for i in range(count if m else 0):
        try:
            eigenvalues, vectors, unstable[i] = _undamped(*(A[i][pick] for A in blocks[:2]))
        except SingularityError:
            if batch == ():
                raise
            frequency[i] = ratio[i] = shape[i] = np.nan
            singular += 1
            continue
        omega = np.sqrt(eigenvalues)
        frequency[i] = omega / (2.0 * np.pi)
        shape[i, free] = vectors
        ratio[i] = _damping_ratios(omega, vectors.T @ blocks[2][i][pick] @ vectors)
    if singular:
        text = (
            f"the mass matrix is not positive definite in {singular} of {count} samples; their rows are NaN"
        )
        warnings.warn(text, FlexdynWarning, 3)
    return Modes(
        frequency.reshape(*batch, m),
        ratio.reshape(*batch, m),
        shape.reshape(*batch, nv, m),
        unstable.reshape(batch)[()],
    )


def eigenvectors(K: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, by rising size, and eigenvectors of unit M-norm of the symmetric part of K, with M = L L'
    (Golub and Van Loan 2013, section 8.7.2; SciPy's import takes longer than all of it)."""
    reduced = np.linalg.solve(L, np.linalg.solve(L, 0.5 * (K + K.T)).T)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (reduced + reduced.T))
    return eigenvalues, np.linalg.solve(L.T, vectors)


def _undamped(M: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Eigenvalues of (K, M) by rising size (zero where they are zero to rounding, or negative), vectors,
    unstable?"""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(M)[0])
        raise SingularityError(
            f"the mass matrix is not positive definite, smallest eigenvalue {smallest:.3g}", smallest
        ) from None
    eigenvalues, vectors = eigenvectors(K, L)
    zero = 64.0 * len(M) * np.finfo(float).eps * np.abs(eigenvalues).max() + SMALLEST_EIGENVALUE
    return np.where(eigenvalues > zero, eigenvalues, 0.0), vectors, bool(eigenvalues[0] < -zero)


def _damping_ratios(omega: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Damping ratios of x'' + C x' + diag(omega^2) x = 0, mode by mode.

    Each mode owns two of the eigenvalues s1, s2: a complex pair, or two real ones; its ratio is
    -(s1 + s2) / (2 sqrt(s1 s2)), more than one for two real ones, and infinite for modes of frequency zero.
    """
    m = omega.size
    moving = omega > 0.0
    ratio = np.full(m, np.inf)
    own = np.diag(C)
    ratio[moving] = own[moving] / (2.0 * omega[moving])
    coupling = np.abs(C - np.diag(own)).max(initial=0.0)
    if coupling <= 1e-12 * np.abs(own).max(initial=0.0):
        return ratio
    return _coupled_ratios(omega, C, ratio)


def _coupled_ratios(omega: np.ndarray, C: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """`_damping_ratios` where damping couples the modes: roots are given to modes by how much they move
    them.
    """
    m = omega.size
    state = np.block([[np.zeros((m, m)), np.eye(m)], [-np.diag(omega**2), -C]])
    s, x = np.linalg.eig(state)
    # how much of each eigenvector moves in each mode; positions and velocities together, so that real roots
    # count too
    share = np.abs(x[:m]) ** 2 * np.maximum(omega, 1.0)[:, None] ** 2 + np.abs(x[m:]) ** 2
    share /= share.sum(axis=0)
    pairs = np.flatnonzero(s.imag > 0.0)
    modes = _owners(share[:, pairs], 1)
    for mode, root in zip(modes, s[pairs], strict=True):
        ratio[mode] = -root.real / abs(root) if omega[mode] > 0.0 else np.inf
    left = np.setdiff1d(np.arange(m), modes)
    if not np.any(omega[left] > 0.0):
        return ratio
    real = np.flatnonzero(s.imag == 0.0)
    owners = _owners(share[np.ix_(left, real)], 2)
    for k, mode in enumerate(left):
        s1, s2 = s[real[owners == k]].real
        if omega[mode] > 0.0 and s1 * s2 > 0.0:
            ratio[mode] = -(s1 + s2) / (2.0 * np.sqrt(s1 * s2))
        elif omega[mode] > 0.0:
            ratio[mode] = np.inf
    return ratio


def _owners(share: np.ndarray, most: int) -> np.ndarray:
    """The row (k,) that each column of share (n, k) is given to, at most so many columns a row and with the
    largest sum of shares: each column's largest one, where that gives no row too many."""
    rows = np.argmax(share, axis=0) if share.size else np.zeros(0, dtype=np.intp)
    if np.bincount(rows, minlength=1).max() > most:
        rows = assign(-np.repeat(share, most, axis=0).T) // most
    return rows


@frozen
class ModeReport:
    """A mode of the whole robot at the neutral position: frequency [Hz], damping ratio.

    mostly: the coordinate that moves most of its mass.
    """

    frequency: float
    damping_ratio: float
    mostly: str


def mode_table(robot: RobotInterface, count: int, lock: str | tuple[str, ...]) -> tuple[ModeReport, ...]:
    """First modes of a robot at its neutral position, `lock` as of `Robot.modes`.

    Raises
    ------
    SingularityError
        If the mass matrix is singular.
    """
    q = robot.neutral()
    modes = robot.modes(q, lock=lock)
    diagonal = np.sqrt(np.diag(robot.mass_matrix(q)))
    moved = np.abs(modes.shape) * diagonal[:, None]
    return tuple(
        ModeReport(float(f), float(z), robot.v_names[int(np.argmax(moved[:, i]))])
        for i, (f, z) in enumerate(zip(modes.frequency[:count], modes.damping_ratio[:count], strict=True))
    )


# The motion that a singular mass matrix leaves without inertia, by the names of its coordinates.

#: velocities up to which the mass matrix is looked at, and names that are told
MOST_VELOCITIES, MOST_NAMES = 500, 5
#: eigenvalue of the mass matrix, its diagonal scaled to 1, that rounding may make of zero
_ROUNDING = 1e-9


def idle_motion(robot: RobotInterface, q: np.ndarray, v: np.ndarray) -> tuple[str, float]:
    """A sentence that names the coordinates (nv,) of the motion without inertia at q (nq,), "" if there is
    none, and the smallest eigenvalue of the mass matrix, its diagonal scaled to 1.

    Raises
    ------
    StateError
        If forces at (q, v) overflow: then the mass matrix is not to blame.
    """
    robot.bias_forces(q, v)
    if robot.nv > MOST_VELOCITIES:
        return "", 0.0
    free = np.flatnonzero(~robot.functions.prescribed)
    M = robot.mass_matrix(q)[np.ix_(free, free)]
    names = [robot.v_names[i] for i in free]
    square = np.diag(M)
    idle = [name for name, inertia in zip(names, square, strict=True) if not inertia > 0.0]
    if idle:
        verb = "moves" if len(idle) == 1 else "move"
        return f"the mass matrix is singular: {_listed(idle)} {verb} no inertia", 0.0
    size = np.sqrt(square)
    values, vectors = np.linalg.eigh(M / size[:, None] / size)
    measure = max(float(values[0]), 0.0)
    if measure > _ROUNDING:
        return "", measure
    share = np.abs(vectors[:, 0])
    joined = [name for name, x in zip(names, share, strict=True) if x > 0.1 * share.max()]
    text = f"the mass matrix is singular: a joint motion of {_listed(joined)} moves no inertia"
    return text, measure


def _listed(names: list[str]) -> str:
    told = ", ".join(f"'{name}'" for name in names[:MOST_NAMES])
    return told + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
