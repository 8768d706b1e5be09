"""States of cylinders and supplies by columns, their rates, and slopes of both (docs/theory/hydraulics.md).

`Rates` computes with numbers of any type: those of an exporter, and complex ones, whose imaginary parts give
the slopes to rounding (Squire & Trapp 1998).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.circuit import line_rates
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import oil_rates, pressure_rates
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import (
    bristle_bending,
    friction_force,
    hydraulic_force,
    stop_force,
)
from flexdyn_ros.multibody.elements.cylinder.kernels.oil import fluid_of, volume_and_stiffness
from flexdyn_ros.multibody.elements.cylinder.kernels.pumps import accumulated, fluid_of_supply, sensed
from flexdyn_ros.multibody.elements.cylinder.kernels.spool import spool_rates
from flexdyn_ros.numerics.numbers.functions import larger, smaller
from flexdyn_ros.robot.motion import OilSlopes

#: units of the columns that are states
UNITS = {
    "pressure_bore": "Pa", "pressure_rod": "Pa", "spool": "-", "spool_rate": "1/s", "slewed_command": "-",
    "bristle": "m", "pressure": "Pa", "swivel": "-",
}  # fmt: skip
#: imaginary part of a complex step, as a part of a state's usual size
_STEP = 1e-30
#: how far spools are moved to both sides of a state
_ASIDE = 1e-9


def columns_of(parameters: np.ndarray) -> list[tuple[int, int]]:
    """Cylinders and columns of the states that their next step reads, of rows of parameters."""
    found = []
    for i, P in enumerate(parameters):
        second_order = P[at.SPOOL_FREQUENCY] > 0.0
        is_there = {
            at.PRESSURE_1: True,
            at.PRESSURE_2: True,
            at.SPOOL: second_order or P[at.SPOOL_TIME] > 0.0,
            at.SPOOL_RATE: second_order,
            at.SLEWED_COMMAND: P[at.SLEW_RATE] < np.inf,
            at.BRISTLE: P[at.FRICTION_LAW] == at.LUGRE_LAW,
        }
        found += [(i, column) for column, there in is_there.items() if there]
    return found


def line_columns_of(supplies: np.ndarray) -> list[tuple[int, int]]:
    """Supplies and columns of theirs, of rows of parameters."""
    found = []
    for k, S in enumerate(supplies):
        if S[of.PUMP] != of.IDEAL:
            found += [(k, of.PRESSURE), *([(k, of.SWIVEL)] if S[of.SWIVEL_TIME] > 0.0 else [])]
    return found


class Rates(NamedTuple):
    """Rates of the states of cylinders and their supplies.

    Parameters
    ----------
    names : tuple of str
        Of the cylinders.
    parameters, supplies : (n, PARAMETER_COUNT), (m, SUPPLY_PARAMETER_COUNT) arrays
    """

    names: tuple[str, ...]
    parameters: np.ndarray
    supplies: np.ndarray

    def refuse_slewing(self) -> None:
        """UnsupportedError if commands of valves are limited in their rate: no rates of states say so."""
        for name, P in zip(self.names, self.parameters, strict=True):
            if P[at.SLEW_RATE] < np.inf:
                raise UnsupportedError(
                    f"slew_rate of the valve of cylinder '{name}' is {P[at.SLEW_RATE]:g}, which rates of the "
                    "oil cannot follow; expected none, or steps"
                )

    def of(self, lengths: Any, speeds: Any, states: Any, valves: Any) -> list[Any]:
        """Rates of states, in the order of `columns_of` and `line_columns_of`, at lengths and speeds (n,) of
        the cylinders [m, m/s] under valve openings (n,)."""
        columns, lines = columns_of(self.parameters), line_columns_of(self.supplies)
        given = dict(zip(lines, states[len(columns) :], strict=True))
        shared = [_Line(S, given.get((k, of.PRESSURE))) for k, S in enumerate(self.supplies.tolist())]
        found: dict[tuple[int, int], Any] = {}
        for i, P in enumerate(self.parameters.tolist()):
            state = {c: states[k] for k, (leg, c) in enumerate(columns) if leg == i}
            line = shared[int(P[at.SUPPLY_INDEX])] if P[at.SUPPLY_INDEX] >= 0.0 else None
            if line is not None:
                P[at.SUPPLY] = line.pressure
            y = lengths[i] - P[at.SHORTEST]
            row, spool = _rates(P, state, valves[i], y, speeds[i])
            found |= {(i, column): rate for column, rate in row.items()}
            if line is not None:
                line.feed(P, state, spool, y)
        of_lines = [shared[k].rate(column, given.get((k, of.SWIVEL))) for k, column in lines]
        return [*(found[place] for place in columns), *of_lines]

    def forces(self, lengths: Any, speeds: Any, states: Any) -> list[Any]:
        """Forces of the cylinders on their rods [N]."""
        columns, found = columns_of(self.parameters), []
        for i, P in enumerate(self.parameters.tolist()):
            state = {c: states[k] for k, (leg, c) in enumerate(columns) if leg == i}
            force = hydraulic_force(P, state[at.PRESSURE_1], state[at.PRESSURE_2])
            force = force - friction_force(P, state.get(at.BRISTLE, 0.0), speeds[i])
            found.append(force + stop_force(P, lengths[i] - P[at.SHORTEST], speeds[i]))
        return found


def _rates(P: list[Any], state: dict[int, Any], valve: Any, y: Any, v: Any) -> tuple[dict[int, Any], Any]:
    """Rates of a cylinder's state by columns, and where its spool is."""
    u = smaller(larger(valve, -1.0), 1.0)
    follows = P[at.SPOOL_FREQUENCY] <= 0.0 and P[at.SPOOL_TIME] <= 0.0
    spool, rate = (u if follows else state[at.SPOOL]), state.get(at.SPOOL_RATE, 0.0)
    moved, bent = spool_rates(P, spool, rate, u)
    p1, p2 = pressure_rates(P, state[at.PRESSURE_1], state[at.PRESSURE_2], spool, y, v)
    found = {at.PRESSURE_1: p1, at.PRESSURE_2: p2, at.SPOOL: moved, at.SPOOL_RATE: bent}
    if at.BRISTLE in state:
        found[at.BRISTLE] = bristle_bending(P, state[at.BRISTLE], v)
    return found, spool


class _Line:
    """A supply: its row of parameters, and its pressure if that is a state."""

    def __init__(self, S: list[float], pressure: Any) -> None:
        self._S, self.pressure = S, S[of.SET_PRESSURE] if pressure is None else pressure
        self._load: Any = S[of.TANK]
        self._drawn: Any = 0.0

    def feed(self, P: list[Any], state: dict[int, Any], x: Any, y: Any) -> None:
        """Let a cylinder take its oil, spool at x, piston at y."""
        p1, p2, fluid = state[at.PRESSURE_1], state[at.PRESSURE_2], fluid_of(P)
        one, two = volume_and_stiffness(fluid, p1), volume_and_stiffness(fluid, p2)
        self._drawn = self._drawn + oil_rates(P, self.pressure, x, y, p1, *one, p2, *two)[8]
        self._load = larger(self._load, sensed(self._S, P, p1, p2, x)[0])

    def rate(self, column: int, swivel: Any) -> Any:
        """Of its pressure or swivel."""
        S, p = self._S, self.pressure
        w, beta = volume_and_stiffness(fluid_of_supply(S), p)
        taken, softness = accumulated(S, p)
        s = (S[of.LINE_VOLUME] + taken) / w
        slope = w / (s * w / beta + softness)
        line = (s, p, w, beta, slope, 1.0 if swivel is None else swivel)
        net, turned, _, _, _, _ = line_rates(S, line, self._load, self._drawn)
        return net * slope if column == of.PRESSURE else turned


def slopes_of(rates: Rates, lengths: Any, speeds: Any, states: Any, valves: Any) -> tuple[Any, OilSlopes]:
    """Forces (n,) of the cylinders, and slopes of forces and rates by all these, to rounding; at valves that
    are just shut, where one edge closes and the other opens, the mean of both sides.

    Raises
    ------
    UnsupportedError
        For valves with a slew_rate.
    """
    rates.refuse_slewing()
    n, ns = len(rates.names), len(states)
    x = np.concatenate([lengths, speeds, states, valves])
    is_spool = [*np.zeros(2 * n), *(c == at.SPOOL for _, c in columns_of(rates.parameters))]
    is_spool += [*np.zeros(2 * n + ns - len(is_spool)), *np.ones(n)]
    aside = _ASIDE * np.array(is_spool, dtype=float)
    force_slopes, rate_slopes = np.zeros((n, x.size)), np.zeros((ns, x.size))
    parts = np.cumsum([n, n, ns])
    for k in range(x.size):
        step = _STEP * max(1.0, abs(x[k]))
        for side in (1.0, -1.0):
            moved = [complex(value) for value in x + side * aside]
            moved[k] += 1j * step
            ell, v, z, u = (moved[a:b] for a, b in zip((0, *parts), (*parts, x.size), strict=True))
            force_slopes[:, k] += 0.5 * np.imag(rates.forces(ell, v, z)) / step
            rate_slopes[:, k] += 0.5 * np.imag(rates.of(ell, v, z, u)) / step
    forces = np.array(rates.forces(lengths, speeds, states), dtype=float)
    return forces, OilSlopes(force_slopes, rate_slopes)
