"""Asks a service of a running server or simulator once, for programs that are no nodes themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from rclpy.executors import Executor
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

import flexdyn_interfaces.srv as services
from flexdyn_ros.errors import FlexdynError, UnknownNameError
from flexdyn_ros.nodes.one_shot.short_lived import short_lived_node
from flexdyn_ros.nodes.ros.message_values import fill, plain

#: services with types that are not ours
STANDARD = {"reset": Trigger, "pause": Trigger, "resume": Trigger, "enable": SetBool}
#: services of ours whose names are not those of their types
NAMED = {"get_dynamics_state": services.GetState, "set_dynamics_state": services.SetState}
#: nodes that own services other than the dynamics server's
OWNERS = dict.fromkeys(
    (*NAMED, "step", "apply_wrench", "set_payload", "reset", "pause", "resume"), "simulator"
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
    try:
        fill(request, fields)
    except (AssertionError, OverflowError, ValueError) as error:
        raise FlexdynError(f"request of {service}: {error}") from None
    parts = (namespace, node_name or OWNERS.get(service, "dynamics_server"), service)
    topic = "/" + "/".join(part.strip("/") for part in parts if part.strip("/"))
    with short_lived_node("flexdyn_call") as (node, executor):
        client = _client(node, known[service], topic, timeout)
        if hasattr(request, "samples") and "samples" not in fields:
            width = len(request.names) or _width(node, executor, topic, request.robot, timeout)
            request.samples = _samples(len(request.positions), width)
        answer: dict[str, Any] = plain(_ask(executor, client, topic, request, timeout))
    return answer


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
    client = node.create_client(kind, topic)
    if not client.wait_for_service(timeout):
        raise FlexdynError(f"no service {topic} within {timeout:g} s")
    return client


def _ask(executor: Executor, client: Any, topic: str, request: object, timeout: float) -> Any:
    # a server may come to know a new client late, and its first answer is then lost: what may be sent
    # twice is sent again, and the first answer that comes is taken
    begin, futures = time.monotonic(), [client.call_async(request)]
    while (waited := time.monotonic() - begin) < timeout:
        executor.spin_once(timeout_sec=0.05)
        for future in futures:
            if future.done():
                return future.result()
        if waited > 0.25 * timeout and len(futures) == 1 and not isinstance(request, services.Step.Request):
            futures.append(client.call_async(request))
    raise FlexdynError(f"no answer of {topic} within {timeout:g} s")
