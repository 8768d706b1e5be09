"""Topics of cylinders that oil drives: in the compiled steps of a tree, or in another process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState

from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState
from flexdyn_ros.nodes.ros.conversions import fill_hydraulic_state, time_message
from flexdyn_ros.nodes.ros.outbox import ERROR, OK, WARN, status
from flexdyn_ros.nodes.simulator.extra import Extra, Setting
from flexdyn_ros.simulation.live.external_drive import ExternalDrive
from flexdyn_ros.simulation.live.hydraulic_inputs import InputError, ranges_of, read_command
from flexdyn_ros.simulation.live.hydraulic_policy import disagreement, pace_word
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.live.oil_drive import OilDrive
from flexdyn_ros.simulation.live.simulation import Simulation

#: what is recorded of cylinders in another process
_RECORDED = ("hydraulic_actuators/hydraulic_state", "hydraulic_actuators/element_states")


class OilTopics(Extra):
    """`~/hydraulic_state` and `~/hydraulic_command` of a tree whose cylinders oil drives.

    Parameters
    ----------
    setting : Setting
        Whose simulation is driven by an OilDrive, or whose cylinders are out of use.
    """

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        hydraulics = self._simulation.robot.hydraulics
        self._ranges = ranges_of(hydraulics, np.inf)
        self._message = HydraulicState(names=list(hydraulics.names))
        self._state = setting.make("~/hydraulic_state")
        self.inputs = {"~/hydraulic_command": self._on_command}

    @property
    def _drive(self) -> OilDrive | None:
        drive: OilDrive | ExternalDrive | None = self._simulation.drive
        return drive.inner if isinstance(drive, ExternalDrive) else drive

    def publish_fast(self, stamp: Time) -> None:
        """The cylinders."""
        if self._drive is not None and self._drive.fused is not None:
            self._message.header.stamp = stamp
            fill_hydraulic_state(self._message, self._drive.fused.cylinders)
            self._state.publish(self._message)

    def _on_command(self, message: HydraulicCommand, simulation: Simulation) -> None:
        try:
            if self._drive is None:
                raise InputError("parameter hydraulics is 'none': cylinders exert the forces they are told")
            setpoint = read_command(message, self._ranges, partial=True)
        except InputError as error:
            raise simulation.buffer.refuse(error) from None
        simulation.buffer.yield_to_others()
        self._drive.take_setpoint(setpoint, simulation.stepper.t, time.monotonic())

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """NODE: cylinders."""
        drive = self._drive
        if drive is None or drive.fused is None:
            return [status(OK, f"{node}: cylinders", "hydraulics none", {})]
        flags = int(np.bitwise_or.reduce(drive.fused.state().flags))
        remarks = drive.remarks(self._simulation.stepper)
        level, text = (WARN, "; ".join(remarks)) if remarks else (OK, "hydraulics fused")
        return [status(level, f"{node}: cylinders", text, {"flags": flags, "faults": drive.fused.faults})]


def _keeping(keep: Callable[[object], None]) -> Callable[[object, Simulation], None]:
    return lambda message, simulation: keep(message)


class ExternalTopics(Extra):
    """`leg_states` of cylinders that another process computes, by name, and the forces that it sends.

    Parameters
    ----------
    setting : Setting
        Whose simulation is driven by an ExternalDrive.
    """

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self.drive: ExternalDrive = setting.simulation.drive
        self._states = setting.make("leg_states")
        self._message = JointState(name=list(self.drive.names))
        self._message.header.frame_id = pace_word(self.drive.lockstep)
        self.drive.send = self.publish_states
        if setting.record is not None:
            self.inputs = {topic: _keeping(setting.record(topic)) for topic in _RECORDED}

    def publish_states(self) -> None:
        """Lengths, rates and forces of the cylinders, at the simulated time: lockstep goes by the stamp."""
        stepper, message = self._simulation.stepper, self._message
        lengths, rates = self.drive.lengths_and_rates(stepper)
        nanoseconds = round(stepper.t * 1e9)
        message.header.stamp = time_message(nanoseconds)
        self.drive.gate.newest_sent = nanoseconds
        message.position, message.velocity = doubles(lengths), doubles(rates)
        message.effort = doubles(stepper.tau[self.drive.places])
        self._states.publish(message)

    def is_meant(self, message: JointState) -> bool:
        """Whether a message of `joint_commands` holds forces of cylinders: in trees others may be for
        joints."""
        return self.drive.is_alone or any(name in self.drive.names for name in message.name)

    def take_forces(self, message: JointState) -> None:
        """Forces of another process.

        Raises
        ------
        CommandError
            If they are malformed, or that process disagrees about lockstep.
        """
        drive, refuse = self.drive, self._simulation.buffer.refuse
        drive.disagreement = disagreement(message.header.frame_id, "hydraulic actuators", drive.lockstep)
        if drive.disagreement:
            raise refuse(drive.disagreement)
        if len(message.effort) != len(message.name):
            raise refuse(f"effort has {len(message.effort)} numbers, expected {len(message.name)}")
        others = [name for name in message.name if name not in drive.names]
        if others and not drive.is_alone:
            raise refuse(f"forces of cylinders come with '{others[0]}', expected commands of their own")
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        try:
            efforts = dict(zip(message.name, message.effort, strict=True))
            is_answer = message.header.frame_id == pace_word(lockstep=True)
            if is_answer and len(message.position) and message.position != self._message.position:
                # of another state at the same time, before a reset or of another simulator
                drive.gate.late += 1
                return
            drive.gate.take(stamp, efforts, is_answer)
        except ValueError as error:
            raise refuse(error) from None

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """NODE: legs."""
        drive, level, text = self.drive, OK, "hydraulics external"
        waiting = 0.0 if drive.waiting_since is None else time.monotonic() - drive.waiting_since
        if drive.lockstep and waiting > 0.1:
            level, text = WARN, f"no leg forces for {waiting:.1f} s: the simulation pauses"
        if drive.disagreement:
            level, text = ERROR, drive.disagreement
        elif drive.stale:
            level, text = ERROR, "no leg forces: dampers hold"
        values = {
            "hydraulics": drive.hydraulics,
            "lockstep": str(drive.lockstep).lower(),
            "forces_taken": drive.gate.taken,
            "forces_repeated_or_late": drive.gate.late,
            "waiting": f"{waiting:.3f} s",
        }
        return [status(level, f"{node}: legs", text, values)]
