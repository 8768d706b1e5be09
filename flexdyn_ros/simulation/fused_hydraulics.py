"""Hydraulic cylinders inside the compiled steps of a platform."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.dynamics.hydraulics import Cylinders, HydraulicState
from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.kernels.hydraulics_memory import STATE_COUNT
from flexdyn_ros.kernels.platform_steps import (
    ACTUATOR_STATES,
    BY_FORCE,
    BY_VALVE,
    DIRECT,
    FAULTS,
    IS_STAGGERED,
    MODE,
)
from flexdyn_ros.simulation.stepper import Stepper

__all__ = ["FusedHydraulics"]

_MODES = {"direct": DIRECT, "valve": BY_VALVE, "force": BY_FORCE}


class FusedHydraulics:
    """The cylinders that drive the platform of a stepper.

    While they are in use the stepper's `tau` is what they are told, valve openings or forces on the rods, and
    its `effort` what they exert. Pressures and platform move in turn (parallel specification, section 8.3),
    so that steps of 1 ms are stable: in the time-symmetric order with the method "staggered", which "auto"
    then is; in the cheaper order, pressures first, with the others.

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
        hydraulics = getattr(stepper.robot, "hydraulics", None)
        if hydraulics is None:
            raise UnsupportedError(f"robot '{stepper.robot.name}' has no hydraulics; a platform may have")
        self.hydraulics, self._stepper = hydraulics, stepper
        self._memory = stepper._workspace.actuators
        rows = self._memory[ACTUATOR_STATES:].reshape(-1, STATE_COUNT)
        self.cylinders = Cylinders(hydraulics, hydraulics.initial(np.zeros(6)), rows)
        self.mode = mode
        self.fill()

    @property
    def mode(self) -> str:
        """How the stepper's tau is meant."""
        return next(name for name, value in _MODES.items() if value == self._memory[MODE])

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in _MODES:
            raise UnknownNameError("mode", mode, tuple(_MODES))
        self._memory[MODE] = _MODES[mode]
        self._stepper.use_actuators(mode != "direct")
        self._memory[IS_STAGGERED] = float(self._stepper.method == "staggered")

    def fill(self, tau: Any = None) -> None:
        """Close the valves and put pressures in balance with forces tau (6,) [N].

        Default: those that hold the platform at rest where it is.
        """
        robot, stepper = self._stepper.robot, self._stepper
        rest = np.zeros(6)
        forces = robot.inverse_dynamics(stepper.q.copy(), rest, rest) if tau is None else tau
        lengths = robot.inverse_kinematics(stepper.q.copy()).length  # type: ignore[attr-defined]
        self.set_state(self.hydraulics.initial(forces, lengths))

    def set_state(self, state: HydraulicState) -> None:
        """Go on with other cylinders (fields (6,)), faults forgotten."""
        self.cylinders.set_state(state)
        self._memory[FAULTS] = 0.0

    def state(self) -> HydraulicState:
        """The cylinders now."""
        return self.cylinders.state()

    @property
    def faults(self) -> int:
        """Cylinders whose state would not have been finite, since they were filled."""
        return int(self._memory[FAULTS])

    def command(self, values: Any, mode: str | None = None) -> None:
        """What the cylinders are told from now on (6,), and how it is meant."""
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (6,) or not np.isfinite(array).all():
            raise StateError(f"command is {array}, expected six finite numbers")
        if mode is not None:
            self.mode = mode
        self._stepper.tau[:] = array
