"""Numbers that bodies can have, by linear matrix inequalities.

The pseudo-inertia matrix of a body is linear in its ten numbers, and positive semi-definite exactly if some
distribution of mass has them (Wensing, Kim & Slotine 2018, "Linear matrix inequalities for physically
consistent inertial parameter identification").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import ConvergenceError, needs
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.linear.bodies import Bodies

#: least eigenvalues of the scaled pseudo-inertias that are asked for, the first that can be had
MARGINS = (1e-6, 1e-8)
#: weight of staying near the numbers before, where the data tell nothing, beside a residual of 1
NEAR = 1e-6
#: programmes for one optimum, and the share by which the last one fell
MOST_ROUNDS, SETTLED = 6, 0.99


def nearest_values(matrix: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(np, nb): how numbers p change with base parameters b = matrix p, with the least change by scale."""
    scaled = matrix * scale
    return scale[:, None] * np.linalg.pinv(scaled)


def physical_values(
    bodies: Bodies, base: BaseParameters, beta: np.ndarray, information: np.ndarray, nearest: np.ndarray
) -> np.ndarray:
    """Numbers (np,) that bodies can have.

    Those with the base parameters beta (nb,) that are nearest to the numbers before; where there are none,
    those that raise |information (b - beta)| least.
    """
    if bodies.are_physical(nearest):
        return bodies.clipped(nearest)
    for margin in MARGINS:
        found = _with_base(bodies, base, nearest, margin)
        if found is not None:
            return found
    return _least_raised(bodies, base, beta, information)


def _with_base(bodies: Bodies, base: BaseParameters, nearest: np.ndarray, margin: float) -> np.ndarray | None:
    """Numbers nearest to those before that have the base parameters of `nearest`; None if there are none."""
    from scipy.linalg import null_space

    with needs("cvxpy", "identification"):
        import cvxpy as cp
    free = null_space(base.matrix * bodies.scale)
    if not free.shape[1]:
        return None
    z = cp.Variable(free.shape[1])
    start = nearest / bodies.scale
    x = start + free @ z
    apart = cp.sum_squares(x - bodies.before / bodies.scale)
    if not _solve(cp, cp.Problem(cp.Minimize(apart), _constraints(cp, bodies, x, margin))):
        return None
    found = bodies.clipped(bodies.scale * (start + free @ z.value))
    return found if bodies.are_physical(found) else None


def _least_raised(
    bodies: Bodies, base: BaseParameters, beta: np.ndarray, information: np.ndarray
) -> np.ndarray:
    """Numbers with which the weighted residual is raised least, by a programme whose optimum is scaled to
    about 1, so that the tolerance of the solver means the same for all noise."""
    # where there is next to no noise, weights leave the solver no digits: all base parameters alike then
    alike = np.diag(1.0 / np.linalg.norm(base.matrix * bodies.scale, axis=1))
    for weights in (information, alike):
        matrix = weights @ (base.matrix * bodies.scale)
        for margin in MARGINS:
            found = _refined(bodies, matrix, weights @ beta, margin)
            if found is not None:
                return found
    raise ConvergenceError("no inertias that bodies can have were found near those of the data")


def _refined(bodies: Bodies, matrix: np.ndarray, aim: np.ndarray, margin: float) -> np.ndarray | None:
    """The programme, again with the residual that it left as the new scale, while that falls."""
    best = None
    raised = float(np.linalg.norm(matrix @ (bodies.before / bodies.scale) - aim))
    for _ in range(MOST_ROUNDS):
        found = _raised_by(bodies, matrix, aim, max(raised, 1.0), margin)
        if found is None or not bodies.are_physical(found):
            break
        now = float(np.linalg.norm(matrix @ (found / bodies.scale) - aim))
        settled = best is not None and now > SETTLED * raised
        if best is None or now < raised:
            best, raised = found, now
        if settled:
            break
    return best


def _raised_by(
    bodies: Bodies, matrix: np.ndarray, aim: np.ndarray, size: float, margin: float
) -> np.ndarray | None:
    """One programme of `_least_raised`, its residual divided by size."""
    with needs("cvxpy", "identification"):
        import cvxpy as cp
    x = cp.Variable(bodies.scale.size)
    misfit = cp.sum_squares((matrix / size) @ x - aim / size)
    goal = misfit + NEAR * cp.sum_squares(x - bodies.before / bodies.scale)
    if not _solve(cp, cp.Problem(cp.Minimize(goal), _constraints(cp, bodies, x, margin))):
        return None
    return bodies.clipped(bodies.scale * x.value)


def _constraints(cp: Any, bodies: Bodies, x: Any, margin: float) -> list[object]:
    """Of scaled numbers x."""
    found = []
    for body in bodies.bodies:
        parts = zip(body.columns.tolist(), body.bases, strict=True)
        matrix = body.constant + sum(x[i] * (bodies.scale[i] * part) for i, part in parts)
        found.append(0.5 * (matrix + matrix.T) >> margin * np.eye(4))
    if bodies.joint.size:
        found.append(x[bodies.joint] >= 0.0)
    return found


def _solve(cp: Any, problem: Any) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return False
    return problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
