"""A node that lives for one command of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.node import Node

from flexdyn_ros.nodes.ros.executor import EnduringExecutor
from flexdyn_ros.nodes.startup.start_failure import told_in_a_sentence


@contextmanager
def short_lived_node(name: str) -> Iterator[tuple[Node, EnduringExecutor]]:
    """A node in a context of its own, and the executor that spins it; both are gone afterwards.

    Raises
    ------
    StartError
        If ROS does not let it start.
    """
    context = rclpy.Context()
    with told_in_a_sentence():
        rclpy.init(args=[], context=context)
        node = rclpy.create_node(name, context=context, start_parameter_services=False)
        executor = EnduringExecutor(node)
    try:
        yield node, executor
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
