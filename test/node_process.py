"""Nodes in processes of their own, and a client that talks to them; nothing here waits by sleeping."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from node_forks import Fork, Nursery

ROOT = Path(__file__).resolve().parents[1]
#: until a node is ready: kernels may have to be compiled first, on a machine that is busy
PATIENCE = 600.0
#: until a node that is ready answers
ANSWER = 120.0
#: nodes that have been started and not ended by `NodeProcess.end`
_alive: list[NodeProcess] = []
#: made by the first node that can be a fork
_nursery: Nursery | None = None


class NodeProcess:
    """`python -m flexdyn_ros.nodes.MODULE --ros-args ...`; killed for good when the block ends.

    Fresh ones import everything themselves; others are forks of a process that has (`node_forks`).
    """

    def __init__(self, module: str, *ros_args: str, log: Path, fresh: bool = False) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.log = log
        self._file = log.open("w")
        arguments = ["--ros-args", *map(str, ros_args)]
        environment = os.environ | {"PYTHONPATH": path}
        self.process = None if fresh else _forked(module, arguments, log, environment)
        if self.process is None:
            command = [sys.executable, "-m", f"flexdyn_ros.nodes.{module}", *arguments]
            self.process = subprocess.Popen(
                command, stdout=self._file, stderr=subprocess.STDOUT, env=environment, cwd=ROOT
            )
        _alive.append(self)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(self, *_) -> None:
        self._forget()
        self.process.kill()
        self.process.wait()
        self._file.close()

    def _forget(self) -> None:
        if self in _alive:
            _alive.remove(self)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def text(self) -> str:
        return self.log.read_text()

    def wait_for_text(self, text: str, timeout: float = PATIENCE) -> None:
        """Until the node has logged `text`; AssertionError if it ends before, or never does."""
        deadline = time.monotonic() + timeout
        while text not in self.text():
            assert self.alive, f"the node ended with {self.process.returncode}:\n{self.text()}"
            assert time.monotonic() < deadline, f"no {text!r} within {timeout} s:\n{self.text()}"
            time.sleep(0.02)

    def end(self, *signals: signal.Signals, timeout: float = 60.0) -> int:
        """Send signals; the exit code, or -9 after a hard kill."""
        self._forget()
        for number in signals:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def _forked(module: str, arguments: list[str], log: Path, environment: dict[str, str]) -> Fork | None:
    """The node as a fork, None where that is not to be."""
    global _nursery
    if not hasattr(os, "pidfd_open"):
        return None
    if _nursery is None:
        _nursery = Nursery(ROOT, environment)
    return _nursery.fork(module, arguments, log, environment) if _nursery.fits(environment) else None


def _latest() -> str:
    """The last lines of the logs of nodes that should be alive, and whether they are."""
    told = [f"{node.log.name}, exit code {node.process.poll()}:\n{node.text()[-2000:]}" for node in _alive]
    return "\n".join(told)


class Client:
    """A node of the test: calls services, publishes, and keeps the last message of each topic."""

    def __init__(self, name: str = "test_client") -> None:
        import rclpy

        try:  # newer and several times cheaper
            from rclpy.experimental import EventsExecutor as Executor
        except ImportError:
            from rclpy.executors import SingleThreadedExecutor as Executor

        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context)
        self._executor = Executor(context=self.context)
        self._executor.add_node(self.node)
        self._nothing = rclpy.Future()
        self._clients: dict[str, object] = {}
        self._publishers: dict[str, object] = {}
        self.last: dict[str, object] = {}
        self.count: dict[str, int] = {}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def call(self, kind, name: str, *, patience: float = ANSWER, **fields):
        """The response of a service."""
        return self.send(kind, name, kind.Request(**fields), patience)

    def send(self, kind, name: str, request, patience: float = ANSWER):
        """The response to a request.

        A server may come to know a new client later than the client knows the server; its first response is
        then lost. So the first request to a service waits a little, and is sent again when no answer comes;
        where asking twice is not asking once, as for steps of the simulator, a request for nothing goes
        first.
        """
        is_first = name not in self._clients
        if is_first and getattr(request, "steps", 0):
            self.send(kind, name, kind.Request(steps=0), patience)
            return self.send(kind, name, request, patience)
        client = self._client(kind, name, patience)
        for wait in (5.0, 15.0, patience) if is_first else (patience,):
            future = client.call_async(request)
            self._executor.spin_until_future_complete(future, wait)
            if future.done():
                return future.result()
        raise AssertionError(f"no answer from {name} within {patience} s:\n{_latest()}")

    def _client(self, kind, name: str, patience: float = ANSWER):
        """The client of a service; the first time, once the service is there and a little later."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            # rclpy's own wait for a service looks every quarter of a second
            self.until(self._clients[name].service_is_ready, f"no service {name}", patience)
            self._executor.spin_until_future_complete(self._nothing, 0.15)
        return self._clients[name]

    def ask(self, kind, name: str, **fields):
        """The future response of a service; that of a service not called before may be lost (see `send`)."""
        return self._client(kind, name).call_async(kind.Request(**fields))

    def insist(self, kind, topic: str, message, condition, complaint: str, every: float = 1.0) -> None:
        """Publish until a condition holds: the other side may come to know this publisher late."""
        self.repeat(lambda: self.publish(kind, topic, message), condition, complaint, every)

    def repeat(self, act, condition, complaint: str, every: float = 1.0) -> None:
        """Act, and act again every so many seconds, until a condition holds."""
        acted = -every

        def done() -> bool:
            nonlocal acted
            if time.monotonic() - acted >= every:
                act()
                acted = time.monotonic()
            return condition()

        self.until(done, complaint)

    def publish(self, kind, topic: str, message) -> None:
        """Publish, once somebody listens; the first message waits a little for those who listen late."""
        if topic not in self._publishers:
            publisher = self._publishers[topic] = self.node.create_publisher(kind, topic, 10)
            self.until(lambda: publisher.get_subscription_count() > 0, f"nobody listens to {topic}")
            self._executor.spin_until_future_complete(self._nothing, 0.3)
        publisher = self._publishers[topic]
        self.until(lambda: publisher.get_subscription_count() > 0, f"nobody listens to {topic}")
        publisher.publish(message)

    def listen(self, kind, topic: str, qos=10) -> None:
        """Keep the last message of a topic."""

        def keep(message) -> None:
            self.last[topic] = message
            self.count[topic] = self.count.get(topic, 0) + 1

        self.node.create_subscription(kind, topic, keep, qos)

    def until(self, condition, complaint: str, patience: float = 120.0) -> None:
        """Spin until a condition holds; AssertionError if it never does."""
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, f"{complaint} within {patience} s:\n{_latest()}"
            self._executor.spin_once(timeout_sec=0.02)

    def next(self, topic: str, patience: float = 120.0):
        """The next message of a topic that is listened to."""
        before = self.count.get(topic, 0)
        self.until(lambda: self.count.get(topic, 0) > before, f"nothing on {topic}", patience)
        return self.last[topic]
