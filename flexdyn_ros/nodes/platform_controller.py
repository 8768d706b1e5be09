"""`platform_controller`: leg forces that lead a platform along a trajectory of its pose."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory

from flexdyn_interfaces.msg import HydraulicCommand
from flexdyn_ros.nodes.controllers.controller import Callbacks, FeedForwardController
from flexdyn_ros.nodes.controllers.parameters import PlatformControllerParameters
from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.nodes.ros.managed import executable
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.joint_path import TrajectoryError
from flexdyn_ros.simulation.live.message_fields import checked_numbers, doubles, places_of
from flexdyn_ros.simulation.live.pose_path import check_reach, read_pose_path


class PlatformController(FeedForwardController):
    """Hears leg_states and ~/platform_trajectory; publishes joint_commands, or commands to cylinders, and
    ~/controller_state in coordinates of the legs.

    Without a trajectory it holds the pose that the legs have at their first state.
    """

    def __init__(self, **options: object) -> None:
        super().__init__("platform_controller", PlatformControllerParameters, **options)

    def prepare(self, robot: Robot) -> Callbacks:
        if not robot.legs:
            raise ParameterError(f"robot '{robot.name}' is no platform ({robot.kind}), expected a <platform>")
        settings = self._settings
        self._to_cylinders = settings.output == "cylinders"
        if self._to_cylinders and robot.hydraulics is None:
            raise ParameterError(
                f"parameter output is 'cylinders', but robot '{robot.name}' has no <hydraulics>, expected "
                "'forces'"
            )
        limits = robot.effort_limits if settings.saturate else np.full(robot.nu, np.inf)
        topic = "simulator/hydraulic_command" if self._to_cylinders else "joint_commands"
        self.lead(robot, (-limits, limits), topic)
        self._followed = self.advertise("~/followed_trajectory")
        return {"leg_states": self.take_state, "~/platform_trajectory": self._on_trajectory}

    def begin(self, measured: tuple[np.ndarray, np.ndarray]) -> None:
        lengths, _ = measured
        self.hold(self._robot.forward_kinematics(lengths).q)

    def command(self, efforts: np.ndarray) -> JointState:
        names = list(self._names)
        if self._to_cylinders:
            return HydraulicCommand(mode=HydraulicCommand.FORCE, names=names, values=doubles(efforts))
        return JointState(name=names, effort=doubles(efforts))

    # ---- what comes in ----

    def read(self, message: JointState) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and rates (6,) by name."""
        order, size = places_of(message.name, self._names), len(message.name)
        lengths = checked_numbers("position", message.position, size, only=order)
        return lengths, checked_numbers("velocity", message.velocity, size, only=order)

    def _on_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        try:
            now = self.begin_of(message, "leg_states")
            q_d, v_d, _ = self._timeline(now)
            path = read_pose_path(message, self._robot, now, q_d, v_d)
            check_reach(path)
        except TrajectoryError as error:
            self.refuse(error)
            return
        self._timeline.follow(now, path)
        self.announce(message, now)


main = executable(PlatformController)


if __name__ == "__main__":
    main()
