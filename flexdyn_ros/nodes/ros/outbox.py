"""What the middleware refuses: messages are counted and logged, and nodes say why they do not start.

On a machine that is overloaded, Fast DDS gives a message up that it could not write within its time. rclpy
makes that an exception where the message is published: in the thread that simulates, or in the executor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher

from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.ros.parameter_files import file_mistakes, value_mistakes
from flexdyn_ros.nodes.ros.surroundings import StartError, surroundings

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


@contextmanager
def told_in_a_sentence(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Around what starts a node: StartError for what ROS raises, with the reason if it can be found.

    Parameters
    ----------
    arguments : sequence of str
        Those of the command line.
    """
    try:
        yield
    except (MIDDLEWARE_ERROR, RuntimeError, OSError) as error:
        first = str(error).partition("\n")[0]
        reasons = [*argument_mistakes(arguments), *surroundings()]
        why = "; ".join(reasons) or f"{type(error).__name__}: {shortened(first, 500)}"
        raise StartError(f"ROS does not start: {why}") from error


def argument_mistakes(arguments: Sequence[str]) -> Iterator[str]:
    """Parameters on the command line and parameter files that ROS does not read."""
    for option, value in zip(arguments, arguments[1:], strict=False):
        if option == "--params-file":
            yield from file_mistakes(Path(value))
        elif option in ("-p", "--param"):
            name, _, text = value.partition(":=")
            try:
                yield from value_mistakes(name, yaml.safe_load(text), "")
            except yaml.YAMLError:
                yield f"parameter {shortened(name)} is {shortened(text)}, which is no YAML"


# Statuses in /diagnostics, and the one that all nodes have: who publishes /clock.

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def status(level: bytes, name: str, message: str, values: Mapping[str, object]) -> DiagnosticStatus:
    """A status NODE: SUBJECT with values as texts."""
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=message, values=pairs)


def clock_health(node: Node) -> DiagnosticStatus:
    """Status NODE: clock. ERROR if several publish /clock: for all who use it time then jumps to and fro."""
    found = node.get_publishers_info_by_topic(node.resolve_topic_name("/clock"))
    names = sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in found)
    level, message = OK, f"/clock is published by {names[0]}" if names else "nobody publishes /clock"
    if len(names) > 1:
        level = ERROR
        message = (
            f"{len(names)} publishers on /clock: {', '.join(names)}; expected at most one: "
            "set use_clock false at the others"
        )
    return status(level, f"{diagnostic_name(node)}: clock", message, {"publishers": len(names)})


def diagnostic_name(node: Node) -> str:
    """NODE of the statuses: with its namespace, as /arm/simulator, unless that is the root."""
    name: str = node.get_name()
    return name if node.get_namespace() == "/" else f"{node.get_namespace()}/{name}"
