"""Memory of hydraulic cylinders in a simulation: what those of platforms and trees have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.multibody.elements.cylinder.hydraulics import LEAKS, Hydraulics, oil_settings
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import DIRECT, MODE, STATE
from flexdyn_ros.multibody.elements.cylinder.kernels.supplies import (
    SUPPLY_STATE,
)
from flexdyn_ros.multibody.elements.cylinder.slopes import (
    UNITS,
    Rates,
    columns_of,
    line_columns_of,
    slopes_of,
)
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.motion import ElementMemory, ElementState, OilSlopes, complete_states


class OilAccount(NamedTuple):
    """Energies of all oil since a simulation began [J]: pump_work = piston_work + loss + what is stored more.

    stored : elastic energy of the oil in chambers and lines, and of accumulators, now
    pump_work : enthalpy of the oil that the pumps gave, less their own leakage; of supplies of constant
        pressure that of all that left them
    piston_work : of the pressures over that of the atmosphere, on the pistons, without friction and stops
    loss : enthalpy lost at edges, valves and leaks, and with what relief valves let go; oil that reaches the
        tank is lost
    """

    stored: float
    pump_work: float
    piston_work: float
    loss: float


class CylinderMemory(ElementMemory):
    """Memory that begins with the numbers MODE, FAULTS and IS_STAGGERED of kernels/memory.py.

    Attributes
    ----------
    hydraulics : Hydraulics
        The n cylinders.
    places : (n,) array of int
        Of their forces among all efforts.
    """

    hydraulics: Hydraulics
    places: np.ndarray

    def act_at_once(self, memory: np.ndarray) -> None:
        """See `ElementMemory`: efforts are forces on the rods, the oil is out of use."""
        memory[MODE] = DIRECT

    @abstractmethod
    def rows(self, memory: np.ndarray) -> np.ndarray:
        """View (n, STATE_COUNT) of the states of the cylinders, columns as STATE of kernels/memory.py."""

    @abstractmethod
    def parameters(self, memory: np.ndarray) -> np.ndarray:
        """View (n, PARAMETER_COUNT) of their parameters."""

    @abstractmethod
    def meanings(self, memory: np.ndarray) -> np.ndarray:
        """View (n,) of how each command is meant in the mode BY_EACH: VALVE, FORCE_COMMAND of
        kernels/memory.py."""

    @abstractmethod
    def supplies(self, memory: np.ndarray) -> np.ndarray:
        """View (s, SUPPLY_STATE_COUNT) of the states of supplies (kernels/supplies.py)."""

    @abstractmethod
    def supply_parameters(self, memory: np.ndarray) -> np.ndarray:
        """View (s, SUPPLY_PARAMETER_COUNT) of their parameters."""

    def set_leakage(self, memory: np.ndarray, cylinder: int, leakage: float) -> None:
        """See `ElementMemory`."""
        self.parameters(memory)[cylinder, LEAKS] = leakage

    def settings(self, memory: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
        """See `ElementMemory`."""
        return oil_settings(self.hydraulics.model, self.parameters(memory), self.supply_parameters(memory))

    def oil_slopes(
        self, q: np.ndarray, v: np.ndarray, tau: Any, states: object, openings: object
    ) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, OilSlopes]:
        """See `ElementMemory`; states left out are at rest under the forces in tau (nu,), or those that hold
        the robot, their spools where the openings are."""
        model, n = self.hydraulics.model, self.places.size
        fresh = self.fresh()
        rates = Rates(model.names, model.parameters, self.supply_parameters(fresh))
        valves = self._openings(openings)
        lengths = self.lengths(q)
        forces = self.holding(q) if tau is None else np.asarray(tau, dtype=np.float64)[self.places]
        state, lines = self.hydraulics.initial(forces, lengths), self.supplies(fresh)
        state = state._replace(spool=valves)
        columns, of_lines = columns_of(rates.parameters), line_columns_of(rates.supplies)
        rest = [float(state[column][i]) for i, column in columns]
        named = [(model.names[i], STATE[column]) for i, column in columns]
        rest += [lines[k, column] for k, column in of_lines]
        named += [(model.supplies[k], SUPPLY_STATE[column]) for k, column in of_lines]
        known = [ElementState(f"{name}/{field}", UNITS[field], name) for name, field in named]
        values = complete_states(known, states, np.array(rest), "states")
        speeds = self.rates(q, v)
        found, slopes = slopes_of(rates, lengths, speeds, values, valves)
        assert found.shape == (n,)
        return tuple(state.name for state in known), self.places, found, slopes

    def _openings(self, openings: Any) -> np.ndarray:
        """Valve openings (n,) in order, or by the names CYLINDER/valve; those left out are shut."""
        names = [f"{name}/valve" for name in self.hydraulics.names]
        if isinstance(openings, Mapping):
            for name in openings:
                UnknownNameError.check("valve", name, names)
            openings = [openings.get(name, 0.0) for name in names]
        values = numbers(openings, "commands")
        if values.shape != (len(names),):
            raise DimensionError(f"commands has shape {values.shape}, expected ({len(names)},)")
        for name, value in zip(names, values.tolist(), strict=True):
            if not -1.0 <= value <= 1.0:
                raise StateError(f"commands of '{name}' is {value}, expected an opening from -1 to 1")
        return values

    @abstractmethod
    def account(self, memory: np.ndarray, q: np.ndarray) -> OilAccount:
        """Energies of the oil, where the robot is."""

    @abstractmethod
    def lengths(self, q: np.ndarray) -> np.ndarray:
        """Lengths (..., n) at q [m]."""

    @abstractmethod
    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rates (..., n) of the lengths at q and v [m/s]."""

    @abstractmethod
    def holding(self, q: np.ndarray) -> np.ndarray:
        """Forces (..., n) that hold the robot at rest at q [N]; where joints that nothing drives fall, those
        under which the lengths of the cylinders stay."""
