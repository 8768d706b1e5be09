"""Messages that the middleware does not take are counted and logged; a node does not end by one.

On a machine that is overloaded, Fast DDS gives a message up that it could not write within its time. rclpy
makes that an exception where the message is published: in the thread that simulates, or in the executor.
"""

from __future__ import annotations

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher

#: what rclpy raises when the middleware refuses
MIDDLEWARE_ERROR: type[Exception] = rclpy_implementation.RCLError


class Outbox:
    """The publishers of a node.

    Attributes
    ----------
    lost : int
        Messages that were not sent.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.lost = 0

    def tell(self, what: str, error: Exception) -> None:
        """Count and tell a message that was not sent."""
        self.lost += 1
        self._node.get_logger().error(
            f"{what} is lost ({self.lost} so far): {error}", throttle_duration_sec=1.0
        )

    def guarded(self, publisher: Publisher) -> Publisher:
        """The publisher, which counts and tells what it cannot send instead of raising."""
        publish = publisher.publish

        def publish_or_tell(message: object) -> None:
            try:
                publish(message)
            except MIDDLEWARE_ERROR as error:
                self.tell(f"a message on {publisher.topic}", error)

        publisher.publish = publish_or_tell
        return publisher
