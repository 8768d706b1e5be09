"""A service that is asked once, or a message on a topic, for programs that are no nodes themselves."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from ament_index_python.resources import has_resource
from rcl_interfaces.srv import GetParameters
from rclpy.duration import Duration
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_srvs.srv import SetBool, Trigger

import flexdyn_interfaces.srv as services
from flexdyn_interfaces.msg import DynamicsState, ElementStates
from flexdyn_ros.errors import FlexdynError, UnknownNameError, shortened
from flexdyn_ros.nodes.ros.executor import EnduringExecutor
from flexdyn_ros.nodes.ros.outbox import told_in_a_sentence
from flexdyn_ros.nodes.ros.plain_fields import fill, plain
from flexdyn_ros.nodes.topics import NEWEST, ONE_SHOT
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import seconds_of


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


#: services with types that are not ours
STANDARD = {"reset": Trigger, "pause": Trigger, "resume": Trigger, "enable": SetBool}
#: services of ours whose names are not those of their types
NAMED = {"get_dynamics_state": services.GetState, "set_dynamics_state": services.SetState}
#: nodes that own services other than the dynamics server's
OWNERS = dict.fromkeys(
    (*NAMED, "get_element_states", "set_element_states", "step", "apply_wrench", "set_payload")
    + ("reset", "pause", "resume"),
    "simulator",
) | {"enable": "hydraulic_actuators"}


def types() -> dict[str, Any]:
    """Type of every service by its name in snake case."""
    ours = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): getattr(services, name)
        for name in dir(services)
        if name[0].isupper()
        and hasattr(getattr(services, name), "Request")
        and getattr(services, name) not in NAMED.values()
    }
    return ours | NAMED | STANDARD


def call(
    name: str, fields: Mapping[str, object], namespace: str = "", timeout: float = 5.0
) -> dict[str, Any]:
    """The response of a service as plain values.

    Parameters
    ----------
    name : str
        `mass_matrix`, or with its node, `simulator/reset`.
    fields : mapping
        Of the request; what is left out keeps its default, but `samples`: as many states as `positions` has.
    namespace : str
        Of the node.
    timeout : float
        To find the service, and to get its answer [s].

    Raises
    ------
    UnknownNameError
        If there is no such service.
    FlexdynError
        If a field does not fit, the service is not there, or no answer comes.
    """
    node_name, _, service = name.rpartition("/")
    known = types()
    UnknownNameError.check("service", service, known)
    request = known[service].Request()
    _fill_or_refuse(request, fields, f"request of {service}")
    topic = _absolute(namespace, node_name or OWNERS.get(service, "dynamics_server"), service)
    with short_lived_node("flexdyn_call") as (node, executor):
        client = _client(node, known[service], topic, timeout)
        if hasattr(request, "samples") and "samples" not in fields:
            width = len(request.names) or _width(node, executor, topic, request.robot, timeout)
            request.samples = _samples(len(request.positions), width)
        answer: dict[str, Any] = plain(_ask(executor, client, topic, request, timeout))
    return answer


def _absolute(*parts: str) -> str:
    return "/" + "/".join(part.strip("/") for part in parts if part.strip("/"))


def _fill_or_refuse(message: object, fields: Mapping[str, Any], what: str) -> None:
    try:
        fill(message, fields)
    except (AssertionError, OverflowError, ValueError) as error:
        raise FlexdynError(f"{what}: {error}") from None


def _width(node: Node, executor: Any, topic: str, robot: str, timeout: float) -> int:
    """How many positions a state of the robot of a service has; 0 where the server does not say."""
    beside = f"{topic.rpartition('/')[0]}/describe_robot"
    client = _client(node, services.DescribeRobot, beside, timeout)
    about = _ask(executor, client, beside, services.DescribeRobot.Request(robot=robot), timeout)
    return int(about.nq)


def _samples(positions: int, width: int) -> int:
    """How many states so many positions are; 1 where they are no whole number of them: the server then says
    what it expects."""
    return positions // width if width and positions and positions % width == 0 else 1


def _client(node: Node, kind: Any, topic: str, timeout: float) -> Any:
    client: Any = node.create_client(kind, topic)
    if not client.wait_for_service(timeout):
        raise FlexdynError(f"no service {topic} within {timeout:g} s")
    return client


def _ask(executor: Executor, client: Any, topic: str, request: object, timeout: float) -> Any:
    # a server may come to know a new client late, and its first answer is then lost: what may be sent
    # twice is sent again, and the first answer that comes is taken
    begin, futures = time.monotonic(), [client.call_async(request)]
    while (waited := time.monotonic() - begin) < timeout:
        executor.spin_once(timeout_sec=0.05)
        if done := [future for future in futures if future.done()]:
            return done[0].result()
        if waited > 0.25 * timeout and len(futures) == 1 and not isinstance(request, services.Step.Request):
            futures.append(client.call_async(request))
    raise FlexdynError(f"no answer of {topic} within {timeout:g} s")


#: seconds that what was sent last has to reach its listeners, and that they have to learn of a publisher
LINGER, LATE = 0.2, 1.0


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
    name = _absolute(namespace, topic)
    with short_lived_node("flexdyn_pub") as (node, executor):
        listener = _listener(node, executor, name, kind, timeout)
        message_type = _type_of(listener.topic_type)
        message = message_type()
        _fill_or_refuse(message, fields, f"message for {name}")
        publisher = node.create_publisher(message_type, name, ONE_SHOT)
        end = time.monotonic() + timeout
        while publisher.get_subscription_count() == 0:
            if time.monotonic() > end:
                raise FlexdynError(f"nobody listens to {name} any more, waited {timeout:g} s")
            executor.spin_once(timeout_sec=0.02)
        _wait_until_known(node, executor, listener)
        is_unstamped = hasattr(message, "header") and "stamp" not in (fields.get("header") or {})
        is_unstamped = is_unstamped and not listener.topic_type.endswith("JointTrajectory")
        for i in range(times):
            if i:
                time.sleep(1.0 / rate)
            if is_unstamped:
                message.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(message)
        count = int(publisher.get_subscription_count())
        # a listener may learn of this node later than it of him, and gets the message only then
        publisher.wait_for_all_acked(Duration(seconds=timeout))
        time.sleep(LINGER)
        return count


def _wait_until_known(node: Node, executor: Executor, listener: Any) -> None:
    """Wait until a best effort listener knows the publishers of a node: what comes before is lost to him."""
    # participants tell their publishers in order: who receives a request knows the publishers before it
    if listener.qos_profile.reliability != ReliabilityPolicy.BEST_EFFORT:
        return
    of = f"{listener.node_namespace.rstrip('/')}/{listener.node_name}/get_parameters"
    try:
        _ask(executor, _client(node, GetParameters, of, LATE), of, GetParameters.Request(), LATE)
    except FlexdynError:
        time.sleep(LATE)


def _listener(node: Node, executor: Executor, topic: str, kind: str, timeout: float) -> TopicEndpointInfo:
    """What the graph knows of somebody who listens to a topic."""
    end = time.monotonic() + timeout
    late = min(end, time.monotonic() + LATE)
    while True:
        found = node.get_subscriptions_info_by_topic(topic)
        right = [info for info in found if not kind or info.topic_type == kind]
        # the graph knows a listener before it knows its node
        named = [info for info in right if "UNKNOWN" not in info.node_name]
        if named or (right and time.monotonic() >= late):
            return (named or right)[0]
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


class Follower:
    """Calls `heard(t, q, v, tau, states)` in a thread of its own whenever a state of the robot comes.

    Parameters
    ----------
    robot : Robot
        States of robots with other coordinates are passed over.
    heard : callable
        Time [s], q (nq,), v (nv,), tau (nu,), and the newest states of elements by name.
    namespace : str
        Of the topics NAMESPACE/simulator/state, and NODE/element_states of the simulator and of cylinders in
        a process of their own.
    """

    def __init__(self, robot: Robot, heard: Callable[..., None], namespace: str = "") -> None:
        self._names = (list(robot.q_names), list(robot.v_names))
        self._heard = heard
        self._stack = ExitStack()
        self._node, self._executor = self._stack.enter_context(short_lived_node("flexdyn_view"))
        prefix = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
        self.topic = f"{prefix}/simulator/state"
        self._node.create_subscription(DynamicsState, self.topic, self._take, NEWEST)
        self._states: dict[str, float] = {}
        self._state_names = {state.name for state in robot.element_states}
        for node in ("simulator", "hydraulic_actuators") if self._state_names else ():
            topic = f"{prefix}/{node}/element_states"
            self._node.create_subscription(ElementStates, topic, self._take_states, NEWEST)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._spin, name="follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._ending.set()
        self._thread.join(5.0)
        self._stack.close()

    def _spin(self) -> None:
        while self._node.context.ok() and not self._ending.is_set():
            self._executor.spin_once(timeout_sec=0.2)

    def _take(self, message: DynamicsState) -> None:
        if (list(message.position_names), list(message.velocity_names)) != self._names:
            self._node.get_logger().warning(
                f"{self.topic} is of another robot: {shortened(message.robot)}", throttle_duration_sec=10.0
            )
            return
        stamp = message.header.stamp
        q, v, tau = (np.array(x) for x in (message.positions, message.velocities, message.efforts))
        self._heard(seconds_of(stamp), q, v, tau, dict(self._states))

    def _take_states(self, message: ElementStates) -> None:
        named = zip(message.names, message.values, strict=False)
        self._states |= {name: value for name, value in named if name in self._state_names}
