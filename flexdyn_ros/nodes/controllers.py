"""What the controllers have in common: joint states and trajectories in, effort commands out.

A controller computes when a joint state comes, so that it runs at the rate of the robot and in the robot's
time, and falls silent with it: what a robot does without commands is the robot's to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexdyn_ros.control.closed_loop import joint_inertia
from flexdyn_ros.control.gravity_stiffness import holding_stiffness
from flexdyn_ros.control.input_shaping import Shaper, shaped
from flexdyn_ros.control.reference import Reference, Timeline
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.conversions import doubles, numbers_of, seconds_of
from flexdyn_ros.nodes.declaration import ParameterError, declare, declare_family
from flexdyn_ros.nodes.managed import ManagedNode
from flexdyn_ros.nodes.robot_source import load_robot
from flexdyn_ros.nodes.simulation import default_gains
from flexdyn_ros.nodes.trajectory import JointPath, TrajectoryError, read_path

__all__ = ["Gains", "JointController", "Law", "Output"]

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
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


class Law(Protocol):
    """A control law on a robot whose elastic coordinates are not measured."""

    def begin(self, q: np.ndarray) -> None:
        """Get ready for motion that starts at rest at q (nq,)."""

    def act(self, t: float, q: np.ndarray, v: np.ndarray, reference: Reference, send: Send) -> None:
        """Call send, now or later, with the output for a measured state."""

    def shaper(self, q: np.ndarray) -> Shaper | None:
        """What references are to be convolved with when they end at q (nq,); None: nothing."""


class Gains:
    """Position and velocity gains by coordinate, given as parameters gains.JOINT.p and .d, or derived.

    derived: (w^2, 2 zeta w) with w = `bandwidth`, zeta = `damping_ratio`; times the joint's inertia if
    `of_inertia`. To the stiffness of a robot all of whose coordinates have actuators that is added which its
    weight asks for, and the damping is that of the sum.
    """

    def __init__(
        self, node: Any, robot: Any, joints: tuple[str, ...], settings: Any, of_inertia: bool
    ) -> None:
        names = [f"{joint}.{gain}" for joint in joints for gain in "pd"]
        self._given = declare_family(node, "gains", dict.fromkeys(names, -1.0), "see docs/parameters.md")
        for name, value in self._given.items():
            if value < 0.0 and value != -1.0:
                raise ParameterError(f"parameter gains.{name} is {value}, expected at least 0, or -1")
        self._robot, self._joints, self._settings, self._of_inertia = robot, joints, settings, of_inertia
        #: every coordinate has an actuator, as in a rigid arm
        self._is_driven = robot.nq == robot.nv and all(c.actuated for c in robot.coordinates)
        self._holding: np.ndarray | None = None

    def about(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P and D (nv,) about q (nq,); zero for coordinates that are not controlled."""
        w = self._settings.bandwidth or self._default_bandwidth(q)
        zeta = self._settings.damping_ratio
        if not self._of_inertia:
            ones = np.ones(self._robot.nv)
            return self._or_given(ones * w**2, 2.0 * zeta * w * ones)
        inertia = joint_inertia(self._robot, q)
        stiffness = inertia * w**2
        if self._is_driven:
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


class JointController(ManagedNode):
    """A controller node: `make_law(node, robot, joints, settings)` supplies what it computes.

    What it publishes bears the stamp of the joint state that it answers.

    Publishes joint_commands (JointState, effort) and ~/controller_state (JointTrajectory whose points are
    reference, feedback, error and output). Without a trajectory it holds the position found at the first
    joint state.
    """

    def __init__(self, name: str, record: type, make_law: Callable[..., Law], **options: Any) -> None:
        super().__init__(name, **options)
        self._settings: Any = declare(self, record)
        self._make_law = make_law
        self._made: list[tuple[Any, Any]] = []
        self._active = False

    # ---- life cycle ----

    def setup(self) -> None:
        robot = load_robot(self, self._settings).robot
        self._robot = robot
        actuated = tuple(c.name for c in robot.coordinates if c.actuated and not c.prescribed)
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
        self._commands = self.create_lifecycle_publisher(JointState, "joint_commands", 10)
        self._state = self.create_lifecycle_publisher(JointTrajectory, "~/controller_state", 10)
        for kind, topic, callback, qos in (
            (JointState, "joint_states", self._on_joint_states, NEWEST),
            (JointTrajectory, "~/joint_trajectory", self._on_trajectory, 10),
        ):
            self._made.append(
                (self.destroy_subscription, self.create_subscription(kind, topic, callback, qos))
            )
        self._states = self.watch_input("joint_states", "no command")
        self._forget()
        self.get_logger().info(f"ready: {robot.name}, {len(self._joints)} joints")

    def start(self) -> None:
        self._forget()
        self._active = True

    def stop(self) -> None:
        self._active = False

    def clear(self) -> None:
        for destroy, entity in self._made:
            destroy(entity)
        for publisher in (self._commands, self._state):
            self.destroy_publisher(publisher)
        self._made = []

    def _forget(self) -> None:
        """The next joint state is the first."""
        self._now: float | None = None
        self._busy_until = -np.inf

    # ---- what comes in ----

    def _on_joint_states(self, message: JointState) -> None:
        if not self._active:
            return
        self._states.hear()
        try:
            t, q, v = self._read(message)
        except ValueError as error:
            self.get_logger().warning(f"joint_states refused: {error}", throttle_duration_sec=1.0)
            return
        if self._now is None or t < self._now:
            self._begin(q)
        self._now, self._stamp, self._measured = t, message.header.stamp, (q, v)
        try:
            self._law.act(t, q, v, self._reference, self._send)
        except FlexdynError as error:
            self.get_logger().error(f"no command: {error}", throttle_duration_sec=1.0)

    def _read(self, message: JointState) -> tuple[float, np.ndarray, np.ndarray]:
        """Time, configuration and velocity; coordinates that are not measured stay neutral and at rest."""
        q, v = self._robot.neutral(), np.zeros(self._robot.nv)
        at = {name: i for i, name in enumerate(message.name)}
        missing = [joint for joint in self._joints if joint not in at]
        if missing:
            raise ValueError(f"name lacks {', '.join(missing)}")
        position, velocity = numbers_of(message.position), numbers_of(message.velocity)
        for field, given in (("position", position), ("velocity", velocity)):
            if len(given) != len(message.name):
                raise ValueError(f"{field} has {len(given)} numbers, expected {len(message.name)}")
        for name, c in self._coordinates.items():
            i = at.get(name)
            if i is not None:
                q[c.q_index], v[c.v_index] = position[i], velocity[i]
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ValueError("position or velocity holds numbers that are not finite")
        return seconds_of(message.header.stamp), q, v

    def _begin(self, q: np.ndarray) -> None:
        """Hold q: at the first state, and when time jumps back."""
        rest = np.zeros(self._robot.nv)
        self._timeline = Timeline(lambda t: (q, rest, rest))
        self._reference: Reference = self._timeline
        self._busy_until = -np.inf
        self._law.begin(q)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if self._now is None:
            self.get_logger().warning("trajectory refused: no joint_states yet", throttle_duration_sec=1.0)
            return
        q_d, v_d, _ = self._timeline(self._now)
        try:
            for name in message.joint_names:
                if name not in self._joints:
                    raise TrajectoryError(
                        f"unknown joint {name!r}, expected one of {', '.join(self._joints)}"
                    )
            rows = dict(zip(self._joints, self._rows.tolist(), strict=True))
            path = read_path(message, rows, self._now, q_d[self._positions], v_d)
            self._look_at_speed(path)
        except TrajectoryError as error:
            self.get_logger().warning(f"trajectory refused: {error}", throttle_duration_sec=1.0)
            return
        self._follow(path, q_d)

    def _look_at_speed(self, path: JointPath) -> None:
        """Refuse a path that is too fast, or warn of it, as `velocity_limits` says."""
        by_row = {c.v_index: c for c in self._robot.coordinates}
        for row, speed in zip(path.rows.tolist(), path.greatest_speed().tolist(), strict=True):
            limit = by_row[row].velocity_limit
            if speed > limit * (1.0 + 1e-9):
                text = f"{by_row[row].name} would move at {speed:.4g}, its velocity limit is {limit:.4g}"
                if self._settings.velocity_limits == "refuse":
                    raise TrajectoryError(text)
                self.get_logger().warning(text, throttle_duration_sec=1.0)

    def _follow(self, path: JointPath, held: np.ndarray) -> None:
        """A path from now on; joints that it does not move stay at their present reference."""
        assert self._now is not None
        reference = _along(path, held, self._positions[path.rows], self._robot.nv)
        if self._now >= self._busy_until:
            # shapers change only where nothing moves: elsewhere the reference would jump
            shaper = self._law.shaper(reference(path.end)[0])
            if shaper is not None:
                self._timeline.memory = shaper.length
                self._reference = shaped(self._timeline, shaper)
        self._timeline.follow(self._now, reference)
        self._busy_until = path.end + self._timeline.memory

    # ---- what goes out ----

    def _send(self, output: Output, reference: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Publish an output and the state of the controller."""
        if not self._active or self._now is None:
            return
        told = self._rows_of(output)
        if not all(np.isfinite(values).all() for values in told.values()):
            self.get_logger().error("the law gives numbers that are not finite", throttle_duration_sec=1.0)
            return
        command = JointState(name=list(self._joints))
        for field, values in told.items():
            setattr(command, field, doubles(values))
        command.header.stamp = self._stamp
        self._commands.publish(command)
        q_d, v_d, a_d = reference
        q, v = self._measured
        error = self._robot.difference(q, q_d)
        state = JointTrajectory(joint_names=list(self._joints))
        state.header.stamp = self._stamp
        state.points = [
            self._point(q_d[self._columns], v_d[self._rows], accelerations=a_d[self._rows]),
            self._point(q[self._columns], v[self._rows]),
            self._point(error[self._rows], (v_d - v)[self._rows]),
            self._output_point(told),
        ]
        self._state.publish(state)

    def _rows_of(self, output: Output) -> dict[str, np.ndarray]:
        """The arrays (k,) of a command, by field of the message."""
        told = {}
        if output.effort is not None:
            told["effort"] = np.clip(output.effort[self._rows], -self._limit, self._limit)
        if output.position is not None and output.velocity is not None:
            told |= {"position": output.position[self._columns], "velocity": output.velocity[self._rows]}
        return told

    def _output_point(self, told: dict[str, np.ndarray]) -> JointTrajectoryPoint:
        names = {"effort": "effort", "position": "positions", "velocity": "velocities"}
        return JointTrajectoryPoint(**{names[field]: doubles(values) for field, values in told.items()})

    def _point(self, positions: np.ndarray, velocities: np.ndarray, **more: np.ndarray) -> Any:
        point = JointTrajectoryPoint(positions=doubles(positions), velocities=doubles(velocities))
        for field, values in more.items():
            setattr(point, field, doubles(values))
        return point


def _along(path: JointPath, held: np.ndarray, columns: np.ndarray, nv: int) -> Reference:
    """A path as positions (nq,), velocities and accelerations (nv,) of the whole robot."""

    def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, a = held.copy(), np.zeros(nv), np.zeros(nv)
        q[columns], v[path.rows], _ = path.at(t)
        a[path.rows] = path.acceleration(t)
        return q, v, a

    return reference
