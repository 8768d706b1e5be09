"""Oil in the cylinders of a tree: their states, and the memory of a simulation that holds them."""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from flexdyn_ros.errors import SingularityError
from flexdyn_ros.families.trees.elements.kernels import oil as layout
from flexdyn_ros.multibody.elements.cylinder.circuits import Circuit
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels import cylinder as of_cylinder
from flexdyn_ros.multibody.elements.cylinder.kernels import edges, forces, spool
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.multibody.elements.cylinder.kernels import oil as oil_kernels
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory
from flexdyn_ros.multibody.elements.cylinder.parameters import hydraulics_of_circuits
from flexdyn_ros.robot.motion import ElementState

#: modules of kernels whose comparisons are events: edges of valves, stops
OIL_SWITCHES = tuple(module.__name__ for module in (of_cylinder, edges, forces, oil_kernels, spool))


class Oil:
    """The cylinders of a tree that oil drives.

    Parameters
    ----------
    functions : TreeFunctions
        With its elements.
    circuits : tuple of Circuit
    elements : (n,) places of these cylinders among the elements
    driven : (n,) places of these cylinders among the driven elements
    """

    def __init__(self, functions: Any, circuits: tuple[Circuit, ...], elements: Any, driven: Any) -> None:
        self.functions, self.elements, self.driven = functions, elements, driven
        self.hydraulics = Hydraulics(hydraulics_of_circuits(circuits))

    def memory(self) -> OilMemory:
        """Of a simulation."""
        return OilMemory(self)

    def springs(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness [N/m] of the oil between closed valves at rows of q, at the pressures that hold the robot
        there, and viscous friction [N s/m], (n, cylinders) each."""
        memory, h = self.memory(), self.hydraulics
        lengths = memory.lengths(q)
        start = h.initial(memory.holding(q), lengths)
        springs = h.stiffness(lengths, (start.pressure_bore, start.pressure_rod))
        return springs, np.broadcast_to(h.model.column("viscous"), springs.shape)


class OilMemory(CylinderMemory):
    """Memory of the cylinders of a tree (kernels/oil.py)."""

    def __init__(self, oil: Oil) -> None:
        self._oil, self.hydraulics = oil, oil.hydraulics
        f = oil.functions
        self.places = f.nv + np.asarray(oil.driven)
        self._count = len(self.places)
        self._at = layout.oil_places(self._count, f.nq, f.nv)

    @cached_property
    def _columns(self) -> tuple[tuple[ElementState, int, int], ...]:
        """Each state, its cylinder and the column that holds it."""
        found = []
        for i, name in enumerate(self.hydraulics.names):
            value = dict(zip(cylinder.PARAMETERS, self.hydraulics.model.parameters[i].tolist(), strict=True))
            of_second_order = value["spool_frequency"] > 0.0
            columns = {
                "pressure_bore": ("Pa", True),
                "pressure_rod": ("Pa", True),
                "spool": ("-", of_second_order or value["spool_time"] > 0.0),
                "spool_rate": ("1/s", of_second_order),
                "slewed_command": ("-", isfinite(value["slew_rate"])),
                "bristle": ("m", value["friction_law"] == cylinder.LUGRE_LAW),
            }
            for column, (unit, is_there) in columns.items():
                if is_there:
                    state = ElementState(f"{name}/{column}", unit, name)
                    found.append((state, i, cylinder.STATE.index(column)))
        return tuple(found)

    @cached_property
    def states(self) -> tuple[ElementState, ...]:  # type: ignore[override]
        """See `ElementMemory`."""
        return tuple(state for state, _, _ in self._columns)

    @cached_property
    def _indices(self) -> tuple[np.ndarray, np.ndarray]:
        _, rows, columns = zip(*self._columns, strict=True)
        return np.array(rows), np.array(columns)

    def fresh(self) -> np.ndarray:
        """See `ElementMemory`; without forces, until simulation/steps/fused_hydraulics.py fills them."""
        memory = np.zeros(self._at[3])
        memory[layout.COUNT] = self._count
        places = memory[layout.FIRST :][: layout.PLACES * self._count].reshape(layout.PLACES, -1)
        places[layout.ELEMENT], places[layout.EFFORT] = self._oil.elements, self.places
        self.parameters(memory)[:] = self.hydraulics.model.parameters
        self.rows(memory)[:] = _stacked(self.hydraulics.initial(np.zeros(self._count)))
        return memory

    def rows(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        size = self._count * cylinder.STATE_COUNT
        return memory[self._at[2] :][:size].reshape(self._count, cylinder.STATE_COUNT)

    def parameters(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return memory[self._at[1] : self._at[2]].reshape(self._count, cylinder.PARAMETER_COUNT)

    def lengths(self, q: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        f = self._oil.functions
        found = f.effort_motion(q, np.zeros((*q.shape[:-1], f.nv)))[0]
        return np.asarray(found[..., self.places])

    def holding(self, q: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        robot, still = self._oil.functions.robot, np.zeros((*q.shape[:-1], self._oil.functions.nv))
        try:
            tau = robot.inverse_dynamics(q, still, still, actuators="all")
        except SingularityError:
            return np.zeros((*q.shape[:-1], self._count))
        return np.asarray(tau[..., self.places])

    def rest(self, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray | None) -> np.ndarray:
        """See `ElementMemory`; without tau the forces that hold the robot at rest."""
        forces = self.holding(q) if tau is None else tau[..., self.places]
        rows, columns = self._indices
        return _stacked(self.hydraulics.initial(forces, self.lengths(q)))[..., rows, columns]

    def read(self, memory: np.ndarray) -> np.ndarray:
        """See `ElementMemory`."""
        return self.rows(memory)[self._indices]

    def write(self, memory: np.ndarray, states: np.ndarray) -> None:
        """See `ElementMemory`."""
        rows = self.rows(memory)
        rows[self._indices] = states
        # the next step takes the oil that belongs to the pressures
        rows[:, [cylinder.OIL_1, cylinder.OIL_2]] = 0.0


def _stacked(state: Any) -> np.ndarray:
    """Fields (..., n) as rows (..., n, STATE_COUNT)."""
    return np.stack(np.broadcast_arrays(*state), axis=-1, dtype=np.float64)
