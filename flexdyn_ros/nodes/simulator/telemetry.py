"""What the simulator publishes, made ready once and filled at every publication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

import flexdyn_ros
from flexdyn_interfaces.msg import DynamicsState, Energy
from flexdyn_ros.multibody.joints.registry import joint_model
from flexdyn_ros.nodes.ros.conversions import (
    dynamics_state,
    pose_message,
    time_message,
    transform_message,
    twist_message,
    wrench_message,
)
from flexdyn_ros.nodes.ros.managed import ManagedNode
from flexdyn_ros.nodes.simulator.extra import Setting
from flexdyn_ros.nodes.simulator.extras import extras_of
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters
from flexdyn_ros.nodes.simulator.recorder import Recorder
from flexdyn_ros.simulation.live.simulation import Simulation
from flexdyn_ros.simulation.recordings.cdr import PatchedMessage
from flexdyn_ros.simulation.recordings.topics import joint_layout, state_layout


class Telemetry:
    """The topics of one simulation.

    Parameters
    ----------
    node : ManagedNode
        Makes the publishers.
    now : callable() -> int
        Nanoseconds that messages are stamped with where simulated time is not published.
    """

    def __init__(
        self, node: ManagedNode, simulation: Simulation, settings: SimulatorParameters, now: Callable[[], int]
    ) -> None:
        robot = simulation.robot
        self._simulation, self._settings, self._now = simulation, settings, now
        self._expanded = flexdyn_ros.expand(robot)
        self.expanded_text = self._expanded.urdf
        self.recorder: Recorder | None = None
        make = node.advertise
        if settings.record_file:
            self.recorder = Recorder(
                settings.record_file,
                robot,
                lambda text: node.get_logger().error(text),
                method=settings.method,
                step=settings.step,
                split_size=round(settings.record_split_size * 1e6),
                split_duration=settings.record_split_duration,
            )
            make = self.recorder.recording(make)
        self._joints = make("joint_states")
        self._state = make("~/state")
        self._energy = make("~/energy")
        self._clock = make("/clock") if settings.use_clock else None
        self._prefix = settings.frame_prefix
        self._root = robot.description.root
        self._odometry: Any
        moves = robot.description.base.type in ("floating", "planar")
        self._odometry = make("odom") if moves else None
        self._transforms = make("/tf") if moves and settings.publish_base_tf else None
        self._reactions = robot.functions.reactions_in(settings.wrench_joints)
        joints = () if self._reactions is None else self._reactions.names
        self._wrenches = [make("~/wrench/{}", name) for name in joints]
        record = None if self.recorder is None else self.recorder.keeping(node)
        self.extras = extras_of(Setting(simulation, settings, make, record))
        names = self._expanded.joint_names
        models = [joint_model(robot.description, joint) for joint in robot.description.joints]
        own = {shown.name for model in models if model.chain for shown in model.picture}
        shown = [i for i, name in enumerate(names) if name in own or not settings.real_joints_only]
        self._shown = np.array(shown, dtype=np.int64)
        self._joint_message = PatchedMessage(joint_layout([names[i] for i in shown]))
        layout = state_layout(robot.name, robot.q_names, robot.v_names, robot.effort_names)
        self._state_message = PatchedMessage(layout)
        self._fast_interval = 1.0 / settings.publish_rate_hz
        self._slow_interval = 1.0 / settings.deflection_rate_hz
        self.restart()

    def close(self) -> None:
        """End the recording, if there is one."""
        if self.recorder is not None:
            self.recorder.close(self._simulation.fault)

    def restart(self) -> None:
        """Publish at once at the next tick."""
        self._fast_due = self._slow_due = self._simulation.stepper.t

    def steps_until_due(self, step: float) -> int:
        """Steps until the next fast publication, at least one."""
        return max(1, round((self._fast_due - self._simulation.stepper.t) / step))

    def follow_robot(self) -> None:
        """Use the robot that the simulation has now (another payload)."""
        self._reactions = self._simulation.robot.functions.reactions_in(self._settings.wrench_joints)

    # ---- publishing ----

    def publish_due(self) -> None:
        """Publish what is due at this simulated time."""
        t = self._simulation.stepper.t + 1e-9
        if t >= self._fast_due:
            self._fast_due = _next(self._fast_due, t, self._fast_interval)
            self._publish_fast()
        if t >= self._slow_due:
            self._slow_due = _next(self._slow_due, t, self._slow_interval)
            self._publish_slow()

    def publish_now(self) -> None:
        """Publish everything."""
        self._publish_fast()
        self._publish_slow()

    def stamp(self) -> Any:
        """Time of the present state."""
        if self._clock is None:
            return time_message(self._now())
        return time_message(round(self._simulation.stepper.t * 1e9))

    def state(self) -> DynamicsState:
        """The present state, in a message of its own."""
        s = self._simulation.stepper
        arrays = {"q": s.q, "v": s.v, "a": s.a, "tau": s.effort}
        return dynamics_state(self._simulation.robot, self.stamp(), arrays)

    def _publish_fast(self) -> None:
        s, stamp = self._simulation.stepper, self.stamp()
        if self._clock is not None:
            self._clock.publish(Clock(clock=stamp))
        position, velocity, effort = self._joint_message.numbers.values()
        q, v = self._expanded.joint_state(s.q, s.v)
        position[:], velocity[:] = q[self._shown], v[self._shown]
        effort[:] = self._expanded.joint_efforts(s.effort)[self._shown]
        self._joints.publish(self._joint_message.stamped(stamp))
        for field, values in zip(
            self._state_message.numbers.values(), (s.q, s.v, s.a, s.effort), strict=True
        ):
            field[:] = values
        self._state.publish(self._state_message.stamped(stamp))
        if self._odometry is not None:
            self._publish_base(stamp)
        for extra in self.extras:
            extra.publish_fast(stamp)

    def _publish_base(self, stamp: Time) -> None:
        """Pose and twist of the root link; the twist in its own axes, as Odometry wants it."""
        s, robot = self._simulation.stepper, self._simulation.robot
        T = robot.frames(s.q, self._root)
        V = robot.jacobian(s.q, self._root) @ s.v
        R = T[:3, :3].T
        odometry = Odometry(child_frame_id=self._prefix + self._root)
        odometry.header.stamp, odometry.header.frame_id = stamp, "odom"
        odometry.pose.pose = pose_message(T)
        odometry.twist.twist = twist_message(np.concatenate((R @ V[:3], R @ V[3:])))
        self._odometry.publish(odometry)
        if self._transforms is not None:
            transform = TransformStamped(
                child_frame_id=self._prefix + self._root, transform=transform_message(T)
            )
            transform.header = odometry.header
            self._transforms.publish(TFMessage(transforms=[transform]))

    def _publish_slow(self) -> None:
        s, robot, stamp = self._simulation.stepper, self._simulation.robot, self.stamp()
        energy = s.energy()
        parts = {**energy._asdict(), "total": energy.total, "work": s.work, "dissipated": s.dissipated}
        message = Energy(robot=robot.name, **{part: float(x) for part, x in parts.items()})
        message.header.stamp, message.header.frame_id = stamp, "world"
        self._energy.publish(message)
        for extra in self.extras:
            extra.publish_slow(stamp)
        if self._reactions is not None and self._wrenches_wanted():
            w = self._reactions(s.q, s.v, s.a, self._simulation.loads())
            for publisher, link, row in zip(self._wrenches, self._reactions.links, w, strict=True):
                wrench = WrenchStamped(wrench=wrench_message(row))
                wrench.header.stamp, wrench.header.frame_id = stamp, self._prefix + link
                publisher.publish(wrench)

    def _wrenches_wanted(self) -> bool:
        """Whether reactions were asked for, or anybody listens to that of the ground."""
        asked = bool(self._settings.wrench_joints)
        return asked or any(publisher.get_subscription_count() for publisher in self._wrenches)


def _next(due: float, t: float, interval: float) -> float:
    """The next due time after t on the grid of due times."""
    return due + interval * max(1, int((t - due) / interval) + 1)
