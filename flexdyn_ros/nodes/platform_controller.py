"""`platform_controller`: leg forces that lead a platform along a trajectory of its pose."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from flexdyn_interfaces.msg import HydraulicCommand
from flexdyn_ros.control.feed_forward import FeedForward, actuator_motion
from flexdyn_ros.nodes.controllers.controller import FeedForwardController, Topic
from flexdyn_ros.nodes.controllers.parameters import PlatformControllerParameters
from flexdyn_ros.nodes.controllers.platform_path import check_reach, read_pose_path
from flexdyn_ros.nodes.controllers.trajectory import TrajectoryError
from flexdyn_ros.nodes.ros.conversions import doubles, numbers_of, seconds_of
from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.nodes.ros.managed import run
from flexdyn_ros.nodes.ros.queues import NEWEST

__all__ = ["PlatformController", "main"]


class PlatformController(FeedForwardController):
    """Hears leg_states and ~/platform_trajectory; publishes joint_commands, or commands to cylinders, and
    ~/controller_state in coordinates of the legs.

    Without a trajectory it holds the pose that the legs have at their first state.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("platform_controller", PlatformControllerParameters, **options)

    def prepare(self, robot: Any) -> Iterable[Topic]:
        if robot.description.platform is None:
            raise ParameterError(f"robot '{robot.name}' is no platform ({robot.kind}), expected a <platform>")
        settings = self._settings
        self._to_cylinders = settings.output == "cylinders"
        if self._to_cylinders and robot.hydraulics is None:
            raise ParameterError(
                f"parameter output is 'cylinders', but robot '{robot.name}' has no <hydraulics>, expected "
                "'forces'"
            )
        self._names = robot.effort_names
        self._limits = robot.effort_limits if settings.saturate else np.full(robot.nu, np.inf)
        self._law = FeedForward(
            robot,
            lambda t: self._timeline(t),
            settings.bandwidth,
            settings.damping_ratio,
            settings.feed_forward,
            0.5 / settings.state_rate_hz + settings.actuator_lag,
        )
        kind, topic = JointState, "joint_commands"
        if self._to_cylinders:
            kind, topic = HydraulicCommand, "simulator/hydraulic_command"
        self._commands = self.advertise(kind, topic)
        self._state = self.advertise(JointTrajectory, "~/controller_state")
        return (
            (JointState, "leg_states", self._on_leg_states, NEWEST),
            (MultiDOFJointTrajectory, "~/platform_trajectory", self._on_trajectory, 10),
        )

    def begin(self, measured: tuple[np.ndarray, np.ndarray]) -> None:
        lengths, _ = measured
        self.hold(self._robot.forward_kinematics(lengths).q)

    def act(self, t: float) -> None:
        wanted, (x, rate) = self._timeline(t), self._measured
        if not self.is_active:
            return
        force = self._law(t, x, rate)
        told = np.clip(force, -self._limits, self._limits)
        if not self.is_sound({"effort": told}):
            return
        if self._to_cylinders:
            command = HydraulicCommand(
                mode=HydraulicCommand.FORCE, names=list(self._names), values=doubles(told)
            )
        else:
            command = JointState(name=list(self._names), effort=doubles(told))
        command.header.stamp = self._stamp
        self._commands.publish(command)
        self.report(actuator_motion(self._robot, *wanted[:2]), (x, rate), told)

    # ---- what comes in ----

    def _on_leg_states(self, message: JointState) -> None:
        if not self.is_active:
            return
        self._silence.hear()
        try:
            t, measured = seconds_of(message.header.stamp), self._read(message)
        except ValueError as error:
            self.get_logger().warning(f"leg_states refused: {error}", throttle_duration_sec=1.0)
            return
        self.answer(t, message.header.stamp, measured)

    def _read(self, message: JointState) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and rates (6,) by name; ValueError if some are missing or no numbers."""
        at = {name: i for i, name in enumerate(message.name)}
        missing = [name for name in self._names if name not in at]
        if missing:
            raise ValueError(f"name lacks {', '.join(missing)}")
        found = []
        for field in ("position", "velocity"):
            values = numbers_of(getattr(message, field))
            if len(values) != len(message.name):
                raise ValueError(f"{field} has {len(values)} numbers, expected {len(message.name)}")
            values = values[[at[name] for name in self._names]]
            if not np.isfinite(values).all():
                raise ValueError(f"{field} holds {values[~np.isfinite(values)][0]}, expected finite numbers")
            found.append(values)
        return found[0], found[1]

    def _on_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        try:
            now = self.needs_state("leg_states")
            q_d, v_d, _ = self._timeline(now)
            path = read_pose_path(message, self._robot, now, q_d, v_d)
            check_reach(path)
        except TrajectoryError as error:
            self.get_logger().warning(f"trajectory refused: {error}", throttle_duration_sec=1.0)
            return
        self._timeline.follow(now, path)


def main(args: list[str] | None = None) -> None:
    """Entry point."""
    sys.exit(run(PlatformController, args))


if __name__ == "__main__":
    main()
