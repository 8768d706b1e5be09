"""Expansions of xacro files, kept in memory and in the user's cache folder.

An entry is used only if everything that the expansion depended on is as it was: the content of the file and
of all it read, files that were missing, the results of wildcards, the variables of the environment that it
asked for. A folder or entry that others could have written is left alone; an entry is text, which the reader
checks as it does any other.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from flexdyn_ros.description.urdf.limits import FILE
from flexdyn_ros.ownership import own_folder, stranger, stranger_in

_VERSION = 1
#: entries that are kept, in memory and on the disk
_MOST = 100
_memory: dict[str, dict[str, Any]] = {}


def find(path: str, tool: str) -> dict[str, Any] | None:
    """The entry of a file, if it still holds; its text is `text`."""
    entry = _memory.get(path)
    if entry is not None and entry["tool"] == tool and _holds(entry["inputs"]):
        return entry
    entry = _read(_folder() / _name(path))
    if entry is None or (entry["path"], entry["tool"]) != (path, tool) or not _holds(entry["inputs"]):
        return None
    _remember(path, entry)
    return entry


def keep(path: str, tool: str, answer: dict[str, Any]) -> None:
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
