"""Standard streams of the command: closed, full, without a reader, or of few characters."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class _Nowhere(io.TextIOBase):
    """Stands for a stream that is closed, and knows whether something was written to it."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self) -> None:
        self.is_used = False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.is_used = self.is_used or bool(text)
        return len(text)


def prepare() -> None:
    """Streams that can be written to, and that write what their characters have no place for as \\xNN.

    Files that are opened later do not get the number of a closed stream, to which libraries may write.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, _Nowhere())
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def finish() -> str | None:
    """Hand to the system what was printed; returns why that failed, "" for a reader that has gone (as `head`
    does), None if all is well."""
    stream = sys.stdout
    if isinstance(stream, _Nowhere):
        return "stdout is closed: what was to be printed is lost" if stream.is_used else None
    try:
        stream.flush()
    except (OSError, ValueError) as error:
        # what is still there is not written again at the end of the process
        _point_nowhere(stream)
        gone = isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EINVAL)
        return "" if gone else f"stdout cannot be written: {getattr(error, 'strerror', None) or error}"
    return None


def _point_nowhere(stream: Any) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        pass
