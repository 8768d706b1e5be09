"""`hydraulic_actuators`: cylinders of any robot; their lengths and commands in, forces and pressures out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from flexdyn_interfaces.msg import ElementStates, HydraulicCommand, HydraulicState
from flexdyn_ros.errors import FlexdynError, UnknownNameError, UnsupportedError
from flexdyn_ros.loading import from_description
from flexdyn_ros.multibody.elements.cylinder.circuits import without_oil
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders, Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import STATE
from flexdyn_ros.multibody.elements.cylinder.kernels.supplies import SUPPLY_STATE
from flexdyn_ros.multibody.elements.cylinder.slopes import columns_of, line_columns_of
from flexdyn_ros.nodes.ros.conversions import fill_hydraulic_state
from flexdyn_ros.nodes.ros.declaration import ParameterError, declare
from flexdyn_ros.nodes.ros.managed import ManagedNode, executable
from flexdyn_ros.nodes.ros.oil_faults import OilFaults
from flexdyn_ros.nodes.ros.outbox import ERROR, OK, WARN, status
from flexdyn_ros.nodes.ros.robot_parameters import HydraulicActuatorsParameters
from flexdyn_ros.nodes.ros.robot_source import load_robot
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.hydraulic_inputs import ranges_of
from flexdyn_ros.simulation.live.hydraulic_policy import (
    MOST_MISSING,
    Actuation,
    Limits,
    disagreement,
    oil_remarks,
    pace_word,
)
from flexdyn_ros.simulation.live.message_fields import doubles

#: what happens to periods whose leg states are missing
GAP = f"gone through by cubic motions, filled anew after more than {MOST_MISSING:g} s"


def hydraulic_health(
    node: str, actuation: Actuation, disagreement: str = "", silence: str = ""
) -> DiagnosticStatus:
    """Status NODE: legs. ERROR after a fault, without leg states or when the simulator disagrees about
    lockstep, WARN for what is stale or refused, where leg states are waited for (`silence`), and where some
    have been missing."""
    counters = actuation.counters
    conditions = actuation.conditions()
    if actuation.cylinders is not None and not actuation.fault:
        conditions += tuple(oil_remarks(actuation.cylinders, actuation.cylinders.oil_settings()))
    if silence:
        conditions = (*conditions, silence)
    if counters.missing_leg_states:
        conditions = (*conditions, f"{counters.missing_leg_states} leg states were missing: {GAP}")
    level, message = OK, "running"
    if disagreement or actuation.fault or any("no leg state" in condition for condition in conditions):
        level = ERROR
    elif conditions or counters.rejected:
        level = WARN
    if disagreement or conditions:
        message = "; ".join([disagreement, *conditions] if disagreement else conditions)
    elif counters.rejected:
        message = f"{counters.rejected} refused, last: {counters.last_rejection}"
    values = asdict(counters) | {"enabled": str(actuation.enabled).lower()}
    return status(level, f"{node}: legs", message, values)


def _names(
    hydraulics: Hydraulics, columns: Sequence[tuple[int, int]], lines: Sequence[tuple[int, int]]
) -> list[str]:
    """Of the states of cylinders and supplies, as `Robot.element_states` has them."""
    model = hydraulics.model
    return [f"{model.names[i]}/{STATE[column]}" for i, column in columns] + [
        f"{model.supplies[k]}/{SUPPLY_STATE[column]}" for k, column in lines
    ]


def part_of(robot: Robot, names: Sequence[str]) -> Hydraulics:
    """The cylinders of these names, all without any.

    Raises
    ------
    ParameterError
        If there is no such cylinder, or its supply feeds another.
    """
    known = robot.hydraulics.names
    unknown = [name for name in names if name not in known]
    others = [name for name in known if name not in names] if names else []
    try:
        if unknown:
            raise UnknownNameError("cylinder with <hydraulics>", unknown[0], known)
        part = from_description(without_oil(robot.description, others)) if others else robot
    except FlexdynError as error:
        raise ParameterError(f"parameter cylinders: {error}") from None
    found: Hydraulics = part.hydraulics
    return found


class HydraulicActuators(ManagedNode):
    """Ticks by a timer, or in lockstep with the leg states; `Actuation` decides what is done."""

    def __init__(self, **options: Any) -> None:
        super().__init__("hydraulic_actuators", **options)
        self._settings = declare(self, HydraulicActuatorsParameters)
        self._faults: OilFaults | None = None
        self.add_on_set_parameters_callback(self._on_parameters)

    # ---- life cycle ----

    def setup(self) -> None:
        settings = self._settings
        robot = load_robot(self, settings)
        if robot.hydraulics is None:
            raise UnsupportedError(f"robot '{robot.name}' has no platform with <hydraulics>, nor cylinders")
        hydraulics = part_of(robot, settings.cylinders)
        limits = Limits(
            settings.rate_hz, settings.command_timeout, settings.state_timeout,
            settings.on_stale_command, settings.lower_opening, settings.p_initial, settings.lockstep,
        )  # fmt: skip
        self._actuation = Actuation(hydraulics, ranges_of(hydraulics, settings.max_velocity), limits)
        rest = self._warm_up(hydraulics)
        self._faults = OilFaults(self, lambda: self._actuation.cylinders or rest)
        self._actuation.begin = self._faults.apply
        n = len(hydraulics.names)
        self._force = JointState(name=list(hydraulics.names), position=[0.0] * n, velocity=[0.0] * n)
        self._state = HydraulicState(names=list(hydraulics.names))
        self._force.header.frame_id = pace_word(settings.lockstep)
        self._forget_time()
        waits = "the simulation pauses" if settings.lockstep else "no force published"
        self._silence = self.watch_input("leg states", waits)
        self._reported: tuple[str, ...] = ()
        self._disagreement, self._told = "", -inf
        columns = columns_of(hydraulics.model.parameters), line_columns_of(hydraulics.model.supply_parameters)
        self._columns = tuple(np.array(list(zip(*found)) or [(), ()], dtype=int) for found in columns)
        self._elements = ElementStates(robot=robot.name, names=_names(hydraulics, *columns))
        self._elements_out = self.advertise("~/element_states")
        self._force_out = self.advertise("~/leg_force")
        self._state_out = self.advertise("~/hydraulic_state")
        self.subscribe("~/leg_state", self._on_leg_state)
        self.subscribe("~/command", self._on_command)
        self.serve(Trigger, "reset", self._on_reset)
        self.serve(SetBool, "enable", self._on_enable)
        if not settings.lockstep:
            self.repeat(1.0 / settings.rate_hz, self._on_timer, wall=False)
        self.report_by(self._health)
        self.get_logger().info(f"ready: {n} cylinders of {robot.name} at {settings.rate_hz:g} Hz")

    @staticmethod
    def _warm_up(hydraulics: Hydraulics) -> Cylinders:
        """Cylinders that have ticked once."""
        home = hydraulics.model.home.copy()
        rest = np.zeros_like(home)
        cylinders = Cylinders(hydraulics, hydraulics.initial(rest))
        cylinders.tick(home, rest, rest, 1e-3, force=True)
        return cylinders

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Faults of oil may change while the node runs."""
        if self._faults is None:
            return SetParametersResult(successful=True)
        return self._faults.change(changes)

    # ---- inputs ----

    def _now(self) -> float:
        """Seconds of the node's clock; in lockstep, of the last leg state, and inf before the first."""
        if self._settings.lockstep:
            return inf if self._stamp is None else self._stamp[0] + 1e-9 * self._stamp[1]
        return float(self.get_clock().now().nanoseconds) * 1e-9

    def _forget_time(self) -> None:
        """Lockstep: no leg state has come yet."""
        self._stamp: tuple[int, int] | None = None
        # of the last leg state, answered or not
        self._heard: tuple[int, int] | None = None
        self._has_wrong_period = False
        self._legs: tuple[object, object] | None = None
        self._is_answered = False

    def _on_command(self, message: HydraulicCommand) -> None:
        if not self._actuation.take_command(message, self._now()):
            self._tell_rejection("command")

    def _on_leg_state(self, message: JointState) -> None:
        self._silence.hear()
        self._note_disagreement(message.header)
        if not self._settings.lockstep:
            if not self._actuation.take_leg_state(message, self._now()):
                self._tell_rejection("leg state")
            return
        self._follow(message)

    def _note_disagreement(self, header: Any) -> None:
        """Say at once, and once, that the simulator runs by another rule or with another period."""
        wrong = self._wrong_period(header.stamp)
        found = disagreement(header.frame_id, "simulator", self._settings.lockstep) or wrong
        if found == self._disagreement:
            return
        self._disagreement = found
        # leg states that are missing again and again disagree again and again
        if found:
            self.get_logger().error(found, throttle_duration_sec=1.0)
        else:
            self.get_logger().info("simulator and actuators agree about lockstep", throttle_duration_sec=1.0)
        if (now := time.monotonic()) > self._told + 1.0:
            self._told = now
            self.report()

    def _tell_rejection(self, what: str) -> None:
        last = self._actuation.counters.last_rejection
        self.get_logger().warning(f"{what} refused: {last}", throttle_duration_sec=1.0)

    # ---- ticks ----

    def _on_timer(self) -> None:
        if self.is_active:
            self._send(self._actuation.tick(self._now()))

    def _follow(self, message: JointState) -> None:
        """Lockstep: one period per leg state; one that comes again is answered with the same force.

        Time that goes back, or legs that are elsewhere at the same time, mean that the simulator was reset,
        set to another state, or started again: the cylinders are filled anew, commands are forgotten.
        """
        if not self.is_active or self._has_wrong_period:
            return
        stamp = (message.header.stamp.sec, message.header.stamp.nanosec)
        legs = (message.position, message.velocity)
        if stamp == self._stamp and legs == self._legs:
            if self._is_answered:
                self._actuation.counters.repeated_leg_states += 1
                self._send(True)
                return
        elif self._stamp is not None and stamp <= self._stamp:
            self._actuation.start_over()
            self._forget_time()
        now = stamp[0] + 1e-9 * stamp[1]
        if not self._actuation.take_leg_state(message, now):
            self._tell_rejection("leg state")
            return
        self._stamp, self._legs = stamp, legs
        missing = self._actuation.counters.missing_leg_states
        self._is_answered = self._actuation.tick_in_lockstep(now)
        if missing := self._actuation.counters.missing_leg_states - missing:
            text = f"{missing} leg states were missing before that of {now:g} s: {GAP}"
            self.get_logger().warning(text, throttle_duration_sec=1.0)
        self._send(self._is_answered)

    def _wrong_period(self, stamp: Any) -> str:
        """Lockstep: what is wrong if the simulator went on by another time than our period. It would wait for
        us then; so where the next leg state is a period later, as when a recording is played, some were
        missing."""
        if not self._settings.lockstep:
            return ""
        heard, self._heard = self._heard, (stamp.sec, stamp.nanosec)
        if heard == self._heard and self._has_wrong_period:
            return self._disagreement
        gone = 0.0 if heard is None else stamp.sec - heard[0] + 1e-9 * (stamp.nanosec - heard[1])
        period = 1.0 / self._settings.rate_hz
        # stamps are whole nanoseconds; what does not go on is a repetition, or begins anew
        self._has_wrong_period = gone > 0.0 and abs(gone - period) >= 1e-6 * period + 2e-9
        if not self._has_wrong_period:
            return ""
        return (
            f"leg states are {1e3 * gone:.6g} ms of simulated time apart, rate_hz {self._settings.rate_hz:g} "
            f"asks for {1e3 * period:.6g} ms: no forces until lockstep_rate_hz of the simulator, or its "
            "step, agrees with rate_hz, or ~/reset, or some were missing and the next is a period later"
        )

    def _send(self, has_force: bool) -> None:
        """Publish what the last tick gave; the force carries the time of the leg state it answers."""
        self._tell_changes()
        cylinders = self._actuation.cylinders
        if cylinders is None or self._actuation.is_waiting:
            return
        stamp = self.get_clock().now().to_msg()
        if self._settings.lockstep and self._stamp is not None:
            stamp.sec, stamp.nanosec = self._stamp
        if has_force:
            force = self._force
            force.header.stamp = stamp
            force.effort = doubles(cylinders["force"])
            force.position, force.velocity = (doubles(x) for x in self._actuation.seen)
            self._force_out.publish(force)
        fill_hydraulic_state(self._state, cylinders)
        self._state.header.stamp = stamp
        self._state_out.publish(self._state)
        self._elements.header.stamp = stamp
        of_cylinders, of_lines = self._columns
        rows, lines = cylinders.rows[tuple(of_cylinders)], cylinders.lines[tuple(of_lines)]
        self._elements.values = doubles(np.concatenate([rows, lines]))
        self._elements_out.publish(self._elements)

    def _tell_changes(self) -> None:
        """Log every change of condition once."""
        now = self._actuation.conditions()
        if now == self._reported:
            return
        for condition in now:
            if condition not in self._reported:
                self.get_logger().warning(condition)
        for condition in self._reported:
            if condition not in now:
                self.get_logger().info(f"over: {condition}")
        self._reported = now

    # ---- services and health ----

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._actuation.reset()
        self._forget_time()
        response.success, response.message = True, "valves closed, waiting for leg state and command"
        self.get_logger().info(f"reset: {response.message}")
        return response

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._actuation.enabled = request.data
        word = "enabled" if request.data else "disabled: valves close"
        counters = self._actuation.counters
        response.success = True
        response.message = f"{word}; {counters.commands} commands and {counters.leg_states} leg states taken"
        return response

    def _health(self, name: str) -> list[DiagnosticStatus]:
        # the conditions may say it already
        is_told = any("leg state" in condition for condition in self._actuation.conditions())
        silence = "" if is_told else self._silence.condition
        return [hydraulic_health(name, self._actuation, self._disagreement, silence)]


main = executable(HydraulicActuators)


if __name__ == "__main__":
    main()
