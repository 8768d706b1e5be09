"""Oil in the cylinders of a tree: their states, and the memory of a simulation that holds them."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.families.trees.elements.kernels import oil as layout
from flexdyn_ros.multibody.elements.cylinder.circuits import Circuit
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels import (
    circuit,
    edges,
    entries,
    forces,
    pumps,
    spool,
    supplies,
)
from flexdyn_ros.multibody.elements.cylinder.kernels import cylinder as of_cylinder
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.multibody.elements.cylinder.kernels import oil as oil_kernels
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory, OilAccount
from flexdyn_ros.multibody.elements.cylinder.parameters import hydraulics_of_circuits
from flexdyn_ros.multibody.elements.cylinder.slopes import UNITS, columns_of, line_columns_of
from flexdyn_ros.robot.analysis.allocation import chosen_actuators, free_coordinates, holding_efforts
from flexdyn_ros.robot.motion import ElementState

#: modules of kernels whose comparisons are events: edges of valves, stops
OIL_SWITCHES = tuple(
    module.__name__ for module in (of_cylinder, circuit, edges, forces, oil_kernels, pumps, spool)
)


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

    @property
    def places(self) -> np.ndarray:
        """Of the forces of these cylinders among the efforts (n,)."""
        return np.asarray(self.functions.nv + np.asarray(self.driven))

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
        if not np.isfinite(springs).all():
            name = h.names[int(np.argwhere(~np.isfinite(springs))[0, -1])]
            raise StateError(f"the oil spring of '{name}' is no finite number; expected other <chambers>")
        return springs, np.broadcast_to(h.model.column("viscous"), springs.shape)


class OilMemory(CylinderMemory):
    """Memory of the cylinders of a tree (kernels/oil.py)."""

    method = "rosenbrock"

    def __init__(self, oil: Any) -> None:
        """oil: `Oil`, or what is like it"""
        self._oil, self.hydraulics = oil, oil.hydraulics
        f = oil.functions
        self.places = np.asarray(oil.places)
        self._count, self._supplies = len(self.places), len(self.hydraulics.model.supplies)
        self._at = layout.oil_places(self._count, self._supplies, f.nq, f.nv)

    @cached_property
    def _columns(self) -> tuple[tuple[ElementState, int], ...]:
        """Each state, and its place in the memory."""
        model, found = self.hydraulics.model, []
        for i, column in columns_of(model.parameters):
            name, field = model.names[i], cylinder.STATE[column]
            place = self._at[3] + i * cylinder.STATE_COUNT + column
            found.append((ElementState(f"{name}/{field}", UNITS[field], name), place))
        for k, column in line_columns_of(model.supply_parameters):
            name, field = model.supplies[k], supplies.SUPPLY_STATE[column]
            place = self._at[4] + k * supplies.SUPPLY_STATE_COUNT + column
            found.append((ElementState(f"{name}/{field}", UNITS[field], name), place))
        return tuple(found)

    @cached_property
    def states(self) -> tuple[ElementState, ...]:  # type: ignore[override]
        """See `ElementMemory`."""
        return tuple(state for state, _ in self._columns)

    @cached_property
    def _indices(self) -> np.ndarray:
        return np.array([place for _, place in self._columns])

    def fresh(self) -> np.ndarray:
        """See `ElementMemory`; cylinders without forces, valves shut."""
        memory = np.zeros(self._at[8])
        memory[[layout.COUNT, layout.SUPPLIES]] = self._count, self._supplies
        memory[[layout.SIZES, layout.SIZES + 1]] = self._oil.functions.nq, self._oil.functions.nv
        rows = memory[self._at[0] : self._at[1]].reshape(layout.PLACES, self._count)
        rows[layout.ELEMENT], rows[layout.EFFORT] = self._oil.elements, self.places
        self.parameters(memory)[:] = self.hydraulics.model.parameters
        self._part(memory, 2)[:] = self.hydraulics.model.supply_parameters.ravel()
        self._settle(memory, np.zeros(self._count), self.hydraulics.model.home)
        return memory

    def _part(self, memory: np.ndarray, which: int) -> np.ndarray:
        return memory[self._at[which] : self._at[which + 1]]

    def _settle(self, memory: np.ndarray, forces: np.ndarray, lengths: np.ndarray) -> None:
        """Cylinders at rest that exert forces (n,) at lengths (n,), supplies with shut valves."""
        parts = (self._part(memory, which) for which in range(1, 5))
        entries.rest(*parts, np.array(forces), np.array(lengths))

    def rows(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._part(memory, 3).reshape(self._count, cylinder.STATE_COUNT)

    def parameters(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._part(memory, 1).reshape(self._count, cylinder.PARAMETER_COUNT)

    def meanings(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._part(memory, 0)[layout.MEANT * self._count : (layout.MEANT + 1) * self._count]

    def supplies(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._part(memory, 4).reshape(self._supplies, supplies.SUPPLY_STATE_COUNT)

    def supply_parameters(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._part(memory, 2).reshape(self._supplies, supplies.SUPPLY_PARAMETER_COUNT)

    def set_speed(self, memory: np.ndarray, supply: int, speed: float) -> None:
        """See `ElementMemory`."""
        row = self.supply_parameters(memory)[supply]
        if row[supplies.PUMP] == supplies.IDEAL:
            name = self.hydraulics.model.supplies[supply]
            raise UnsupportedError(f"supply '{name}' has no pump, its pressure is constant; expected <pump>")
        row[supplies.SPEED] = speed

    def scheme(self, method: str) -> float:
        """See `ElementMemory`."""
        implicit = {"rosenbrock": layout.IMPLICIT, "semi_implicit_euler": layout.EULER}
        return implicit.get(method, super().scheme(method))

    def account(self, memory: np.ndarray, q: np.ndarray) -> OilAccount:
        """See `CylinderMemory`."""
        memory = memory.copy()
        of_cylinders, unknown = self.rows(memory), self.rows(memory)[:, cylinder.OIL_1] <= 0.0
        strokes = self.lengths(q) - self.parameters(memory)[:, cylinder.SHORTEST]
        of_cylinders[unknown, cylinder.OIL_STROKE] = strokes[unknown]
        chambers, lines = np.zeros(self._count), np.zeros(self._supplies)
        entries.stored(*(self._part(memory, which) for which in range(1, 5)), chambers, lines)
        rows, shared = self.rows(memory), self.supplies(memory)
        loss = rows[:, cylinder.OIL_LOSS].sum() + shared[:, supplies.LINE_LOSS].sum()
        return OilAccount(
            stored=float(chambers.sum() + lines.sum()),
            pump_work=float(shared[:, supplies.PUMP_WORK].sum()),
            piston_work=float(rows[:, cylinder.PISTON_WORK].sum()),
            loss=float(loss),
        )

    def lengths(self, q: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._motion(q, np.zeros((*q.shape[:-1], self._oil.functions.nv)))[0]

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return self._motion(q, v)[1]

    def _motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length, rate = self._oil.functions.effort_motion(q, v)
        return np.asarray(length[..., self.places]), np.asarray(rate[..., self.places])

    def holding(self, q: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        robot, rows = self._oil.functions.robot, np.atleast_2d(q)
        still = np.zeros((len(rows), robot.nv))
        with warnings.catch_warnings():
            # of rows that are NaN
            warnings.simplefilter("ignore", FlexdynWarning)
            tau = robot.inverse_dynamics(rows, still, still, actuators="all")
        for i in np.flatnonzero(np.isnan(tau).any(axis=1)):
            tau[i] = self._nearly_holding(rows[i])
        return np.asarray(tau[:, self.places].reshape(*q.shape[:-1], self._count))

    def _nearly_holding(self, q: np.ndarray) -> np.ndarray:
        """Efforts (nu,) under which cylinders keep their lengths while joints that nothing drives fall."""
        robot, still = self._oil.functions.robot, np.zeros(self._oil.functions.nv)
        chosen, tau = chosen_actuators(robot, "all"), np.zeros(robot.nu)
        free = np.isin(np.arange(robot.nv), free_coordinates(robot))
        loops = getattr(robot, "loop_jacobian", None)
        J = np.zeros((0, robot.nv)) if loops is None else loops(q)
        B, M, b = robot.actuation_matrix(q)[:, chosen], robot.mass_matrix(q), robot.bias_forces(q, still)
        tau[chosen] = holding_efforts(B, M, b, free, J)
        return tau

    def rest(self, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray | None) -> np.ndarray:
        """See `ElementMemory`; without tau the forces that hold the robot at rest."""
        forces = self.holding(q) if tau is None else tau[..., self.places]
        memory, found = self.fresh(), []
        for force, length in zip(forces, self.lengths(q), strict=True):
            self._settle(memory, force, length)
            found.append(memory[self._indices])
        return np.array(found).reshape(len(q), len(self.states))

    def read(self, memory: np.ndarray) -> np.ndarray:
        """See `ElementMemory`."""
        return memory[self._indices]

    def write(self, memory: np.ndarray, states: np.ndarray) -> None:
        """See `ElementMemory`."""
        memory[self._indices] = states
        # the next step takes the oil that belongs to the pressures
        self.rows(memory)[:, [cylinder.OIL_1, cylinder.OIL_2]] = 0.0
        self.supplies(memory)[:, supplies.OIL_LINE] = 0.0
