"""`soft_arm_controller`: pressures, or forces, that lead the tip of a soft arm, or its sections."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from flexdyn_interfaces.msg import DynamicsState
from flexdyn_ros.control.reference import Reference, to_rest
from flexdyn_ros.control.tip_path import MOST, RATE, PoseSpace, TipPath, check_shapes
from flexdyn_ros.errors import FlexdynError, shortened
from flexdyn_ros.nodes.controllers.controller import Callbacks, FeedForwardController
from flexdyn_ros.nodes.controllers.parameters import SoftArmControllerParameters
from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.nodes.ros.managed import executable
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.background import Background
from flexdyn_ros.simulation.live.joint_path import TrajectoryError, UnknownJointError, along, read_path
from flexdyn_ros.simulation.live.message_fields import checked_numbers, doubles
from flexdyn_ros.simulation.live.pose_path import read_pose_path

#: seconds in which an arm that moves comes to rest, on its way, when it gets another path
BRAKING = 0.25
#: seconds for which the thread that solves keeps the interpreter while states wait
TURN = 2e-4


class Stand(NamedTuple):
    """Where the reference comes to rest: time [s] and shape (nq,); how."""

    time: float
    shape: np.ndarray
    way: Reference


class SoftArmController(FeedForwardController):
    """Hears simulator/state, ~/tip_trajectory and ~/joint_trajectory; publishes simulator/pressure_commands
    or joint_commands, and ~/controller_state.

    Without a trajectory it holds the shape found at the first state. Paths of the tip are solved for in a
    thread of their own and begin when they are; states are answered meanwhile.
    """

    def __init__(self, **options: object) -> None:
        super().__init__("soft_arm_controller", SoftArmControllerParameters, **options)
        self._solver = Background(self, self._on_solved, self.refuse)
        self._stand: Stand | None = None

    def prepare(self, robot: Robot) -> Callbacks:
        if not robot.section_names:
            raise ParameterError(
                f"robot '{robot.name}' is no soft arm ({robot.kind}), expected one with <section>"
            )
        limits = self._range_of(robot)
        self._tip = f"{robot.section_names[-1]}/tip"
        # imports and compiles now, not while the arm waits for the answer
        robot.inverse_kinematics(robot.frames(robot.neutral(), self._tip))
        self.lead(robot, limits, "simulator/pressure_commands" if self._by_pressure else "joint_commands")
        return {
            "simulator/state": self.take_state,
            "~/tip_trajectory": self._on_tip_trajectory,
            "~/joint_trajectory": self._on_joint_trajectory,
        }

    def _range_of(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest forces of the actuators (nu,) [N]; whether they come from pressures."""
        forces: tuple[np.ndarray, np.ndarray] | None = robot.pressure_forces
        output = self._settings.output
        if output == "pressures" and forces is None:
            raise ParameterError(
                f"parameter output is 'pressures', but not all sections of robot '{robot.name}' have a "
                "<pressure area>, expected 'forces'"
            )
        self._by_pressure = forces is not None and output != "forces"
        if forces is None or not self._by_pressure:
            limit = np.array([c.effort_limit for c in robot.coordinates])
            return -limit, limit
        return forces

    def start(self) -> None:
        super().start()
        sys.setswitchinterval(TURN)

    def stop(self) -> None:
        super().stop()
        self._solver.end()

    def begin(self, measured: tuple[np.ndarray, np.ndarray]) -> None:
        self._solver.end()
        self._stand = None
        q, _ = measured
        self.hold(q)

    def command(self, efforts: np.ndarray) -> Any:
        if self._by_pressure:
            return Float64MultiArray(data=doubles(self._robot.pressures(self._measured[0], efforts)))
        return JointState(name=list(self._names), effort=doubles(efforts))

    # ---- what comes in ----

    def read(self, message: DynamicsState) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity."""
        robot = self._robot
        names = tuple(message.position_names), tuple(message.velocity_names)
        if names != (robot.q_names, robot.v_names):
            wrong = (
                f"the coordinates of {shortened(message.robot) or 'a robot'} are not those of {robot.name}"
            )
            raise ValueError(wrong)
        q = checked_numbers("positions", message.positions, robot.nq)
        return q, checked_numbers("velocities", message.velocities, robot.nv)

    def _on_tip_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        try:
            now = self.begin_of(message, "state")
            count = len(message.points)
            if count > MOST:
                raise TrajectoryError(f"it has {count} points, expected at most {MOST}")
            stand = self._next_stand(now)
            solve = self._tip_path(message, now, stand)
        except (TrajectoryError, FlexdynError) as error:
            self.refuse(error)
            return
        self._stand = stand
        self._timeline.follow(now, stand.way)
        self.announce(message, now)
        if count:
            self._solver.begin(solve)
        else:
            self._solver.end()

    def _on_joint_trajectory(self, message: JointTrajectory) -> None:
        try:
            now = self.begin_of(message, "state")
            path = self._shape_path(message, now)
        except (TrajectoryError, FlexdynError) as error:
            self.refuse(error)
            return
        self._solver.end()
        self._stand = None
        self._timeline.follow(now, path)
        self.announce(message, now)

    def _on_solved(self, path: TipPath) -> None:
        """The path begins now, or when the arm is at rest."""
        if self._now is None or self._stand is None:
            return
        start = max(self._now, self._stand.time)
        later = start - float(path.times[0])
        self._timeline.follow(start, lambda t: path(t - later))
        self.get_logger().info(f"tip trajectory: {len(path.times)} shapes solved, begins at {start:.3f} s")

    # ---- paths ----

    def _next_stand(self, now: float) -> Stand:
        """Where the next path begins: where the arm rests, or comes to rest on its way."""
        if self._stand is not None and (self._solver.is_busy or now < self._stand.time):
            return self._stand
        part = self._timeline.part(now)
        slowed = to_rest(part, now, BRAKING)
        q, v, _ = part(now)
        shape = slowed(now + BRAKING)[0]
        if v.any() or (shape != q).any():
            return Stand(now + BRAKING, shape, slowed)
        return Stand(now, q, lambda t: (q, np.zeros_like(v), np.zeros_like(v)))

    def _tip_path(
        self, message: MultiDOFJointTrajectory, now: float, stand: Stand
    ) -> Callable[[Callable[[], None]], TipPath]:
        """What solves for the motion whose tip goes through positions, or poses, in the world.

        Raises TrajectoryError. The work raises StateError where the tip cannot come or the actuators cannot
        hold it.
        """
        robot, q, rest = self._robot, stand.shape, np.zeros(self._robot.nv)
        here = PoseSpace.of_matrix(robot.frames(q, self._tip))
        poses = read_pose_path(message, PoseSpace, now, here, np.zeros(6))
        is_whole = self._settings.tip_target == "pose"

        def tip(t: float) -> np.ndarray:
            pose = poses(t)[0]
            return PoseSpace.matrix(pose) if is_whole else pose[:3]

        def solve(look: Callable[[], None]) -> TipPath:
            path = TipPath(robot, poses.times, tip, q, rest, look)
            check_shapes(robot, path.times, path.shapes, self._range)
            return path

        return solve

    def _shape_path(self, message: JointTrajectory, now: float) -> Reference:
        """The motion of actuators by name; raises TrajectoryError or StateError."""
        robot = self._robot
        rows = {name: i for i, name in enumerate(self._names)}
        for name in message.joint_names:
            if name not in rows:
                raise UnknownJointError(
                    f"unknown actuator {shortened(name)!r}, expected one of {', '.join(rows)}"
                )
        q_d, v_d, _ = self._timeline(now)
        path = read_path(message, rows, now, q_d, v_d)
        reference = along(path, q_d, path.rows, robot.nv)
        looks = min(max(2, int(RATE * (path.end - now)) + 1), 2000)
        times = np.linspace(now, max(path.end, now + 1e-9), looks)
        check_shapes(robot, times, np.stack([reference(float(t))[0] for t in times]), self._range)
        return reference


main = executable(SoftArmController)


if __name__ == "__main__":
    main()
