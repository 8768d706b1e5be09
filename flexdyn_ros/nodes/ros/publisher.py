"""Publishes messages of plain values on a topic, for programs that are no nodes themselves."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ament_index_python.resources import has_resource
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.one_shot.short_lived import short_lived_node
from flexdyn_ros.nodes.ros.message_values import fill
from flexdyn_ros.nodes.topics import ONE_SHOT

#: seconds that what was sent last has to reach its listeners
LINGER = 0.2


def publish(
    topic: str,
    fields: Mapping[str, Any],
    kind: str = "",
    namespace: str = "",
    *,
    times: int = 1,
    rate: float = 10.0,
    timeout: float = 5.0,
) -> int:
    """Publish a message as soon as somebody listens; returns the number of listeners.

    Parameters
    ----------
    topic : str
    fields : mapping
        Of the message; what is left out keeps its default. A `header.stamp` that is left out is the time of
        sending; of trajectories it stays 0: start at once, whatever clock those who listen follow.
    kind : str
        `PACKAGE/msg/NAME`; empty: the type that those who listen expect.
    namespace : str
        Of the topic.
    times : int
    rate : float
        [Hz]
    timeout : float
        To find a listener [s].

    Raises
    ------
    FlexdynError
        If nobody listens, the type is not known, or a field does not fit.
    """
    name = "/" + "/".join(part.strip("/") for part in (namespace, topic) if part.strip("/"))
    with short_lived_node("flexdyn_pub") as (node, executor):
        listener = _listener(node, executor, name, kind, timeout)
        message_type = _type_of(listener.topic_type)
        message = message_type()
        try:
            fill(message, fields)
        except (AssertionError, OverflowError, ValueError) as error:
            raise FlexdynError(f"message for {name}: {error}") from None
        publisher = node.create_publisher(message_type, name, ONE_SHOT)
        end = time.monotonic() + timeout
        while publisher.get_subscription_count() == 0:
            if time.monotonic() > end:
                raise FlexdynError(f"nobody listens to {name} any more, waited {timeout:g} s")
            executor.spin_once(timeout_sec=0.02)
        is_unstamped = hasattr(message, "header") and "stamp" not in (fields.get("header") or {})
        is_unstamped = is_unstamped and not listener.topic_type.endswith("JointTrajectory")
        for i in range(times):
            if i:
                time.sleep(1.0 / rate)
            if is_unstamped:
                message.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(message)
        count = int(publisher.get_subscription_count())
        time.sleep(LINGER)
        return count


def _listener(node: Node, executor: Executor, topic: str, kind: str, timeout: float) -> Publisher:
    """What the graph knows of somebody who listens to a topic."""
    end = time.monotonic() + timeout
    while True:
        found = node.get_subscriptions_info_by_topic(topic)
        right = [info for info in found if not kind or info.topic_type == kind]
        if right:
            return right[0]
        if time.monotonic() >= end:
            types = sorted({info.topic_type for info in found})
            what = (
                f"{topic} carries {', '.join(types)}, not {kind}" if types else f"nobody listens to {topic}"
            )
            raise FlexdynError(f"{what}, waited {timeout:g} s")
        executor.spin_once(timeout_sec=0.05)


def _type_of(kind: str) -> Any:
    """The class of a message type `PACKAGE/msg/NAME`.

    The name may come from anybody who listens: only packages that are installed as interface packages are
    imported.
    """
    package, _, name = kind.partition("/msg/")
    if not (package.isidentifier() and name.isidentifier()):
        raise FlexdynError(f"unknown message type {kind!r}, expected PACKAGE/msg/NAME")
    if not _is_interface_package(package):
        raise FlexdynError(f"message type {kind!r}: no interface package {package!r} is installed here")
    try:
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, ValueError):
        raise FlexdynError(f"unknown message type {kind!r}, expected PACKAGE/msg/NAME") from None


def _is_interface_package(package: str) -> bool:
    """Whether the resource index has messages of a package: that of the sourced environments, or of this
    Python's."""
    marker = Path(sys.prefix, "share", "ament_index", "resource_index", "rosidl_interfaces", package)
    if marker.is_file():
        return True
    try:
        return has_resource("rosidl_interfaces", package) is not False
    except OSError:
        # no environment is sourced
        return False
