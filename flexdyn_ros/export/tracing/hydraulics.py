"""Cylinders as graphs: what they exert, and how their oil moves on."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.export.tracing.calling import measured
from flexdyn_ros.multibody.elements.cylinder.hydraulics import HydraulicState
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import volumes
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import resting_pressures
from flexdyn_ros.multibody.elements.cylinder.kernels.oil import fluid_of, polished
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory
from flexdyn_ros.multibody.elements.cylinder.slopes import UNITS, Rates, columns_of, line_columns_of
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
            raise UnsupportedError(f"robot {robot.name!r} has no cylinders with oil; expected <hydraulics>")
        self.robot, self.legs, self._hydraulics = robot, tuple(hydraulics.names), hydraulics
        # its functions call each other by the addresses of those that are there
        motion.provide()
        self._kept, self.places = motion.memory, motion.memory.places
        self._parameters = hydraulics.model.parameters
        self._supplies = self._kept.supply_parameters(self._kept.fresh())
        self._rates = Rates(self.legs, self._parameters, self._supplies)
        self._columns, self._lines = columns_of(self._parameters), line_columns_of(self._supplies)
        self.names = (
            *(f"{self.legs[i]}.{at.STATE[column]}" for i, column in self._columns),
            *(f"{hydraulics.model.supplies[k]}.{of.SUPPLY_STATE[column]}" for k, column in self._lines),
        )

    @property
    def method(self) -> str:
        """The method of its steps."""
        return self._kept.method

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the numbers."""
        return tuple(UNITS[name.rpartition(".")[2]].strip("-") for name in self.names)

    def start(self, q: np.ndarray) -> np.ndarray:
        """The oil (n,) that holds the robot at rest with shut valves."""
        state = self._hydraulics.initial(self._kept.holding(q), self._kept.lengths(q))
        return self.of_state(state, self._kept.supplies(self._kept.fresh()))

    def of_state(self, state: HydraulicState, lines: np.ndarray | None = None) -> np.ndarray:
        """The oil (n,) of a state of the cylinders, and of the rows of their supplies."""
        shared = [] if lines is None else [lines[k, column] for k, column in self._lines]
        return np.array([*(float(state[column][i]) for i, column in self._columns), *shared])

    def resting(self, forces: np.ndarray) -> np.ndarray:
        """The oil (n,), as a graph, that exerts forces (cylinders,) [N] at rest with shut valves, or nearly
        so where it cannot."""
        pressures = [resting_pressures(P, F) for P, F in zip(self._parameters.tolist(), forces, strict=True)]
        lines = self._kept.supplies(self._kept.fresh())
        column_of = {at.PRESSURE_1: 0, at.PRESSURE_2: 1}
        found = [pressures[i][column_of[k]] if k in column_of else 0.0 for i, k in self._columns]
        return objects([*found, *(float(lines[k, column]) for k, column in self._lines)])

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

    def roughness(self, block: np.ndarray) -> Any:
        """How far the step that led to that memory is from its halves; see `hydraulic_step_functions`."""
        return block[at.ROUGHNESS]

    def _measured(
        self, motion: Motion, memory: Memory, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of the cylinders and their rates."""
        lengths, speeds = measured(self.robot, motion, memory, q, v)
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
        self._rates.refuse_slewing()
        return objects(self._rates.of(*self._measured(motion, memory, q, v), oil, valves))
