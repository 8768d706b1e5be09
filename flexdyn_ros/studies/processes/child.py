"""The process that computes points: it reads jobs from a pipe and answers point by point.

It is a process of its own below each worker, so that code of experiments that never returns, or that ends its
process, costs one point: its worker ends it and starts another. Run as
`python -m flexdyn_ros.studies.processes.child`.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import tempfile
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

#: Linux: the signal that this process gets when its parent ends
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve jobs until the pipe is closed. Arguments: the file descriptors to read and to write."""
    _end_with_parent()
    reading, writing = (int(word) for word in sys.argv[1:3])
    inbox, outbox = Connection(reading, writable=False), Connection(writing, readable=False)
    # what experiments print must not be lost in a table, nor mixed into the pipe
    os.dup2(2, 1)
    bench: Any = None
    told: dict[str, Any] = {}
    while True:
        try:
            word, *content = inbox.recv()
        except EOFError:
            return
        if word == "study":
            bench, told = None, content[0]
            outbox.send(("ready", *_opened(told)[1:]))
            bench = _OPEN.get(told["key"])
        else:
            assert bench is not None
            for index, point in zip(*content, strict=True):
                row = (index, *_computed(bench, told, point))
                outbox.send_bytes(pickle.dumps(row, pickle.HIGHEST_PROTOCOL))


_OPEN: dict[str, Any] = {}


def _opened(told: dict[str, Any]) -> tuple[Any, ...]:
    """("ready", error or None): opens the bench of a study, once."""
    if told["key"] in _OPEN:
        return "ready", None
    try:
        from dataclasses import replace

        from flexdyn_ros.studies.bench import Bench
        from flexdyn_ros.studies.definition import read_study

        study = read_study(told["study"])
        _OPEN.clear()
        _OPEN[told["key"]] = Bench(replace(study, folder=told["folder"], file=told["file"]))
    except Exception as error:  # noqa: BLE001 - whatever the user's module does; it is told as the study's end
        return "ready", f"{type(error).__name__}: {error}"
    return "ready", None


def _computed(bench: Any, told: dict[str, object], point: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(results or None, (kind, message) of an error or None, files by their ending) of one point."""
    try:
        results = bench.compute(point)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a point that fails is a row, whatever it raised
        return None, (type(error).__name__, _message(error)), {}
    from flexdyn_ros.simulation.trajectory import Trajectory

    files = {}
    for name in [name for name, value in results.items() if isinstance(value, Trajectory)]:
        trajectory = results.pop(name)
        if told["trajectories"]:
            files[name] = _saved(trajectory)
    return results, None, files


def _message(error: BaseException) -> str:
    """The error in a line; of errors without words, where they were raised."""
    text = " ".join(str(error).split())
    if text:
        return text[:2000]
    frames = traceback.extract_tb(error.__traceback__)
    return f"in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""


def _saved(trajectory: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectory.npz"
        trajectory.save(path)
        return path.read_bytes()


def _end_with_parent() -> None:
    """A worker that was killed leaves no process behind that computes without end."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    main()
