"""`~/pressure_commands` of a simulated soft arm: absolute pressures become actuator forces."""

from __future__ import annotations

import time

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexdyn_ros.nodes.simulator.extras.inputs import Extra
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import CommandError
from flexdyn_ros.simulation.live.message_fields import doubles, numbers_of
from flexdyn_ros.simulation.live.simulation import Simulation


class Pressures(Extra):
    """Takes the absolute pressures [Pa] of all actuators, in the order of the robot's effort names.

    Each is held between vacuum and the highest pressure of its section (<pressure maximum>); the force is
    area x (p - atmosphere), taken like a command of efforts: it ages, and is limited as they are. The lag of
    the supply is simulated by the steps, for commanded forces too.
    """

    def __init__(self, robot: Robot) -> None:
        self.inputs = {"~/pressure_commands": self.take}
        assert robot.pressure_areas is not None
        self._areas = robot.pressure_areas
        self._least, self._most = robot.pressure_forces

    def forces(self, message: Float64MultiArray) -> np.ndarray:
        """Actuator forces (nu,) [N]; CommandError if the array is not one finite pressure per actuator."""
        pressures = numbers_of(message.data)
        if pressures.shape != self._areas.shape:
            raise CommandError(f"data has {pressures.size} pressures, expected {self._areas.size}")
        wrong = np.flatnonzero(~np.isfinite(pressures))
        if wrong.size:
            raise CommandError(f"data[{wrong[0]}] is {pressures[wrong[0]]}, expected a pressure in Pa")
        return np.asarray(np.clip(self._areas * pressures + self._least, self._least, self._most))

    def take(self, message: Float64MultiArray, simulation: Simulation) -> None:
        """The callback of the topic."""
        try:
            forces = self.forces(message)
        except CommandError as error:
            raise simulation.buffer.refuse(error) from None
        command = JointState(name=list(simulation.robot.effort_names), effort=doubles(forces))
        simulation.buffer.take_joint_state(command, simulation.stepper.t, time.monotonic())
