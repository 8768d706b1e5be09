"""The desk of a server: what is quick is answered at once, what is not waits in a fair queue and is worked on
in slices, and what nobody waits for any more is dropped.

The thread that spins takes requests and sends small responses. Threads of the queue compute, and a thread of
its own sends responses that are large, so that neither holds up the next request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.task import Future

from flexdyn_ros.nodes.dynamics_server.fair_queue import SHORT, FairQueue, Job, QueueFullError
from flexdyn_ros.nodes.dynamics_server.request_size import samples_of, size_of
from flexdyn_ros.nodes.dynamics_server.requests import STATIC, RequestError
from flexdyn_ros.nodes.dynamics_server.response_memory import LargeResponse, request_id, send
from flexdyn_ros.nodes.dynamics_server.services import Service, answer, answering, refusal
from flexdyn_ros.nodes.ros.managed import INACTIVE
from flexdyn_ros.nodes.ros.robot_parameters import DynamicsServerParameters
from flexdyn_ros.nodes.ros.turns import Turns

#: seconds of work that a request may take in the thread that spins
AT_ONCE = 0.002
#: services that answer more than this at once answer one sample without lists quickly, whatever the robot
QUICKEST = 100
#: seconds after which a request whose client was never seen is given up: a server may come to know a client
#: after its request
UNSEEN = 2.0


class RequestDesk:
    """Answers requests of one node.

    Parameters
    ----------
    node : ManagedNode
    robots : mapping
        From names to robots.
    settings : DynamicsServerParameters
    turns : Turns
        Taken for long work.
    count : callable
        Called with the name of a service and its response for everything that is answered.
    """

    def __init__(
        self,
        node: Any,
        robots: Mapping[str, object],
        settings: DynamicsServerParameters,
        turns: Turns,
        count: Callable[[str, Any], None],
    ) -> None:
        self._node, self._robots, self._settings, self._count = node, robots, settings, count
        self.queue = FairQueue(settings.max_waiting, settings.max_waiting_samples, turns=turns)
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="send")
        self._costs = _Costs()
        #: jobs under way, by the full name of their service: since when, whether a client was seen
        self._awaited: dict[Job, _Awaited] = {}
        #: the header of a request could be read; None: none came yet
        self._is_readable: bool | None = None
        self._is_open = True

    def open(self, service: Service, callback_group: Any) -> None:
        """Make the ROS service."""
        made = self._node.serve(service.type, service.name, self._callback(service), callback_group)
        # the executor of rclpy sends what a callback returns by this function
        made.send_response = partial(self._send, made, made.send_response)

    def close(self, reason: str) -> None:
        """Refuse what waits, and end the threads."""
        self._is_open = False
        self.queue.close(reason)
        self._sender.shutdown(wait=False, cancel_futures=True)

    def look_for_clients(self) -> None:
        """Stop the work on requests of services that have no client any more; to be called now and then by
        the thread that spins."""
        counts: dict[str, int] = {}
        for job, awaited in list(self._awaited.items()):
            name = awaited.name
            if name not in counts:
                counts[name] = self._node.count_clients(name)
            if counts[name]:
                awaited.is_seen = True
            elif awaited.is_seen or time.monotonic() - awaited.since > UNSEEN:
                job.stop("stopped because the service's last client has gone")

    # ---- one request ----

    def _callback(self, service: Service) -> Any:
        limit = self._settings.max_samples

        async def callback(request: Any, response: Any) -> Any:
            if not self._node.is_active:
                result = refusal(service, RequestError(INACTIVE))
                self._count(service.name, result)
                return result
            size = size_of(request)
            if self._is_quick(service, request, size):
                begin = time.thread_time()
                result = answer(service, self._robots, request, response, limit)
                if result.success:
                    self._costs.learn(service, request, size, time.thread_time() - begin)
            else:
                result = await self._queued(service, request, response, size)
            self._count(service.name, result)
            return result

        return callback

    def _is_quick(self, service: Service, request: Any, size: int) -> bool:
        if size > service.quick or getattr(request, "unlisted", 0) == STATIC:
            return False
        # what a request costs is learnt in the queue, unless it is cheap for every robot
        unknown = 0.0 if size == 1 and service.quick > QUICKEST else inf
        return self._costs.of(service, request, size, unknown) <= AT_ONCE

    def _queued(self, service: Service, request: Any, response: Any, size: int) -> Future:
        """The response of the queue, in the future."""
        executor = self._node.executor
        done: Future = Future(executor=executor)
        if samples_of(request) > 1 and self._is_readable:
            response = LargeResponse(service.type.Response)
        work = answering(service, self._robots, request, response, self._settings.max_samples)

        def finish(result: Any) -> None:
            if isinstance(result, Exception):
                result = refusal(service, result)
            elif result.success:
                self._costs.learn(service, request, size, job.spent)
            self._awaited.pop(job, None)
            done.set_result(result)
            if executor is not None:
                executor.wake()

        job = Job(
            work,
            finish,
            samples=min(size, self._settings.max_samples),
            budget=self._settings.max_seconds,
            is_long=self._costs.of(service, request, size, 0.0) > SHORT,
        )
        self._awaited[job] = _Awaited(self._node.resolve_service_name(f"~/{service.name}"))
        try:
            self.queue.push(job)
        except QueueFullError as error:
            finish(error)
        return done

    def _send(self, made: Any, send_small: Callable[[Any, Any], None], response: Any, header: Any) -> None:
        """Send a response: at once if it is small."""
        try:
            if self._is_readable is None:
                self._is_readable = request_id(header) is not None
            if not isinstance(response, LargeResponse):
                send_small(response, header)
            elif to := request_id(header):
                self._sender.submit(self._send_large, made, response, to)
            else:
                send_small(response.message(), header)
        except (InvalidHandle, RuntimeError) as error:
            # the node is being cleaned up, and with it its services: nobody hears the response
            if self._is_open:
                raise RuntimeError(f"a response of {made.srv_name} cannot be sent") from error

    def _send_large(self, made: Any, response: LargeResponse, to: bytes) -> None:
        try:
            send(made, response, to)
        except InvalidHandle:
            pass
        except Exception as error:  # noqa: BLE001  logged, and the next response is sent
            self._node.get_logger().error(f"cannot send a response of {made.srv_name}: {error}")


class _Awaited:
    """Whose client is waited for: full name of the service, since when, whether a client was seen."""

    def __init__(self, name: str) -> None:
        self.name, self.since, self.is_seen = name, time.monotonic(), False


class _Costs:
    """Seconds of work of requests answered so far, by service, robot and magnitude of the size."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], float] = {}

    def of(self, service: Service, request: Any, size: int, unknown: float) -> float:
        """What such a request took, or `unknown`."""
        return self._known.get(self._key(service, request, size), unknown)

    def learn(self, service: Service, request: Any, size: int, seconds: float) -> None:
        """Note what a request took; something less counts at once, something more little by little."""
        key = self._key(service, request, size)
        before = self._known.get(key, seconds)
        self._known[key] = seconds if seconds < before else before + 0.2 * (seconds - before)

    def _key(self, service: Service, request: Any, size: int) -> tuple[str, str, int]:
        return service.name, request.robot, size.bit_length()
