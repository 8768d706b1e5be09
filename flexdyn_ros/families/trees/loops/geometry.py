"""Loops in a tree: the placements of their frames, and residuals from the frames of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.families.trees.loops.kernels.closures import closures
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.constraints.kernels import residual as at
from flexdyn_ros.multibody.constraints.loop import ROWS, loops_of, place_of_loop, triad
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.numerics.algebra.placement import Placement, cross_matrices
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.stations import section_of
from flexdyn_ros.robot.verbs import Robot

#: rows of the rotation from base to end
_RHO = (at.RHO1, at.RHO2, at.RHO3)


class Mount(NamedTuple):
    """The frame of the tree that carries an end of a loop (None: the world), its node, and the constraint
    frame in it."""

    frame: str | None
    node: int
    placement: Placement


class PlacedLoop(NamedTuple):
    """One loop, and its constraint frames."""

    record: Loop
    base: Mount
    end: Mount

    @property
    def rows(self) -> tuple[int, ...]:
        """Kinds of its rows."""
        return ROWS[self.record.type]


def stations_of(description: RobotDescription) -> tuple[str, ...]:
    """The stations LINK@s that loops hang on."""
    ends = (name for record in loops_of(description) for name in (record.base, record.end))
    return tuple(dict.fromkeys(name for name in ends if section_of(name)[0]))


def placed_loops(description: RobotDescription, tree: RigidTree) -> tuple[PlacedLoop, ...]:
    """The loops of a description in its tree, whose frames hold their stations.

    Raises
    ------
    DescriptionError
        If both ends of one are on one rigid body, or on the world.
    """
    found = []
    for record in loops_of(description):
        loop = PlacedLoop(record, *(_mount_of(record, which, tree) for which in ("base", "end")))
        if loop.base.node == loop.end.node:
            node = loop.base.node
            what = "the world" if node == 0 else f"the body of link '{tree.body_links[node]}'"
            place_of_loop(description, record).fail(
                f"both ends are on {what}", "end", record.end, "a frame that moves against the base"
            )
        found.append(loop)
    return tuple(found)


def _mount_of(record: Loop, which: str, tree: RigidTree) -> Mount:
    """The constraint frame that the attributes of one end say: its z axis is the axis."""
    name, axis = getattr(record, which), record.axis
    if which == "end" and record.end_axis is not None:
        axis = record.end_axis
    turned = Placement.of(getattr(record, f"{which}_xyz"), getattr(record, f"{which}_rpy") or (0.0, 0.0, 0.0))
    own = turned @ Placement(triad(axis), np.zeros(3))
    if name == WORLD and WORLD not in tree.frames:
        return Mount(None, 0, own)
    return Mount(name, int(tree.frames[name].body), own)


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
        self.kinds = np.array([kind for loop in loops for kind in loop.rows], dtype=np.int64)
        #: number of the loop of each row
        self.loop_of = np.array([i for i, loop in enumerate(loops) for _ in loop.rows], dtype=np.int64)
        self.lengths = np.array([loops[i].record.length or 0.0 for i in self.loop_of])
        mounts = [mount for loop in loops for mount in (loop.base, loop.end)]
        self._names = list(dict.fromkeys(m.frame for m in mounts if m.frame is not None))
        places = {name: i for i, name in enumerate(self._names)}
        self._places = np.array([places.get(m.frame or "", -1) for m in mounts], dtype=np.int64)
        self._placements = np.array([m.placement.flat() for m in mounts])

    def at(self, q: np.ndarray, v: np.ndarray) -> Closure:
        """At rows of q (N, nq) and v (N, nv), which are good."""
        robot, count, k, nv = self.robot, len(q), len(self._names), self.robot.nv
        poses, J, gamma = np.empty((count, k, 4, 4)), np.empty((count, k, 6, nv)), np.empty((count, k, 6))
        place = Rows({"q": (q, robot.nq)})
        robot.functions.frames_rows(place, self._names, poses)
        robot.functions.jacobians_rows(place, self._names, J)
        gamma[...] = robot.functions.jacobian_rates_rows(
            Rows({"q": (q, robot.nq), "v": (v, nv)}), self._names
        )
        mounted = np.empty((count, 2 * len(self.loops) * law.FRAME))
        rows, jacobian = np.empty((count, self.kinds.size, at.ROW)), np.empty((count, self.kinds.size, nv))
        closures(
            self._places, self._placements, self.kinds, self.lengths, self.loop_of,
            poses, J, gamma, np.ascontiguousarray(v), mounted, rows, jacobian,
        )  # fmt: skip
        frames = mounted.reshape(count, len(self.loops), 2, law.FRAME)
        return Closure(
            rows[..., at.VALUE],
            rows[..., at.RATE],
            rows[..., at.SECOND],
            jacobian,
            rows[..., at.LINE : at.LINE + 12],
            frames[..., law.ROTATION : law.ROTATION + 9].reshape(*frames.shape[:-1], 3, 3),
        )

    def to_assemble(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi (m,) and its Jacobian (m, nv) at one q (nq,), with log(Q) for rho, which vanishes at half
        turns too.

        With the rotation vector t of Q and the angular velocity w, Q' = [w] Q,

            t' = (1 - [t]/2 + (1/|t|^2 - (1 + cos|t|)/(2 |t| sin|t|)) [t]^2) w.
        """
        found = self.at(q[None], np.zeros((1, self.robot.nv)))
        phi, J = found.residual[0], found.J[0]
        for i in range(len(self.loops)):
            rows = np.flatnonzero((self.loop_of == i) & np.isin(self.kinds, _RHO))
            if not rows.size:
                continue
            R1, R2 = found.turns[0, i]
            t = rotation_vector(R1.T @ R2)
            E = 0.5 * (np.trace(R1.T @ R2) * np.eye(3) - R1.T @ R2)
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
