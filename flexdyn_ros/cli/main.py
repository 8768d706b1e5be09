"""`flexdyn`: check, simulate, show, derive and start robots from a terminal.

Exit codes: 0 done; 1 it ran and failed; 2 usage; 3 description refused; 4 optional dependency missing; 130
interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import Any

from flexdyn_ros import __version__
from flexdyn_ros.errors import (
    DescriptionError,
    FlexdynError,
    MissingExtraError,
    UnknownNameError,
    UnsupportedError,
)

FAILED, USAGE, REFUSED, MISSING, INTERRUPTED = 1, 2, 3, 4, 130


def exit_code(error: BaseException) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, DescriptionError | UnsupportedError):
        return REFUSED
    if isinstance(error, MissingExtraError):
        return MISSING
    if isinstance(error, UnknownNameError):
        return USAGE
    return FAILED


def show_warning(message: Warning | str, *about: object, **more: object) -> None:
    """A Python warning as one line on stderr, without file and line of the code that warned."""
    from flexdyn_ros.cli.terminal import warn

    warn(str(message))


def main() -> None:
    """Entry point: runs the command, turns errors into one clear line and an exit code."""
    _prepare_streams()
    try:
        code = _run()
    except SystemExit as ending:
        code = ending.code
    lost = _finish_streams()
    if lost:
        _complain(lost)
    sys.exit(code or (0 if lost is None else FAILED))


def _run() -> Any:
    """The exit code of the command, unless it ends by one."""
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"flexdyn_ros {__version__}")
            return 0
        from flexdyn_ros.cli.commands import app

        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            app(prog_name="flexdyn")
    except BrokenPipeError as error:
        # of stdout: who read it has gone
        if error.filename is None:
            return FAILED
        _complain(str(error))
        return FAILED
    except (FlexdynError, OSError, MemoryError, UnicodeError, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        _complain("interrupted" if interrupted else str(error) or type(error).__name__)
        return exit_code(error)
    return 0


def _complain(text: str) -> None:
    from flexdyn_ros.cli.terminal import complain

    complain(text)


# ---- standard streams: closed, full, without a reader, or of few characters ----


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


def _prepare_streams() -> None:
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


def _finish_streams() -> str | None:
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


if __name__ == "__main__":
    main()
