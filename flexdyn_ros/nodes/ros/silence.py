"""Reports when an input falls silent, and when its messages are back."""

from __future__ import annotations

import time

from rclpy.node import Node

#: seconds without a message that are reported, and between looks: together well below two seconds
LONGEST, INTERVAL = 0.75, 0.25


class Silence:
    """Says in the log, once, that nothing comes on a topic, and that something comes again.

    Wall time counts: simulated time pauses when a simulator is silent.

    Parameters
    ----------
    node : ManagedNode
        Nothing is logged while it is not active.
    topic : str
        What is heard, as the log is to call it.
    consequence : str
        What the node does meanwhile.
    """

    def __init__(self, node: Node, topic: str, consequence: str) -> None:
        self._node, self._topic, self._consequence = node, topic, consequence
        self._is_told = self._has_heard = False
        self.begin()
        self._timer = node.create_wall_timer(INTERVAL, self._look)

    def close(self) -> None:
        """Look no more."""
        self._node.destroy_timer(self._timer)

    def begin(self) -> None:
        """Count from now on."""
        self._heard = time.monotonic()

    def hear(self) -> None:
        """A message has come."""
        self._heard, self._has_heard = time.monotonic(), True
        if self._is_told:
            self._is_told = False
            self._node.get_logger().info(f"{self._topic}: heard again")

    @property
    def condition(self) -> str:
        """What is waited for and since when; empty while messages come."""
        seconds = time.monotonic() - self._heard
        if seconds < LONGEST:
            return ""
        return f"waiting for {self._topic}, none for {seconds:.1f} s: {self._consequence}"

    def _look(self) -> None:
        if self._node.is_active and not self._is_told and (condition := self.condition):
            self._is_told = True
            # who has not begun is no reason to worry, who has fallen silent is; rclpy wants a line for each
            if self._has_heard:
                self._node.get_logger().warning(condition)
            else:
                self._node.get_logger().info(condition)
