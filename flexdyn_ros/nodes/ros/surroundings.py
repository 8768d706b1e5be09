"""The surroundings of a node that ROS needs: a folder for logs, and shared memory; without rclpy."""

from __future__ import annotations

import glob
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexdyn_ros.errors import FlexdynError

SHARED_MEMORY = Path("/dev/shm")
#: bytes that Fast DDS wants in shared memory, at least
LEAST = 1_000_000


class StartError(FlexdynError):
    """ROS does not let a node start; the message says why and what to do."""


def surroundings() -> Iterator[str]:
    """What is wrong with the folder for logs and with shared memory."""
    folder = _log_folder()
    if folder is None:
        yield "there is no home folder for logs: set HOME, or ROS_LOG_DIR to a folder that can be written"
    elif (problem := _write_problem(folder)) is not None:
        yield f"logs cannot be written to {folder} ({problem}): set ROS_LOG_DIR to another folder"
    yield from shared_memory()


def check_shared_memory() -> None:
    """Look at shared memory before rclpy is imported: where there is none, the import ends the process.

    Raises
    ------
    StartError
    """
    for text in shared_memory():
        raise StartError(f"ROS does not start: {text}")


def shared_memory() -> Iterator[str]:
    """What is wrong with shared memory, where Linux has it."""
    if sys.platform != "linux":
        return
    advice = "delete what is left in it, or mount a larger one (docker run --shm-size=256m)"
    if (problem := _write_problem(SHARED_MEMORY)) is not None:
        yield f"shared memory {SHARED_MEMORY} cannot be used ({problem}): {advice}"
    else:
        space = os.statvfs(SHARED_MEMORY)
        free = space.f_bavail * space.f_frsize
        if free < LEAST:
            yield f"shared memory {SHARED_MEMORY} has {free} bytes left, expected {LEAST}: {advice}"


def _log_folder() -> Path | None:
    """Where rcl writes its logs."""
    if given := os.environ.get("ROS_LOG_DIR"):
        return Path(given)
    if given := os.environ.get("ROS_HOME"):
        return Path(given) / "log"
    home = os.environ.get("HOME")
    return Path(home) / ".ros" / "log" if home else None


def _write_problem(folder: Path) -> str | None:
    """Why nothing can be written to a folder, or it cannot be made; None: it can."""
    there = folder
    try:
        while not there.exists():
            there = there.parent
        if not there.is_dir():
            return f"{there} is no folder"
    except OSError as error:
        return error.strerror or str(error)
    if not os.access(there, os.W_OK | os.X_OK) or _is_read_only(there):
        return f"{there} is not writable"
    return None


def _is_read_only(folder: Path) -> bool:
    """Whether nothing can be made there, whatever permissions say."""
    if str(folder).startswith("/proc"):
        return True
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


# A node that hangs while it joins the network of ROS says so.
#
# The call into the middleware that hangs keeps the interpreter, so that no thread of the process can speak.
# A
# small process that is forked before anything is imported does, and ends when the node has joined or ends.

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
