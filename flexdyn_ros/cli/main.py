"""`flexdyn`: check, simulate, show, derive and start robots from a terminal.

Exit codes: 0 done; 1 it ran and failed; 2 usage; 3 description refused; 4 optional dependency missing; 130
interrupted.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from flexdyn_ros import __version__
from flexdyn_ros.cli import streams
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
    streams.prepare()
    try:
        code = _run()
    except SystemExit as ending:
        code = ending.code
    lost = streams.finish()
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


if __name__ == "__main__":
    main()
