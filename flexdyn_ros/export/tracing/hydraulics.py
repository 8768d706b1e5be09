"""Cylinders as graphs: what they exert, and how their oil moves on."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.hydraulics import HydraulicState
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.circuit import line_rates
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import oil_rates, pressure_rates, volumes
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import bristle_bending
from flexdyn_ros.multibody.elements.cylinder.kernels.oil import fluid_of, polished, volume_and_stiffness
from flexdyn_ros.multibody.elements.cylinder.kernels.pumps import fluid_of_supply, sensed
from flexdyn_ros.multibody.elements.cylinder.kernels.spool import spool_rates
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory
from flexdyn_ros.numerics.numbers.functions import larger, smaller
from flexdyn_ros.numerics.tracing.graph import objects
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.verbs import Robot

#: inputs of the functions of cylinders
OIL_VERBS: dict[str, tuple[str, ...]] = {
    "cylinder_forces": ("q", "v", "oil"),
    "oil_rates": ("q", "v", "oil", "valves"),
}
#: both in one, for events
OIL_MOTION = {"oil_motion": ("q", "v", "oil", "valves")}
OIL_UNITS = {
    "pressure_bore": "Pa", "pressure_rod": "Pa", "spool": "", "spool_rate": "1/s", "slewed_command": "",
    "bristle": "m", "pressure": "Pa", "swivel": "",
}  # fmt: skip


class Oil:
    """What cylinders remember from step to step, and lines of pumps.

    Attributes
    ----------
    names : tuple of str
        Of its n numbers, CYLINDER.pressure_bore and so on, cylinder by cylinder, then SUPPLY.pressure.
    legs : tuple of str
        The cylinders.
    places : (cylinders,) array of int
        Of their forces among the efforts.
    """

    def __init__(self, robot: Robot) -> None:
        hydraulics, motion = robot.hydraulics, robot.motion
        if hydraulics is None or motion is None or not isinstance(motion.memory, CylinderMemory):
            raise UnsupportedError(f"robot {robot.name!r} has no cylinders; expected <hydraulics>")
        self.robot, self.legs, self._hydraulics = robot, tuple(hydraulics.names), hydraulics
        # its functions call each other by the addresses of those that are there
        motion.provide()
        self._kept, self.places = motion.memory, motion.memory.places
        self._parameters = hydraulics.model.parameters
        self._supplies = self._kept.supply_parameters(self._kept.fresh())
        for name, S in zip(hydraulics.model.supplies, self._supplies, strict=False):
            if S[of.ACCUMULATOR_VOLUME] > 0.0:
                raise UnsupportedError(
                    f"supply {name!r} of robot {robot.name!r} has an <accumulator>, whose line is not "
                    "exported; expected none"
                )
        columns = [(i, column) for i, P in enumerate(self._parameters) for column in _columns(P)]
        self._columns, self._lines = columns, _line_columns(self._supplies)
        self.names = (
            *(f"{self.legs[i]}.{at.STATE[column]}" for i, column in columns),
            *(f"{hydraulics.model.supplies[k]}.{of.SUPPLY_STATE[column]}" for k, column in self._lines),
        )

    @property
    def method(self) -> str:
        """The method of its steps."""
        return self._kept.method

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the numbers."""
        return tuple(OIL_UNITS[name.rpartition(".")[2]] for name in self.names)

    def start(self, q: np.ndarray) -> np.ndarray:
        """The oil (n,) that holds the robot at rest with shut valves."""
        state = self._hydraulics.initial(self._kept.holding(q), self._kept.lengths(q))
        return self.of_state(state, self._kept.supplies(self._kept.fresh()))

    def of_state(self, state: HydraulicState, lines: np.ndarray | None = None) -> np.ndarray:
        """The oil (n,) of a state of the cylinders, and of the rows of their supplies."""
        shared = [] if lines is None else [lines[k, column] for k, column in self._lines]
        return np.array([*(float(state[column][i]) for i, column in self._columns), *shared])

    # ---- in the memory of the actuators ----

    def fill(self, block: np.ndarray, oil: np.ndarray) -> None:
        """Let the memory of the actuators be that of cylinders with this oil, driven by valves."""
        block[:] = self._kept.fresh().tolist()
        block[at.MODE], block[at.IS_STAGGERED] = at.BY_VALVE, self._kept.scheme(self.method)
        rows, lines = self._kept.rows(block), self._kept.supplies(block)
        # the step takes the oil that belongs to the pressures
        rows[:, [at.OIL_1, at.OIL_2]] = 0.0
        lines[:, of.OIL_LINE] = 0.0
        for (i, column), x in zip(self._columns, oil, strict=False):
            rows[i, column] = x
        for (k, column), x in zip(self._lines, oil[len(self._columns) :], strict=True):
            lines[k, column] = x

    def taken(
        self, motion: Motion, memory: Memory, block: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """The oil in that memory, its pressures those at (q, v)."""
        rows, lines = self._kept.rows(block), self._kept.supplies(block)
        for i, (length, _) in enumerate(zip(*self._measured(motion, memory, q, v), strict=True)):
            P, X = self._parameters[i].tolist(), rows[i]
            V1, V2, _ = volumes(P, length - P[at.SHORTEST])
            for V, p, s in ((V1, at.PRESSURE_1, at.OIL_1), (V2, at.PRESSURE_2, at.OIL_2)):
                # the step has foreseen the lengths but for h^3: one round is enough, two are certain
                for _ in range(2):
                    X[p] = polished(fluid_of(P), V / X[s], X[p])
        found = [rows[i, column] for i, column in self._columns]
        return objects([*found, *(lines[k, column] for k, column in self._lines)])

    def _measured(
        self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of the cylinders and their rates."""
        work = memory.room(np.zeros(motion.work_size))
        q, v, lengths, speeds = (memory.room(x) for x in (q, v, *np.zeros((2, self.robot.nu))))
        places = (x.ctypes.data for x in (q, v, lengths, speeds))
        motion.table["measure"].function(motion.robot, work.ctypes.data, *places)
        return lengths[self.places], speeds[self.places]

    # ---- functions ----

    def forces(self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray, oil: Any) -> np.ndarray:
        """Forces of the cylinders on the rods [N]."""
        actuator = memory.room(np.zeros(self._kept.fresh().size))
        work = memory.room(np.zeros(motion.work_size))
        self.fill(actuator, oil)
        effort = memory.room(np.zeros(self.robot.nu))
        q, v = memory.room(q), memory.room(v)
        motion.table["actuate"].function(
            actuator.ctypes.data, motion.robot, work.ctypes.data, 0.0, 0.0,
            *(x.ctypes.data for x in (q, v, effort)), memory.room(np.zeros(len(v))).ctypes.data,
        )  # fmt: skip
        return effort[self.places]

    def rates(
        self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray, oil: Any, valves: Any
    ) -> np.ndarray:
        """Rates of the oil (n,) under valve openings."""
        self._refuse_slewing()
        lengths, speeds = self._measured(motion, memory, q, v)
        given = dict(zip(self._lines, oil[len(self._columns) :], strict=True))
        lines = [_Line(S, given.get((k, of.PRESSURE))) for k, S in enumerate(self._supplies.tolist())]
        found: dict[tuple[int, int], Any] = {}
        for i, P in enumerate(self._parameters.tolist()):
            state = {c: oil[k] for k, (leg, c) in enumerate(self._columns) if leg == i}
            if P[at.SUPPLY_INDEX] >= 0.0:
                line = lines[int(P[at.SUPPLY_INDEX])]
                P[at.SUPPLY] = line.pressure
            row, spool = _rates(P, state, valves[i], lengths[i] - P[at.SHORTEST], speeds[i])
            found |= {(i, column): rate for column, rate in row.items()}
            if P[at.SUPPLY_INDEX] >= 0.0:
                line.feed(P, state, spool, lengths[i] - P[at.SHORTEST])
        shared = [lines[k].rate(column, given.get((k, of.SWIVEL))) for k, column in self._lines]
        return objects([*(found[place] for place in self._columns), *shared])

    def _refuse_slewing(self) -> None:
        """UnsupportedError if commands of valves are limited in their rate: no rates of states say so."""
        for name, P in zip(self.legs, self._parameters, strict=True):
            if P[at.SLEW_RATE] < np.inf:
                raise UnsupportedError(
                    f"leg {name!r} of robot {self.robot.name!r}: slew_rate of its valve is "
                    f"{P[at.SLEW_RATE]:g}, which rates of the oil cannot follow; expected none, or steps"
                )


def _columns(P: np.ndarray) -> list[int]:
    """Columns of a cylinder's state that its next step reads."""
    found = [at.PRESSURE_1, at.PRESSURE_2, at.SPOOL]
    if P[at.SPOOL_FREQUENCY] > 0.0:
        found.append(at.SPOOL_RATE)
    if P[at.SLEW_RATE] < np.inf:
        found.append(at.SLEWED_COMMAND)
    if P[at.FRICTION_LAW] == at.LUGRE_LAW:
        found.append(at.BRISTLE)
    return found


def _rates(
    P: list[float], state: dict[int, object], valve: object, y: object, v: np.ndarray
) -> tuple[dict[int, object], Any]:
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


def _line_columns(supplies: np.ndarray) -> list[tuple[int, int]]:
    """Columns of the states of supplies that their next step reads."""
    found = []
    for k, S in enumerate(supplies):
        if S[of.PUMP] != of.IDEAL:
            found += [(k, of.PRESSURE), *([(k, of.SWIVEL)] if S[of.SWIVEL_TIME] > 0.0 else [])]
    return found


class _Line:
    """A supply whose rates are being traced: its row of parameters, and its pressure if that is a state."""

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
        s = S[of.LINE_VOLUME] / w
        line = (s, p, w, beta, beta / s, 1.0 if swivel is None else swivel)
        net, turned, _, _, _, _ = line_rates(S, line, self._load, self._drawn)
        return net * beta / s if column == of.PRESSURE else turned
