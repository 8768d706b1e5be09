"""What the joint controllers have in common: joint states and trajectories in, effort commands out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexdyn_ros.control.input_shaping import Shaper, joint_inertia, shaped
from flexdyn_ros.control.reference import Reference, Timeline
from flexdyn_ros.control.static_shape import can_be_held, holding_stiffness
from flexdyn_ros.errors import ConvergenceError, FlexdynError, SingularityError, StateError, shortened
from flexdyn_ros.nodes.controllers.controller import Callbacks, Controller, state_point
from flexdyn_ros.nodes.ros.declaration import ParameterError, check_family_changes, declare_family
from flexdyn_ros.nodes.ros.follow_trajectory import (
    FollowJointTrajectoryAction,
    Motion,
    declared_tolerances,
)
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.joint_path import (
    JointLimits,
    JointPath,
    TrajectoryError,
    UnknownJointError,
    along,
    distant_start,
    read_path,
)
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.live.simulation import default_gains

#: bandwidth of derived gains where nothing bends [rad/s], and relative to the lowest vibration elsewhere
RIGID_BANDWIDTH, SHARE = 10.0, 0.5


class Output(NamedTuple):
    """What a law commands: efforts (nv,), None: those that the robot adds by itself; and, for the servos of
    the robot, positions (nq,) and velocities (nv,), None where they are off."""

    effort: np.ndarray | None
    position: np.ndarray | None = None
    velocity: np.ndarray | None = None


#: takes an output and the reference that it is meant for
Send = Callable[[Output, tuple[np.ndarray, np.ndarray, np.ndarray]], None]


class Law:
    """A control law on a robot whose elastic coordinates are not measured."""

    gains: Gains
    #: acts on mechanisms with closed loops
    takes_loops = False

    def begin(self, q: np.ndarray) -> None:
        """Get ready for motion that starts at rest at q (nq,)."""
        raise NotImplementedError

    def retune(self) -> None:
        """Take over changed gains, about the configuration at which the motion began."""
        raise NotImplementedError

    def act(self, t: float, q: np.ndarray, v: np.ndarray, reference: Reference, send: Send) -> None:
        """Call send, now or later, with the output for a measured state."""
        raise NotImplementedError

    def shaper(self, q: np.ndarray) -> Shaper | None:
        """What references are to be convolved with when they end at q (nq,); None: nothing."""
        return None


class Gains:
    """Position and velocity gains by coordinate, given as parameters gains.JOINT.p and .d, or derived.

    derived: (w^2, 2 zeta w) with w = `bandwidth`, zeta = `damping_ratio`; times the joint's inertia if
    `of_inertia`. To the stiffness of an arm that stands, rigid or with links that bend, that is added which
    its weight asks for, and the damping is that of the sum.
    """

    def __init__(
        self, node: Node, robot: Robot, joints: tuple[str, ...], settings: Any, of_inertia: bool
    ) -> None:
        self._family = settings.families[0]
        self._given = declare_family(node, self._family, joints)
        self._robot, self._joints, self._settings, self._of_inertia = robot, joints, settings, of_inertia
        self._can_be_held = can_be_held(robot)
        self._holding: np.ndarray | None = None

    def change(self, changes: list[Any]) -> dict[str, float]:
        """Take over changed parameters; those that were, by what they were before.

        Raises
        ------
        ParameterError
            If one is no gain; then none is taken over.
        """
        new = check_family_changes(self._family, self._joints, changes)
        old = {name: self._given[name] for name in new}
        self._given |= new
        return old

    def restore(self, old: dict[str, float]) -> None:
        """Go back to what `change` gave."""
        self._given |= old

    def about(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P and D (nv,) about q (nq,); zero for coordinates that are not controlled."""
        if all(gain >= 0.0 for gain in self._given.values()):
            return self._or_given(np.zeros(self._robot.nv), np.zeros(self._robot.nv))
        w = self._settings.bandwidth or self._default_bandwidth(q)
        zeta = self._settings.damping_ratio
        if not self._of_inertia:
            ones = np.ones(self._robot.nv)
            return self._or_given(ones * w**2, 2.0 * zeta * w * ones)
        inertia = joint_inertia(self._robot, q)
        stiffness = inertia * w**2
        if self._can_be_held:
            if self._holding is None:
                self._holding = holding_stiffness(self._robot, q)
            stiffness += self._holding
        return self._or_given(stiffness, 2.0 * zeta * np.sqrt(stiffness * inertia))

    def derived(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P and D (nv,) about q (nq,) as they are where none are given."""
        given, self._given = self._given, dict.fromkeys(self._given, -1.0)
        try:
            return self.about(q)
        finally:
            self._given = given

    def of_servos(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P and D (nv,) that the servos of the robot have: as given, else as our simulator derives them."""
        return self._or_given(*default_gains(self._robot, q))

    def _or_given(self, stiffness: np.ndarray, damping: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        P, D = np.zeros(self._robot.nv), np.zeros(self._robot.nv)
        for joint in self._joints:
            i = self._robot.index(joint)
            p, d = self._given[f"{joint}.p"], self._given[f"{joint}.d"]
            P[i] = p if p >= 0.0 else stiffness[i]
            D[i] = d if d >= 0.0 else damping[i]
        return P, D

    def _default_bandwidth(self, q: np.ndarray) -> float:
        robot = self._robot
        if all(c.actuated for c in robot.coordinates):
            return RIGID_BANDWIDTH
        held = tuple(c.name for c in robot.coordinates if c.actuated)
        frequencies = robot.modes(q, lock=held).frequency
        lowest = min((f for f in frequencies.tolist() if f > 0.0), default=np.inf)
        return float(min(RIGID_BANDWIDTH, SHARE * 2.0 * np.pi * lowest))


class JointController(Controller):
    """A controller node: `make_law(node, robot, joints, settings)` supplies what it computes.

    Publishes joint_commands (JointState, effort) and ~/controller_state (JointTrajectory whose points are
    reference, feedback, error and output). Without a trajectory it holds the position found at the first
    joint state.
    """

    def __init__(self, name: str, record: type, make_law: Callable[..., Law], **options: object) -> None:
        super().__init__(name, record, **options)
        self._make_law = make_law
        self.takes_loops = getattr(make_law, "takes_loops", False)
        self._law: Any = None
        self._busy_until = -np.inf
        self.add_on_set_parameters_callback(self._change_gains)

    # ---- what `Controller` asks for ----

    def prepare(self, robot: Robot) -> Callbacks:
        actuated = tuple(c.name for c in robot.coordinates if c.actuated and not c.prescribed)
        turning = [c.name for c in robot.coordinates if c.actuated and c.turn_index >= 0]
        if turning:
            raise ParameterError(
                f"robot '{robot.name}' has driven ball joints ({', '.join(turning)}), whose coordinates have "
                'no positions to be controlled; expected joints of one axis, or effort="0 0 0" of theirs'
            )
        if robot.nu > robot.nv:
            raise ParameterError(
                f"robot '{robot.name}' is driven by {', '.join(robot.effort_names[robot.nv :])} beside its "
                "joints, which no controller of joints commands; expected joints that have all the actuators "
                "(servos of the simulator take angles and lengths on joint_commands)"
            )
        self._joints = self._settings.joints or actuated
        for joint in self._joints:
            if joint not in actuated:
                raise ParameterError(
                    f"parameter joints names {joint!r}, expected one of {', '.join(actuated)}"
                )
        by_name = {c.name: c for c in robot.coordinates}
        self._coordinates = {c.name: c for c in robot.coordinates if c.q_index >= 0}
        self._rows = np.array([by_name[joint].v_index for joint in self._joints], dtype=np.int64)
        self._columns = np.array([by_name[joint].q_index for joint in self._joints], dtype=np.int64)
        self._positions = np.array([c.q_index for c in robot.coordinates], dtype=np.int64)
        limit = np.array([by_name[joint].effort_limit for joint in self._joints])
        self._limit = limit if self._settings.saturate else np.full(len(limit), np.inf)
        self._law = self._make_law(self, robot, self._joints, self._settings)
        self._law.begin(robot.neutral())
        self._limits = JointLimits.of(robot.coordinates)
        self._action = FollowJointTrajectoryAction(
            self, self, declared_tolerances(self, self._joints, self._limits)
        )
        self._doors.append(self._action)
        self._commands = self.advertise("joint_commands")
        self._followed = self.advertise("~/followed_trajectory")
        return {"joint_states": self.take_state, "~/joint_trajectory": self._on_trajectory}

    def begin(self, measured: tuple[np.ndarray, np.ndarray]) -> None:
        q, _ = measured
        self._action.end("time began anew: the robot was reset, or another one took its place")
        rest = np.zeros(self._robot.nv)
        self._timeline = Timeline(lambda t: (q, rest, rest))
        self._reference: Reference = self._timeline
        self._busy_until = -np.inf
        self._law.begin(q)

    def act(self, t: float) -> None:
        q, v = self._measured
        self._watch(t, q, v)
        self._law.act(t, q, v, self._reference, self._send)

    def _change_gains(self, changes: list[Any]) -> SetParametersResult:
        """Take over gains that change while the node runs, or none of them."""
        if self._law is None:
            return SetParametersResult(successful=True)
        gains = self._law.gains
        try:
            old = gains.change(changes)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if old:
            try:
                self._law.retune()
            except FlexdynError as error:
                gains.restore(old)
                return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    # ---- what comes in ----

    def read(self, message: JointState) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity; coordinates that are not measured stay neutral and at rest."""
        q, v = self._robot.neutral(), np.zeros(self._robot.nv)
        at = {name: i for i, name in enumerate(message.name)}
        missing = [joint for joint in self._joints if joint not in at]
        if missing:
            raise ValueError(f"name lacks {', '.join(missing)}")
        position, velocity = message.position, message.velocity
        for field, given in (("position", position), ("velocity", velocity)):
            if len(given) != len(at):
                raise ValueError(f"{field} has {len(given)} numbers, expected {len(at)}")
        for name, c in self._coordinates.items():
            i = at.get(name)
            if i is not None:
                q[c.q_index], v[c.v_index] = position[i], velocity[i]
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ValueError("position or velocity holds numbers that are not finite")
        if self._robot.functions.is_constrained:
            for name, c in self._coordinates.items():
                if name not in at and self._measured is not None:
                    q[c.q_index] = self._measured[0][c.q_index]
            q, v = self._closed(q, v)
        return q, v

    def _closed(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state in which the controlled joints are as measured, and loops move the others; the nearest
        one, where these are more than the motions; ValueError where loops do not close."""
        try:
            q = self._robot.functions.closed(q, self._joints)
        except ConvergenceError as error:
            raise ValueError(f"position: {error}") from None
        N = self._robot.functions.motions(q)
        return q, N @ np.linalg.lstsq(N[self._rows], v[self._rows], rcond=None)[0]

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self.follow(message)
        except TrajectoryError as error:
            self.refuse(error)
            return
        self._action.end("a trajectory on ~/joint_trajectory took its place")

    # ---- what the action calls ----

    def follow(self, trajectory: JointTrajectory) -> tuple[JointPath, float]:
        """Follow a trajectory from now on; its path, and when the reference is at its end [s].

        Raises
        ------
        TrajectoryError
        """
        now = self.begin_of(trajectory, "joint_states")
        q_d, v_d, _ = self._timeline(now)
        for name in trajectory.joint_names:
            if name not in self._joints:
                raise UnknownJointError(
                    f"unknown joint {shortened(name)!r}, expected one of {', '.join(self._joints)}"
                )
        rows = dict(zip(self._joints, self._rows.tolist(), strict=True))
        path = read_path(trajectory, rows, now, q_d[self._positions], v_d)
        self._limits.check(path, distant_start(trajectory, now))
        self._look_at_speed(path)
        try:
            self._follow(now, path, q_d)
        except (ConvergenceError, StateError, SingularityError) as error:
            raise TrajectoryError(f"the arm cannot be shaped at the end of it: {error}") from error
        self.announce(trajectory, now)
        return path, self._busy_until

    def halt(self, path: JointPath, at_state: bool) -> None:
        """Hold the joints of a path: where they are, or at their present reference."""
        assert self._now is not None
        q_d, _, _ = self._timeline(self._now)
        here = self._measured[0] if at_state else q_d
        x = here[self._positions[path.rows]]
        self._follow(self._now, JointPath.resting(path.rows, self._now, x), q_d)
        names = [self._robot.v_names[row] for row in path.rows]
        point = JointTrajectoryPoint(positions=doubles(x))
        self.announce(JointTrajectory(joint_names=names, points=[point]), self._now)

    def exclusively(self) -> AbstractContextManager[Any]:
        """All happens in the thread that spins."""
        return nullcontext()

    def _watch(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        path = self._action.path
        if path is not None:
            q_d, v_d, _ = self._reference(t)
            at = self._positions[path.rows]
            self._action.watch(t, self._stamp, Motion(q_d[at], v_d[path.rows], q[at], v[path.rows]))

    # ---- paths ----

    def _look_at_speed(self, path: JointPath) -> None:
        """Refuse a path that is too fast, or warn of it, as `velocity_limits` says."""
        if text := self._limits.too_fast(path):
            if self._settings.velocity_limits == "refuse":
                raise TrajectoryError(text)
            self.get_logger().warning(text, throttle_duration_sec=1.0)

    def _follow(self, now: float, path: JointPath, held: np.ndarray) -> None:
        """A path from now [s] on; joints that it does not move stay at their present reference."""
        reference = along(path, held, self._positions[path.rows], self._robot.nv)
        if now >= self._busy_until:
            # shapers change only where nothing moves: elsewhere the reference would jump
            shaper = self._law.shaper(reference(path.end)[0])
            if shaper is not None:
                self._timeline.memory = shaper.length
                self._reference = shaped(self._timeline, shaper)
        self._timeline.follow(now, reference)
        self._busy_until = path.end + self._timeline.memory

    # ---- what goes out ----

    def _send(self, output: Output, reference: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Publish an output and the state of the controller."""
        if not self.is_active or self._now is None:
            return
        targets = self._rows_of(output)
        if not self.is_sound(targets):
            return
        command = JointState(name=list(self._joints))
        for field, values in targets.items():
            setattr(command, field, doubles(values))
        command.header.stamp = self._stamp
        self._commands.publish(command)
        q_d, v_d, a_d = reference
        q, v = self._measured
        error = self._robot.difference(q, q_d)
        points = (
            state_point(q_d[self._columns], v_d[self._rows], accelerations=a_d[self._rows]),
            state_point(q[self._columns], v[self._rows]),
            state_point(error[self._rows], (v_d - v)[self._rows]),
            self._output_point(targets),
        )
        self.tell_state(self._joints, points)

    def _rows_of(self, output: Output) -> dict[str, np.ndarray]:
        """The arrays (k,) of a command, by field of the message."""
        targets = {}
        if output.effort is not None:
            targets["effort"] = np.clip(output.effort[self._rows], -self._limit, self._limit)
        if output.position is not None and output.velocity is not None:
            targets |= {"position": output.position[self._columns], "velocity": output.velocity[self._rows]}
        return targets

    def _output_point(self, targets: dict[str, np.ndarray]) -> JointTrajectoryPoint:
        names = {"effort": "effort", "position": "positions", "velocity": "velocities"}
        return JointTrajectoryPoint(**{names[field]: doubles(values) for field, values in targets.items()})
