"""How stiff joints must be to hold a robot against its weight."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.dynamics.protocol import Robot

__all__ = ["holding_stiffness"]

#: configurations, beside the asked one, at which the weight is looked at
CONFIGURATIONS = 32


def holding_stiffness(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Stiffness (nv,) [N m/rad, N/m] of the joints at which no posture tips over, neither q nor others.

    An arm that stands upright is a pendulum on its head: feedback P with gravity compensation holds it only
    if P + dg/dq is positive definite (Takegaki & Arimoto 1981). The negative part of the symmetric dg/dq is
    dominated by the sums of its rows; the largest over q and random configurations within the limits counts,
    so that the arm may go elsewhere.

    Parameters
    ----------
    q : (nq,) array
        Of a robot whose coordinates all have actuators.
    """
    rng = np.random.default_rng(0)
    others = [robot.random(rng) for _ in range(CONFIGURATIONS)]
    return np.max([_needed(robot, one) for one in (q, *others)], axis=0)


def _needed(robot: Robot, q: np.ndarray) -> np.ndarray:
    n, rest = robot.nv, np.zeros(robot.nv)
    A, _ = robot.linearize(q, rest, robot.inverse_dynamics(q, rest, rest))
    K = -robot.mass_matrix(q) @ A[n:, :n]
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    negative = (vectors * np.minimum(values, 0.0)) @ vectors.T
    return np.abs(negative).sum(axis=1)
