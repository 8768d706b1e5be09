"""The surroundings of a node that ROS needs: a folder for logs, and shared memory; without rclpy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
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
