"""How stiff joints must be to hold a robot against its weight."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.control.static_shape import StaticShape
from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.robot.verbs import Robot

#: configurations, beside the given one, at which the weight is looked at
CONFIGURATIONS = 32


def can_be_held(robot: Robot) -> bool:
    """Whether every coordinate has an actuator or a spring: arms that stand, rigid ones and such as bend."""
    elastic = set(StaticShape(robot).v.tolist())
    return robot.nq == robot.nv and all(c.actuated or c.v_index in elastic for c in robot.coordinates)


def holding_stiffness(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Stiffness (nv,) [N m/rad, N/m] of the joints at which no posture tips over, neither q nor others.

    An arm that stands upright is a pendulum on its head: feedback P with gravity compensation holds it only
    if P + dg/dq is positive definite (Takegaki & Arimoto 1981). The negative part of the symmetric dg/dq is
    dominated by the sums of its rows; the largest over q and random configurations within the limits counts,
    so that the arm may go elsewhere.

    Where links bend, dg/dq is what is left at the joints once the elastic coordinates have yielded, about the
    shape that the weight bends the arm to: a boom that sags moves its load, and so tips over sooner. The
    elastic coordinates have 0. Configurations without a state of rest near the straight one are passed over.

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
    needed = _needed(robot, shape, q)
    for _ in range(CONFIGURATIONS):
        try:
            needed = np.maximum(needed, _needed(robot, shape, robot.random(rng)))
        except ConvergenceError:
            continue
    return needed


def _needed(robot: Robot, shape: StaticShape, q: np.ndarray) -> np.ndarray:
    n, rest = robot.nv, np.zeros(robot.nv)
    bent, tau = shape(q)
    A, _ = robot.linearize(bent, rest, tau)
    K = -robot.mass_matrix(bent) @ A[n:, :n]
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
