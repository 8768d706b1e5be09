"""Efforts of chosen actuators for a motion: joints, and elements such as cylinders that act along a line.

A motion asks for forces b = M a + h - sum J^T w along the coordinates. Actuators give B u. What none of them
can give is left as a rest in the coordinates that have no actuator by their nature: modes, a floating base,
hubs. In two stages:

1. the rest r of least norm r^T M^-1 r with B u + E r = b, E the columns of those coordinates;
2. of all u that leave it, the one of least u^T W u, W = 1/limit^2 where all actuators have a largest effort,
   else 1.

A rest at a joint has nobody who gives it: the motion is not possible with these actuators.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from flexdyn_ros.errors import DimensionError, FlexdynWarning, SingularityError, UnknownNameError
from flexdyn_ros.robot.interface import RobotInterface

#: share of the largest singular value below which one counts as zero
_RANK = 1e-10
#: rest at joints, relative to the forces that are asked for, above which a motion is not possible
POSSIBLE = 1e-9
#: kinds of coordinates that an actuator of their own drives
DRIVEN_KINDS = ("joint", "motor", "actuator", "platform")


def chosen_actuators(robot: RobotInterface, actuators: str | Sequence[str]) -> np.ndarray:
    """Places in tau of the actuators named, or of "all".

    Raises
    ------
    DimensionError, UnknownNameError
        For what is no sequence of names; a name that is no actuator.
    """
    known = tuple(robot.actuators)
    if isinstance(actuators, str):
        if actuators != "all":
            raise UnknownNameError("actuator", actuators, ("all", *known))
        actuators = known
    try:
        names = tuple(dict.fromkeys(actuators))
    except TypeError:
        raise DimensionError(f"actuators is {actuators!r}, expected 'all' or a sequence of names") from None
    for name in names:
        if name not in known:
            raise UnknownNameError("actuator", name, known)
    return np.array([robot.effort_names.index(name) for name in names], dtype=np.intp)


def free_coordinates(robot: RobotInterface) -> np.ndarray:
    """Places in v of the coordinates that no actuator of their own drives: modes, a floating base, hubs."""
    return np.flatnonzero([c.kind not in DRIVEN_KINDS for c in robot.coordinates])


def allocated_efforts(
    robot: RobotInterface, q: np.ndarray, needed: np.ndarray, chosen: np.ndarray, batch: tuple[int, ...]
) -> np.ndarray:
    """tau (count, nu) of chosen actuators for needed forces (count, nv) at rows of q.

    Raises
    ------
    SingularityError
        For a single state whose motion these actuators cannot make; rows of a batch are NaN then, and a
        FlexdynWarning says how many.
    """
    nv = robot.nv
    free = np.array([c.kind not in DRIVEN_KINDS for c in robot.coordinates], dtype=bool)
    B, M = robot.actuation_matrix(q)[:, :, chosen], robot.mass_matrix(q)
    weights = effort_weights(
        np.full(len(chosen), np.inf) if robot.motion is None else robot.motion.effort_limit[chosen]
    )
    tau = np.zeros((len(q), robot.nu))
    impossible = []
    for i, b in enumerate(needed):
        u, left = _least_rest(B[i], M[i], b, free)
        scale = max(float(np.abs(b).max(initial=0.0)), 1e-300)
        if np.abs(left[~free]).max(initial=0.0) > POSSIBLE * scale:
            impossible.append(i)
            tau[i] = np.nan
            continue
        u = _least_efforts(B[i], u, weights)
        tau[i, chosen] = u
        rest = np.flatnonzero(free)
        if robot.effort_names[:nv] == robot.v_names:
            tau[i, rest] += left[free]
    _report(robot, needed, B, M, free, impossible, batch)
    return tau


def _least_rest(
    B: np.ndarray, M: np.ndarray, b: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Efforts u that meet b at the joints as well as they can, and of these leave the least rest elsewhere;
    and all that is left, b - B u (nv,)."""
    at_joints = B[~free]
    u = np.linalg.lstsq(at_joints, b[~free], rcond=_RANK)[0] if at_joints.size else np.zeros(B.shape[1])
    idle = _null_space(at_joints, B.shape[1])
    if idle.shape[1] and free.any():
        # the norm of a rest in these coordinates alone
        root = np.linalg.cholesky(np.linalg.inv(M)[np.ix_(free, free)]).T
        turn = root @ B[free] @ idle
        # relative to the actuators: where none pulls at these coordinates, all that is turned is rounding
        size = float(np.linalg.norm(root) * np.linalg.norm(B))
        cut = _RANK * size / max(float(np.linalg.norm(turn, 2)), 1e-300)
        if cut < 1.0:
            u = u + idle @ np.linalg.lstsq(turn, root @ (b - B @ u)[free], rcond=cut)[0]
    return u, b - B @ u


def holding_efforts(
    B: np.ndarray, M: np.ndarray, b: np.ndarray, free: np.ndarray, J: np.ndarray
) -> np.ndarray:
    """Efforts u (k,) under which a robot at rest moves least where they cannot hold it.

    Forces r of the free coordinates and of loops act too: u and these minimize (b - B u - E r)^T M^-1
    (b - B u - E r), so that what the actuators drive does not accelerate while the other joints fall
    (Gauss's principle).

    Parameters
    ----------
    B, M, b : (nv, k), (nv, nv), (nv,) arrays
        Columns of the actuators, mass matrix, forces that hold every coordinate.
    free : (nv,) array of bool
    J : (m, nv) array
        Of the loops.
    """
    root = np.linalg.inv(np.linalg.cholesky(M))
    others, sizes, _ = np.linalg.svd(root @ np.hstack([np.eye(len(b))[:, free], J.T]), full_matrices=False)
    others = others[:, sizes > _RANK * max(float(sizes.max(initial=0.0)), 1e-300)]
    wanted = root @ np.column_stack([B, b])
    wanted -= others @ (others.T @ wanted)
    return np.linalg.lstsq(wanted[:, :-1], wanted[:, -1], rcond=_RANK)[0]


def _least_efforts(B: np.ndarray, u: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of all efforts that do the same as u, those of least weighted square."""
    idle = _null_space(B, B.shape[1])
    if not idle.shape[1]:
        return u
    root = np.sqrt(weights)
    return u - idle @ np.linalg.lstsq(root[:, None] * idle, root * u, rcond=_RANK)[0]


def _null_space(A: np.ndarray, n: int) -> np.ndarray:
    """Columns that span what A (k, n) maps to zero."""
    if not A.size:
        return np.eye(n)
    _, values, rows = np.linalg.svd(A)
    rank = int((values > _RANK * max(float(values.max(initial=0.0)), 1e-300)).sum())
    return rows[rank:].T


def effort_weights(limits: np.ndarray) -> np.ndarray:
    """Of the squares of efforts: 1/limit^2 where all have a largest effort, else 1."""
    known = limits.size and bool((np.isfinite(limits) & (limits > 0.0)).all())
    return 1.0 / limits**2 if known else np.ones(limits.size)


def _report(
    robot: RobotInterface,
    needed: np.ndarray,
    B: np.ndarray,
    M: np.ndarray,
    free: np.ndarray,
    impossible: list[int],
    batch: tuple[int, ...],
) -> None:
    """Say which motions the actuators cannot make."""
    if not impossible:
        return
    i = impossible[0]
    left = np.where(free, 0.0, _least_rest(B[i], M[i], needed[i], free)[1])
    k = int(np.argmax(np.abs(left)))
    c = robot.coordinates[k]
    unit = "N m" if c.unit == "rad" else "N"
    text = (
        f"no chosen actuator gives what '{c.name}' needs in this motion, {abs(left[k]):.4g} {unit} are left; "
        "expected a motion that the actuators can make, or more of them"
    )
    if batch == ():
        raise SingularityError(text, 0.0)
    warnings.warn(
        f"{len(impossible)} of {len(needed)} motions are not possible with these actuators; their rows are "
        f"NaN (sample {i}: {text})",
        FlexdynWarning,
        4,
    )
