"""Asks a service of a running server or simulator once, for programs that are no nodes themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

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


def call(name: str, fields: Mapping[str, Any], namespace: str = "", timeout: float = 5.0) -> dict[str, Any]:
    """The response of a service as plain values.

    Parameters
    ----------
    name : str
        `mass_matrix`, or with its node, `simulator/reset`.
    fields : mapping
        Of the request; what is left out keeps its default.
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
    answer: dict[str, Any] = plain(_ask(known[service], topic, request, timeout))
    return answer


def _ask(kind: Any, topic: str, request: Any, timeout: float) -> Any:
    with short_lived_node("flexdyn_call") as (node, executor):
        client = node.create_client(kind, topic)
        if not client.wait_for_service(timeout):
            raise FlexdynError(f"no service {topic} within {timeout:g} s")
        # a server may come to know a new client late, and its first answer is then lost: what may be sent
        # twice is sent again, and the first answer that comes is taken
        begin, futures = time.monotonic(), [client.call_async(request)]
        while (waited := time.monotonic() - begin) < timeout:
            executor.spin_once(timeout_sec=0.05)
            for future in futures:
                if future.done():
                    return future.result()
            if waited > 0.25 * timeout and len(futures) == 1 and kind is not services.Step:
                futures.append(client.call_async(request))
        raise FlexdynError(f"no answer of {topic} within {timeout:g} s")
