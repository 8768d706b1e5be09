"""Statuses in /diagnostics, and the one that all nodes have: who publishes /clock."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node

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
