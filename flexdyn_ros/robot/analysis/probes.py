"""Columns of a regressor from robots of which one parameter is there and all others are zero.

Efforts are affine in the parameters, tau = Y p + tau0, so that such a robot's efforts less tau0, those of the
robot without any, are its parameter's column times its value, for a value of any size and without
cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.numerics.algebra.placement import cross_matrices
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.parameters import Parameter


class Probes:
    """Robots that tell the columns of some parameters; made at the first call, and kept.

    Parameters
    ----------
    parameters : all of the robot
    probe : from values of all of them, which need not be such that a robot can have them, to that robot
        without payloads, one with `inverse_dynamics`
    chosen : indices of the parameters whose columns are told; all by default
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        probe: Callable[[Mapping[str, float]], object],
        chosen: Sequence[int] | None = None,
    ) -> None:
        self._parameters, self._probe = tuple(parameters), probe
        self.chosen = tuple(range(len(self._parameters)) if chosen is None else chosen)

    @cached_property
    def _nothing(self) -> dict[str, float]:
        return dict.fromkeys((parameter.name for parameter in self._parameters), 0.0)

    @cached_property
    def _without(self) -> Any:
        """The robot with all parameters zero."""
        return self._probe(self._nothing)

    @cached_property
    def _one_each(self) -> tuple[tuple[Any, float], ...]:
        """Robots with one parameter, and its value."""
        chosen = (self._parameters[i] for i in self.chosen)
        sized = [(parameter.name, max(1.0, abs(parameter.value))) for parameter in chosen]
        return tuple((self._probe(self._nothing | {name: size}), size) for name, size in sized)

    def columns(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Columns (count, nu, k) of the chosen parameters and tau0 (count, nu) at rows of q, v, a; NaN in
        rows in which no efforts are to be had."""
        state = tuple(rows.take(name) for name in ("q", "v", "a"))
        if rows.shape == ():
            return self._of_one(*(row[0] for row in state))
        tau0 = np.asarray(self._without.inverse_dynamics(*state))
        Y = np.full((*tau0.shape, len(self.chosen)), np.nan)
        told = np.isfinite(tau0).all(axis=1)
        motion = tuple(array[told] for array in state)
        for k, (robot, size) in enumerate(self._one_each if told.any() else ()):
            Y[told, :, k] = (robot.inverse_dynamics(*motion) - tau0[told]) / size
        return Y, tau0

    def _of_one(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of a single state: its verbs ask one entry."""
        tau0 = np.asarray(self._without.inverse_dynamics(q, v, a))
        Y = np.empty((1, len(tau0), len(self.chosen)))
        for k, (robot, size) in enumerate(self._one_each):
            Y[0, :, k] = (robot.inverse_dynamics(q, v, a) - tau0) / size
        return Y, tau0[None]


# A Coriolis matrix of any tree from derivatives of its inverse dynamics.


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
