"""The program that expands one xacro file.

`limited_process.py` runs it in a process of its own; it imports nothing of this package.

The request is one line of JSON on standard input, the answer one JSON object on standard output. What the
expansion depends on (files, folders, variables of the environment) comes with the answer, so that it can be
kept.

xacro evaluates Python expressions: the file is a program of the user's, and does what it likes with the
user's rights. Only its time and memory are limited.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import mmap
import os
import re
import sys
from collections import UserDict
from typing import Any

#: events of the interpreter after which the text may depend on what cannot be noted
_UNKNOWN = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "socket.",
    "urllib.",
)
_EXPRESSION = re.compile(r"when evaluating expression '(.*)'", re.DOTALL)
_MACRO = re.compile(r"unknown macro name: (\S+)")
#: bytes of messages that are handed on
_MESSAGES = 10_000


class Inputs:
    """What the expansion depends on, noted as it is read."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.exists: dict[str, bool] = {}
        self.globs: dict[str, list[str]] = {}
        self.variables: dict[str, str | None] = {}
        self.folder: str | None = None
        #: False where something was read that cannot be noted
        self.known = True
        self._reading = False

    def opened(self, name: Any) -> None:
        if self._reading or not isinstance(name, (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(name))
        if path not in self.files and not path.endswith((".py", ".pyc", ".so")):
            self.files[path] = self._digest(path)

    def settled(self) -> dict[str, Any] | None:
        """All of it; None if it cannot be relied on, as when a file changed meanwhile."""
        same = all(self._digest(path) == digest for path, digest in self.files.items())
        if not (self.known and same):
            return None
        return {
            "files": self.files,
            "exists": self.exists,
            "globs": self.globs,
            "variables": {
                name: None if value is None else _hash(os.fsencode(value))
                for name, value in self.variables.items()
            },
            "folder": self.folder,
        }

    def _digest(self, path: str) -> str | None:
        self._reading = True
        try:
            with open(path, "rb") as file:
                return _hash(file.read())
        except OSError:
            return None
        finally:
            self._reading = False


class Environment(UserDict):
    """The user's environment, which notes what is read."""

    def __init__(self, values: dict[str, str], inputs: Inputs) -> None:
        super().__init__(values)
        self._inputs = inputs

    def __getitem__(self, name: str) -> str:
        self._inputs.variables[name] = self.data.get(name)
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        self._inputs.variables[str(name)] = self.data.get(str(name))
        return name in self.data

    def __iter__(self) -> Any:
        self._inputs.known = False
        return super().__iter__()


class Arguments(UserDict):
    """Arguments of xacro, which note what is asked for: xacro itself ignores unknown ones."""

    def __init__(self, values: dict[str, str]) -> None:
        self.asked: set[str] = set()
        super().__init__(values)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return str(self.data[name])

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return name in self.data


class Board:
    """A page of memory that the parent sees: the file and the expression that are worked on."""

    def __init__(self, descriptor: int) -> None:
        self._page = mmap.mmap(descriptor, 4096)

    def write(self, file: str, expression: str) -> None:
        text = f"{file}\0{expression}".encode("utf-8", "replace")[:4000]
        self._page[: len(text) + 2] = text + b"\0\0"


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    request = json.loads(sys.stdin.buffer.readline())
    # nothing that the expansion prints reaches the parent's output
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.path.extend(request["path"])
    answer = expand(request)
    data = json.dumps(answer).encode()
    answers.write(data)
    answers.close()


def expand(request: dict[str, Any]) -> dict[str, Any]:
    """The answer: text and inputs, or an error with file, line and cause; messages in both."""
    import glob

    import xacro
    import yaml  # noqa: F401  it is no input of the expansion

    with contextlib.suppress(ImportError):
        import ament_index_python.packages  # noqa: F401
    with contextlib.suppress(ImportError):
        import xacro.substitution_args

    inputs = Inputs()
    messages = io.StringIO()
    os.environ = Environment(request["environment"], inputs)  # type: ignore[assignment]  # noqa: B003
    _note_questions(inputs)
    board = None if request["board"] is None else Board(request["board"])
    _tell_expressions(xacro, board)
    sys.addaudithook(_noting(inputs, glob))
    file = request["file"]
    arguments = Arguments(request["arguments"])
    with contextlib.redirect_stderr(messages), contextlib.redirect_stdout(messages):
        try:
            text = xacro.process_file(file, mappings=arguments).toprettyxml(indent="  ")
        except MemoryError:
            return _failure(xacro, file, "MemoryError: it needs too much memory", messages)
        except RecursionError:
            cause = "RecursionError: macros, includes or properties that call each other without end"
            return _failure(xacro, file, cause, messages)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            # xacro raises what its Python expressions raise, so that anything may come
            return _failure(xacro, file, f"{type(_innermost(error)).__name__}: {error}", messages, error)
    unknown = sorted(set(request["arguments"]) - arguments.asked)
    if unknown:
        known = ", ".join(sorted(arguments.asked)) or "none"
        cause = f"the file has no argument '{unknown[0]}'; its arguments: {known}"
        return _failure(xacro, file, cause, messages) | {"file": file, "unknown": unknown[0]}
    if len(text) > request["largest"]:
        return _failure(xacro, file, f"the expanded text has {len(text)} letters, "
                        f"at most {request['largest']} are accepted", messages)  # fmt: skip
    return {"text": text, "inputs": inputs.settled(), "messages": _lines(messages)}


def _failure(
    xacro: Any, file: str, cause: str, messages: io.StringIO, error: BaseException | None = None
) -> dict[str, Any]:
    place = next((name for name in reversed(xacro.filestack or []) if name), file)
    line = getattr(error, "lineno", None)
    cause = cause[:_MESSAGES]
    if line is None:
        line = _line_of(cause, _innermost(error), place)
    return {"error": cause, "file": place, "line": line, "messages": _lines(messages)}


def _innermost(error: BaseException | None) -> BaseException | None:
    """What went wrong at first: xacro wraps it, and its text may be empty, as that of MemoryError is."""
    while getattr(error, "exc", None) is not None:
        error = error.exc  # type: ignore[union-attr]
    return error


def _line_of(cause: str, error: BaseException | None, file: str) -> int | None:
    """Line of the expression, macro or included file that an error names: xacro itself forgets lines."""
    expression, macro = _EXPRESSION.search(cause), _MACRO.search(cause)
    if expression is not None:
        sought = expression.group(1)
    elif macro is not None:
        sought = f"<{macro.group(1)}"
    elif isinstance(error, OSError) and isinstance(error.filename, str):
        sought = os.path.basename(error.filename)
    else:
        return None
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            text = source.read()
    except OSError:
        return None
    at = text.find(sought)
    return None if at < 0 else text.count("\n", 0, at) + 1


def _lines(messages: io.StringIO) -> list[str]:
    return [line for line in messages.getvalue()[:_MESSAGES].splitlines() if line.strip()]


# ---- notes ----


def _noting(inputs: Inputs, glob: Any) -> Any:
    """Note which files are read and which wildcards are looked up."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            inputs.opened(arguments[0])
        elif event == "glob.glob":
            pattern = os.path.abspath(arguments[0])
            if pattern not in inputs.globs:
                inputs.globs[pattern] = []
                inputs.globs[pattern] = sorted(glob.glob(pattern))
        elif event.startswith(_UNKNOWN):
            inputs.known = False

    return hook


def _note_questions(inputs: Inputs) -> None:
    """Note which paths are examined, and the working directory."""

    def noting(ask: Any) -> Any:
        def noted(path: Any) -> bool:
            found: bool = ask(path)
            if isinstance(path, (str, bytes)):
                inputs.exists[os.path.abspath(os.fsdecode(path))] = found
            return found

        return noted

    for name in ("exists", "isfile", "isdir"):
        setattr(os.path, name, noting(getattr(os.path, name)))
    working = os.getcwd()
    inputs_of_folder = os.path.abspath

    def absolute(path: Any) -> Any:
        if not os.path.isabs(path):
            inputs.folder = working
        return inputs_of_folder(path)

    os.path.abspath = absolute


def _tell_expressions(xacro: Any, board: Board | None) -> None:
    """Write each expression on the board before it is evaluated: where it hangs, the parent reports it."""
    if board is None:
        return
    evaluate = xacro.safe_eval

    def evaluated(expression: str, *scopes: Any) -> Any:
        board.write((xacro.filestack or [""])[-1] or "", expression)
        return evaluate(expression, *scopes)

    xacro.safe_eval = evaluated


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main()
