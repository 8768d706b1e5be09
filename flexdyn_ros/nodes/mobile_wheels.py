"""What the simulator publishes and hears for a robot on wheels."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64

from flexdyn_interfaces.msg import WheelStates
from flexdyn_ros.nodes.commands import CommandError
from flexdyn_ros.nodes.simulation import Simulation

__all__ = ["WheelTopics", "wheel_topics"]

#: time constant with which the base follows a commanded speed [s]
RESPONSE = 0.1


class WheelTopics:
    """`~/wheels`, `~/wheels/NAME/wrench`; `~/speed_command` for bases whose motion is prescribed."""

    def __init__(self, setting: Any) -> None:
        self._prefix = setting.settings.frame_prefix
        from flexdyn_ros.nodes.families import Input

        self._simulation: Simulation = setting.simulation
        self._wheels = setting.make(WheelStates, "~/wheels", 10)
        names = setting.simulation.robot.wheel_names
        self._wrenches = [setting.make(WrenchStamped, f"~/wheels/{name}/wrench", 10) for name in names]
        self.publishers = (self._wheels, *self._wrenches)
        self._target: float | None = None
        self._heard = 0.0
        driven = [c.v_index for c in setting.simulation.robot.coordinates if c.prescribed]
        self._drive = driven[0] if driven else -1
        self.inputs = (Input(Float64, "~/speed_command", self._hear),) if driven else ()

    def _hear(self, message: Float64, simulation: Simulation) -> None:
        """Take over a commanded speed [m/s]."""
        if not np.isfinite(message.data):
            raise CommandError(f"speed_command is {message.data}, expected a finite speed in m/s")
        self._target, self._heard = float(message.data), simulation.stepper.t

    def publish_fast(self, stamp: Any) -> None:
        """Forces of the wheels; the base goes on towards its commanded speed."""
        stepper, robot = self._simulation.stepper, self._simulation.robot
        if self._target is not None and stepper.t < self._heard:
            # reset: commands are forgotten, the base has the speed of its drive again
            self._target, stepper.given[self._drive] = None, 0.0
        if self._target is not None:
            stepper.given[self._drive] = (self._target - stepper.v[self._drive]) / RESPONSE
        wheels = robot.wheel_forces(stepper.q, stepper.v)
        message = WheelStates(names=list(robot.wheel_names))
        message.header.stamp, message.header.frame_id = stamp, "world"
        message.normal_forces, message.suspension_forces = wheels.normal.tolist(), wheels.suspension.tolist()
        message.travels, message.in_contact = wheels.travel.tolist(), wheels.in_contact.tolist()
        if self._drive >= 0:
            message.drive_force = float(stepper.effort[self._drive])
            message.drive_force_with_slope = message.drive_force + float(
                robot.slope_force(stepper.q, stepper.v)
            )
        self._wheels.publish(message)
        for publisher, name, force in zip(self._wrenches, robot.wheel_names, wheels.normal, strict=True):
            wrench = WrenchStamped()
            wrench.header.stamp, wrench.header.frame_id = stamp, f"{self._prefix}{name}/wheel"
            wrench.wrench.force.z = float(force)
            publisher.publish(wrench)

    def publish_slow(self, stamp: Any) -> None:
        """Nothing."""


def wheel_topics(setting: Any) -> WheelTopics | None:
    """The topics of a robot that has wheels."""
    return WheelTopics(setting) if setting.simulation.robot.kind == "mobile" else None
