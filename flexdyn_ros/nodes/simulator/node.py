"""`simulator`: one robot simulated in real time, faster, or paused and stepped."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Wrench, WrenchStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from flexdyn_interfaces import srv
from flexdyn_ros.errors import FlexdynError, shortened
from flexdyn_ros.nodes.ros.conversions import wrench_vector
from flexdyn_ros.nodes.ros.declaration import declare
from flexdyn_ros.nodes.ros.managed import INACTIVE, ManagedNode, executable
from flexdyn_ros.nodes.ros.oil_faults import OilFaults
from flexdyn_ros.nodes.ros.requests import (
    RequestError,
    check_state,
    efforts_of,
    read_element_states,
    read_payload,
    read_state,
)
from flexdyn_ros.nodes.ros.robot_source import load_robot
from flexdyn_ros.nodes.simulator.cylinders import ExternalTopics
from flexdyn_ros.nodes.simulator.extras import element_states
from flexdyn_ros.nodes.simulator.health import recording_health, simulator_health
from flexdyn_ros.nodes.simulator.making import make_simulation, oil_outside, specialized_robot
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters
from flexdyn_ros.nodes.simulator.steps import LARGEST_STEP, Steps
from flexdyn_ros.nodes.simulator.telemetry import Telemetry
from flexdyn_ros.nodes.simulator.trajectories import SimulatedTrajectories
from flexdyn_ros.simulation.live.command_buffer import CommandError
from flexdyn_ros.simulation.live.joint_path import TrajectoryError
from flexdyn_ros.simulation.live.message_fields import duration_seconds
from flexdyn_ros.simulation.live.pace import Pace
from flexdyn_ros.simulation.live.simulation import Load, Simulation
from flexdyn_ros.simulation.steps.clock import onto_constraints

#: change of coordinates onto loops with which a state is taken [rad or m]
MOST_MOVED = 0.5


def _refuse(response: Any, error: Exception) -> Any:
    response.success, response.message = False, str(error)
    return response


def _answering(work: Callable[[Any, Any, Any], None]) -> Callable[[Any, Any, Any], Any]:
    """The callback of a service: success, or what is wrong with the request, or with the robot that it
    names."""

    @wraps(work)
    def callback(node: Simulator, request: Any, response: Any) -> Any:
        try:
            node._check_robot(getattr(request, "robot", ""))
            work(node, request, response)
        except (FlexdynError, RequestError, ValueError) as error:
            return _refuse(response, error)
        response.success = True
        return response

    return callback


class Simulator(ManagedNode):
    """Publishes the state of a simulated robot and takes commands for it.

    Two threads: the pace, which ticks and publishes, and the executor, whose callbacks write commands, or
    take their turn between two ticks. Requests that take long are worked off by a third.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("simulator", **options)
        self._settings = declare(self, SimulatorParameters)
        self._pace: Any = None
        self._user_paused = False
        self._has_lost_records = False
        self._external: ExternalTopics | None = None
        self._faults: OilFaults | None = None
        self.add_on_set_parameters_callback(self._on_parameters)

    # ---- life cycle ----

    def setup(self) -> None:
        settings = self._settings
        robot = load_robot(self, settings)
        for warning in robot.warnings:
            self.get_logger().warning(warning)
        robot, outside = oil_outside(robot, settings)
        if settings.specialized:
            robot = specialized_robot(self, robot)
        self._simulation = make_simulation(self, robot, settings, outside)
        self._telemetry = Telemetry(
            self, self._simulation, settings, lambda: self.get_clock().now().nanoseconds
        )
        topics = [extra for extra in self._telemetry.extras if isinstance(extra, ExternalTopics)]
        self._external = topics[0] if topics else None
        self._faults = OilFaults(self, lambda: self._simulation.stepper)
        self._pace = Pace(
            self._tick, settings.step, settings.real_time_factor, priority=settings.thread_priority
        )
        self._steps = Steps(self._simulation, self._pace, self._tick, self._telemetry.publish_now)
        self._trajectories = SimulatedTrajectories(
            self, self._simulation, self._pace.between_ticks, self._telemetry.stamp
        )
        self.report_by(self._health)
        self.latch("robot_description", robot.description.text)
        self.latch("expanded/robot_description", self._telemetry.expanded_text)
        self._listen()
        self._serve()
        self._paused_at_start = self._user_paused = settings.start_paused
        self.get_logger().info(f"ready: {robot.name} ({robot.nv} coordinates), step {settings.step:g} s")

    def start(self) -> None:
        # callbacks hold the interpreter for well below this; the pace must not wait five
        # milliseconds for its turn
        sys.setswitchinterval(2e-4)
        self._trajectories.action.resume()
        self._telemetry.publish_now()
        self._pace.clear()
        self._pace.start(paused=self._paused_at_start)

    def stop(self) -> None:
        if self._pace is not None:
            self._steps.end("deactivation or shutdown")
            self._paused_at_start = self._pace.paused
            self._pace.stop()
            self._trajectories.action.pause()

    def clear(self) -> None:
        self._trajectories.action.close()
        self._close_recording()
        self._steps.close()
        self._pace = None

    def finish(self) -> bool:
        if self._pace is not None:
            self._close_recording()
        return not self._has_lost_records

    def _close_recording(self) -> None:
        self._telemetry.close()
        recorder = self._telemetry.recorder
        self._has_lost_records |= recorder is not None and bool(recorder.failure or recorder.lost)

    def _listen(self) -> None:
        self.subscribe("joint_commands", self._on_joint_commands)
        self.subscribe("~/commands", self._on_array)
        self.subscribe("~/joint_trajectory", self._on_trajectory)
        self.subscribe("~/external_wrench", self._on_wrench)
        for extra in self._telemetry.extras:
            for topic, take in extra.inputs.items():
                self.subscribe(topic, self._between_ticks(take))

    def _between_ticks(self, take: Callable[[object, Simulation], None]) -> Callable[[object], None]:
        """A callback of a family's input, between two ticks."""

        def heard(message: object) -> None:
            try:
                with self._pace.between_ticks():
                    take(message, self._simulation)
            except (CommandError, FlexdynError) as error:
                self._tell_rejection(error)

        return heard

    def _serve(self) -> None:
        group = ReentrantCallbackGroup()
        for kind, name, callback in (
            (Trigger, "reset", self._on_reset),
            (Trigger, "pause", self._on_pause),
            (Trigger, "resume", self._on_resume),
            (srv.Step, "step", self._on_step),
            (srv.GetState, "get_dynamics_state", self._on_get_dynamics_state),
            (srv.SetState, "set_dynamics_state", self._on_set_dynamics_state),
            (srv.GetElementStates, "get_element_states", self._on_get_element_states),
            (srv.SetElementStates, "set_element_states", self._on_set_element_states),
            (srv.ApplyWrench, "apply_wrench", self._on_apply_wrench),
            (srv.SetPayload, "set_payload", self._on_set_payload),
        ):
            self.serve(kind, name, callback, group)

    def _apply_faults(self) -> None:
        if self._faults is not None:
            self._faults.apply()

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Faults of oil may change while the node runs."""
        if self._faults is None or self._pace is None:
            return SetParametersResult(successful=True)
        with self._pace.between_ticks():
            return self._faults.change(changes)

    # ---- the pace ----

    def _tick(self, steps: int) -> bool:
        """One tick: advance, publish what is due; False after a fault, and a mistake of ours is one too."""
        try:
            return self._advance(steps)
        except Exception as error:  # noqa: BLE001  a thread that ends says nothing in the diagnostics
            self.get_logger().error(traceback.format_exc())
            self._simulation.fault = f"{type(error).__name__}: {error}"
            return False

    def _advance(self, steps: int) -> bool:
        simulation, telemetry = self._simulation, self._telemetry
        if self._settings.real_time_factor == 0.0:
            steps = min(steps, telemetry.steps_until_due(self._settings.step))
        good = simulation.tick(steps)
        self._trajectories.look()
        telemetry.publish_due()
        if not good:
            self.get_logger().error(
                f"stopped: {simulation.fault}; the last good state is kept until reset or set_dynamics_state"
            )
        return good

    # ---- commands ----

    def _on_joint_commands(self, message: JointState) -> None:
        if self._external is not None and self._external.is_meant(message):
            try:
                self._external.take_forces(message)
            except CommandError as error:
                if self._external.drive.disagreement:
                    self.get_logger().error(str(error), throttle_duration_sec=10.0)
                else:
                    self._tell_rejection(error)
            return
        self._take(self._simulation.buffer.take_joint_state, message)

    def _on_array(self, message: Float64MultiArray) -> None:
        self._take(self._simulation.buffer.take_array, message)

    def _take(self, take: Callable[..., bool], message: object) -> None:
        try:
            if take(message, self._simulation.stepper.t, time.monotonic()):
                self._simulation.clear_drive()
        except CommandError as error:
            self._tell_rejection(error)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        with self._pace.between_ticks():
            try:
                self._trajectories.take(message)
            except TrajectoryError as error:
                self._tell_rejection(error)

    def _on_wrench(self, message: WrenchStamped) -> None:
        """At and in header.frame_id; until replaced."""
        try:
            frame = message.header.frame_id.removeprefix(self._settings.frame_prefix)
            self._load(frame, frame, message.wrench, inf)
        except (FlexdynError, RequestError) as error:
            self._tell_rejection(self._simulation.buffer.refuse(error))

    def _tell_rejection(self, error: Exception) -> None:
        self.get_logger().warning(f"command refused: {error}", throttle_duration_sec=1.0)

    def _load(self, frame: str, axes: str | None, wrench: Wrench, duration: float) -> None:
        simulation = self._simulation
        # refuses what is no frame; sections LINK@station are frames too
        simulation.robot.frames(simulation.robot.neutral(), [frame] if axes is None else [frame, axes])
        w = wrench_vector(wrench)
        if not np.isfinite(w).all():
            raise RequestError(f"wrench holds {w[~np.isfinite(w)][0]}, expected finite numbers")
        with self._pace.between_ticks():
            simulation.set_load(Load(frame, w, axes, simulation.stepper.t + duration))

    # ---- services ----

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._steps.end("reset")
        with self._pace.between_ticks():
            self._simulation.reset()
            self._apply_faults()
            self._telemetry.restart()
            self._telemetry.publish_now()
        self._go_on()
        response.success, response.message = True, "initial state at time 0"
        return response

    def _go_on(self) -> None:
        """Run, unless the user paused; once the node is active again, if it is not."""
        self._paused_at_start = self._user_paused
        if self.is_active and not self._user_paused:
            self._pace.resume()

    def _on_pause(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._steps.end("pause")
        self._user_paused = self._paused_at_start = True
        self._pace.pause()
        with self._pace.between_ticks():
            response.success, response.message = True, f"paused at {self._simulation.stepper.t:.6f} s"
        return response

    @_answering
    def _on_resume(self, request: Trigger.Request, response: Trigger.Response) -> None:
        self._check_readiness()
        self._user_paused = False
        self._pace.resume()
        response.message = f"running from {self._simulation.stepper.t:.6f} s"

    async def _on_step(self, request: srv.Step.Request, response: srv.Step.Response) -> srv.Step.Response:
        """Pause, apply, advance, return the state."""
        try:
            self._check_robot(request.robot)
            if not 1 <= request.steps <= LARGEST_STEP:
                raise RequestError(f"steps is {request.steps}, expected 1 to {LARGEST_STEP}")
            self._check_readiness()
            self._user_paused = True
            self._pace.pause()
            self._take_waiting_commands()
            self._take_efforts(request)
            await self._steps.advance(request.steps, self)
        except (FlexdynError, RequestError, CommandError) as error:
            return _refuse(srv.Step.Response(), error)
        with self._pace.between_ticks():
            response.state, response.time = self._telemetry.state(), self._simulation.stepper.t
        response.success = True
        return response

    def _take_waiting_commands(self) -> None:
        """Commands that came before the request act from its first step on: an executor may see the request
        first, where both came while it looked."""
        for _, entity in self._entities:
            if isinstance(entity, Subscription):
                with entity.handle:
                    while (found := entity.handle.take_message(entity.msg_type, entity.raw)) is not None:
                        entity.callback(found[0])

    def _take_efforts(self, request: srv.Step.Request) -> None:
        efforts, robot = request.efforts, self._simulation.robot
        if not len(efforts) and not request.effort_names:
            return
        if not request.effort_names and len(efforts) != robot.nu:
            raise RequestError(f"efforts has {len(efforts)} numbers, expected {robot.nu} or none")
        tau = efforts_of(robot, request, 1)[0].copy() if request.effort_names else np.array(efforts)
        with self._pace.between_ticks():
            self._simulation.buffer.take_efforts(tau)

    @_answering
    def _on_get_dynamics_state(self, request: srv.GetState.Request, response: srv.GetState.Response) -> None:
        with self._pace.between_ticks():
            response.state = self._telemetry.state()

    @_answering
    def _on_set_dynamics_state(self, request: srv.SetState.Request, response: srv.SetState.Response) -> None:
        q, v = read_state(self._simulation.robot, request.state)
        check_state(self._simulation.robot, q, v)
        closed = onto_constraints(self._simulation.robot, q, v, "the state")
        if closed.moved > MOST_MOVED:
            raise RequestError(f"{closed.text}, expected at most {MOST_MOVED} rad (m)")
        with self._pace.between_ticks():
            self._simulation.set_state(closed.q, closed.v)
            self._telemetry.publish_now()
        self._go_on()
        rest = "states of elements are at rest" if self._simulation.robot.element_states else ""
        response.message = "; ".join(text for text in (closed.text, rest) if text)

    @_answering
    def _on_get_element_states(
        self, request: srv.GetElementStates.Request, response: srv.GetElementStates.Response
    ) -> None:
        with self._pace.between_ticks():
            response.states = element_states(self._simulation, self._telemetry.stamp())

    @_answering
    def _on_set_element_states(
        self, request: srv.SetElementStates.Request, response: srv.SetElementStates.Response
    ) -> None:
        states = read_element_states(request.states)
        with self._pace.between_ticks():
            self._simulation.stepper.set_states(states)
            self._telemetry.publish_now()

    @_answering
    def _on_apply_wrench(self, request: srv.ApplyWrench.Request, response: srv.ApplyWrench.Response) -> None:
        duration = duration_seconds(request.duration)
        if duration < 0.0:
            raise RequestError(f"duration is {duration} s, expected at least 0")
        wrench = request.wrench
        self._load(wrench.frame, wrench.axes or None, wrench.wrench, duration or inf)

    @_answering
    def _on_set_payload(self, request: srv.SetPayload.Request, response: srv.SetPayload.Response) -> None:
        if not self._pace.paused:
            raise RequestError("the simulation runs, expected it to be paused")
        payload = read_payload(self._simulation.robot, request)
        with self._pace.between_ticks():
            self._simulation.set_payload(*payload)
            self._apply_faults()
            self._telemetry.follow_robot()

    def _check_readiness(self) -> None:
        if not self.is_active:
            raise RequestError(INACTIVE)
        if self._simulation.fault:
            raise RequestError(
                f"stopped by a fault, expected reset or set_dynamics_state first: {self._simulation.fault}"
            )

    def _check_robot(self, name: str) -> None:
        if name not in ("", self._simulation.robot.name):
            raise RequestError(
                f"unknown robot {shortened(name)!r}, expected {self._simulation.robot.name!r} or nothing"
            )

    # ---- health ----

    def _health(self, name: str) -> list[DiagnosticStatus]:
        with self._pace.between_ticks():
            statuses = simulator_health(name, self._simulation, self._pace, self._settings, self.outbox.lost)
            for extra in self._telemetry.extras:
                statuses += extra.statuses(name)
        if self._telemetry.recorder is not None:
            statuses.append(recording_health(name, self._telemetry.recorder))
        return statuses


main = executable(Simulator)
