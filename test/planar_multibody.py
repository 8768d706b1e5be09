"""Planar multibody systems in Cartesian coordinates: floating frames, constraints, Lagrange multipliers.

Every body has R (2), th and its own elastic coordinates; joints are constraints C(q, t) = 0. Closed loops are
as good as trees. This is the plain form of the specification of mobile arms (sections 5, 8, 9 and 15.6), in
numpy: the recursion of kernels/chain.py is the fast one. Axes X forward, Y up, angles positive from X
towards Y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError, SingularityError
from flexdyn_ros.families.wheeled.model import Invariants

__all__ = [
    "Driving",
    "PlanarSystem",
    "Point",
    "Prismatic",
    "Revolute",
    "Solution",
    "Torque",
    "Weld",
    "rigid_body",
]

GROUND = -1
#: singular values of C_q below this fraction of the largest belong to redundant constraints
REDUNDANT = 1e-10


def rigid_body(mass: float, com: Sequence[float], inertia: float) -> Invariants:
    """A rigid body: com (2,) [m], inertia about it [kg m2], in body axes."""
    c, none = np.asarray(com, dtype=float), np.zeros((0, 0))
    empty = np.zeros(0)
    return Invariants(
        mass, mass * c, inertia + mass * float(c @ c), np.zeros((2, 0)), empty, empty, none, none, none, none,
        none, none,
    )  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A point of a body (GROUND: of the world) at u (2,) where it is not deformed, body axes; S (2, m) and
    slope (m) tell how the body's elastic coordinates move and turn it."""

    body: int
    u: tuple[float, float]
    S: np.ndarray | None = None
    slope: np.ndarray | None = None


@dataclass(frozen=True)
class Revolute:
    """Two points stay together: C = r_Q - r_P."""

    P: Point
    Q: Point


@dataclass(frozen=True)
class Prismatic:
    """Q slides along a line through P of P's body, and the bodies do not turn against each other.

    normal (2,): across the line, in axes of P's body; angle: alpha_Q - alpha_P [rad].
    """

    P: Point
    Q: Point
    normal: tuple[float, float]
    angle: float = 0.0


@dataclass(frozen=True)
class Weld:
    """Two points stay together and their cross sections do not turn against each other."""

    P: Point
    Q: Point
    angle: float = 0.0


@dataclass(frozen=True)
class Driving:
    """Coordinate `index` (0, 1: R, 2: th) of a body moves as motion(t) -> (x, v, a)."""

    body: int
    index: int
    motion: Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True)
class Torque:
    """A motor between the sections at two points: +T on Q's body, -T on P's, T = value(t, q, v)."""

    P: Point
    Q: Point
    value: Callable[[float, np.ndarray, np.ndarray], float]


class Solution(NamedTuple):
    """Accelerations a (n) and multipliers lam (m); the force of a constraint is -C_q' lam."""

    a: np.ndarray
    lam: np.ndarray


def _perp(x: np.ndarray) -> np.ndarray:
    return np.array([-x[1], x[0]])


@dataclass
class PlanarSystem:
    """Bodies, the constraints that tie them, and what acts on them.

    bodies: invariants of each; constraints: in the order of the multipliers; torques; forces: functions
    (t, q, v) -> generalized force (n,) beside gravity (2,), springs and damping of the bodies themselves.
    """

    bodies: tuple[Invariants, ...]
    constraints: tuple[Any, ...]
    gravity: tuple[float, float] = (0.0, -9.80665)
    torques: tuple[Torque, ...] = ()
    forces: tuple[Callable[[float, np.ndarray, np.ndarray], np.ndarray], ...] = ()
    at: tuple[int, ...] = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        sizes = [3 + len(body.a) for body in self.bodies]
        self.at = tuple(int(sum(sizes[:i])) for i in range(len(sizes)))
        self.n = int(sum(sizes))

    def of(self, x: np.ndarray, body: int) -> tuple[np.ndarray, float, np.ndarray]:
        """R (or its rate), th, q_f of a body in a vector of all coordinates."""
        first = self.at[body]
        end = first + 3 + len(self.bodies[body].a)
        return x[first : first + 2], float(x[first + 2]), x[first + 3 : end]

    # ---- inertia ----

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M (n, n), block by block exact in the elastic coordinates."""
        M = np.zeros((self.n, self.n))
        for i, body in enumerate(self.bodies):
            _, th, qf = self.of(q, i)
            A, p = _turn(th), body.moment + body.N @ qf
            own = np.zeros((3 + len(qf), 3 + len(qf)))
            own[:2, :2] = body.mass * np.eye(2)
            own[:2, 2] = own[2, :2] = A @ _perp(p)
            own[:2, 3:], own[2, 2] = A @ body.N, body.inertia + 2.0 * body.a @ qf + qf @ body.Mt @ qf
            own[2, 3:], own[3:, 3:] = body.b + body.G @ qf, body.M
            own[3:, :3] = own[:3, 3:].T
            rows = slice(self.at[i], self.at[i] + len(own))
            M[rows, rows] = own
        return M

    def velocity_forces(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Qv = -M' v + (dT/dq)' (n,)."""
        out = np.zeros(self.n)
        for i, body in enumerate(self.bodies):
            _, th, qf = self.of(q, i)
            _, w, vf = self.of(v, i)
            A, p = _turn(th), body.moment + body.N @ qf
            k = self.at[i]
            out[k : k + 2] = w * w * A @ p - 2.0 * w * A @ _perp(body.N @ vf)
            out[k + 2] = -2.0 * w * (body.a + body.Mt @ qf) @ vf
            out[k + 3 : k + 3 + len(qf)] = w * w * (body.a + body.Mt @ qf) - 2.0 * w * body.G @ vf
        return out

    def applied(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Gravity, elastic forces and damping of the bodies, torques with reactions, and `forces` (n,)."""
        g, out = np.asarray(self.gravity), np.zeros(self.n)
        for i, body in enumerate(self.bodies):
            _, th, qf = self.of(q, i)
            A, k = _turn(th), self.at[i]
            out[k : k + 2] = body.mass * g
            out[k + 2] = A @ _perp(body.moment + body.N @ qf) @ g
            out[k + 3 : k + 3 + len(qf)] = (A @ body.N).T @ g - body.K @ qf - body.D @ self.of(v, i)[2]
        for torque in self.torques:
            T = torque.value(t, q, v)
            out += T * (self._angle_row(torque.Q) - self._angle_row(torque.P))
        return out + sum((force(t, q, v) for force in self.forces), np.zeros(self.n))

    # ---- points ----

    def place(self, point: Point, q: np.ndarray) -> np.ndarray:
        """World place (2,) of a point."""
        if point.body == GROUND:
            return np.asarray(point.u, dtype=float)
        R, th, _ = self.of(q, point.body)
        return R + _turn(th) @ self._lever(point, q)

    def point_jacobian(self, point: Point, q: np.ndarray) -> np.ndarray:
        """J (2, n): velocity of a point = J v."""
        J = np.zeros((2, self.n))
        if point.body != GROUND:
            _, th, qf = self.of(q, point.body)
            k, A = self.at[point.body], _turn(th)
            J[:, k : k + 2], J[:, k + 2] = np.eye(2), A @ _perp(self._lever(point, q))
            if point.S is not None:
                J[:, k + 3 : k + 3 + len(qf)] = A @ point.S
        return J

    def point_drift(self, point: Point, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Acceleration (2,) of a point where all coordinates move on without acceleration."""
        if point.body == GROUND:
            return np.zeros(2)
        _, th, _ = self.of(q, point.body)
        _, w, vf = self.of(v, point.body)
        sliding = np.zeros(2) if point.S is None else point.S @ vf
        return _turn(th) @ (2.0 * w * _perp(sliding) - w * w * self._lever(point, q))

    def _lever(self, point: Point, q: np.ndarray) -> np.ndarray:
        u = np.asarray(point.u, dtype=float)
        return u if point.S is None else u + point.S @ self.of(q, point.body)[2]

    def _angle_row(self, point: Point) -> np.ndarray:
        """Row (n,) of the angle of the cross section at a point."""
        row = np.zeros(self.n)
        if point.body != GROUND:
            k = self.at[point.body]
            row[k + 2] = 1.0
            if point.slope is not None:
                row[k + 3 : k + 3 + len(point.slope)] = point.slope
        return row

    # ---- constraints ----

    def constraint(self, t: float, q: np.ndarray) -> np.ndarray:
        """C (m,)."""
        return np.concatenate([self._values(c, t, q) for c in self.constraints])

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """C_q (m, n)."""
        return np.vstack([self._rows(c, q) for c in self.constraints])

    def constraint_rate(self, t: float) -> np.ndarray:
        """C_t (m,): of driving constraints minus the prescribed speed."""
        return np.concatenate(
            [[-c.motion(t)[1]] if isinstance(c, Driving) else np.zeros(_rows_of(c)) for c in self.constraints]
        )

    def gamma(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Right-hand side of C_q a = gamma (m,)."""
        return np.concatenate([self._drifts(c, t, q, v) for c in self.constraints])

    def _values(self, c: Any, t: float, q: np.ndarray) -> np.ndarray:
        if isinstance(c, Driving):
            return np.array([q[self.at[c.body] + c.index] - c.motion(t)[0]])
        d = self.place(c.Q, q) - self.place(c.P, q)
        if isinstance(c, Revolute):
            return d
        turn = (self._angle_row(c.Q) - self._angle_row(c.P)) @ q - c.angle
        return np.append(d if isinstance(c, Weld) else self._normal(c, q) @ d, turn)

    def _rows(self, c: Any, q: np.ndarray) -> np.ndarray:
        if isinstance(c, Driving):
            return np.eye(self.n)[self.at[c.body] + c.index][None]
        J = self.point_jacobian(c.Q, q) - self.point_jacobian(c.P, q)
        if isinstance(c, Revolute):
            return J
        turn = self._angle_row(c.Q) - self._angle_row(c.P)
        if isinstance(c, Weld):
            return np.vstack([J, turn])
        across = self._normal(c, q) @ J
        if c.P.body != GROUND:
            d = self.place(c.Q, q) - self.place(c.P, q)
            across[self.at[c.P.body] + 2] += _perp(self._normal(c, q)) @ d
        return np.vstack([across, turn])

    def _drifts(self, c: Any, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if isinstance(c, Driving):
            return np.array([c.motion(t)[2]])
        drift = self.point_drift(c.P, q, v) - self.point_drift(c.Q, q, v)
        if isinstance(c, Revolute):
            return drift
        if isinstance(c, Weld):
            return np.append(drift, 0.0)
        n = self._normal(c, q)
        w = 0.0 if c.P.body == GROUND else self.of(v, c.P.body)[1]
        d = self.place(c.Q, q) - self.place(c.P, q)
        rate = (self.point_jacobian(c.Q, q) - self.point_jacobian(c.P, q)) @ v
        return np.array([n @ drift - 2.0 * w * _perp(n) @ rate + w * w * n @ d, 0.0])

    def _normal(self, c: Prismatic, q: np.ndarray) -> np.ndarray:
        n = np.asarray(c.normal, dtype=float)
        return n if c.P.body == GROUND else _turn(self.of(q, c.P.body)[1]) @ n

    # ---- motion ----

    def solve(self, t: float, q: np.ndarray, v: np.ndarray, *, baumgarte: float = 0.0) -> Solution:
        """Accelerations and multipliers of M a + C_q' lam = Q, C_q a = gamma.

        baumgarte: rate [1/s] at which violations of the constraints decay (alpha = beta).

        Raises
        ------
        SingularityError
            If constraints are redundant; says how many.
        """
        M, J = self.mass_matrix(q), self.jacobian(q)
        self._check_rank(J)
        m = len(J)
        system = np.block([[M, J.T], [J, np.zeros((m, m))]])
        right = self.gamma(t, q, v)
        if baumgarte:
            right = right - 2.0 * baumgarte * (J @ v + self.constraint_rate(t))
            right = right - baumgarte**2 * self.constraint(t, q)
        both = np.linalg.solve(
            system, np.concatenate([self.applied(t, q, v) + self.velocity_forces(q, v), right])
        )
        return Solution(both[: self.n], both[self.n :])

    def dependent(self, q: np.ndarray) -> np.ndarray:
        """Indices (m,) of coordinates to compute from the others, by QR of C_q with column pivoting."""
        from scipy.linalg import qr

        J = self.jacobian(q)
        self._check_rank(J)
        return np.sort(qr(J, pivoting=True, mode="economic")[2][: len(J)])

    def solve_partitioned(
        self, t: float, q: np.ndarray, v: np.ndarray, dependent: np.ndarray | None = None
    ) -> Solution:
        """The same by coordinate partitioning: a = B a_i + Gam, (B' M B) a_i = B' (Q - M Gam).

        dependent: indices (m,), chosen by `dependent` if omitted.
        """
        J, M = self.jacobian(q), self.mass_matrix(q)
        d = self.dependent(q) if dependent is None else np.asarray(dependent)
        i = np.setdiff1d(np.arange(self.n), d)
        B, Gam = np.zeros((self.n, len(i))), np.zeros(self.n)
        B[i, np.arange(len(i))] = 1.0
        B[d] = -np.linalg.solve(J[:, d], J[:, i])
        Gam[d] = np.linalg.solve(J[:, d], self.gamma(t, q, v))
        Q = self.applied(t, q, v) + self.velocity_forces(q, v)
        a = B @ np.linalg.solve(B.T @ M @ B, B.T @ (Q - M @ Gam)) + Gam
        return Solution(a, np.linalg.solve(J[:, d].T, (Q - M @ a)[d]))

    def project(
        self, t: float, q: np.ndarray, v: np.ndarray, tolerance: float = 1e-13
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nearest q, v (least squares) that the constraints admit.

        Raises
        ------
        ConvergenceError
            If Newton's method finds none in 50 steps.
        """
        q = np.array(q, dtype=float)
        for _ in range(50):
            C = self.constraint(t, q)
            if np.abs(C).max(initial=0.0) <= tolerance:
                J = self.jacobian(q)
                return q, v - np.linalg.lstsq(J, J @ v + self.constraint_rate(t), rcond=None)[0]
            q -= np.linalg.lstsq(self.jacobian(q), C, rcond=None)[0]
        raise ConvergenceError("the constraints cannot be met near the start", float(np.abs(C).max()), 50)

    def energy(self, q: np.ndarray, v: np.ndarray) -> float:
        """Kinetic, gravity and elastic energy together [J]."""
        total = 0.5 * v @ self.mass_matrix(q) @ v
        for i, body in enumerate(self.bodies):
            R, th, qf = self.of(q, i)
            total -= (body.mass * R + _turn(th) @ (body.moment + body.N @ qf)) @ np.asarray(self.gravity)
            total += 0.5 * qf @ body.K @ qf
        return float(total)

    def _check_rank(self, J: np.ndarray) -> None:
        sizes = np.linalg.svd(J, compute_uv=False)
        rank = int(np.count_nonzero(sizes > REDUNDANT * sizes[0])) if len(sizes) else 0
        if rank < len(J):
            raise SingularityError(
                f"{len(J) - rank} of {len(J)} constraints are redundant (rank {rank})", float(sizes[-1])
            )


def _turn(th: float) -> np.ndarray:
    c, s = np.cos(th), np.sin(th)
    return np.array([[c, -s], [s, c]])


def _rows_of(c: Any) -> int:
    return 2 if isinstance(c, Revolute | Prismatic) else 3
