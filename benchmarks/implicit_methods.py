"""Methods with error control that could take the place of "extrapolated": W-methods and generalised-alpha.

They integrate M(q) v' = f(q, v), q' = v, where an O(n) recursion solves (M + c1 h D + c2 h^2 K) x = r for
slopes K, D that are frozen over a step and need not be the derivatives of f. What is counted are passes: one
forward dynamics each, which is what takes the time in compiled code. What else a method needs (products with
K and D, solutions with the matrix of the start of the step) is not counted, in its favour.

bench_implicit.py measures them; test/simulation/test_implicit_candidates.py checks coefficients and orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

__all__ = ["ROS34PW2", "ROS34PW3", "GeneralisedAlpha", "Point", "Problem", "Tableau", "WMethod", "run"]

#: share of the step that the error would allow; least and largest change of a step
SAFETY, SHRINKAGE, GROWTH = 0.9, 0.2, 5.0


class Problem(Protocol):
    """Equations of motion; `passes` counts the calls of `accelerate`.

    q_of_v (nv,) is where q has the number of a coordinate; -1 for turns of free bodies, which have none.
    """

    passes: int
    q_of_v: np.ndarray

    def accelerate(
        self, q: np.ndarray, v: np.ndarray, h: float = 0.0, force: np.ndarray | None = None
    ) -> np.ndarray:
        """(M + h D + h^2 K)^-1 (f(q, v) + force - h K v), with M and slopes at (q, v)."""

    def slopes(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M(q), K, D (nv, nv) as `accelerate` takes them at (q, v)."""

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M(q) (nv, nv)."""

    def move(self, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """q (+) theta."""

    def rate(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rate of theta in q0 (+) theta when the velocity is v."""


class Point(NamedTuple):
    """Where a step begins: state, and what its method keeps there."""

    q: np.ndarray
    v: np.ndarray
    kept: tuple


class Step(NamedTuple):
    """theta and v at the end of a step, the estimated errors of both (nv,), what the method keeps."""

    theta: np.ndarray
    v: np.ndarray
    error_q: np.ndarray
    error_v: np.ndarray
    kept: tuple


# ---- W-methods ----


@dataclass(frozen=True, eq=False)
class Tableau:
    """Coefficients of a W-method; `gamma` holds its diagonal, `embedded` are weights of order 2."""

    alpha: np.ndarray
    gamma: np.ndarray
    b: np.ndarray
    embedded: np.ndarray

    def stability(self, z: complex) -> complex:
        """R(z) for the exact derivative."""
        s = self.b.size
        k = np.linalg.solve(np.eye(s) - z * (self.alpha + self.gamma), z * np.ones(s))
        return complex(1.0 + self.b @ k)


def _lower(diagonal: float, *rows: tuple[float, ...]) -> np.ndarray:
    """Square matrix of the rows below a constant diagonal."""
    matrix = diagonal * np.eye(len(rows) + 1)
    for i, row in enumerate(rows, 1):
        matrix[i, :i] = row
    return matrix


#: Rang & Angermann (2005), "New Rosenbrock W-methods of order 3 for partial differential algebraic equations
#: of index 1", BIT 45, 761-787: order 3 with any derivative, stiffly accurate, R(inf) = 0
ROS34PW2 = Tableau(
    _lower(
        0.0,
        (8.7173304301691801e-01,),
        (8.4457060015369423e-01, -1.1299064236484185e-01),
        (0.0, 0.0, 1.0),
    ),
    _lower(
        4.3586652150845900e-01,
        (-8.7173304301691801e-01,),
        (-9.0338057013044082e-01, 5.4180672388095326e-02),
        (2.4212380706095346e-01, -1.2232505839045147e00, 5.4526025533510214e-01),
    ),
    np.array([2.4212380706095346e-01, -1.2232505839045147e00, 1.5452602553351020e00, 4.3586652150845900e-01]),
    np.array([3.7810903145819369e-01, -9.6042292212423178e-02, 0.5, 2.1793326075422950e-01]),
)
#: the same: order 3 with any derivative, 4 with the exact one, |R(inf)| = 0.63
ROS34PW3 = Tableau(
    _lower(
        0.0,
        (2.5155456020628817,),
        (5.0777280103144085e-01, 0.75),
        (1.3959081404277204e-01, -3.3111001065419338e-01, 8.2040559712714178e-01),
    ),
    _lower(
        1.0685790213016289,
        (-2.5155456020628817,),
        (-8.7991339217106512e-01, -9.6014187766190695e-01),
        (-4.1731389379448741e-01, 4.1091047035857703e-01, -1.3558873204765276),
    ),
    np.array(
        [2.2047681286931747e-01, 2.7828278331185935e-03, 7.1844787635140066e-03, 7.6955588053404989e-01]
    ),
    np.array([3.1300297285209688e-01, -2.8946895245112692e-01, 9.7646597959903003e-01, 0.0]),
)


@dataclass(frozen=True)
class WMethod:
    """(I - h gamma A) k_i = h F(y0 + sum alpha_ij k_j) + h A sum gamma_ij k_j for y = (theta, v).

    A = [[0, 1], [-M0^-1 K, -M0^-1 D]] is frozen: of the second-order form remains (M0 + g D + g^2 K) kv_i = r
    with g = h gamma. A stage is a forward dynamics (one pass) and a solution with the matrix of the start of
    the step.

    With `follows` M is that of the stage instead, so that a stage is one folded forward dynamics. Then A
    changes within the step, which the conditions of order 3 do not foresee.
    """

    tableau: Tableau
    follows: bool = False
    #: order of the estimate, plus 1
    power: int = 3

    def begin(self, problem: Problem, q: np.ndarray, v: np.ndarray, kept: tuple = ()) -> Point:
        """A point with slopes, and its acceleration, which steps that are repeated need not compute again."""
        a = None if self.follows else problem.accelerate(q, v)
        return Point(q, v, (*problem.slopes(q, v), a))

    def step(self, problem: Problem, at: Point, h: float) -> Step:
        """A step of h."""
        M, K, D, a0 = at.kept
        alpha, gamma = self.tableau.alpha, self.tableau.gamma
        s, nv = self.tableau.b.size, at.v.size
        g = h * gamma[0, 0]
        inverse = None if self.follows else np.linalg.inv(M + g * D + g * g * K)
        k = np.zeros((s, 2 * nv))
        for i in range(s):
            y, w = alpha[i, :i] @ k[:i], gamma[i, :i] @ k[:i]
            theta, v = y[:nv], at.v + y[nv:]
            # the rate of theta, with what the rows before add
            rate = problem.rate(theta, v) + w[nv:]
            pull = K @ (w[:nv] + g * rate) + D @ w[nv:]
            if self.follows:
                k[i, nv:] = h * problem.accelerate(problem.move(at.q, theta), v, g, g * (K @ v) - pull)
            else:
                a = a0 if i == 0 else problem.accelerate(problem.move(at.q, theta), v)
                k[i, nv:] = inverse @ (h * (M @ a - pull))
            k[i, :nv] = h * rate + g * k[i, nv:]
        y, error = self.tableau.b @ k, (self.tableau.b - self.tableau.embedded) @ k
        return Step(y[:nv], at.v + y[nv:], error[:nv], error[nv:], ())


# ---- generalised-alpha ----


@dataclass(frozen=True)
class GeneralisedAlpha:
    """Chung & Hulbert (1993), linearly implicit: so many Newton passes a step, all with the same slopes.

    The error of a displacement is that of Zienkiewicz & Xie (1991), c h^2 (a1 - a0). Here c = beta + delta/2
    - 1/6, because the method's accelerations are those at times delta h beside the states, delta = alpha_m -
    alpha_f. So they are moved where the step changes (Bruls & Arnold 2008).
    """

    radius: float = 0.8
    newton: int = 1
    power: int = 3

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """alpha_m, alpha_f, gamma, beta (equations 17, 20 and 25)."""
        m, f = (2.0 * self.radius - 1.0) / (self.radius + 1.0), self.radius / (self.radius + 1.0)
        return m, f, 0.5 - m + f, 0.25 * (1.0 - m + f) ** 2

    def begin(self, problem: Problem, q: np.ndarray, v: np.ndarray, kept: tuple = ()) -> Point:
        """A point with the acceleration, its rate of change, and the step that both belong to."""
        a, jerk, h = kept or (problem.accelerate(q, v), 0.0 * v, 0.0)
        _, K, D = problem.slopes(q, v)
        return Point(q, v, (a, jerk, h, K, D))

    def step(self, problem: Problem, at: Point, h: float) -> Step:
        """A step of h."""
        m, f, gamma, beta = self.numbers
        a0, jerk, h0, K, D = at.kept
        a0 = a0 + (m - f) * (h - h0) * jerk
        a1 = a0.copy()
        for _ in range(self.newton):
            theta, v = self._newmark(at.v, a0, a1, h)
            q = problem.move(at.q, (1.0 - f) * theta)
            M = problem.mass_matrix(q)
            residual = M @ (problem.accelerate(q, (1.0 - f) * v + f * at.v) - (1.0 - m) * a1 - m * a0)
            S = (1.0 - m) * M + (1.0 - f) * h * (gamma * D + beta * h * K)
            a1 = a1 + np.linalg.solve(S, residual)
        theta, v = self._newmark(at.v, a0, a1, h)
        error = (beta + 0.5 * (m - f) - 1.0 / 6.0) * h * h * (a1 - a0)
        return Step(theta, v, error, 0.0 * error, (a1, (a1 - a0) / h, h))

    def _newmark(self, v: np.ndarray, a0: np.ndarray, a1: np.ndarray, h: float) -> tuple:
        _, _, gamma, beta = self.numbers
        return h * v + h * h * ((0.5 - beta) * a0 + beta * a1), v + h * ((1.0 - gamma) * a0 + gamma * a1)

    def stability(self, wh: float) -> np.ndarray:
        """What a step of h does to (h^2 a, h v, q) of an oscillator with the rate w, as a matrix (3, 3)."""
        m, f, gamma, beta = self.numbers
        z = wh * wh
        left = np.array([[1.0 - m, 0.0, (1.0 - f) * z], [-gamma, 1.0, 0.0], [-beta, 0.0, 1.0]])
        right = np.array([[-m, 0.0, -f * z], [1.0 - gamma, 1.0, 0.0], [0.5 - beta, 1.0, 1.0]])
        return np.linalg.solve(left, right)


# ---- runs ----


def run(problem, method, q, v, times, sizes, rtol, atol, first=1e-5, most=10**9):
    """States at `times` (increasing from 0, where the state is q, v), by steps whose error is controlled.

    sizes (2 nv,) says how large an error of positions and speeds may be for atol = 1. Returns (q (n, nq),
    v (n, nv)); None if the run needs more than so many passes, or diverges.
    """
    at, t, h = method.begin(problem, q, v), 0.0, first
    out_q, out_v = [], []
    for until in times:
        while t < until:
            if problem.passes > most or h < 1e-14:
                return None
            left = until - t
            tried = left if left < 1.01 * h else (0.5 * left if left < 1.9 * h else h)
            done = method.step(problem, at, tried)
            error = _size(at, done, problem.q_of_v, atol * sizes, rtol)
            share = SAFETY * error ** (-1.0 / method.power) if error > 0.0 else GROWTH
            if not error <= 1.0:
                h = tried * (max(SHRINKAGE, share) if np.isfinite(error) else 0.1)
                continue
            h = max(h if tried < h else 0.0, tried * min(GROWTH, share))
            t = until if tried == left else t + tried
            at = method.begin(problem, problem.move(at.q, done.theta), done.v, done.kept)
        out_q.append(at.q), out_v.append(at.v)
    return np.array(out_q), np.array(out_v)


def _size(at: Point, done: Step, q_of_v: np.ndarray, allowed: np.ndarray, rtol: float) -> float:
    """Estimated error in units of what is allowed, as numerics/stepping/extrapolated.py has it."""
    q = np.where(q_of_v >= 0, at.q[q_of_v], 0.0)
    most_q = np.where(q_of_v >= 0, np.maximum(np.abs(q), np.abs(q + done.theta)), 1.0)
    most = np.concatenate([most_q, np.maximum(np.abs(at.v), np.abs(done.v))])
    error = np.concatenate([done.error_q, done.error_v])
    return float(np.sqrt(np.mean((error / (allowed + rtol * most)) ** 2)))
