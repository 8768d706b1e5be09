"""xacro in a process of its own, with limits of time and memory; its expansions kept by content.

The process is `xacro_child.py`, run by an interpreter that reads no user settings. It ends when its time is
up, when this process asks it to, and when this process goes away.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flexdyn_ros.description.urdf import xacro_cache
from flexdyn_ros.description.urdf.limits import FILE
from flexdyn_ros.errors import DescriptionError, MissingExtraError

if TYPE_CHECKING:
    import subprocess

#: what an expansion may take
SECONDS = 10
MEMORY = 1 << 30
_CHILD = Path(__file__).with_name("xacro_child.py")
#: what the interpreter itself needs of the environment; `$(env ...)` gets all of it, as data
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
#: most bytes of an answer, JSON with its escapes
_LARGEST_ANSWER = 6 * FILE.size


class Expansion(NamedTuple):
    """The expanded text, and the messages of xacro."""

    text: str
    messages: tuple[str, ...]


def expand(file: str) -> Expansion:
    """The expansion of a file that the user has named, kept from before if nothing that it reads has changed.

    Raises
    ------
    DescriptionError
        With file, line where xacro tells it, and cause: what xacro refuses, or too much time or memory.
    MissingExtraError
        If xacro is not installed.
    """
    path = os.path.abspath(file)
    tool = _tool()
    kept = xacro_cache.find(path, tool)
    if kept is not None:
        return Expansion(kept["text"], tuple(kept["messages"]))
    answer = _run(path)
    messages = tuple(answer.get("messages", ()))
    if "error" in answer:
        where = answer["file"] if answer["file"] != path else file
        raise _refusal(f"xacro cannot expand it: {_first_line(answer['error'])}", where, answer["line"], file)
    if answer["inputs"] is not None:
        xacro_cache.keep(path, tool, answer)
    return Expansion(answer["text"], messages)


def _tool() -> str:
    """What expands: xacro's own file and its age, and ours."""
    found = importlib.util.find_spec("xacro")
    if found is None or found.origin is None:
        raise MissingExtraError("xacro", "")
    marks = [(name, os.stat(name)) for name in (found.origin, str(_CHILD))]
    return ", ".join(f"{name} {mark.st_size} {mark.st_mtime_ns}" for name, mark in marks)


def _run(path: str) -> dict[str, Any]:
    """The answer of a process that expands the file."""
    # imported here: what has been expanded before needs none of it
    import subprocess

    board = os.memfd_create("xacro") if hasattr(os, "memfd_create") else None
    try:
        if board is not None:
            os.truncate(board, 4096)
        request = {
            "file": path,
            "environment": dict(os.environ),
            "path": [folder for folder in sys.path if os.path.isabs(folder)],
            "seconds": SECONDS,
            "memory": MEMORY,
            "largest": FILE.size,
            "board": board,
        }
        child = subprocess.Popen(
            # isolated, without site: no user settings, and nothing of a folder that happens to be the
            # present one
            [sys.executable, "-I", "-S", "-B", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _NEEDED if name in os.environ},
            pass_fds=() if board is None else (board,),
            start_new_session=True,
        )
        has_ended = False
        try:
            data, is_late = _answer(child, request)
            has_ended = not is_late
        finally:
            _end(child, has_ended)
        return _understood(data, is_late, child.returncode, path, board)
    finally:
        if board is not None:
            os.close(board)


def _answer(child: subprocess.Popen[bytes], request: dict[str, Any]) -> tuple[bytes, bool]:
    """What the process writes until it ends or its time is up, and whether that was so."""
    import selectors

    deadline = time.monotonic() + SECONDS
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            part = os.read(child.stdout.fileno(), 1 << 20)
            if not part or len(data) > _LARGEST_ANSWER:
                return bytes(data), False
            data += part
    return bytes(data), True


def _end(child: subprocess.Popen[bytes], has_ended: bool) -> None:
    """End the process and whatever it may have started; wait for it."""
    import subprocess

    with suppress(subprocess.TimeoutExpired):
        # where it has closed its output, it ends by itself, and its exit code tells what ended it
        child.wait(0.5 if has_ended else 0.0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


def _understood(data: bytes, is_late: bool, code: int, path: str, board: int | None) -> dict[str, Any]:
    """The answer as a mapping; errors for a process that was ended."""
    if not is_late and data:
        # a complete answer is one, however its process ended
        with suppress(ValueError):
            answer: dict[str, Any] = json.loads(data)
            return answer
    place, line, at = _last_expression(board)
    if is_late or -code in (signal.SIGXCPU, signal.SIGALRM):
        message = f"xacro takes longer than {SECONDS} s{at}"
    else:
        message = f"the process that expands xacro ended with code {code}{at}"
    raise _refusal(message, place or path, line, path)


def _last_expression(board: int | None) -> tuple[str | None, int | None, str]:
    """File, line and text of the expression that was being evaluated, as far as they are known."""
    if board is None:
        return None, None, ""
    parts = os.pread(board, 4096, 0).split(b"\0")
    file, expression = parts[0].decode("utf-8", "replace"), parts[1].decode("utf-8", "replace")
    if not file:
        return None, None, ""
    line = None
    with suppress(OSError):
        text = Path(file).read_text("utf-8", "replace")
        at = text.find(expression)
        line = None if at < 0 else text.count("\n", 0, at) + 1
    shown = expression if len(expression) < 200 else expression[:200] + "..."
    return file, line, f", at the expression ${{{shown}}}"


def _refusal(message: str, place: str, line: int | None, named: str) -> DescriptionError:
    if place != named:
        message += f" (included by {named})"
    return DescriptionError(
        message, file=place, line=line, element="xacro", expected="xacro that expands within its limits"
    )


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:500] if lines else "it says nothing"
