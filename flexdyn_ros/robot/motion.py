"""What a robot offers to those who move it in time: its family's compiled functions, and facts about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.numerics.stepping.table import ENERGIES, EXERT, LOAD, PREPARE, motion_table
from flexdyn_ros.robot.coordinates import Coordinate

__all__ = ["Lag", "Motion", "actuator_limits", "shared_functions"]


@dataclass(frozen=True, eq=False)
class Lag:
    """Actuators whose forces follow commands like T f' = c - f, from zero at the start of a simulation.

    Parameters
    ----------
    time_constant : (nu,) array
        T [s]; 0 where the force is the command.
    least, largest : (nu,) arrays
        What the command c of a lagging actuator is clipped to [N].
    """

    time_constant: np.ndarray
    least: np.ndarray
    largest: np.ndarray

    def memory(self) -> np.ndarray:
        """Fresh memory of the actuators for the fixed steps: T, least, largest, f."""
        return np.concatenate([self.time_constant, self.least, self.largest, 0.0 * self.time_constant])

    def after(self, seconds: float, command: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Forces (nu,) some seconds after they were `force` while a command (nu,) is held."""
        lags = self.time_constant > 0.0
        held = np.where(lags, np.clip(command, self.least, self.largest), command)
        share = np.exp(-seconds / np.where(lags, self.time_constant, 1.0))
        return np.where(lags, held + (force - held) * share, held)


@dataclass(frozen=True, eq=False)
class Motion:
    """Attribute `motion` of a robot that has compiled fixed steps; SI.

    Parameters
    ----------
    robot : int
        The first argument of the functions: the address of a head (numerics/verbs/head.py), or of whatever
        else they take.
    functions : mapping from a place in the table of numerics/stepping/table.py to a Callback
    work_size : int
        float64 numbers of work memory; every simulation has its own.
    place : callable (names of frames) -> (Motion, bodies (k,) int64, points, rows of 3 or 4)
        Where wrenches on those frames act, as the function LOAD takes it, and the motion to use with them
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
    actuators : callable () -> float64 array, optional
        Fresh memory of the actuators, the first argument of the function ACTUATE.
    losses_follow : bool
        Whether LOSSES reads what ACCELERATE left in the work memory.
    lag : Lag, optional
        How forces lag behind commands, where that is all that the actuators do. A state that is set finds
        them fresh.
    no_moments : str
        Why wrenches on frames may hold no moment; empty where they may.
    switches : tuple of str
        Modules of kernels whose comparisons are events of a motion: stops, ground that wheels leave, edges of
        valves. Others choose a series, or refuse what cannot be computed.
    keep : object
        What has to live as long as the addresses.
    """

    robot: int
    functions: dict[int, Callback]
    work_size: int
    place: Callable[[Iterable[str]], tuple[Motion, np.ndarray, np.ndarray]]
    effort_limit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    modal: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()
    stiff: bool = False
    actuators: Callable[[], np.ndarray] | None = None
    losses_follow: bool = False
    lag: Lag | None = None
    no_moments: str = ""
    switches: tuple[str, ...] = ()
    keep: Any = field(default=None, repr=False)

    @property
    def drives_coordinates(self) -> bool:
        """Whether efforts act on the coordinates one by one; legs do not."""
        return EXERT not in self.functions

    def table(self) -> np.ndarray:
        """Addresses of the functions, compiled now if need be."""
        return motion_table(self.functions)


def shared_functions(entries: Any) -> dict[int, Callback]:
    """What steps have from the functions of the verbs."""
    return {PREPARE: entries.ready, ENERGIES: entries.energy, LOAD: entries.load}


def actuator_limits(coordinates: Iterable[Coordinate]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """effort_limit, lower, upper (nv,) of a robot whose efforts act on its coordinates one by one."""
    chosen = tuple(coordinates)
    return (
        np.array([c.effort_limit or np.inf for c in chosen]),
        np.array([c.lower for c in chosen]),
        np.array([c.upper for c in chosen]),
    )
