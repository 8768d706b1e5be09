"""Requests in two threads: short ones behind no long one, long ones in turn, within bounds."""

import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.srv")

from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_ros.errors import FlexdynError  # noqa: E402
from flexdyn_ros.nodes.dynamics_server import scheduler as scheduling  # noqa: E402
from flexdyn_ros.nodes.dynamics_server import slices  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.node import cores_for_long_work  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.scheduler import RequestScheduler  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.services import Service  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.slices import Progress, in_slices  # noqa: E402

#: seconds for what takes milliseconds on a machine that is idle
PATIENCE = 60.0
ROBOT = SimpleNamespace(
    name="toy", nq=1, nv=1, nu=1, coordinates=(), actuators=(), frame_names=(), kind="toy"
)


class Answer:
    """The response to a request, from when it is asked on."""

    def __init__(self, callback, request):
        self._work = callback(request, srv.MassMatrix.Response())
        self._response = None
        self.is_there()

    def is_there(self):
        if self._response is None:
            try:
                self._work.send(None)
            except StopIteration as end:
                self._response = end.value
        return self._response is not None

    def get(self):
        until(self.is_there)
        return self._response


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Server:
    """A node with a scheduler, whose services compute nothing: `single` cannot be cut and waits for the gate,
    `many` notes its slices."""

    def __init__(self, max_waiting=100, max_waiting_samples=10**9):
        self.gate, self.began = threading.Event(), threading.Event()
        self.clients, self.notes, self.counted, self._callbacks = 1, [], [], {}
        self.node = SimpleNamespace(
            is_active=True,
            executor=None,
            serve=lambda kind, name, callback, group: self._callbacks.update({name: callback}),
            resolve_service_name=lambda name: name,
            count_clients=lambda name: self.clients,
        )
        settings = SimpleNamespace(
            max_samples=10**6,
            max_seconds=1e6,
            max_waiting=max_waiting,
            max_waiting_samples=max_waiting_samples,
        )
        self.scheduler = RequestScheduler(
            self.node, {"toy": ROBOT}, settings, lambda name, response: self.counted.append((name, response))
        )
        for name, work, quick in (
            ("single", self.single, 0),
            ("many", self.many, 0),
            ("small", self.many, 100),
            ("broken", self.broken, 0),
        ):
            self.scheduler.open(Service(name, srv.MassMatrix, work, quick=quick), None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gate.set()
        self.scheduler.close("over")

    def ask(self, service, samples=1):
        return Answer(self._callbacks[service], srv.MassMatrix.Request(samples=samples))

    def single(self, robot, request, response, max_samples):
        yield Progress(0, 1)
        self.began.set()
        assert self.gate.wait(PATIENCE)

    def many(self, robot, request, response, max_samples):
        def piece(part):
            self.notes.append((request.samples, threading.current_thread().name))
            return (np.zeros(part.stop - part.start),)

        yield from in_slices(request.samples, piece)

    def broken(self, robot, request, response, max_samples):
        yield Progress(0, 1)
        raise FlexdynError("it is broken")


def test_a_sample_that_cannot_be_cut_holds_up_no_short_request():
    with Server() as server:
        stuck = [server.ask("single") for _ in range(5)]
        until(server.began.is_set)
        assert server.ask("small", 50).get().success
        assert not any(answer.is_there() for answer in stuck)
        server.gate.set()
        assert all(answer.get().success for answer in stuck)


def test_long_requests_take_turns(monkeypatch):
    # no slice grows beyond a sample
    monkeypatch.setattr(slices, "SLICE", 0.0)
    with Server() as server:
        stuck = server.ask("single")
        until(server.began.is_set)
        asked = [server.ask("many", samples) for samples in (30, 31, 32)]
        server.gate.set()
        assert all(answer.get().success for answer in (*asked, stuck))
        order = [samples for samples, _ in server.notes]
        assert order[:90] == [30, 31, 32] * 30


def test_a_request_that_takes_long_leaves_the_thread_for_short_ones(monkeypatch):
    monkeypatch.setattr(slices, "SHORT", 0.0)
    with Server() as server:
        assert server.ask("small", 50).get().success
        threads = [thread.partition("_")[0] for _, thread in server.notes]
        assert threads[0] == "short"
        assert set(threads[1:]) == {"long"}


def test_a_request_like_a_short_one_is_known_to_be_short():
    with Server() as server:
        for expected in ("long", "short"):
            server.notes.clear()
            assert server.ask("many", 50).get().success
            assert {thread.partition("_")[0] for _, thread in server.notes} == {expected}


def test_as_much_as_may_waits_and_no_more():
    with Server(max_waiting=3, max_waiting_samples=1000) as server:
        large = server.ask("single", 5000)
        until(server.began.is_set)
        refused = server.ask("many", 1).get()
        assert not refused.success
        for part in (
            "1 requests with 5000 samples",
            "1000 samples (parameter max_waiting_samples)",
            "ask again",
        ):
            assert part in refused.message
        server.gate.set()
        assert large.get().success
        server.gate.clear()
        some = [server.ask("single", 10) for _ in range(3)]
        refused = server.ask("many", 10).get()
        for part in ("3 requests with 30 samples", "at most 3 requests (parameter max_waiting)"):
            assert part in refused.message
        assert server.counted[-1] == ("many", refused)
        server.gate.set()
        assert all(answer.get().success for answer in some)
        assert len(server.scheduler) == 0
        assert server.ask("many", 10).get().success


def test_a_request_that_nobody_waits_for_is_dropped_between_slices(monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 0.0)
    with Server() as server:
        endless = server.ask("many", 10**6)
        server.scheduler.look_for_clients()
        until(lambda: len(server.notes) > 10)
        assert len(server.scheduler) == 1, "its client is there"
        server.clients = 0
        server.scheduler.look_for_clients()
        response = endless.get()
        assert not response.success
        assert response.message.startswith("stopped because the service's last client has gone after ")
        assert len(server.notes) < 10**6


def test_a_client_that_was_never_seen_is_waited_for_a_while(monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 0.0)
    with Server() as server:
        server.clients = 0
        asked = server.ask("many", 10**6)
        server.scheduler.look_for_clients()
        assert not asked.is_there()
        monkeypatch.setattr(scheduling, "UNSEEN", 0.0)
        server.scheduler.look_for_clients()
        assert "last client has gone" in asked.get().message


def test_a_scheduler_that_closes_refuses_what_waits_and_what_comes(monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 0.0)
    with Server() as server:
        asked = [server.ask("single"), server.ask("many", 10**6), server.ask("small", 100)]
        until(server.began.is_set)
        server.scheduler.close("stopped because the server ends")
        server.gate.set()
        responses = [answer.get() for answer in asked]
        assert "the server ends" in responses[1].message
        assert len(server.scheduler) == 0
        assert "the server ends" in server.ask("many", 10).get().message


def test_what_one_request_runs_into_ends_no_other():
    with Server() as server:
        broken, good = server.ask("broken"), server.ask("many", 10)
        assert broken.get().message == "it is broken"
        assert good.get().success


def test_an_inactive_node_answers_that_it_is():
    with Server() as server:
        server.node.is_active = False
        assert "not active" in server.ask("many", 10).get().message


def test_a_core_is_left_where_there_are_several(monkeypatch):
    for usable, expected in (({0}, 1), ({0, 1}, 1), ({0, 1, 2, 3}, 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, usable=usable: usable, raising=False)
        assert cores_for_long_work() == expected
