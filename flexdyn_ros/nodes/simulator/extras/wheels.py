"""What the simulator publishes and hears for a robot on wheels."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64

from flexdyn_interfaces.msg import WheelStates
from flexdyn_ros.nodes.ros.diagnostics import OK, WARN, status
from flexdyn_ros.nodes.simulator.extras.inputs import Extra, Setting
from flexdyn_ros.simulation.live.command_buffer import CommandError
from flexdyn_ros.simulation.live.simulation import Simulation


class WheelTopics(Extra):
    """`~/wheels`, `~/wheels/NAME/wrench`; `~/speed_command` for bases whose motion is prescribed."""

    def __init__(self, setting: Setting) -> None:
        self._prefix = setting.settings.frame_prefix
        self._simulation: Simulation = setting.simulation
        self._wheels = setting.make("~/wheels")
        names = setting.simulation.robot.wheel_names
        self._wrenches = [setting.make("~/wheels/{}/wrench", name) for name in names]
        driven = [c.v_index for c in setting.simulation.robot.coordinates if c.prescribed]
        self._drive = driven[0] if driven else -1
        self.inputs = {"~/speed_command": self._hear} if driven else {}

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """Whether all wheels push at the ground now."""
        robot, stepper = self._simulation.robot, self._simulation.stepper
        wheels = robot.wheel_forces(stepper.q, stepper.v)
        lost = [name for name, stands in zip(robot.wheel_names, wheels.in_contact, strict=True) if not stands]
        message = f"off the ground: {', '.join(lost)}" if lost else "all wheels on the ground"
        values = {"margin": f"{wheels.margin:.6g} N", "load_transfer": f"{wheels.load_transfer:.6g}"}
        values |= {f"normal_force_{n}": f"{f:.6g} N" for n, f in zip(robot.wheel_names, wheels.normal)}
        return [status(WARN if lost else OK, f"{node}: contact", message, values)]

    def _hear(self, message: Float64, simulation: Simulation) -> None:
        """Take over a commanded speed [m/s]."""
        if not np.isfinite(message.data):
            raise CommandError(f"speed_command is {message.data}, expected a finite speed in m/s")
        assert simulation.speed_servo is not None
        simulation.speed_servo.command(float(message.data))

    def publish_fast(self, stamp: Time) -> None:
        """Forces of the wheels."""
        stepper, robot = self._simulation.stepper, self._simulation.robot
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
