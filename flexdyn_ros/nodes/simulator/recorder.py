"""What the simulator publishes, also into a file: an MCAP recording, written by a thread of its own."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock

from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.nodes.ros.managed import ManagedNode
from flexdyn_ros.nodes.topics import topic_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.recordings.bag import Bag
from flexdyn_ros.simulation.recordings.cdr import first_stamp
from flexdyn_ros.simulation.recordings.topics import RUN_NOTE, note_robot, run_note

#: bytes of a chunk: at most that much, or what came within a second, a process loses that dies
CHUNK = 1 << 20
#: bytes that may wait to be written; what comes while so many wait is left out
MOST_WAITING = 1 << 26
#: types of messages that players make themselves, whatever the topic is called
LEFT_OUT = (Clock,)


class Recorder:
    """An MCAP file, or a split recording, of what publishers publish; serialised where they publish, written
    by a thread of its own.

    Parameters
    ----------
    path : str
        File to write, or folder of a split recording; folders above are made.
    robot : Robot
        Its description is recorded.
    tell : callable(str)
        Told once, from the writing thread, when the recording fails.
    method : str
        Of the simulation.
    step : float
        Of the simulation [s].
    split_size, split_duration : int, float
        Bytes and seconds of a file, as of `Bag`; 0: not split.

    Attributes
    ----------
    failure : str
        Why the recording ended early; empty if it did not. What was written until then stays readable.
    written, lost : int
        Messages in the file, and those left out because the disk is too slow.

    Raises
    ------
    ParameterError
        If the file cannot be written.
    MissingExtraError
        If mcap or rosbags is not installed.
    """

    def __init__(
        self,
        path: str,
        robot: Robot,
        tell: Callable[[str], object] = lambda text: None,
        *,
        method: str = "",
        step: float = 0.0,
        split_size: int = 0,
        split_duration: float = 0.0,
    ) -> None:
        file = Path(path).expanduser()
        self._method, self._step, self._begun = method, step, time.monotonic()
        self.path, self._tell = str(file), tell
        self.failure, self.written, self.lost = "", 0, 0
        self._is_closed = False
        # bytes that were put in and taken out of the queue: each has one writer
        self._put = self._taken = 0
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._bag = Bag(file, chunk_size=CHUNK, split_size=split_size, split_duration=split_duration)
        except OSError as error:
            raise ParameterError(f"parameter record_file: {error}") from None
        try:
            note_robot(self._bag, robot)
            self._bag.flush()
        except OSError as error:
            self._bag.abandon()
            raise ParameterError(f"parameter record_file: {path}: {error}") from None
        self._queue: SimpleQueue[tuple[int, bytes, int] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="recorder", daemon=True)
        self._thread.start()
        # a node that ends by a signal is not cleaned up
        atexit.register(self.close)

    def recording(self, make: Callable[..., Publisher]) -> Callable[..., Publisher]:
        """A function that makes publishers, for such that record what they publish while they are active."""
        return lambda *what: self._listen(make(*what))

    def keeping(self, node: ManagedNode) -> Callable[[str], Callable[[Any], None]]:
        """A function of a topic that a node hears, for one that records its messages."""

        def record(name: str) -> Callable[[Any], None]:
            topic = topic_of("simulator", "in", name)
            full = node.resolve_topic_name(name)
            channel = self._bag.channel(full, _type_name(topic.message_type), depth=topic.queue.depth)
            return lambda message: self._keep(channel, message)

        return record

    def close(self, fault: str = "") -> None:
        """Write what is waiting, how it ended and the index; again does nothing. `failure` says whether that
        went well.

        Parameters
        ----------
        fault : str
            Why the simulation had stopped, if it had.
        """
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        if not (self.failure or self._is_closed):
            try:
                self._bag.note(RUN_NOTE, self._end(fault))
                self._bag.close()
            except OSError as error:
                self._fail(error)
        self._is_closed = True
        atexit.unregister(self.close)

    def _end(self, fault: str) -> dict[str, str]:
        """How the recording ended, as readers of trajectories take it."""
        lost = f"; {self.lost} messages are missing, the disk was too slow" if self.lost else ""
        return run_note(
            -1 if fault else 0,
            (fault or "recorded until the node ended") + lost,
            method=self._method,
            dt=self._step,
            wall_time=time.monotonic() - self._begun,
        )

    def _listen(self, publisher: Publisher) -> Publisher:
        if publisher.msg_type in LEFT_OUT:
            return publisher
        qos = publisher.qos_profile
        channel = self._bag.channel(
            publisher.topic_name,
            _type_name(publisher.msg_type),
            latched=qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
            depth=qos.depth,
            reliable=qos.reliability != ReliabilityPolicy.BEST_EFFORT,
        )
        publish = publisher.publish

        def publish_and_record(message: object) -> None:
            publish(message)
            if publisher.is_activated:
                self._keep(channel, message)

        publisher.publish = publish_and_record
        return publisher

    def _keep(self, channel: int, message: object) -> None:
        if self.failure:
            return
        if self._put - self._taken > MOST_WAITING:
            self.lost += 1
            return
        data = message if isinstance(message, bytes) else serialize_message(message)
        self._put += len(data)
        self._queue.put((channel, data, _nanoseconds(message)))

    def _write(self) -> None:
        try:
            while (item := self._queue.get()) is not None:
                self._taken += len(item[1])
                self._bag.write(*item)
                self.written += 1
        except Exception as error:  # noqa: BLE001  whatever ends the recording is reported
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End the recording; the simulation goes on."""
        self.failure = f"recording to {self.path} ended: {error}"
        self._bag.abandon()
        self._queue = SimpleQueue()
        self._tell(self.failure)


def _type_name(kind: Any) -> str:
    """As in "sensor_msgs/msg/JointState"."""
    package, folder, *_ = kind.__module__.split(".")
    return f"{package}/{folder}/{kind.__name__}"


def _nanoseconds(message: Any) -> int:
    """Stamp [ns] of a message, or of the first transform of one without a header; messages of bytes begin
    with a header."""
    if isinstance(message, bytes):
        stamp = first_stamp(message)
    else:
        stamp = (message.header if hasattr(message, "header") else message.transforms[0].header).stamp
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)
