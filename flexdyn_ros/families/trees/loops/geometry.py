"""Residuals of loops, their rates and their Jacobians at rows of states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.families.trees.loops.kernels.rows import see_many
from flexdyn_ros.families.trees.loops.packed import PackedLoops
from flexdyn_ros.families.trees.loops.placing import PlacedLoop
from flexdyn_ros.multibody.constraints.kernels import residual as at
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.numerics.algebra.placement import cross_matrices
from flexdyn_ros.robot.verbs import Robot

#: rows of the rotation from base to end
_RHO = (at.RHO1, at.RHO2, at.RHO3)


class Closure(NamedTuple):
    """Loops at N states: residuals, their rates and what accelerations J a lack to their second derivative
    (N, m), J (N, m, nv); lines (N, m, 12): each row by the twists (angular; linear) of base and end;
    turns (N, n, 2, 3, 3): axes of the constraint frames of n
    loops."""

    residual: np.ndarray
    rate: np.ndarray
    bias: np.ndarray
    J: np.ndarray
    lines: np.ndarray
    turns: np.ndarray


class Geometry:
    """Residuals of loops at states of the open robot."""

    def __init__(self, robot: Robot, loops: Sequence[PlacedLoop]) -> None:
        self.robot, self.loops = robot, tuple(loops)
        functions: Any = robot.functions
        self._functions = functions
        self._packed = PackedLoops(functions.packed, functions.tree, self.loops, functions.table)
        self._packed.provide_rows()
        self.kinds, self.loop_of = self._packed.kinds, self._packed.loop_of
        turns = np.isin(self.kinds, _RHO)
        rows = ((i, np.flatnonzero(turns & (self.loop_of == i))) for i in range(len(self.loops)))
        #: loops that hold a turn, and their rows of it
        self._held_turns = [(i, own) for i, own in rows if own.size]

    def at(self, q: np.ndarray, v: np.ndarray) -> Closure:
        """At rows of q (N, nq) and v (N, nv), which are good."""
        count, nv, n, m = len(q), self.robot.nv, len(self.loops), self.kinds.size
        found = np.empty((3, count, m))
        J, lines, motions = (
            np.empty((count, m, nv)),
            np.empty((count, m, 12)),
            np.empty((count, n * law.MOTION)),
        )
        work, room = self._functions.work(), np.zeros(self._packed.room)
        arrays = (np.ascontiguousarray(x, dtype=np.float64) for x in (q, v))
        see_many(self._packed.address, work, room, *arrays, found, J, lines, motions)
        frames = motions.reshape(count, n, 2, law.FRAME)
        turns = frames[..., law.ROTATION : law.ROTATION + 9].reshape(count, n, 2, 3, 3)
        return Closure(found[0], found[1], found[2], J, lines, turns)

    def to_assemble(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi (m,) and its Jacobian (m, nv) at one q (nq,), with log(Q) for rho, which vanishes at half
        turns too.

        With the rotation vector t of Q and the angular velocity w, Q' = [w] Q,

            t' = (1 - [t]/2 + (1/|t|^2 - (1 + cos|t|)/(2 |t| sin|t|)) [t]^2) w.
        """
        found = self.at(q[None], np.zeros((1, self.robot.nv)))
        phi, J = found.residual[0], found.J[0]
        for i, rows in self._held_turns:
            Q = found.turns[0, i, 0].T @ found.turns[0, i, 1]
            t, E = rotation_vector(Q), 0.5 * (np.trace(Q) * np.eye(3) - Q)
            # rows of J are E R1' (Jw2 - Jw1)
            J[rows] = (
                _rate_of_vector(t) @ np.linalg.solve(E, J[rows]) if abs(np.linalg.det(E)) > 1e-9 else J[rows]
            )
            phi[rows] = t
        return phi, J

    def wrong_root(self, q: np.ndarray) -> tuple[int, str] | None:
        """The loop whose rows vanish at q where its joint is the other way round, and how; None where all are
        right."""
        turns = self.at(q[None], np.zeros((1, self.robot.nv))).turns[0]
        for i, loop in enumerate(self.loops):
            Q = turns[i, 0].T @ turns[i, 1]
            if at.K1 in loop.rows and Q[2, 2] < 0.0:
                return i, "its axes are opposed"
            if at.RHO1 in loop.rows and np.linalg.norm(rotation_vector(Q)) > 0.5 * np.pi:
                return i, "its frames are half a turn apart"
        return None


def rotation_vector(Q: np.ndarray) -> np.ndarray:
    """log(Q) (3,) of a rotation matrix, at most pi long."""
    s = 0.5 * np.array([Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1]])
    size, cosine = float(np.linalg.norm(s)), 0.5 * (float(np.trace(Q)) - 1.0)
    angle = float(np.arctan2(size, cosine))
    if size > 1e-6:
        return s * (angle / size)
    if cosine > 0.0:
        return s
    # near half a turn: Q + 1 = 2 n n'
    square = 0.5 * (Q + np.eye(3))
    n = square[:, int(np.argmax(np.diag(square)))]
    return n * (angle / np.linalg.norm(n))


def _rate_of_vector(t: np.ndarray) -> np.ndarray:
    """The matrix that takes w to the rate of the rotation vector t."""
    size = float(np.linalg.norm(t))
    x = cross_matrices(t[None])[0]
    if size < 1e-3:
        factor = 1.0 / 12.0 + size * size / 720.0
    else:
        factor = 1.0 / size**2 - (1.0 + np.cos(size)) / (2.0 * size * np.sin(size))
    return np.eye(3) - 0.5 * x + factor * x @ x
