"""Small packages with kernels of their own, outside flexdyn_ros, and processes that call them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from programs import compiling_server

DECORATORS = "from flexdyn_ros.numerics.compiling.compiler import entry, inner, kernel, leaf\n"

PROGRAM = """
import importlib, json, sys
from flexdyn_ros.numerics.compiling.cache import folder_of
result = {}
for name in sys.argv[1:]:
    module, _, function = name.rpartition(".")
    called = getattr(importlib.import_module(module), function)
    value = called(1.0)
    behind = called.bound.over_block
    result[name] = value, behind.is_compiled_here, folder_of(behind.function)
print(json.dumps(result))
"""


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write sources below a folder; packages on the way get an empty __init__.py."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for package in path.relative_to(folder).parents[:-1]:
            (folder / package / "__init__.py").touch()
        is_another = path.exists()
        path.write_text(text)
        if is_another:
            look_later(path)


def look_later(path: Path) -> None:
    """Let a file be two seconds younger: of one size and one second, it is taken for what was compiled."""
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 2.0))


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that is in a source once."""
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    look_later(path)


def run(folder: Path, cache: Path, program: str, *arguments: str) -> str:
    """Standard output of a program in a process of its own that finds the packages of a folder."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    server = compiling_server()
    done = server.run_text(program, *arguments, folder=folder, PYTHONPATH=path, NUMBA_CACHE_DIR=str(cache))
    assert done.returncode == 0, done.stderr
    return done.stdout


class Answer(dict):
    """Results of entries at 1.0, by MODULE.FUNCTION; how many were compiled; their folders in the cache."""

    compiled: int
    folders: dict[str, str]


def call(folder: Path, cache: Path, *names: str) -> Answer:
    """Call entries float64(float64) at 1.0, in one new process."""
    answers = json.loads(run(folder, cache, PROGRAM, *names))
    answer = Answer({name: value for name, (value, _, _) in answers.items()})
    answer.compiled = sum(misses for _, misses, _ in answers.values())
    answer.folders = {name: Path(path).name for name, (_, _, path) in answers.items()}
    return answer
