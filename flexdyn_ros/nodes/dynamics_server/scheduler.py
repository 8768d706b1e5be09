"""The scheduler of a server: what is quick is answered at once, the rest is worked on in slices by two
threads, one for short requests and one for long ones, and what nobody waits for any more is dropped.

Every slice is a task of a thread's executor, whose queue makes the requests take turns. Kernels run without
the interpreter's lock, and slices hand it over between them. Only the thread that spins touches ROS: it takes
requests and sends responses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import inf
from typing import Any

from rclpy.task import Future

from flexdyn_ros.nodes.dynamics_server.requests import STATIC, RequestError, size_of
from flexdyn_ros.nodes.dynamics_server.services import Service, answer, answering, refusal
from flexdyn_ros.nodes.dynamics_server.slices import SHORT, Job
from flexdyn_ros.nodes.ros.managed import INACTIVE
from flexdyn_ros.nodes.ros.requests import Message
from flexdyn_ros.nodes.ros.robot_parameters import DynamicsServerParameters
from flexdyn_ros.robot.verbs import Robot

#: seconds of work that a request may take in the thread that spins
AT_ONCE = 0.002
#: services that answer more than this at once answer one sample without lists quickly, whatever the robot
QUICKEST = 100
#: seconds after which a request whose client was never seen is given up: a server may come to know a client
#: after its request
UNSEEN = 2.0


class RequestScheduler:
    """Answers requests of one node.

    Parameters
    ----------
    node : ManagedNode
    robots : mapping
        From names to robots.
    settings : DynamicsServerParameters
    count : callable
        Called with the name of a service and its response for everything that is answered.
    """

    def __init__(
        self,
        node: Any,
        robots: Mapping[str, Robot],
        settings: DynamicsServerParameters,
        count: Callable[[str, Message], None],
    ) -> None:
        self._node, self._robots, self._settings, self._count = node, robots, settings, count
        # a sample of a large robot cannot be cut and may take seconds: short requests have their own thread
        self._short = ThreadPoolExecutor(1, thread_name_prefix="short")
        self._long = ThreadPoolExecutor(1, thread_name_prefix="long")
        self._costs = _Costs()
        #: jobs that are not over; one enters in the thread that spins, and leaves in that of its last slice
        self._jobs: dict[Job, _Awaited] = {}
        self._is_open = True

    def __len__(self) -> int:
        """Requests that are being worked on, or wait for it."""
        return len(self._jobs)

    def open(self, service: Service, callback_group: Any) -> None:
        """Make the ROS service."""
        self._node.serve(service.type, service.name, self._callback(service), callback_group)

    def close(self, reason: str) -> None:
        """Refuse what waits, and end the threads after the slices that they are at."""
        self._is_open = False
        for job in list(self._jobs):
            job.stop(reason)
        self._short.shutdown(wait=False)
        self._long.shutdown(wait=False)

    def look_for_clients(self) -> None:
        """Stop the work on requests of services that have no client any more; to be called now and then by
        the thread that spins."""
        count = cache(self._node.count_clients)
        for job, awaited in list(self._jobs.items()):
            if count(awaited.name):
                awaited.is_seen = True
            elif awaited.is_seen or time.monotonic() - awaited.since > UNSEEN:
                job.stop("stopped because the service's last client has gone")

    # ---- one request ----

    def _callback(self, service: Service) -> Any:
        async def callback(request: Message, response: Message) -> Message:
            if not self._node.is_active:
                result = refusal(service, RequestError(INACTIVE))
            elif self._is_quick(service, request, size := size_of(request)):
                begin = time.thread_time()
                result = answer(service, self._robots, request, response, self._settings.max_samples)
                if result.success:
                    self._costs.learn(service, request, size, time.thread_time() - begin)
            else:
                result = await self._sliced(service, request, response, size)
            self._count(service.name, result)
            return result

        return callback

    def _is_quick(self, service: Service, request: Message, size: int) -> bool:
        # what a request costs is learnt in the threads, unless it is cheap for every robot
        unknown = 0.0 if size == 1 and service.quick > QUICKEST else inf
        cost = self._costs.of(service, request, size, unknown)
        return _is_small(service, request, size) and cost <= AT_ONCE

    def _sliced(self, service: Service, request: Message, response: Message, size: int) -> Future:
        """The response that the threads make, in the future."""
        executor = self._node.executor
        done: Future = Future(executor=executor)

        def finish(job: Job, result: Any) -> None:
            if isinstance(result, Exception):
                result = refusal(service, result)
            elif result.success:
                self._costs.learn(service, request, size, job.spent)
            self._jobs.pop(job, None)
            done.set_result(result)
            if executor is not None:
                executor.wake()

        unknown = 0.0 if _is_small(service, request, size) else inf
        job = Job(
            answering(service, self._robots, request, response, self._settings.max_samples),
            finish,
            samples=min(size, self._settings.max_samples),
            budget=self._settings.max_seconds,
            is_long=self._costs.of(service, request, size, unknown) > SHORT,
        )
        if complaint := self._complaint(job.samples):
            finish(job, RequestError(complaint))
        else:
            self._jobs[job] = _Awaited(self._node.resolve_service_name(f"~/{service.name}"))
            self._line_up(job)
        return done

    def _complaint(self, samples: int) -> str:
        """Why a request of so many samples cannot be taken in now, if it cannot; one of more samples than may
        wait is taken when there is no other."""
        if not self._is_open:
            return "the server ends, expected no more requests"
        most_jobs, most_samples = self._settings.max_waiting, self._settings.max_waiting_samples
        jobs = list(self._jobs)
        waiting = sum(job.samples for job in jobs)
        if not jobs or (len(jobs) < most_jobs and waiting + samples <= most_samples):
            return ""
        return (
            f"{len(jobs)} requests with {waiting} samples are being worked on, expected with this one's"
            f" {samples} samples at most {most_jobs} requests (parameter max_waiting) and {most_samples}"
            " samples (parameter max_waiting_samples): ask again later"
        )

    def _line_up(self, job: Job) -> None:
        """Make the next slice of a job after those that wait already."""
        (self._long if job.is_long else self._short).submit(self._advance, job)

    def _advance(self, job: Job) -> None:
        if job.advance():
            return
        try:
            self._line_up(job)
        except RuntimeError:
            # closed meanwhile, and thus told to stop
            job.advance()


def _is_small(service: Service, request: Message, size: int) -> bool:
    """Whether a request is one that its service answers quickly unless the robot is large."""
    return size <= service.quick and getattr(request, "unlisted", 0) != STATIC


class _Awaited:
    """Whose client is waited for: full name of the service, since when, whether a client was seen."""

    def __init__(self, name: str) -> None:
        self.name, self.since, self.is_seen = name, time.monotonic(), False


class _Costs:
    """Seconds of work of requests answered so far, by service, robot and magnitude of the size."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], float] = {}

    def of(self, service: Service, request: Message, size: int, unknown: float) -> float:
        """What such a request took, or `unknown`."""
        return self._known.get(self._key(service, request, size), unknown)

    def learn(self, service: Service, request: Message, size: int, seconds: float) -> None:
        """Note what a request took; something less counts at once, something more little by little."""
        key = self._key(service, request, size)
        before = self._known.get(key, seconds)
        self._known[key] = seconds if seconds < before else before + 0.2 * (seconds - before)

    def _key(self, service: Service, request: Message, size: int) -> tuple[str, str, int]:
        return service.name, request.robot, size.bit_length()
