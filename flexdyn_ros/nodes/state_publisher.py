"""`state_publisher`: TF of the expanded robot, where robot_state_publisher is missing, and markers."""

from __future__ import annotations

import sys
import time
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

import flexdyn_ros
from flexdyn_interfaces.msg import LinkDeflections
from flexdyn_ros.nodes.managed import ManagedNode, run
from flexdyn_ros.nodes.markers import deformation_markers
from flexdyn_ros.nodes.parameters import StatePublisherParameters, declare
from flexdyn_ros.nodes.robot_source import LATCHED, load_robot
from flexdyn_ros.nodes.transforms import JointTransforms

__all__ = ["StatePublisher", "main"]

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class StatePublisher(ManagedNode):
    """Joint states in, transforms out; fixed joints once, latched."""

    def __init__(self, **options: Any) -> None:
        super().__init__("state_publisher", **options)
        self._settings = declare(self, StatePublisherParameters)
        self._made: list[tuple[Any, Any]] = []

    def setup(self) -> None:
        settings = self._settings
        expanded = flexdyn_ros.expand(load_robot(self, settings).robot)
        self._transforms = JointTransforms(expanded.urdf, settings.frame_prefix)
        self._interval = 1.0 / settings.publish_frequency
        self._last = -self._interval
        self._tf = self.create_lifecycle_publisher(TFMessage, "/tf", 100)
        self._tf_static = self.create_lifecycle_publisher(TFMessage, "/tf_static", LATCHED)
        self._markers = self.create_lifecycle_publisher(MarkerArray, "deformation_markers", 10)
        for kind, topic, callback in (
            (JointState, "joint_states", self._on_joint_states),
            (LinkDeflections, "deflections", self._on_deflections),
        ):
            self._made.append(
                (self.destroy_subscription, self.create_subscription(kind, topic, callback, NEWEST))
            )
        self.get_logger().info(
            f"ready: {len(self._transforms.names)} moving and {len(self._transforms.fixed)} fixed joints"
        )

    def start(self) -> None:
        stamp = self.get_clock().now().to_msg()
        self._tf_static.publish(TFMessage(transforms=self._transforms.fixed_messages(stamp)))

    def clear(self) -> None:
        for destroy, entity in self._made:
            destroy(entity)
        for publisher in (self._tf, self._tf_static, self._markers):
            self.destroy_publisher(publisher)
        self._made = []

    def _on_joint_states(self, message: JointState) -> None:
        now = time.monotonic()
        if now - self._last < 0.9 * self._interval:
            return
        self._last = now
        try:
            transforms = self._transforms.moving_messages(
                message.name, message.position, message.header.stamp
            )
        except ValueError as error:
            self.get_logger().warning(f"joint_states refused: {error}", throttle_duration_sec=1.0)
            return
        if transforms:
            self._tf.publish(TFMessage(transforms=transforms))

    def _on_deflections(self, message: LinkDeflections) -> None:
        markers = deformation_markers(message, self._settings)
        if markers.markers:
            self._markers.publish(markers)


def main(args: list[str] | None = None) -> None:
    """Entry point."""
    sys.exit(run(StatePublisher, args))


if __name__ == "__main__":
    main()
