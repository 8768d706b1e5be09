"""Cylinders of a platform as graphs: what they exert, and how their oil moves on."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.hydraulics import HydraulicState
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import pressure_rates, volumes
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import bristle_bending
from flexdyn_ros.multibody.elements.cylinder.kernels.oil import fluid_of, polished
from flexdyn_ros.multibody.elements.cylinder.kernels.spool import spool_rates
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
    "bristle": "m",
}  # fmt: skip


class Oil:
    """What the cylinders of a platform remember from step to step.

    Attributes
    ----------
    names : tuple of str
        Of its n numbers, LEG.pressure_bore and so on, leg by leg.
    legs : tuple of str
    """

    def __init__(self, robot: Robot) -> None:
        hydraulics = robot.hydraulics
        if hydraulics is None or robot.motion is None or not robot.legs:
            what = (
                "no cylinders" if hydraulics is None else "cylinders of a tree, whose oil is not exported yet"
            )
            raise UnsupportedError(f"robot {robot.name!r} has {what}; expected a platform with <hydraulics>")
        self.robot, self.legs, self._hydraulics = robot, tuple(hydraulics.names), hydraulics
        self._parameters = hydraulics.model.parameters
        self._columns = [(i, column) for i, P in enumerate(self._parameters) for column in _columns(P)]
        self.names = tuple(f"{self.legs[i]}.{at.STATE[column]}" for i, column in self._columns)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the numbers."""
        return tuple(OIL_UNITS[at.STATE[column]] for _, column in self._columns)

    def start(self, q: np.ndarray) -> np.ndarray:
        """The oil (n,) that holds the platform at rest with shut valves."""
        rest = np.zeros(self.robot.nv)
        forces = self.robot.inverse_dynamics(q, rest, rest)
        return self.of_state(self._hydraulics.initial(forces, self.robot.inverse_kinematics(q).length))

    def of_state(self, state: HydraulicState) -> np.ndarray:
        """The oil (n,) of a state of the cylinders."""
        return np.array([float(state[column][i]) for i, column in self._columns])

    # ---- in the memory of the actuators ----

    def fill(self, block: np.ndarray, oil: np.ndarray) -> None:
        """Let the memory of the actuators be that of cylinders with this oil, driven by valves."""
        block[at.MODE], block[at.IS_STAGGERED] = at.BY_VALVE, 1.0
        block[at.ACTUATOR_PARAMETERS : at.ACTUATOR_STATES] = self._parameters.ravel().tolist()
        block[self._places] = oil

    def taken(
        self, motion: Motion, memory: Memory, block: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """The oil in that memory, its pressures those at (q, v)."""
        for i, (length, _) in enumerate(zip(*self._measured(motion, memory, q, v), strict=True)):
            place = at.ACTUATOR_STATES + at.STATE_COUNT * i
            P, X = self._parameters[i].tolist(), block[place : place + at.STATE_COUNT]
            V1, V2, _ = volumes(P, length - P[at.SHORTEST])
            for V, p, s in ((V1, at.PRESSURE_1, at.OIL_1), (V2, at.PRESSURE_2, at.OIL_2)):
                # the step has foreseen the lengths but for h^3: one round is enough, two are certain
                for _ in range(2):
                    X[p] = polished(fluid_of(P), V / X[s], X[p])
        return block[self._places]

    def _measured(
        self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of the legs and their rates."""
        work = memory.room(np.zeros(motion.work_size))
        q, v, lengths, speeds = (memory.room(x) for x in (q, v, *np.zeros((2, len(self.legs)))))
        places = (x.ctypes.data for x in (q, v, lengths, speeds))
        motion.table["measure"].function(motion.robot, work.ctypes.data, *places)
        return lengths, speeds

    @property
    def _places(self) -> list[int]:
        return [at.ACTUATOR_STATES + at.STATE_COUNT * i + column for i, column in self._columns]

    # ---- functions ----

    def forces(self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray, oil: Any) -> np.ndarray:
        """Forces of the cylinders on the rods [N]."""
        actuator = memory.room(np.zeros(at.ACTUATOR_NUMBERS))
        work = memory.room(np.zeros(motion.work_size))
        self.fill(actuator, oil)
        effort = memory.room(np.zeros(len(self.legs)))
        q, v = memory.room(q), memory.room(v)
        motion.table["actuate"].function(
            actuator.ctypes.data, motion.robot, work.ctypes.data, 0.0, 0.0,
            *(x.ctypes.data for x in (q, v, effort)), memory.room(np.zeros(len(v))).ctypes.data,
        )  # fmt: skip
        return effort

    def rates(
        self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray, oil: Any, valves: Any
    ) -> np.ndarray:
        """Rates of the oil (n,) under valve openings."""
        self._refuse_slewing()
        lengths, speeds = self._measured(motion, memory, q, v)
        found: dict[tuple[int, int], Any] = {}
        for i, P in enumerate(self._parameters):
            state = {c: oil[k] for k, (leg, c) in enumerate(self._columns) if leg == i}
            row = _rates(P.tolist(), state, valves[i], lengths[i] - P[at.SHORTEST], speeds[i])
            found |= {(i, column): rate for column, rate in row.items()}
        return objects([found[place] for place in self._columns])

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
) -> dict[int, object]:
    """Rates of a cylinder's state by columns."""
    u = smaller(larger(valve, -1.0), 1.0)
    follows = P[at.SPOOL_FREQUENCY] <= 0.0 and P[at.SPOOL_TIME] <= 0.0
    spool, rate = (u if follows else state[at.SPOOL]), state.get(at.SPOOL_RATE, 0.0)
    moved, bent = spool_rates(P, spool, rate, u)
    p1, p2 = pressure_rates(P, state[at.PRESSURE_1], state[at.PRESSURE_2], spool, y, v)
    found = {at.PRESSURE_1: p1, at.PRESSURE_2: p2, at.SPOOL: moved, at.SPOOL_RATE: bent}
    if at.BRISTLE in state:
        found[at.BRISTLE] = bristle_bending(P, state[at.BRISTLE], v)
    return found
