"""xacro in a process of its own, with limits of time and memory; its expansions kept by content.

The process is `xacro_child.py`. A xacro file is a program of the user's, which runs with the user's rights.
"""

from __future__ import annotations

import glob
import hashlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from flexdyn_ros.description.urdf.limits import FILE
from flexdyn_ros.errors import DescriptionError, MissingExtraError
from flexdyn_ros.limited_process import run_limited
from flexdyn_ros.ownership import own_folder, stranger, stranger_in

#: what an expansion may take
SECONDS = 10
MEMORY = 1 << 30
_CHILD = Path(__file__).with_name("xacro_child.py")
#: most bytes of an answer, JSON with its escapes
_LARGEST_ANSWER = 6 * FILE.size


class Expansion(NamedTuple):
    """The expanded text, and the messages of xacro."""

    text: str
    messages: tuple[str, ...]


def checked_arguments(arguments: object) -> dict[str, str]:
    """Arguments of xacro as texts: True is `true`, as YAML and XML write it.

    Raises
    ------
    DescriptionError
    """
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise DescriptionError(
            "xacro arguments are no mapping", value=arguments, expected="{name: value, ...}"
        )
    texts = {}
    for name, value in arguments.items():
        if not isinstance(name, str) or not name.strip():
            raise DescriptionError(
                "not the name of a xacro argument", value=name, expected="a non-empty text"
            )
        if value is None or isinstance(value, (Mapping, list, tuple, set, bytes)):
            message = f"value of xacro argument '{name}'"
            raise DescriptionError(message, value=value, expected="a text, a number, true or false")
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def expand(file: str, arguments: Mapping[str, str] | None = None) -> Expansion:
    """The expansion of a file that the user has named with values of its arguments, kept from before if
    nothing that it reads has changed.

    Raises
    ------
    DescriptionError
        With file, line where xacro tells it, and cause: what xacro refuses, or too much time or memory.
    MissingExtraError
        If xacro is not installed.
    """
    path = os.path.abspath(file)
    tool = _tool()
    given = dict(sorted((arguments or {}).items()))
    key = path if not given else f"{path}\n{json.dumps(given)}"
    kept = kept_answer(key, tool)
    if kept is not None:
        return Expansion(kept["text"], tuple(kept["messages"]))
    answer = _run(path, given)
    messages = tuple(answer.get("messages", ()))
    if "unknown" in answer:
        message, name = answer["error"], answer["unknown"]
        raise DescriptionError(message, file=file, element="xacro:arg", value=name, expected="one of its own")
    if "error" in answer:
        where = answer["file"] if answer["file"] != path else file
        raise _refusal(f"xacro cannot expand it: {_first_line(answer['error'])}", where, answer["line"], file)
    if answer["inputs"] is not None:
        keep_answer(key, tool, answer)
    return Expansion(answer["text"], messages)


def _tool() -> str:
    """What expands: xacro's own file and its age, and ours."""
    found = importlib.util.find_spec("xacro")
    if found is None or found.origin is None:
        raise MissingExtraError("xacro", "")
    marks = [(name, os.stat(name)) for name in (found.origin, str(_CHILD))]
    return ", ".join(f"{name} {mark.st_size} {mark.st_mtime_ns}" for name, mark in marks)


def _run(path: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """The answer of a process that expands the file; errors for a process that was ended."""
    board = os.memfd_create("xacro") if hasattr(os, "memfd_create") else None
    try:
        if board is not None:
            os.truncate(board, 4096)
        request = {
            "file": path,
            "arguments": dict(arguments),
            # `$(env ...)` gets all of it, as data
            "environment": dict(os.environ),
            "path": [folder for folder in sys.path if os.path.isabs(folder)],
            "largest": FILE.size,
            "board": board,
        }
        ended = run_limited(
            _CHILD,
            request,
            seconds=SECONDS,
            memory=MEMORY,
            output=_LARGEST_ANSWER,
            written=FILE.size,
            pass_fds=() if board is None else (board,),
        )
        if not ended.is_late and ended.data:
            # a complete answer is one, however its process ended
            with suppress(ValueError):
                answer: dict[str, Any] = json.loads(ended.data)
                return answer
        place, line, at = _last_expression(board)
    finally:
        if board is not None:
            os.close(board)
    if ended.is_late or -ended.code in (signal.SIGXCPU, signal.SIGALRM):
        message = f"xacro takes longer than {SECONDS} s{at}"
    else:
        message = f"the process that expands xacro ended with code {ended.code}{at}"
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


# Expansions of xacro files, kept in memory and in the user's cache folder.
#
# An entry is used only if everything that the expansion depended on is as it was: the content of the file
# and
# of all it read, files that were missing, the results of wildcards, the variables of the environment that it
# asked for. A folder or entry that others could have written is left alone; an entry is text, which the
# reader
# checks as it does any other.

_VERSION = 1
#: entries that are kept, in memory and on the disk
_MOST = 100
_memory: dict[str, dict[str, Any]] = {}


def kept_answer(path: str, tool: str) -> dict[str, Any] | None:
    """The entry of a file, if it still holds; its text is `text`."""
    entry = _memory.get(path)
    if entry is not None and entry["tool"] == tool and _holds(entry["inputs"]):
        return entry
    entry = _read(_folder() / _name(path))
    if entry is None or (entry["path"], entry["tool"]) != (path, tool) or not _holds(entry["inputs"]):
        return None
    _remember(path, entry)
    return entry


def keep_answer(path: str, tool: str, answer: dict[str, Any]) -> None:
    """Keep an answer of the process that expanded the file; silently not, where nothing can be written."""
    entry = {
        "version": _VERSION,
        "path": path,
        "tool": tool,
        "inputs": answer["inputs"],
        "text": answer["text"],
        "messages": answer["messages"],
    }
    _remember(path, entry)
    with suppress(OSError):
        _write(_folder(), _name(path), json.dumps(entry).encode())


def _remember(path: str, entry: dict[str, Any]) -> None:
    _memory.pop(path, None)
    while len(_memory) >= _MOST:
        _memory.pop(next(iter(_memory)))
    _memory[path] = entry


def _name(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json"


def _folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "flexdyn_ros" / "xacro"


# ---- does an entry hold? ----


def _holds(inputs: dict[str, Any]) -> bool:
    """Whether all that an expansion depended on is as it was."""
    variables = inputs["variables"].items()
    return (
        all(_digest(path) == digest for path, digest in inputs["files"].items())
        and all(_hash_of(os.environ.get(name)) == digest for name, digest in variables)
        and all(os.path.exists(path) == found for path, found in inputs["exists"].items())
        and all(sorted(glob.glob(pattern)) == found for pattern, found in inputs["globs"].items())
        and inputs["folder"] in (None, os.getcwd())
    )


def _digest(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read(FILE.size + 1)).hexdigest()
    except OSError:
        return None


def _hash_of(value: str | None) -> str | None:
    return None if value is None else hashlib.sha256(os.fsencode(value)).hexdigest()


# ---- on the disk ----


def _read(file: Path) -> dict[str, Any] | None:
    """The entry in a file that is ours alone; None if there is none, or it is none of ours."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        if stranger(os.fstat(descriptor), file) or stranger_in(Path(os.path.realpath(file.parent))):
            return None
        try:
            entry: dict[str, Any] = json.loads(opened.read(6 * FILE.size))
            complete = entry["version"] == _VERSION and isinstance(entry["text"], str)
            parts = [entry["inputs"][part] for part in ("files", "variables", "exists", "globs")]
            complete = complete and all(isinstance(part, dict) for part in parts)
            entry["path"], entry["tool"], entry["messages"], entry["inputs"]["folder"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
    return entry if complete else None


def _write(folder: Path, name: str, data: bytes) -> None:
    import tempfile

    folder, others = own_folder(folder)
    if others:
        return
    descriptor, partial = tempfile.mkstemp(dir=folder, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(partial).replace(folder / name)
    except OSError:
        Path(partial).unlink(missing_ok=True)
        raise
    entries = sorted(folder.glob("*.json"), key=lambda entry: entry.stat().st_mtime)
    for entry in entries[:-_MOST]:
        entry.unlink(missing_ok=True)
