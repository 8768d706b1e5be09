"""A node that hangs while it joins the network of ROS says so.

The call into the middleware that hangs keeps the interpreter, so that no thread of the process can speak. A
small process that is forked before anything is imported does, and ends when the node has joined or ends.
"""

from __future__ import annotations

import glob
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager

#: seconds after which the watch reports a node that has not joined
PATIENCE = 10.0
#: ports of Fast DDS in shared memory; an empty one, left by a process that was killed, hangs who opens it
PORTS = "/dev/shm/fastdds_port*"

#: process id of the watch, and the pipe that says how far the node is
_watch: tuple[int, int] | None = None


def stand_by() -> None:
    """Fork the watch; call while the process has one thread. Where there is no fork, there is no watch."""
    global _watch
    if _watch is not None or not hasattr(os, "fork"):
        return
    heard, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            _look(heard)
        finally:
            os._exit(0)
    os.close(heard)
    _watch = child, tell


@contextmanager
def joining() -> Iterator[None]:
    """What is done within is watched, if a watch stands by."""
    global _watch
    if _watch is None:
        yield
        return
    (child, tell), _watch = _watch, None
    os.write(tell, b"joins")
    try:
        yield
    finally:
        os.close(tell)
        os.waitpid(child, 0)


def _look(heard: int) -> None:
    """In the watch: speak once if the node does not join in time after it says that it does."""
    if not os.read(heard, 16):
        return
    if not select.select([heard], [], [], PATIENCE)[0]:
        os.write(2, _text().encode())
        os.read(heard, 16)


def _text() -> str:
    """What is waited for, and what to look at."""
    empty = sorted(path for path in glob.glob(PORTS) if os.path.getsize(path) == 0)
    found = f"these are empty: {', '.join(empty)}" if empty else "none is empty now"
    return (
        f"flexdyn_ros: process {os.getppid()} has waited for {PATIENCE:g} s for the middleware to let its "
        f"node join, and goes on waiting. Look at the ports of Fast DDS in shared memory, {PORTS}: an empty "
        f"one, left by a process that was killed, hangs who opens it ({found}). Delete empty ones, or set "
        "FASTDDS_BUILTIN_TRANSPORTS=UDPv4, and start the node again.\n"
    )
