"""Hydraulic cylinders inside the compiled steps of a platform, and valve openings that move them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders, HydraulicState, unpacked
from flexdyn_ros.multibody.elements.cylinder.kernels import forces as kernels
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.stepper import METHODS, Stepper

__all__ = ["FusedHydraulics", "ValveOpenings", "command_mode"]


#: methods that move cylinders whose valves are commanded
_STEPPED = ("auto", "adaptive_staggered", *METHODS)


@dataclass(frozen=True, eq=False)
class ValveOpenings:
    """Control of `simulate` that opens the valves of a platform instead of asking for forces.

    Parameters
    ----------
    openings : (6,) array, or callable (t, q, v) -> (6,)
        Valve openings, clamped to -1..1; positive lets the rod out. A callable is called at every dt and its
        answer held.
    """

    openings: np.ndarray | Callable[[float, np.ndarray, np.ndarray], object]


def command_mode(robot: Robot, method: str, control: object) -> str:
    """How cylinders take what `control` gives: "force", "valve"; "direct" without cylinders.

    Cylinders of a platform act by "auto", "adaptive_staggered" and "staggered"; by the other fixed steps if
    control opens valves. Without control the valves are closed.

    Raises
    ------
    UnsupportedError
        For valve openings where no cylinders act.
    """
    opens_valves = isinstance(control, ValveOpenings)
    if robot.hydraulics is None:
        if opens_valves:
            raise UnsupportedError(f"robot '{robot.name}' has no hydraulics whose valves could open")
        return "direct"
    if opens_valves and method not in _STEPPED:
        raise UnsupportedError(
            f"method {method} does not carry cylinders; expected auto, staggered or other fixed steps"
        )
    if opens_valves:
        return "valve"
    if method in ("auto", "adaptive_staggered", "staggered"):
        return "valve" if control is None else "force"
    return "direct"


#: columns of what the force control remembers from tick to tick
_OF_LAW = [cylinder.INTEGRAL, cylinder.LAST_RATE, cylinder.RATE_SLOPE]
_MODES = {"direct": cylinder.DIRECT, "valve": cylinder.BY_VALVE, "force": cylinder.BY_FORCE}


class FusedHydraulics:
    """The cylinders that drive the platform of a stepper.

    While they are in use the stepper's `tau` is their command, valve openings or forces on the rods, and
    its `effort` what they exert. Pressures and platform move in turn (docs/theory/hydraulics.md,
    "Integration"), so that steps of 1 ms are stable: in the time-symmetric order with the method "staggered",
    which "auto" then is; in the cheaper order, pressures first, with the others.

    Parameters
    ----------
    stepper : Stepper
        Of a platform with hydraulics; should neither clip efforts nor have stops, which the cylinders have.
    mode : {"force", "valve", "direct"}
        How `tau` is meant; "direct": forces on the rods, the cylinders out of use.

    Raises
    ------
    UnsupportedError
        If the robot has no hydraulics.
    """

    def __init__(self, stepper: Stepper, mode: str = "force") -> None:
        hydraulics = stepper.robot.hydraulics
        if hydraulics is None:
            raise UnsupportedError(f"robot '{stepper.robot.name}' has no hydraulics; a platform may have")
        self.hydraulics, self._stepper = hydraulics, stepper
        self._memory = stepper._workspace.actuators
        rows = self._memory[cylinder.ACTUATOR_STATES :].reshape(-1, cylinder.STATE_COUNT)
        self.cylinders = Cylinders(hydraulics, hydraulics.initial(np.zeros(6)), rows)
        self.mode = mode
        self._missed = 0
        self.fill()
        self._law = self.cylinders.rows[:, _OF_LAW].copy()

    @property
    def mode(self) -> str:
        """Meaning of the stepper's tau."""
        return next(name for name, value in _MODES.items() if value == self._memory[cylinder.MODE])

    @mode.setter
    def mode(self, mode: str) -> None:
        UnknownNameError.check("mode", mode, tuple(_MODES))
        self._memory[cylinder.MODE] = _MODES[mode]
        self._stepper.use_actuators(mode != "direct")
        self._memory[cylinder.IS_STAGGERED] = float(self._stepper.method == "staggered")

    def sharpen(self, rtol: float) -> float:
        """Compute pressures to rtol of the highest supply pressure, which is returned [Pa]."""
        rows = self._memory[cylinder.ACTUATOR_PARAMETERS : cylinder.ACTUATOR_STATES].reshape(
            -1, cylinder.PARAMETER_COUNT
        )
        supply = float(rows[:, cylinder.SUPPLY].max())
        rows[:, cylinder.RTOL], rows[:, cylinder.ATOL] = 0.0, rtol * supply
        return supply

    def decide(self, t: float, forces: np.ndarray, period: float) -> None:
        """Let the force control of the cylinders set the openings that lead to forces (6,) [N], once for a
        period [s]: the law is that of a digital controller, the steps may be shorter."""
        length, rate = self._stepper.actuator_motion(t)
        rows = self.cylinders.rows
        # its own memory is that of the last period: ticks by openings clear and overwrite it
        rows[:, _OF_LAW] = self._law
        openings = np.empty(6)
        self._missed = kernels.decide(
            self.hydraulics._address, 6, rows.reshape(-1), length, rate, forces, openings, period
        )
        self._law = rows[:, _OF_LAW].copy()
        self.command(openings, "valve")

    def note_missed(self) -> None:
        """Flag the cylinders whose force was out of reach, or whose valve was saturated, when `decide` was
        called last."""
        for i, row in enumerate(self.cylinders.rows):
            for bit, flag in ((1, cylinder.FORCE_UNREACHABLE), (2, cylinder.VALVE_SATURATED)):
                if self._missed >> 2 * i & bit:
                    row[cylinder.FLAGS] = float(int(row[cylinder.FLAGS]) | flag)

    def scale(self, pressure: float) -> np.ndarray:
        """What an error of the memory of the cylinders may be: of pressures as given [Pa]; the rest follows
        them and does not count."""
        allowed = np.full(self._memory.size, np.inf)
        rows = allowed[cylinder.ACTUATOR_STATES :].reshape(-1, cylinder.STATE_COUNT)
        rows[:, [cylinder.PRESSURE_1, cylinder.PRESSURE_2]] = pressure
        return allowed

    def fill(self, tau: object = None) -> None:
        """Close the valves and put pressures in balance with forces tau (6,) [N].

        Default: those that hold the platform at rest where it is.
        """
        robot, stepper = self._stepper.robot, self._stepper
        rest = np.zeros(6)
        forces = robot.inverse_dynamics(stepper.q.copy(), rest, rest) if tau is None else tau
        lengths = robot.inverse_kinematics(stepper.q.copy()).length
        self.set_state(self.hydraulics.initial(forces, lengths))

    def set_state(self, state: HydraulicState) -> None:
        """Go on with other cylinders (fields (6,)), faults forgotten."""
        self.cylinders.set_state(state)
        self._memory[cylinder.FAULTS] = 0.0

    def state(self) -> HydraulicState:
        """The cylinders now, their pressures at the lengths that the legs have."""
        rows = self.cylinders.rows.copy()
        if self._memory[cylinder.IS_STAGGERED] != 0.0:
            lengths = self._stepper.robot.inverse_kinematics(self._stepper.q.copy()).length
            kernels.settle(self.hydraulics._address, len(rows), rows.reshape(-1), lengths)
        return unpacked(rows)

    @property
    def faults(self) -> int:
        """Cylinders whose state would not have been finite, since they were filled."""
        return int(self._memory[cylinder.FAULTS])

    def command(self, values: object, mode: str | None = None) -> None:
        """The command of the cylinders from now on (6,), and how it is meant."""
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (6,) or not np.isfinite(array).all():
            raise StateError(f"command is {array}, expected six finite numbers")
        if mode is not None:
            self.mode = mode
        self._stepper.tau[:] = array
