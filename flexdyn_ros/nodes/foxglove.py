"""Live topics for Foxglove: what is published in this ROS domain, on a WebSocket of this machine.

Messages pass as they are, in CDR, beside the definitions of their types; nothing is read but /clock. The
library foxglove-sdk speaks the protocol. Clients read: they publish nothing, and set no parameter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import IntegerRange, ParameterDescriptor
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from flexdyn_ros.description.urdf.sources import find_reference
from flexdyn_ros.errors import FlexdynError, needs
from flexdyn_ros.nodes.ros import managed
from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.simulation.recordings.cdr import definition, types

with needs("foxglove-sdk", "foxglove"):
    import foxglove
    from foxglove.websocket import Capability, Parameter, ServerListener

HOST, PORT = "127.0.0.1", 8765
#: seconds between looks for new topics, and that a node may take to tell its parameters
INTERVAL, PATIENCE = 0.5, 2.0
_ASKED = {ListParameters: "list_parameters", GetParameters: "get_parameters"}
_LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_ANY = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
#: files that a description names
_NAMED = re.compile(rb'filename="([^"]+)"')


class FoxgloveServer(Node, ServerListener):
    """Topics, parameters and meshes of all nodes that this one hears, for Foxglove.

    ROS parameter `foxglove_port`: TCP port at 127.0.0.1; 0 takes a free one, which the log tells.

    Raises
    ------
    ParameterError
        If the port is taken.
    """

    def __init__(self) -> None:
        super().__init__("foxglove")
        self._channels: dict[str, Any] = {}
        #: the last message of latched topics, for who subscribes later; types that have no definition here
        self._kept: dict[str, bytes] = {}
        self._unknown: set[str] = set()
        self._now: int | None = None
        self._nodes: tuple[str, ...] = ()
        self._clients_of: dict[tuple[str, Any], Any] = {}
        about = ParameterDescriptor(
            description="TCP port at 127.0.0.1; 0: a free one, which the log tells",
            read_only=True,
            integer_range=[IntegerRange(from_value=0, to_value=65535, step=1)],
        )
        port: Any = self.declare_parameter("foxglove_port", PORT, about).value
        try:
            self._server = foxglove.start_server(
                name="flexdyn_ros",
                host=HOST,
                port=port,
                capabilities=[Capability.Time, Capability.Parameters],
                supported_encodings=["cdr"],
                server_listener=self,
                asset_handler=self.asset,
            )
        except RuntimeError as error:
            raise ParameterError(f"parameter foxglove_port: {HOST}:{port}: {error}") from None
        self.create_subscription(Clock, "/clock", self._take_clock, _ANY)
        self.create_timer(INTERVAL, self._look)
        self.get_logger().info(f"Foxglove: open the connection ws://{HOST}:{self._server.port}")

    def stop(self) -> None:
        """End all connections."""
        self._server.stop()

    def finish(self) -> bool:
        """Destroy the node."""
        self.destroy_node()
        return True

    def asset(self, uri: str) -> bytes | None:
        """A mesh package://PACKAGE/FILE that a description on a topic names; None of all other files."""
        if not any(uri.encode() in _NAMED.findall(text) for text in self._kept.values()):
            return None
        try:
            return Path(find_reference(uri, None)).read_bytes()
        except (FlexdynError, OSError):
            return None

    # ---- what the library calls, in threads of its own ----

    def on_subscribe(self, client: Any, channel: Any) -> None:
        """Send the last message of a latched topic."""
        if (data := self._kept.get(channel.topic)) is not None:
            self._channels[channel.topic].log(data, log_time=self._now)

    def on_get_parameters(
        self, client: Any, param_names: list[str], request_id: str | None = None
    ) -> list[Any]:
        """Parameters NODE.NAME of all nodes, or those that are named."""
        found = []
        for node in list(self._nodes):
            listed = self._ask(node, ListParameters)
            names = [x for x in listed if not param_names or f"{node}.{x}" in param_names]
            # a node tells nothing of all where one of them has no value
            values = self._ask(node, GetParameters, names)
            if len(values) != len(names):
                values = [next(iter(self._ask(node, GetParameters, [x])), None) for x in names]
            pairs = zip(names, values, strict=True)
            found += [Parameter(f"{node}.{x}", value=_plain(y)) for x, y in pairs if y is not None]
        return found

    def on_set_parameters(
        self, client: Any, parameters: Iterable[Any], request_id: str | None = None
    ) -> list[Any]:
        """Nothing is set, every page of a browser on this machine can reach the port: what holds is told."""
        return self.on_get_parameters(client, [parameter.name for parameter in parameters], request_id)

    # ---- what ROS calls ----

    def _look(self) -> None:
        """Listen to topics that are new, and know whom to ask for parameters: an answer to somebody whom a
        node does not know yet is lost."""
        nodes = [f"{space.rstrip('/')}/{name}" for name, space in self.get_node_names_and_namespaces()]
        for node in nodes:
            for kind, service in _ASKED.items():
                if (node, kind) not in self._clients_of:
                    self._clients_of[node, kind] = self.create_client(kind, f"{node}/{service}")
        self._nodes = tuple(nodes)
        for topic, kinds in self.get_topic_names_and_types():
            package, is_message, name = kinds[0].partition("/msg/")
            if topic in self._channels or not is_message or not self.count_publishers(topic):
                continue
            if kinds[0] not in types().fielddefs:
                if kinds[0] not in self._unknown:
                    self._unknown.add(kinds[0])
                    self.get_logger().warning(f"{topic} is not shown: no definition of {kinds[0]} is here")
                continue
            message_type = getattr(import_module(f"{package}.msg"), name)
            text, _ = definition(kinds[0])
            schema = foxglove.Schema(name=kinds[0], encoding="ros2msg", data=text.encode())
            self._channels[topic] = foxglove.Channel(topic, schema=schema, message_encoding="cdr")
            publishers = self.get_publishers_info_by_topic(topic)
            latched = any(x.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for x in publishers)
            quality = _LATCHED if latched else _ANY
            self.create_subscription(message_type, topic, self._passing(topic, latched), quality, raw=True)

    def _passing(self, topic: str, latched: bool) -> Callable[[bytes], None]:
        channel = self._channels[topic]

        def take(data: bytes) -> None:
            if latched:
                self._kept[topic] = data
            channel.log(data, log_time=self._now)

        return take

    def _take_clock(self, message: Clock) -> None:
        self._now = message.clock.sec * 10**9 + message.clock.nanosec
        self._server.broadcast_time(self._now)

    def _ask(self, node: str, kind: Any, names: list[str] | None = None) -> list[Any]:
        """Names or values, none without an answer; not to be called where the executor spins."""
        client, done = self._clients_of[node, kind], threading.Event()
        future = client.call_async(kind.Request() if names is None else kind.Request(names=names))
        future.add_done_callback(lambda _: done.set())
        if not done.wait(PATIENCE):
            client.remove_pending_request(future)
            return []
        answer = future.result()
        return list(answer.result.names if kind is ListParameters else answer.values)


def _plain(value: Any) -> Any:
    """The value of a parameter as Foxglove takes it."""
    found = parameter_value_to_python(value)
    return found if found is None or isinstance(found, bool | int | float | str) else list(found)


main = managed.executable(FoxgloveServer)

if __name__ == "__main__":
    main()
