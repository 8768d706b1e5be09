"""What the simulator publishes, also into a file: an MCAP recording, written by a thread of its own."""

from __future__ import annotations

import atexit
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rclpy.serialization import serialize_message

from flexdyn_ros.nodes.declaration import ParameterError
from flexdyn_ros.nodes.marker_bytes import HEADER
from flexdyn_ros.simulation.bag import Bag
from flexdyn_ros.simulation.recording import note_robot

__all__ = ["Recorder"]

#: chunks are small, so that little is lost when the process dies
CHUNK = 1 << 16
#: topics that players make themselves
LEFT_OUT = ("/clock",)


class Recorder:
    """An MCAP file of what publishers publish; serialised where they publish, written by a thread of its own.

    Parameters
    ----------
    path : str
        File to write; folders are made.
    robot : Robot
        Its description is recorded.

    Raises
    ------
    ParameterError
        If the file cannot be written.
    MissingExtraError
        If mcap or rosbags is not installed.
    """

    def __init__(self, path: str, robot: Any) -> None:
        file = Path(path).expanduser()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._bag = Bag(file, chunk_size=CHUNK)
        except OSError as error:
            raise ParameterError(f"parameter record_file: {error}") from None
        note_robot(self._bag, robot)
        self._queue: SimpleQueue[tuple[int, bytes, int] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="recorder", daemon=True)
        self._thread.start()
        # a node that is told to end is not cleaned up
        atexit.register(self.close)

    def maker(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """`make(kind, topic, qos)` for publishers that record what they publish while they are active."""

        def make_recorded(kind: Any, topic: str, qos: Any) -> Any:
            publisher = make(kind, topic, qos)
            if publisher.topic_name not in LEFT_OUT:
                self._listen(publisher, kind)
            return publisher

        return make_recorded

    def close(self) -> None:
        """Write what is waiting and the index; again does nothing."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._bag.close()
        atexit.unregister(self.close)

    def _listen(self, publisher: Any, kind: Any) -> None:
        channel = self._bag.channel(publisher.topic_name, _type_name(kind))
        publish = publisher.publish

        def publish_and_record(message: Any) -> None:
            publish(message)
            if publisher.is_activated:
                data = message if isinstance(message, bytes) else serialize_message(message)
                self._queue.put((channel, data, _nanoseconds(message)))

        publisher.publish = publish_and_record

    def _write(self) -> None:
        while (item := self._queue.get()) is not None:
            self._bag.write(*item)


def _type_name(kind: Any) -> str:
    """As in "sensor_msgs/msg/JointState"."""
    package, folder, *_ = kind.__module__.split(".")
    return f"{package}/{folder}/{kind.__name__}"


def _nanoseconds(message: Any) -> int:
    """Stamp [ns] of a message, or of the first transform of one without a header; messages of bytes begin
    with a header."""
    if isinstance(message, bytes):
        seconds, nanoseconds = struct.unpack_from("<iI", message, HEADER)
        return int(seconds) * 10**9 + int(nanoseconds)
    header = message.header if hasattr(message, "header") else message.transforms[0].header
    return int(header.stamp.sec) * 10**9 + int(header.stamp.nanosec)
