"""Bodies among parameters: their pseudo-inertia matrices, and what inertias a body can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.errors import ConvergenceError, needs
from flexdyn_ros.identification.base import BaseParameters
from flexdyn_ros.identification.linear.models import INERTIAL, LinearModel, is_inertial
from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from types import ModuleType

    import cvxpy as cp

#: an eigenvalue of a scaled pseudo-inertia, a scaled number of a joint is negative below this
NEGATIVE, NEGATIVE_OF_JOINT = -1e-12, -1e-9
#: the scale of a joint's number is at least this share of the largest of its kind
SMALL = 0.1
#: radius of gyration of a body of which nothing is known [m], share of the mass of all that the lightest has
GYRATION, LIGHTEST = 0.1, 1e-3


def _bases() -> np.ndarray:
    """(10, 4, 4): pseudo-inertia [[sum, h], [h^T, m]] of a body with one of its ten numbers 1 (Wensing, Kim &
    Slotine 2018, equation 10): sum = trace(I) / 2 - I."""
    found = np.zeros((10, 4, 4))
    found[0, 3, 3] = 1.0
    for i in range(3):
        found[1 + i, i, 3] = found[1 + i, 3, i] = 1.0
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        found[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return found


PSEUDO = _bases()


@dataclass(frozen=True, eq=False)
class Body:
    """A body of which numbers are fitted.

    Attributes
    ----------
    link : str
    columns : (k,) array of int
        Which of the fitted numbers are its own.
    bases : (k, 4, 4) array
        Pseudo-inertia of each of them being 1, scaled so that the matrix of a usual body is near 1.
    constant : (4, 4) array
        What is held, less what links on fixed joints bring in: scaled too.
    """

    link: str
    columns: np.ndarray
    bases: np.ndarray
    constant: np.ndarray

    def matrix(self, values: np.ndarray) -> np.ndarray:
        """Scaled pseudo-inertia (4, 4) of the link itself, of all numbers that are fitted (np,)."""
        return np.tensordot(values[self.columns], self.bases, axes=1) + self.constant


@dataclass(frozen=True, eq=False)
class Bodies:
    """The numbers that are fitted (np,), by body and joint.

    Attributes
    ----------
    bodies : tuple of Body
    joint : (k,) array of int
        Numbers of joints, which are not negative.
    scale : (np,) array
        How large a change of each is like a change of the others.
    before, lower : (np,) arrays
        What they were, and the least that they may be.
    """

    bodies: tuple[Body, ...]
    joint: np.ndarray
    scale: np.ndarray
    before: np.ndarray
    lower: np.ndarray

    @classmethod
    def of(cls, robot: Robot, model: LinearModel, chosen: Sequence[Parameter]) -> Bodies:
        """Of the parameters of a robot's model."""
        known = {p.name: p.value for p in model.parameters}
        place = {p.name: i for i, p in enumerate(chosen)}
        links = list(
            dict.fromkeys(p.name.rpartition("/")[0] for p in model.parameters if is_inertial(p.name))
        )
        numbers = {link: np.array([known[f"{link}/{part}"] for part in INERTIAL]) for link in links}
        total = sum(abs(x[0]) for x in numbers.values()) or 1.0
        scale = np.array([max(abs(p.value), SMALL * _largest(p, chosen)) for p in chosen])
        bodies = []
        for link, own in numbers.items():
            mass = max(own[0], LIGHTEST * total)
            radius = np.sqrt(max(own[4] + own[7] + own[9], 0.0) / (2.0 * mass)) or GYRATION
            sizes = np.array([mass, *3 * [mass * radius], *6 * [mass * radius**2]])
            free = [k for k, part in enumerate(INERTIAL) if f"{link}/{part}" in place]
            if not free:
                continue
            columns = np.array([place[f"{link}/{INERTIAL[k]}"] for k in free])
            scale[columns] = sizes[free]
            shrink = np.diag([1.0 / radius, 1.0 / radius, 1.0 / radius, 1.0]) / np.sqrt(mass)
            bases = shrink @ PSEUDO @ shrink
            held = own.copy()
            held[free] = 0.0
            constant = np.tensordot(held - _of_others(robot, link, own), bases, axes=1)
            bodies.append(Body(link, columns, bases[free], constant))
        joint = np.array([i for i, p in enumerate(chosen) if not is_inertial(p.name)], dtype=int)
        before, lower = (np.array([getattr(p, part) for p in chosen]) for part in ("value", "lower"))
        return cls(tuple(bodies), joint, scale, before, lower)

    def are_physical(self, values: np.ndarray) -> bool:
        """Whether bodies can have these inertias, and joints these numbers."""
        of_joints = (values / self.scale)[self.joint]
        return not self.unphysical(values) and bool(np.all(of_joints >= NEGATIVE_OF_JOINT))

    def unphysical(self, values: np.ndarray) -> tuple[str, ...]:
        """Sentences on bodies that cannot be."""
        return tuple(
            f"{body.link}: no distribution of mass has this inertia"
            for body in self.bodies
            if np.linalg.eigvalsh(body.matrix(values))[0] < NEGATIVE
        )

    def clipped(self, values: np.ndarray) -> np.ndarray:
        """Values of which those that are too low are the least that they may be: rounding, and the tolerance
        of a solver."""
        return np.maximum(values, self.lower)


def _largest(parameter: Parameter, chosen: Sequence[Parameter]) -> float:
    """The largest number of the same kind, 1 if all are zero."""
    kind = parameter.name.rpartition("/")[2]
    return max((abs(p.value) for p in chosen if p.name.endswith(f"/{kind}")), default=0.0) or 1.0


def _of_others(robot: Robot, link: str, own: np.ndarray) -> np.ndarray:
    """The ten numbers that links on fixed joints and payloads bring into a body: they stay as they are."""
    if link in robot.description.flexible_links:
        return np.zeros(10)
    inertial = robot.description.link(link).inertial
    if inertial is None:
        return np.zeros(10)
    alone = RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy).flat()
    others = own - alone
    return np.where(np.abs(others) > 1e-12 * np.abs(own).max(), others, 0.0)


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


def _constraints(cp: ModuleType, bodies: Bodies, x: cp.Variable, margin: float) -> list[object]:
    """Of scaled numbers x."""
    found = []
    for body in bodies.bodies:
        parts = zip(body.columns.tolist(), body.bases, strict=True)
        matrix = body.constant + sum(x[i] * (bodies.scale[i] * part) for i, part in parts)
        found.append(0.5 * (matrix + matrix.T) >> margin * np.eye(4))
    if bodies.joint.size:
        found.append(x[bodies.joint] >= 0.0)
    return found


def _solve(cp: ModuleType, problem: cp.Problem) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return False
    return problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
