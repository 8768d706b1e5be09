"""`state_publisher`: TF of the expanded robot, where robot_state_publisher is missing, and markers."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

import flexdyn_ros
from flexdyn_ros.nodes.ros.conversions import transform_message
from flexdyn_ros.nodes.ros.declaration import ParameterError, check_changes, declare
from flexdyn_ros.nodes.ros.managed import ManagedNode, executable
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters
from flexdyn_ros.nodes.ros.robot_source import load_robot
from flexdyn_ros.nodes.state_publisher.picture import Picture
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms, TransformMessage
from flexdyn_ros.robot.verbs import Robot

#: the world's frame; the simulator places bases that move in `odom`
WORLD, ODOM = "world", "odom"


class StatePublisher(ManagedNode):
    """Joint states in, transforms and markers out; fixed joints once, latched."""

    def __init__(self, autostart: bool | None = None, **options: Any) -> None:
        super().__init__("state_publisher", **options)
        self._settings = declare(self, StatePublisherParameters)
        self._timer: Timer | None = None
        self.add_on_set_parameters_callback(self._change)

    def setup(self) -> None:
        settings = self._settings
        robot = load_robot(self, settings)
        expanded = flexdyn_ros.expand(robot)
        self._transforms = JointTransforms(expanded.urdf, settings.frame_prefix)
        self._messages: dict[bytes, TransformMessage] = {}
        self._base = _base_transform(robot, settings.frame_prefix)
        moves = robot.description.base.type != "fixed"
        self._picture = Picture(robot, expanded, ODOM if moves else WORLD, settings)
        self._interval = 1.0 / settings.publish_frequency
        self._marker_interval = 1.0 / settings.marker_frequency
        self._last = self._last_mesh = -1e9
        self._tf = self.advertise("/tf")
        self._tf_static = self.advertise("/tf_static")
        self._markers = self.advertise("deformation_markers")
        self.subscribe("joint_states", self._on_joint_states)
        self.subscribe("deflections", self._on_deflections, raw=True)
        for topic, callback in (
            ("odom", self._picture.take_odometry),
            ("leg_states", self._picture.take_legs),
            ("simulator/hydraulic_state", self._picture.take_pressures),
            ("hydraulic_actuators/hydraulic_state", self._picture.take_pressures),
        ):
            if self._picture.wants(topic):
                self.subscribe(topic, callback)
        self.get_logger().info(
            f"ready: {len(self._transforms.names)} moving and {len(self._transforms.fixed)} fixed joints"
        )

    def start(self) -> None:
        stamp = self.get_clock().now().to_msg()
        fixed = self._transforms.fixed_messages(stamp) if self._settings.publish_tf else []
        base = self._base if self._settings.publish_base_tf else None
        if base is not None:
            base.header.stamp = stamp
            fixed.append(base)
        self._tf_static.publish(TFMessage(transforms=fixed))
        self._timer = self.create_timer(1.0 / self._picture.rate, self._on_timer)

    def stop(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None

    def _change(self, changes: list[Any]) -> SetParametersResult:
        """Take over parameters that may change while the node runs."""
        try:
            new = check_changes(StatePublisherParameters, changes)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._settings = replace(self._settings, **new)
        if hasattr(self, "_picture"):
            self._picture.change(self._settings)
        return SetParametersResult(successful=True)

    def _on_joint_states(self, message: JointState) -> None:
        now = time.monotonic()
        if now - self._last < 0.9 * self._interval:
            return
        self._last = now
        try:
            rows, position, quaternion = self._transforms.poses(message.name, message.position)
        except ValueError as error:
            self.get_logger().warning(f"joint_states refused: {error}", throttle_duration_sec=1.0)
            return
        stamp = message.header.stamp
        if len(rows) and self._settings.publish_tf:
            self._tf.publish(self._tf_message(rows).filled(stamp, position, quaternion))
        self._picture.take_joints(stamp.sec + 1e-9 * stamp.nanosec, rows, position, quaternion)
        self._picture.take_efforts(message)

    def _tf_message(self, rows: np.ndarray) -> TransformMessage:
        """The message of these joints; publishers of joint_states name the same ones every time."""
        key = rows.tobytes()
        if key not in self._messages:
            if len(self._messages) > 20:
                self._messages.clear()
            frames = [self._transforms.frames_of(row) for row in rows.tolist()]
            self._messages[key] = TransformMessage(frames)
        return self._messages[key]

    def _on_deflections(self, data: bytes) -> None:
        now = time.monotonic()
        if now - self._last_mesh < 0.9 * self._marker_interval:
            return
        self._last_mesh = now
        try:
            message = self._picture.mesh_message(data)
        except ValueError as error:
            self.get_logger().warning(f"deflections refused: {error}", throttle_duration_sec=1.0)
            return
        if message is not None:
            self._markers.publish(message)

    def _on_timer(self) -> None:
        markers = self._picture.markers()
        if markers:
            self._markers.publish(MarkerArray(markers=markers))


def _base_transform(robot: Robot, prefix: str) -> TransformStamped | None:
    """world -> root link of a robot that stands, world -> odom of one that moves; None for a root link that
    is called world itself."""
    root = robot.description.root
    transform = TransformStamped(child_frame_id=prefix + root)
    transform.header.frame_id = WORLD
    if robot.description.base.type != "fixed":
        transform.child_frame_id = ODOM
        transform.transform = transform_message(np.eye(4))
        return transform
    if prefix + root == WORLD:
        return None
    transform.transform = transform_message(robot.frames(robot.neutral(), root))
    return transform


main = executable(StatePublisher)
