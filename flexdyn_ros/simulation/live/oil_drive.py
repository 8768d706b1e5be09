"""A tree whose cylinders are driven by oil, in a live simulation: what advances its stepper."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import Setpoint
from flexdyn_ros.simulation.live.hydraulic_inputs import HydraulicSetpoint
from flexdyn_ros.simulation.live.hydraulic_policy import oil_remarks
from flexdyn_ros.simulation.live.message_fields import is_stale
from flexdyn_ros.simulation.live.simulation import driven_motion
from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics, Mode
from flexdyn_ros.simulation.steps.stepper import Stepper


class OilDrive:
    """Advances the stepper of a tree with cylinders on oil as its commands say.

    Commands of joints go to the joints. Cylinders take hydraulic commands, openings or forces, each the last
    one that named it; where none did, what commands of the buffer say of any of them, as forces that they
    control; else their valves are shut.

    Parameters
    ----------
    robot : Robot
    stiffness, damping : (nu,) arrays
        Gains of the servos of all efforts; those of the cylinders act as forces that they are asked for.
    timeout : float
        Age at which a hydraulic command is stale [s]: valves shut.
    """

    hydraulics = "fused"

    def __init__(self, robot: Robot, stiffness: np.ndarray, damping: np.ndarray, timeout: float) -> None:
        self.robot, self._timeout = robot, timeout
        self._gains = stiffness.copy(), damping.copy()
        self.fused: FusedHydraulics | None = None
        self.stale: tuple[str, ...] = ()
        #: by cylinder: value, whether it is a force, and when it came by both clocks
        self._told: dict[int, tuple[float, bool, float, float]] = {}

    # ---- what Simulation calls ----

    def begin(self, stepper: Stepper) -> None:
        """Another stepper, or another state of it: commands are forgotten."""
        self.clear()
        self.continue_with(stepper)

    def continue_with(self, stepper: Stepper) -> None:
        """Another stepper in the same state (another payload)."""
        self.robot, self.stale = stepper.robot, ()
        self.fused = FusedHydraulics(stepper, "valve")

    def measured(self, stepper: Stepper) -> np.ndarray:
        """Positions of coordinates, then lengths of cylinders."""
        return self.motion(stepper)[0]

    def motion(self, stepper: Stepper) -> tuple[np.ndarray, np.ndarray]:
        """q and v, then lengths and rates of cylinders."""
        return driven_motion(stepper)

    def take_setpoint(self, setpoint: HydraulicSetpoint, sim_time: float, wall_time: float) -> None:
        """A setpoint for the cylinders whose values are numbers, directly."""
        for i in np.flatnonzero(~np.isnan(setpoint.values)).tolist():
            self._told[i] = float(setpoint.values[i]), setpoint.force, sim_time, wall_time

    def clear(self) -> None:
        """No such command any more."""
        self._told.clear()

    def remarks(self, stepper: Stepper) -> tuple[str, ...]:
        """Sentences about pumps that stand still, leaks that are not described, chambers that cavitate,
        pistons at their stops, and a command that is stale."""
        assert self.fused is not None
        found = oil_remarks(self.fused.cylinders, stepper.oil_settings())
        late = f"no command: valves closed of {', '.join(self.stale)}"
        return (*found, *((late,) if self.stale else ()))

    def advance(
        self, stepper: Stepper, setpoint: Setpoint, steps: int, obey: Callable[[Setpoint], None]
    ) -> int:
        """Some steps by a setpoint; the stepper's status. `obey` gives a setpoint to the stepper itself."""
        self.lead(stepper, setpoint, obey)
        return stepper.advance(steps)

    def lead(self, stepper: Stepper, setpoint: Setpoint, obey: Callable[[Setpoint], None]) -> None:
        """Tell cylinders and joints what to do in the next steps."""
        assert self.fused is not None
        obey(setpoint)
        places = self.fused.places
        # a servo beside the oil would be a second spring
        stiffness, damping = stepper.servo_stiffness.copy(), stepper.servo_damping.copy()
        if stiffness[places].any() or damping[places].any():
            stiffness[places] = damping[places] = 0.0
            stepper.set_servo(stiffness, damping)
        values, mode = self._commands(stepper, setpoint, places)
        self.fused.command(values, mode)

    # ---- how ----

    def _commands(self, stepper: Stepper, setpoint: Setpoint, places: np.ndarray) -> tuple[np.ndarray, Mode]:
        """Commands of the cylinders (n,) and how they are meant."""
        self.stale = ()
        if self._told:
            values, modes, names = np.zeros(places.size), ["valve"] * places.size, self.robot.hydraulics.names
            for i, (value, is_force, sim_time, wall_time) in self._told.items():
                if is_stale(self._timeout, stepper.t - sim_time, time.monotonic() - wall_time):
                    self.stale = (*self.stale, names[i])
                else:
                    values[i], modes[i] = value, "force" if is_force else "valve"
            return values, tuple(modes)
        servo_q, servo_v = setpoint.servo_position[places], setpoint.servo_velocity[places]
        asked = servo_q.any() or servo_v.any() or setpoint.gravity[places].any()
        if not (asked or setpoint.effort[places].any()):
            return np.zeros(places.size), "valve"
        force = stepper.tau[places].copy()
        length, rate = (x[places] for x in self.robot.functions.effort_motion(stepper.q, stepper.v))
        stiffness, damping = (gain[places] for gain in self._gains)
        force += np.where(servo_q, stiffness * (setpoint.position[places] - length), 0.0)
        force += np.where(servo_v, damping * (setpoint.velocity[places] - rate), 0.0)
        return force, "force"
