"""The motion that a singular mass matrix leaves without inertia, by the names of its coordinates."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.robot.interface import RobotInterface

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
