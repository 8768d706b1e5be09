"""A Coriolis matrix of any tree from derivatives of its inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexdyn_ros.numerics.algebra.placement import cross_matrices
from flexdyn_ros.robot.interface import RobotInterface


def coriolis_of(robot: RobotInterface, twists: Sequence[int], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """C (n, nv, nv) of rows of q, v: that of the Levi-Civita connection of the mass matrix.

    The velocity part c of the inverse dynamics is quadratic in v, so that half of its derivative is the
    symmetric part of the connection's coefficients (for coordinates: Christoffel's symbols). Angular
    velocities of free bodies are no rates of coordinates; the brackets of their directions, e_a and e_b give
    -e_a x e_b in world axes, make up the rest:

        C = 1/2 dc/dv - 1/2 M W,   W e_b = w x e_b in the columns of a free body's turns, else 0.

    A connection that keeps the metric makes dM/dt - 2 C skew. Resistances are odd in v, their derivatives
    even: the mean of d tau/dv at v less that at -v leaves c alone.

    robot: one with `inverse_dynamics_derivatives` and `mass_matrix`. twists: index in v of the twist of each
    free body.
    """
    still = np.zeros_like(v)
    C = robot.inverse_dynamics_derivatives(q, v, still)[1]
    C -= robot.inverse_dynamics_derivatives(q, -v, still)[1]
    C *= 0.25
    if robot.nu != robot.nv:
        # efforts behind those of the coordinates are cylinders: generalized forces are B tau
        C = robot.actuation_matrix(q) @ C
    if twists:
        M = robot.mass_matrix(q)
        for i in twists:
            C[:, :, i : i + 3] -= 0.5 * M[:, :, i : i + 3] @ cross_matrices(v[:, i : i + 3])
    return C
