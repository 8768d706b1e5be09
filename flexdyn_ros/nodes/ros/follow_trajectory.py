"""The action `~/follow_joint_trajectory` (control_msgs/FollowJointTrajectory), of the simulator and of the
joint controllers.

Its owner follows trajectories anyway; the action hands them to it, watches the tolerances, and tells what
became of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import NamedTuple, Protocol

import numpy as np
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action import CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexdyn_ros.control.goal_watch import GoalWatch, Outcome, Tolerances
from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.ros.declaration import declare_family
from flexdyn_ros.nodes.ros.managed import goal_server
from flexdyn_ros.nodes.ros.outbox import MIDDLEWARE_ERROR
from flexdyn_ros.nodes.ros.robot_parameters import CONSTRAINTS
from flexdyn_ros.simulation.live.joint_path import (
    JointLimits,
    JointPath,
    PastTrajectoryError,
    TrajectoryError,
    UnknownJointError,
)
from flexdyn_ros.simulation.live.message_fields import doubles

Result = FollowJointTrajectory.Result
#: seconds, of the robot's time, between two messages of feedback
FEEDBACK = 0.05
CODES = {
    Outcome.REACHED: Result.SUCCESSFUL,
    Outcome.LEFT_PATH: Result.PATH_TOLERANCE_VIOLATED,
    Outcome.MISSED_GOAL: Result.GOAL_TOLERANCE_VIOLATED,
}


class Motion(NamedTuple):
    """Reference and state of the joints of a goal: positions and velocities (k,)."""

    wanted: np.ndarray
    wanted_speed: np.ndarray
    actual: np.ndarray
    actual_speed: np.ndarray


class Owner(Protocol):
    """What follows trajectories."""

    def follow(self, trajectory: JointTrajectory) -> tuple[JointPath, float]:
        """Follow a JointTrajectory from now on; its path, and when the reference will be at its end [s].

        Raises TrajectoryError, and then goes on as before.
        """

    def halt(self, path: JointPath, at_state: bool) -> None:
        """Stop the joints of a path: where they are, or else at their present reference."""

    def exclusively(self) -> AbstractContextManager[object]:
        """Nothing moves, and `watch` is not called, meanwhile."""


@dataclass(frozen=True)
class _Run:
    """A goal that is followed."""

    goal: ServerGoalHandle
    path: JointPath
    watch: GoalWatch
    done: Future
    reported: float = -inf

    @property
    def joints(self) -> tuple[str, ...]:
        return self.watch.joints


class FollowJointTrajectoryAction:
    """Serves goals, one at a time; a new one takes the place of the one before.

    A wrong goal, one that is refused, one that another takes the place of, and one whose tolerances are
    violated are aborted, a cancelled one is canceled; error_code and error_string tell.

    Parameters
    ----------
    node : rclpy.node.Node
    owner : Owner
    declared : mapping
        Of the joints, as `declared_tolerances` gives.
    """

    def __init__(self, node: Node, owner: Owner, declared: Mapping[str, float]) -> None:
        self._node, self._owner, self._declared = node, owner, declared
        self._run: _Run | None = None
        #: why no goal is taken now; empty: goals are taken
        self._refused = "the node is not active, expected an active one"
        name = "follow_joint_trajectory"
        self._server = goal_server(node, FollowJointTrajectory, name, self._execute, self._cancel)

    # ---- what the owner calls ----

    def resume(self) -> None:
        """Take goals."""
        self._refused = ""

    def pause(self) -> None:
        """Take no more goals, and end the one that is followed."""
        self._refused = "the node is not active, expected an active one"
        self.end("the node is not active any more")

    def close(self) -> None:
        """End goal and action."""
        self.pause()
        self._server.destroy()

    @property
    def path(self) -> JointPath | None:
        """The path of the goal that is followed."""
        return None if self._run is None else self._run.path

    def end(self, reason: str) -> None:
        """The owner does something else from now on: abort the goal."""
        if self._run is not None:
            self._finish(Result.INVALID_GOAL, reason)

    def watch(self, t: float, stamp: Time, motion: Motion) -> None:
        """Judge the state at time t [s]; feedback is stamped with `stamp`."""
        run = self._run
        if run is None:
            return
        error, slip = motion.wanted - motion.actual, motion.wanted_speed - motion.actual_speed
        verdict = run.watch.check(t, error, slip)
        if verdict is not None or t >= run.reported + FEEDBACK - 1e-9:
            self._run = replace(run, reported=t)
            self._tell(run, t, stamp, motion, (error, slip))
        if verdict is None:
            return
        if verdict.outcome == Outcome.LEFT_PATH:
            self._owner.halt(run.path, at_state=True)
        self._finish(CODES[verdict.outcome], verdict.text)

    # ---- goals ----

    async def _execute(self, goal: ServerGoalHandle) -> FollowJointTrajectory.Result:
        done: Future = Future(executor=self._node.executor)
        try:
            with self._owner.exclusively():
                self._begin(goal, done)
        except TrajectoryError as error:
            code = Result.INVALID_GOAL
            if isinstance(error, UnknownJointError):
                code = Result.INVALID_JOINTS
            elif isinstance(error, PastTrajectoryError):
                code = Result.OLD_HEADER_TIMESTAMP
            self._node.get_logger().warning(f"goal refused: {error}", throttle_duration_sec=1.0)
            result = Result(error_code=code, error_string=str(error))
        else:
            result = await done
        if not goal.is_active:
            return result
        if goal.is_cancel_requested:
            goal.canceled()
        elif result.error_code == Result.SUCCESSFUL:
            goal.succeed()
        else:
            goal.abort()
        return result

    def _begin(self, goal: ServerGoalHandle, done: Future) -> None:
        request = goal.request
        if self._refused:
            raise TrajectoryError(self._refused)
        if request.multi_dof_trajectory.joint_names or request.multi_dof_trajectory.points:
            raise TrajectoryError("multi_dof_trajectory is given, expected none: joints have one coordinate")
        joints = tuple(request.trajectory.joint_names)
        unknown = [joint for joint in joints if f"{joint}.goal" not in self._declared]
        if unknown:
            known = [name.removesuffix(".goal") for name in self._declared if name.endswith(".goal")]
            raise UnknownJointError(
                f"unknown joint {shortened(unknown[0])!r}, expected one of {', '.join(known)}"
            )
        tolerances = goal_tolerances(request, joints, self._declared)
        if not request.trajectory.points:
            raise TrajectoryError("trajectory has no points, expected at least one")
        path, end = self._owner.follow(request.trajectory)
        self.end("a new goal took its place")
        self._run = _Run(goal, path, GoalWatch(joints, end, tolerances), done)

    def _cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        with self._owner.exclusively():
            run = self._run
            if run is None or bytes(run.goal.goal_id.uuid) != bytes(goal.goal_id.uuid):
                return CancelResponse.REJECT
            self._owner.halt(run.path, at_state=False)
            self._finish(Result.SUCCESSFUL, "cancelled: the joints stop")
        return CancelResponse.ACCEPT

    def _finish(self, code: int, text: str) -> None:
        run, self._run = self._run, None
        assert run is not None
        run.done.set_result(Result(error_code=code, error_string=text))
        executor = self._node.executor
        if executor is not None:
            executor.wake()

    def _tell(
        self, run: _Run, t: float, stamp: Time, motion: Motion, errors: tuple[np.ndarray, np.ndarray]
    ) -> None:
        feedback = FollowJointTrajectory.Feedback(joint_names=list(run.joints))
        feedback.header.stamp = stamp
        wanted = motion.wanted, motion.wanted_speed
        actual = motion.actual, motion.actual_speed
        since = max(0.0, t - float(run.path.times[0]))
        feedback.desired = _point(*wanted, since)
        feedback.actual, feedback.error = _point(*actual, since), _point(*errors, since)
        if hasattr(feedback, "index"):
            # control_msgs before 6.3 (jazzy and older) has none
            feedback.index = run.path.point_at(t, len(run.goal.request.trajectory.points))
        if run.goal.is_active:
            try:
                run.goal.publish_feedback(feedback)
            except MIDDLEWARE_ERROR as error:
                self._node.outbox.tell("feedback of ~/follow_joint_trajectory", error)


def _point(positions: np.ndarray, velocities: np.ndarray, since: float) -> JointTrajectoryPoint:
    time = Duration(sec=int(since), nanosec=int(1e9 * (since % 1.0)))
    return JointTrajectoryPoint(
        positions=doubles(positions), velocities=doubles(velocities), time_from_start=time
    )


def declared_tolerances(node: Node, joints: Sequence[str], limits: JointLimits) -> Mapping[str, float]:
    """Parameters constraints.goal_time, .stopped_velocity_tolerance, .JOINT.trajectory, .JOINT.goal; a goal
    of 0 as `limits` makes it: a goal that succeeds has been reached.

    Raises
    ------
    ParameterError
        If one is negative, or names no joint.
    """
    given = declare_family(node, CONSTRAINTS, joints)
    near = limits.near()
    return given | {f"{joint}.goal": given[f"{joint}.goal"] or near[joint] for joint in joints}


def goal_tolerances(
    goal: FollowJointTrajectory.Goal, joints: Sequence[str], declared: Mapping[str, float]
) -> Tolerances:
    """Tolerances of a goal for its joints, in their order: 0 means what was declared, and -1
    means any.

    Raises
    ------
    TrajectoryError
    """
    for field in ("component_path_tolerance", "component_goal_tolerance"):
        if getattr(goal, field):
            raise TrajectoryError(
                f"{field} has {len(getattr(goal, field))} entries, expected none: joints have one component"
            )
    k = len(joints)
    stopped = declared["stopped_velocity_tolerance"]
    rows = {
        "path_position": np.array([declared[f"{joint}.trajectory"] for joint in joints]),
        "path_velocity": np.zeros(k),
        "goal_position": np.array([declared[f"{joint}.goal"] for joint in joints]),
        "goal_velocity": np.full(k, stopped),
    }
    for phase in ("path", "goal"):
        for entry in getattr(goal, f"{phase}_tolerance"):
            _take(entry, phase, joints, rows)
    late = goal.goal_time_tolerance
    time = late.sec + 1e-9 * late.nanosec or declared["goal_time"] or inf
    bounds = {name: np.where(row == 0.0, inf, row) for name, row in rows.items()}
    return Tolerances(**bounds, goal_time=inf if time < 0.0 else time)


def _take(entry: JointTolerance, phase: str, joints: Sequence[str], rows: Mapping[str, np.ndarray]) -> None:
    """Put a JointTolerance in place of what was declared."""
    field = f"{phase}_tolerance"
    if entry.name not in joints:
        raise UnknownJointError(
            f"{field} names {shortened(entry.name)!r}, expected one of {', '.join(joints)}"
        )
    i = list(joints).index(entry.name)
    for what in ("position", "velocity", "acceleration"):
        value = getattr(entry, what)
        if not isfinite(value) or (value < 0.0 and value != -1.0):
            raise TrajectoryError(
                f"{field} of {entry.name}: {what} is {value}, expected at least 0, or -1 for any"
            )
        if what == "acceleration":
            if value > 0.0:
                raise TrajectoryError(
                    f"{field} of {entry.name}: acceleration is {value}, expected 0: it is not measured"
                )
        elif value != 0.0:
            rows[f"{phase}_{what}"][i] = inf if value < 0.0 else value
