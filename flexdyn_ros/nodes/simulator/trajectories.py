"""How the simulator follows the goals of `~/follow_joint_trajectory`: by the servos of its joints."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from flexdyn_ros.nodes.ros.follow_trajectory import (
    FollowJointTrajectoryAction,
    Motion,
    declared_tolerances,
)
from flexdyn_ros.simulation.live.command_buffer import CommandError
from flexdyn_ros.simulation.live.joint_path import JointPath, TrajectoryError
from flexdyn_ros.simulation.live.simulation import Simulation


class SimulatedTrajectories:
    """Owner of the action; `take` serves `~/joint_trajectory` too.

    Parameters
    ----------
    node : rclpy.node.Node
    simulation : Simulation
    exclusively : callable
        Gives a context in which no tick runs.
    stamp : callable
        Time of the present state, as a message.
    """

    def __init__(
        self,
        node: Node,
        simulation: Simulation,
        exclusively: Callable[[], AbstractContextManager[object]],
        stamp: Callable[[], object],
    ) -> None:
        self._simulation, self._stamp, self._log = simulation, stamp, node.get_logger()
        self.exclusively = exclusively
        self._names = simulation.buffer.robot.v_names
        self.action = FollowJointTrajectoryAction(
            node, self, declared_tolerances(node, simulation.buffer.actuated, simulation.buffer.limits)
        )
        self._turns = np.zeros(0, dtype=np.int64)

    # ---- what the action calls ----

    def follow(self, trajectory: JointTrajectory) -> tuple[JointPath, float]:
        """`take`, for a goal; the path, and its end [s]."""
        path = self.take(trajectory)
        self._turns = self._simulation.buffer.turns[path.rows].copy()
        return path, path.end

    def take(self, trajectory: JointTrajectory) -> JointPath:
        """Follow a trajectory from now on; its path. Call it between two ticks.

        Raises
        ------
        TrajectoryError
        """
        simulation = self._simulation
        if simulation.fault:
            raise TrajectoryError(f"the simulation stands since a fault: {simulation.fault}")
        driven = getattr(simulation.drive, "names", ())
        if any(name in driven for name in trajectory.joint_names):
            raise TrajectoryError("cylinders whose forces come from outside follow no trajectory")
        now, motion = simulation.stepper.t, simulation.joint_motion()
        try:
            path = simulation.buffer.take_trajectory(trajectory, now, *motion)
        except CommandError as error:
            if isinstance(error.__cause__, TrajectoryError):
                raise error.__cause__ from None
            raise TrajectoryError(str(error)) from None
        simulation.clear_drive()
        for text in filter(None, (simulation.buffer.remark, simulation.buffer.limits.too_fast(path))):
            self._log.warning(text)
        return path

    def halt(self, path: JointPath, at_state: bool) -> None:
        """Hold the joints of a path: where they are, or where it is now."""
        simulation = self._simulation
        t, (q, v) = simulation.stepper.t, simulation.joint_motion()
        if not at_state:
            q = q.copy()
            q[simulation.buffer.positions[path.rows]] = path.at(t)[0]
        names = [self._names[row] for row in path.rows]
        simulation.buffer.take_trajectory(JointTrajectory(joint_names=names), t, q, v)

    # ---- what the simulator calls ----

    def look(self) -> None:
        """After a tick: judge the state, or find that something else moves the joints."""
        path = self.action.path
        if path is None:
            return
        simulation = self._simulation
        if not np.array_equal(simulation.buffer.turns[path.rows], self._turns):
            self.action.end("another command to its joints took its place")
            return
        if simulation.fault:
            self.action.end(f"the simulation stopped: {simulation.fault}")
            return
        t, (q, v) = simulation.stepper.t, simulation.joint_motion()
        x, speed, _ = path.at(t)
        motion = Motion(x, speed, q[simulation.buffer.positions[path.rows]], v[path.rows])
        self.action.watch(t, self._stamp(), motion)
