"""What a robot offers to those who move it in time: its family's compiled functions, and facts about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.numerics.verbs.table import STEPPED, Table
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.coordinates import Coordinate

#: what vacuum is read as, so that it can be set again [Pa]
LEAST_PRESSURE = float(np.finfo(np.float64).tiny)


class ElementState(NamedTuple):
    """A state of an element beside q and v: its name, its unit, and the element that has it."""

    name: str
    unit: str
    element: str


class OilSlopes(NamedTuple):
    """Slopes of n cylinders with ns states, by their lengths and rates (n,) each, the states (ns,) and the
    openings of their valves (n,), side by side: of the forces (n, 3 n + ns), and of the rates of the states
    (ns, 3 n + ns)."""

    forces: np.ndarray
    rates: np.ndarray


class ElementMemory(ABC):
    """Elements with states of their own beside q and v, and the memory of a simulation that holds them.

    The memory is a float64 array of the family's own layout: the first argument of the function `actuate`
    (numerics/verbs/table.py), which advances the states.

    Attributes
    ----------
    states : tuple of ElementState
        ns of them, in the order of the description.
    method : str
        That "auto" takes among the fixed steps while the elements are in use.
    """

    states: tuple[ElementState, ...]
    method: ClassVar[str] = "staggered"

    def scheme(self, method: str) -> float:
        """Number by which the memory knows how the elements move in fixed steps by a method."""
        return float(method == "staggered")

    def set_speed(self, memory: np.ndarray, supply: int, speed: float) -> None:
        """Another speed [rad/s] of the pump of a supply, by its place; see `Stepper.set_supply`."""
        raise UnsupportedError("elements of this kind have no supplies with pumps")

    def set_leakage(self, memory: np.ndarray, cylinder: int, leakage: float) -> None:
        """Another leakage to the tank [m3/(s Pa)] of a cylinder, by its place; see `Stepper.set_leakage`."""
        raise UnsupportedError("elements of this kind have no cylinders")

    def settings(self, memory: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
        """See `Stepper.oil_settings`."""
        return {}, {}

    def oil_slopes(
        self, q: np.ndarray, v: np.ndarray, tau: object, states: object, openings: object
    ) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, OilSlopes]:
        """Names (ns,) of the states of cylinders, the places (n,) of their forces among the efforts, these
        forces, and their slopes; see `Robot.linearize`."""
        raise UnsupportedError("elements of this kind have no valves that commands could open")

    @abstractmethod
    def act_at_once(self, memory: np.ndarray) -> None:
        """Let efforts act without delay from now on, as those that were measured behind it; states stay."""

    @abstractmethod
    def fresh(self) -> np.ndarray:
        """Memory (n,) of a new simulation, with states at rest."""

    @abstractmethod
    def rest(self, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray | None) -> np.ndarray:
        """States (count, ns) at rest for rows of q, v and tau, the efforts that the elements exert [N m, N];
        without tau, those in which a simulation starts."""

    @abstractmethod
    def read(self, memory: np.ndarray) -> np.ndarray:
        """States (ns,) in a memory, copied."""

    @abstractmethod
    def write(self, memory: np.ndarray, states: np.ndarray) -> None:
        """Put finite states (ns,) into a memory."""


def complete_states(
    states: Sequence[ElementState], values: object, rest: np.ndarray, name: str
) -> np.ndarray:
    """States (ns,) that a caller gave under `name`: in order, or by name; those left out are at rest (ns,).

    Raises
    ------
    UnknownNameError, DimensionError
        For a name that no state has, or another number of them.
    StateError
        For NaN, infinity, or an absolute pressure that is not above 0 Pa.
    """
    names = tuple(state.name for state in states)
    if values is None:
        values = rest
    elif isinstance(values, Mapping):
        for key in values:
            UnknownNameError.check("state of elements", key, names)
        values = [values.get(key, at_rest) for key, at_rest in zip(names, rest, strict=True)]
    array = numbers(values, name)
    if array.shape != (len(names),):
        listed = f": {', '.join(names)}" if names else ", the robot has no elements with states"
        raise DimensionError(f"{name} has shape {array.shape}, expected ({len(names)},){listed}")
    for state, value in zip(states, array.tolist(), strict=True):
        if not isfinite(value):
            raise StateError(f"{name} of '{state.name}' is {value}, expected a finite number")
        if state.unit == "Pa" and value <= 0.0:
            raise StateError(
                f"{name} of '{state.name}' is {value:g} Pa, expected an absolute pressure above 0"
            )
    return array.copy()


@dataclass(frozen=True, eq=False)
class Lag(ElementMemory):
    """Actuators whose forces follow commands like T f' = c - f; their states are absolute pressures.

    A simulation starts at the pressure of the atmosphere, where the forces are zero.

    Parameters
    ----------
    states : tuple of ElementState
        Pressures [Pa] of the actuators whose time constant is not zero, in their order.
    time_constant : (nu,) array
        T [s]; 0 where the force is the command.
    area : (nu,) array
        Effective area [m2]: force = area (pressure - atmosphere).
    atmosphere : float
        [Pa]
    largest : (nu,) array
        What the command of a lagging actuator is clipped to [N], vacuum on the other side.
    """

    states: tuple[ElementState, ...]
    time_constant: np.ndarray
    area: np.ndarray
    atmosphere: float
    largest: np.ndarray

    @cached_property
    def _least(self) -> np.ndarray:
        return -self.area * self.atmosphere

    @cached_property
    def _lags(self) -> np.ndarray:
        return self.time_constant > 0.0

    @cached_property
    def _places(self) -> np.ndarray:
        return np.flatnonzero(self._lags)

    @cached_property
    def _areas(self) -> np.ndarray:
        return self.area[self._places]

    def fresh(self) -> np.ndarray:
        """See `ElementMemory`; T, least and largest commands, forces."""
        return np.concatenate([self.time_constant, self._least, self.largest, 0.0 * self.time_constant])

    def act_at_once(self, memory: np.ndarray) -> None:
        """See `ElementMemory`."""
        memory[: self.time_constant.size] = 0.0

    def rest(self, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray | None) -> np.ndarray:
        """See `ElementMemory`; efforts beyond what the supply reaches are clipped."""
        tau = np.zeros((len(q), self.area.size)) if tau is None else tau
        return self.pressures(np.clip(tau, self._least, self.largest))

    def read(self, memory: np.ndarray) -> np.ndarray:
        """See `ElementMemory`."""
        return self.pressures(memory[-self.area.size :])

    def write(self, memory: np.ndarray, states: np.ndarray) -> None:
        """See `ElementMemory`."""
        memory[-self.area.size :] = self.forces(states)

    def pressures(self, force: np.ndarray) -> np.ndarray:
        """States (..., ns) of forces (..., nu), at least LEAST_PRESSURE."""
        found = force.take(self._places, axis=-1)
        found /= self._areas
        found += self.atmosphere
        return np.asarray(np.maximum(found, LEAST_PRESSURE, out=found))

    def forces(self, states: np.ndarray) -> np.ndarray:
        """Forces (nu,) of states (ns,); 0 where the command acts at once."""
        force = np.zeros(self.area.size)
        force[self._places] = (states - self.atmosphere) * self._areas
        return force

    def after(self, seconds: float | np.ndarray, command: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Forces (nu,) some seconds after they were `force` while a command (nu,) is held; (n, nu) of seconds
        (n, 1)."""
        held = np.where(self._lags, np.clip(command, self._least, self.largest), command)
        share = np.exp(-seconds / np.where(self._lags, self.time_constant, 1.0))
        return np.where(self._lags, held + (force - held) * share, held)


@dataclass(frozen=True, eq=False)
class Motion:
    """Attribute `motion` of a robot that has compiled fixed steps; SI.

    Parameters
    ----------
    robot : int
        The first argument of the functions: the address of a head (numerics/verbs/head.py), or of whatever
        else they take.
    table : Table
        The robot's functions (numerics/verbs/table.py).
    work_size : int
        float64 numbers of work memory; every simulation has its own.
    place : callable (names of frames) -> (Motion, bodies (k,) int64, points, rows of 3 or 4)
        Where wrenches on those frames act, as the function `load` takes it, and the motion to use with them
        (another one where the model has to be cut there first).
    effort_limit, lower, upper : (nu,) arrays
        Of the efforts, and of what the actuators measure; infinite where there is none.
    stiffness, damping : (nv,) arrays
        Of the family's own forces on single coordinates, the damping where it is steepest: "auto" looks at
        them.
    modal : tuple of (v (m,) int, K (m, m), D (m, m))
        Indices, stiffness and damping of the modal coordinates of every flexible link.
    stiff : bool
        Whether "auto" is rosenbrock whatever those say.
    memory : ElementMemory, optional
        Elements with states of their own, which the function `actuate` advances.
    losses_follow : bool
        Whether `losses` reads what `accelerate` left in the work memory.
    no_moments : str
        Why wrenches on frames may hold no moment; empty where they may.
    switches : tuple of str
        Modules of kernels whose comparisons are events of a motion: stops, ground that wheels leave, edges of
        valves. Others choose a series, or refuse what cannot be computed.
    keep : object
        What has to live as long as the addresses.
    """

    robot: int
    table: Table
    work_size: int
    place: Callable[[Iterable[str]], tuple[Motion, np.ndarray, np.ndarray]]
    effort_limit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    modal: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()
    stiff: bool = False
    memory: ElementMemory | None = None
    losses_follow: bool = False
    no_moments: str = ""
    switches: tuple[str, ...] = ()
    keep: Any = field(default=None, repr=False)

    @property
    def lag(self) -> Lag | None:
        """How forces lag behind commands, where that is all that elements do."""
        return self.memory if isinstance(self.memory, Lag) else None

    @property
    def drives_coordinates(self) -> bool:
        """Whether efforts act on the coordinates one by one; legs do not."""
        return "exert" not in self.table

    def provide(self) -> int:
        """Address of the table, with the functions of steps compiled now if need be."""
        self.table.provide(*STEPPED)
        return self.table.address


def actuator_limits(coordinates: Iterable[Coordinate]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """effort_limit, lower, upper (nv,) of a robot whose efforts act on its coordinates one by one."""
    chosen = tuple(coordinates)
    return (
        np.array([c.effort_limit or np.inf for c in chosen]),
        np.array([c.lower for c in chosen]),
        np.array([c.upper for c in chosen]),
    )
