"""The shape that a robot with elastic parts takes at rest, and joints moved so that its tip is where it is
wanted all the same."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.control.actuator_space import ActuatorSpace
from flexdyn_ros.errors import ConvergenceError, UnsupportedError
from flexdyn_ros.robot.verbs import Robot

#: iterations of the chord method before Newton's takes over, and the deflection it aims at [rad, m]
MOST_ITERATIONS, AIM = 40, 1e-12
#: corrections of the joints, and the error of the tip at which they end [m]
MOST_CORRECTIONS, TIP_AIM = 12, 1e-7
#: damping of the correction, relative to the size of the Jacobian: bounds it in stretched poses
DAMPING = 1e-3


class StaticShape:
    """q -> (q at rest, efforts that hold it), the actuated coordinates staying where they are.

    Elastic coordinates are those without an actuator that have a stiffness of their own: modal coordinates
    and joints behind a joint elasticity. They are found by the chord method, K d = -r with the constant
    stiffness K, from where the last call ended; a following call takes some microseconds. Not for several
    threads at once.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._rest = np.zeros(robot.nv)
        q = robot.neutral()
        elastic = robot.bias_terms(q, self._rest).elastic
        free = [c for c in robot.coordinates if not c.actuated and not c.prescribed and c.q_index >= 0]
        columns = {}
        for c in free:
            moved = q.copy()
            moved[c.q_index] += 1.0
            columns[c.v_index] = robot.bias_terms(moved, self._rest).elastic - elastic
        soft = [c for c in free if columns[c.v_index][c.v_index] > 0.0]
        self._by = None if robot.nu == robot.nv else "all"
        #: lengths of cylinders, or loops, hold the robot in its shape, not the joints
        self._is_held_otherwise = robot.functions.is_constrained or self._by is not None
        if soft and self._by and robot.functions.is_constrained:
            robot.functions.refuse("the shape at rest of links that bend, on cylinders,")
        self.v = np.array([c.v_index for c in soft], dtype=np.int64)
        self.q = np.array([c.q_index for c in soft], dtype=np.int64)
        self._held = tuple(c.name for c in robot.coordinates if c.v_index not in set(self.v.tolist()))
        stiffness = np.array([[columns[j][i] for j in self.v] for i in self.v]).reshape(len(soft), len(soft))
        self._flexibility = np.linalg.inv(stiffness) if soft else stiffness
        self._last, self._space = q[self.q], ActuatorSpace(robot)
        #: configuration that was asked for last, and what was found
        self._asked, self._answer = np.full(robot.nq, np.nan), (q, self._rest)

    @property
    def is_rigid(self) -> bool:
        """Nothing bends."""
        return not len(self.q)

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configuration (nq,) at rest and efforts (nu,) there [N m, N].

        Elastic coordinates of the q given are not looked at, with closed loops all that have no actuator;
        with cylinders they count for their lengths.

        Raises
        ------
        ConvergenceError
            Where there is no state of rest near the undeformed one, or loops do not close.
        """
        # a target that stays is answered once
        if not np.array_equal(q, self._asked):
            self._answer, self._asked = self._at_rest(q), q.copy()
        found, tau = self._answer
        return found.copy(), tau.copy()

    def _at_rest(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inverse_dynamics, rest = self.robot.inverse_dynamics, self._rest
        if self.is_rigid:
            q = self._space.closed(q)
            return q, inverse_dynamics(q, rest, rest, actuators=self._by)
        if not self._by:
            q = q.copy()
            q[self.q] = self._last
        if self._is_held_otherwise:
            found = self.robot.static_equilibrium(self._space.closed(q), hold=self.robot.actuators)
            self._last = found.q[self.q]
            return found.q, found.tau
        for _ in range(MOST_ITERATIONS):
            tau = inverse_dynamics(q, rest, rest)
            step = self._flexibility @ tau[self.v]
            q[self.q] -= step
            if not np.abs(step).max() > AIM:
                break
        else:
            q[self.q] = 0.0
            found = self.robot.static_equilibrium(q, hold=self._held)
            q, tau = found.q, found.tau
        self._last = q[self.q]
        tau = inverse_dynamics(q, rest, rest)
        tau[self.v] = 0.0
        return q, tau

    def aimed(self, q: np.ndarray, frame: str) -> np.ndarray:
        """q (nq,) with the actuated joints moved least, so that the origin of `frame`, the robot being at
        rest, is where it would be without deflection.

        Gauss-Newton steps with the Jacobian of the bent robot. Where the tip is out of reach, or the joints
        cannot move it that way, it comes as near as they can bring it.
        """
        if self.is_rigid:
            return q
        robot = self.robot
        if self._is_held_otherwise:
            raise UnsupportedError(
                f"robot '{robot.name}': deflections at a tip are compensated by joints alone, expected "
                "no loops and no cylinders"
            )
        joints = [c for c in robot.coordinates if c.actuated and c.q_index >= 0]
        v, at = [c.v_index for c in joints], [c.q_index for c in joints]
        straight = q.copy()
        straight[self.q] = 0.0
        goal = robot.frames(straight, frame)[:3, 3]
        for _ in range(MOST_CORRECTIONS):
            bent, _ = self(straight)
            error = goal - robot.frames(bent, frame)[:3, 3]
            if np.abs(error).max() < TIP_AIM:
                break
            J = robot.jacobian(bent, frame)[3:, v]
            G = J @ J.T
            straight[at] += J.T @ np.linalg.solve(G + DAMPING**2 * np.trace(G) * np.eye(3), error)
        return straight


#: share of the motion that actuators have of a closed mechanism at q, below which other configurations are
#: nearer to a dead centre
WEAK = 0.5
#: configurations, beside the given one, at which the weight is looked at
CONFIGURATIONS = 32


def can_be_held(robot: Robot) -> bool:
    """True if every coordinate has an actuator or a spring, so that actuators can hold a posture; with closed
    loops, if there are as many actuators as motions."""
    if robot.functions.is_constrained:
        return len(robot.actuators) == robot.mobility and robot.nu == robot.nv
    elastic = set(StaticShape(robot).v.tolist())
    return robot.nq == robot.nv and all(c.actuated or c.v_index in elastic for c in robot.coordinates)


def holding_stiffness(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Stiffness (nv,) [N m/rad, N/m] of the joints with which every posture is stable under gravity.

    An arm that stands upright is a pendulum on its head: feedback P with gravity compensation holds it only
    if P + dg/dq is positive definite (Takegaki & Arimoto 1981). The negative part of the symmetric dg/dq is
    dominated by the sums of its rows; the largest over q and random configurations within the limits counts,
    so that the arm may go elsewhere.

    Where links bend, dg/dq is what is left at the joints once the elastic coordinates have yielded, about the
    shape that the weight bends the arm to: a boom that sags moves its load, and so tips over sooner. The
    elastic coordinates have 0. Configurations without a state of rest near the straight one are passed over;
    those of closed mechanisms, too, that are much nearer to a dead centre than q is, where no stiffness of
    its actuators holds it.

    Parameters
    ----------
    q : (nq,) array
        Of a robot that `can_be_held`.

    Raises
    ------
    ConvergenceError
        Where there is no state of rest at q.
    """
    shape, rng = StaticShape(robot), np.random.default_rng(0)
    needed, least = _needed(robot, shape, q), WEAK * _grip(robot, q)
    for _ in range(CONFIGURATIONS):
        try:
            other = robot.random(rng)
            if _grip(robot, other) >= least:
                needed = np.maximum(needed, _needed(robot, shape, other))
        except ConvergenceError:
            continue
    return needed


def _grip(robot: Robot, q: np.ndarray) -> float:
    """How much the actuators of a closed mechanism move at least when it moves: 0 at dead centres."""
    driven = [c.v_index for c in robot.coordinates if c.actuated]
    moved = robot.functions.motions(q)[driven] if robot.functions.is_constrained else np.eye(1)
    return float(np.linalg.svd(moved, compute_uv=False)[-1])


def _needed(robot: Robot, shape: StaticShape, q: np.ndarray) -> np.ndarray:
    n, rest = robot.nv, np.zeros(robot.nv)
    bent, tau = shape(q)
    A, _ = robot.linearize(bent, rest, tau)
    K = -robot.mass_matrix(bent) @ A[n:, :n]
    if robot.functions.is_constrained:
        # virtual work: of the joints that are driven, the others follow
        driven = [c.v_index for c in robot.coordinates if c.actuated]
        N = robot.functions.motions(bent)
        follow, K = N @ np.linalg.inv(N[driven]), np.zeros_like(K)
        K[np.ix_(driven, driven)] = follow.T @ (-robot.mass_matrix(bent) @ A[n:, :n]) @ follow
    K = 0.5 * (K + K.T)
    joints = np.setdiff1d(np.arange(n), shape.v)
    felt = K[np.ix_(joints, joints)]
    if not shape.is_rigid:
        across = K[np.ix_(shape.v, joints)]
        felt = felt - across.T @ np.linalg.solve(K[np.ix_(shape.v, shape.v)], across)
    values, vectors = np.linalg.eigh(felt)
    negative = (vectors * np.minimum(values, 0.0)) @ vectors.T
    needed = np.zeros(n)
    needed[joints] = np.abs(negative).sum(axis=1)
    return needed
