"""What all controllers have in common: a robot, states in, commands out, a reference in time.

A controller computes when a state comes, so that it runs at the rate of the robot and in the robot's time,
and falls silent with it: what a robot does without commands is the robot's to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexdyn_ros.control.feed_forward import FeedForward, actuator_motion
from flexdyn_ros.control.reference import Timeline
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.ros.declaration import declare
from flexdyn_ros.nodes.ros.managed import INACTIVE, ManagedNode
from flexdyn_ros.nodes.ros.outbox import OK, WARN, status
from flexdyn_ros.nodes.ros.robot_source import load_robot
from flexdyn_ros.robot.analysis.sampled_feedback import DELAYS
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.joint_path import TrajectoryError, distant_start
from flexdyn_ros.simulation.live.message_fields import doubles, seconds_of

#: what is called with the messages of topics
Callbacks = dict[str, Callable[[Any], None]]
#: seconds by which the stamp of a trajectory may differ from the last state and be its begin: two states
NEAR = 0.025
#: positions and velocities
Motion = tuple[np.ndarray, np.ndarray]


class Controller(ManagedNode):
    """A controller node. What it publishes bears the stamp of the state that it answers.

    Nodes give it four functions: `prepare` (law and publishers; the topics to hear), `read` (a state),
    `begin` (hold what is measured) and `act` (answer the state). `_timeline` holds the reference, `_now`,
    `_stamp` and `_measured` the last state.
    """

    #: acts on mechanisms with closed loops
    takes_loops = False

    def __init__(self, name: str, record: type, **options: Any) -> None:
        super().__init__(name, **options)
        self._settings: Any = declare(self, record)
        #: things that take goals while the node is active: they have resume, pause and close
        self._doors: list[Any] = []
        self._timeline: Timeline
        #: publisher of the trajectories that are followed
        self._followed: Any = None
        self._forget()

    # ---- what controllers give ----

    def prepare(self, robot: Robot) -> Callbacks:
        """Make law, publishers and doors; the topics to hear, first that of the measured state."""
        raise NotImplementedError

    def read(self, message: object) -> Any:
        """The measurement in a message of the state; ValueError if it is malformed."""
        raise NotImplementedError

    def begin(self, measured: Any) -> None:
        """Hold what is measured: at the first state, and when time jumps back."""
        raise NotImplementedError

    def act(self, t: float) -> None:
        """Answer the last state."""
        raise NotImplementedError

    # ---- life cycle ----

    def setup(self) -> None:
        self._robot = load_robot(self, self._settings)
        if not self.takes_loops:
            self._robot.functions.refuse("a controller")
        self._state = self.advertise("~/controller_state")
        callbacks = self.prepare(self._robot)
        for topic, callback in callbacks.items():
            self.subscribe(topic, callback)
        self._input = next(iter(callbacks))
        self._silence = self.watch_input(self._input, "no command")
        self.report_by(self._health)
        self._forget()
        self.get_logger().info(f"ready: {self._robot.name}, {self._robot.nu} efforts")

    def start(self) -> None:
        self._forget()
        for door in self._doors:
            door.resume()

    def stop(self) -> None:
        for door in self._doors:
            door.pause()

    def clear(self) -> None:
        for door in self._doors:
            door.close()
        self._doors = []

    def _forget(self) -> None:
        """The next state is the first."""
        self._now: float | None = None
        self._stamp: Any = None
        self._measured: Any = None
        #: what is strange about the trajectory that is followed, and the last one that was refused
        self._remark = self._refusal = ""

    # ---- states ----

    def take_state(self, message: Any) -> None:
        """The callback of the measured state."""
        if not self.is_active:
            return
        self._silence.hear()
        try:
            measured = self.read(message)
        except ValueError as error:
            self.get_logger().warning(f"{self._input} refused: {error}", throttle_duration_sec=1.0)
            return
        self.answer(seconds_of(message.header.stamp), message.header.stamp, measured)

    def refuse(self, error: Exception) -> None:
        """A trajectory is not followed."""
        self._refusal = str(error)
        self.get_logger().warning(f"trajectory refused: {error}", throttle_duration_sec=1.0)

    def announce(self, trajectory: Any, now: float) -> None:
        """A trajectory is followed: publish it with its begin, and say it where that is far from now [s]."""
        self._refusal, self._remark = "", distant_start(trajectory, now)
        if self._remark:
            self.get_logger().warning(self._remark)
        if self._followed is not None:
            told = type(trajectory)(joint_names=trajectory.joint_names, points=trajectory.points)
            told.header.frame_id, told.header.stamp = trajectory.header.frame_id, trajectory.header.stamp
            if seconds_of(told.header.stamp) <= 0.0:
                told.header.stamp = self._stamp
            self._followed.publish(told)

    def _health(self, name: str) -> list[DiagnosticStatus]:
        """Status NODE: trajectory."""
        refused = f"refused: {self._refusal}" if self._refusal else ""
        text = refused or self._remark or self._silence.condition
        return [status(WARN if text else OK, f"{name}: trajectory", text or "answering states", {})]

    def answer(self, t: float, stamp: Time, measured: object) -> None:
        """A state of time t [s] has come."""
        if self._now is None or t < self._now:
            self._now, self._stamp, self._measured = t, stamp, measured
            try:
                self.begin(measured)
            except FlexdynError as error:
                self._forget()
                self.get_logger().error(f"cannot begin: {error}", throttle_duration_sec=1.0)
                return
        self._now, self._stamp, self._measured = t, stamp, measured
        try:
            self.act(t)
        except FlexdynError as error:
            self.get_logger().error(f"no command: {error}", throttle_duration_sec=1.0)

    def begin_of(self, trajectory: Any, topic: str) -> float:
        """When a trajectory takes the place of the reference [s]: at its stamp if that is near the last
        state, so that it is the same motion whether it is heard a state earlier or later, else now.

        TrajectoryError without a state, or while the node is not active.
        """
        if not self.is_active:
            raise TrajectoryError(INACTIVE)
        if self._now is None:
            raise TrajectoryError(f"no {topic} yet")
        stamp = seconds_of(trajectory.header.stamp)
        return stamp if stamp > 0.0 and abs(stamp - self._now) <= NEAR else self._now

    def is_sound(self, command: Mapping[str, np.ndarray]) -> bool:
        """Whether a command is finite; logged if not."""
        if all(np.isfinite(values).all() for values in command.values()):
            return True
        self.get_logger().error("the law gives numbers that are not finite", throttle_duration_sec=1.0)
        return False

    def tell_state(self, names: Iterable[str], points: Iterable[object]) -> None:
        """~/controller_state: points of reference, feedback, error and output."""
        state = JointTrajectory(joint_names=list(names), points=list(points))
        state.header.stamp = self._stamp
        self._state.publish(state)

    def warn_of_growth(self, growth: float, remedy: str) -> None:
        """Say that the closed loop is unstable: motion grows by so much per second."""
        self.get_logger().warning(
            f"feedback sampled at {self._settings.state_rate_hz:g} Hz does not hold {self._robot.name}: "
            f"motion about its position grows by {growth:.3g} per second; {remedy}"
        )


class FeedForwardController(Controller):
    """A controller by inverse dynamics of the reference; nodes also give it `command`, the message of
    efforts."""

    def command(self, efforts: np.ndarray) -> Any:
        """The message of efforts (nu,)."""
        raise NotImplementedError

    def lead(self, robot: Robot, limits: Motion, topic: str) -> None:
        """Make the law, which commands efforts between limits (nu,) by messages on a topic."""
        settings = self._settings
        self._names, self._range = robot.effort_names, limits
        self._law = FeedForward(
            robot,
            lambda t: self._timeline(t),
            settings.bandwidth,
            settings.damping_ratio,
            settings.feed_forward,
            0.5 / settings.state_rate_hz + settings.actuator_lag,
        )
        self._commands = self.advertise(topic)

    def act(self, t: float) -> None:
        wanted = self._timeline(t)
        efforts = np.clip(self._law(t, *self._measured), *self._range)
        if not (self.is_active and self.is_sound({"effort": efforts})):
            return
        command = self.command(efforts)
        if hasattr(command, "header"):
            command.header.stamp = self._stamp
        self._commands.publish(command)
        self.publish_state(wanted, efforts)

    def hold(self, q: np.ndarray) -> None:
        """Stay at a configuration (nq,) from now on, with a warning if the law lets motion about it grow."""
        rest = np.zeros(self._robot.nv)
        self._timeline = Timeline(lambda t: (q, rest, rest))
        period = 1.0 / self._settings.state_rate_hz
        growth = max(self._law.growth(q, period, share * period) for share in DELAYS)
        if growth >= 0.0:
            self.warn_of_growth(growth, "lower the bandwidth or raise state_rate_hz")

    def publish_state(self, wanted: tuple[np.ndarray, np.ndarray, np.ndarray], efforts: np.ndarray) -> None:
        """~/controller_state in the coordinates of the actuators; accelerations where they are coordinates of
        the robot."""
        q_d, v_d, a_d = wanted
        (x_d, rate_d), (x, rate) = actuator_motion(self._robot, q_d, v_d), self._measured
        more = {"accelerations": a_d} if x_d is q_d else {}
        reference = state_point(x_d, rate_d, **more)
        error = state_point(x_d - x, rate_d - rate)
        output = state_point(np.zeros(0), np.zeros(0), effort=efforts)
        self.tell_state(self._names, (reference, state_point(x, rate), error, output))


def state_point(positions: np.ndarray, velocities: np.ndarray, **more: np.ndarray) -> Any:
    """A point of ~/controller_state."""
    point = JointTrajectoryPoint(positions=doubles(positions), velocities=doubles(velocities))
    for field, values in more.items():
        setattr(point, field, doubles(values))
    return point
