"""The process that computes points: it reads jobs from standard input and writes answers to a file.

It is a process of its own below each worker, so that code of experiments that never returns, or that ends
its process, costs one point: its worker starts another. (dask's nanny would start the worker anew, but then
the chunk is lost, the study is loaded again, and nobody knows which point it was and how it ended.) Each
answer is in the file before the next point begins, so that it outlasts the process. Run as
`python -m flexdyn_ros.studies.processes.child DESCRIPTOR_OF_THE_FILE`.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flexdyn_ros.simulation.trajectory import Trajectory
    from flexdyn_ros.studies.bench import Bench
    from flexdyn_ros.studies.definition import Tree

#: (results or None, (kind, message) of an error or None, files by their ending)
Computed = tuple["Tree | None", "tuple[str, str] | None", dict[str, bytes]]
#: Linux: the signal that this process gets when its parent ends
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Do jobs until there are no more; a byte on standard output tells that a job is done."""
    _end_with_parent()
    jobs, done = os.fdopen(os.dup(0), "rb"), os.dup(1)
    answers = os.fdopen(int(sys.argv[1]), "wb", buffering=0)
    # experiments neither read jobs nor mix what they print into the answers
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    bench: Bench | str = ""
    while True:
        try:
            word, *content = pickle.load(jobs)
        except EOFError:
            return
        if word == "study":
            told, limit = content
            bench = _limited(limit, _opened, told)
            answers.write(pickle.dumps(bench if isinstance(bench, str) else None))
        else:
            for index, point in zip(*content[:2], strict=True):
                row = (index, *_limited(content[2], _computed, bench, told, point))
                answers.write(pickle.dumps(row, pickle.HIGHEST_PROTOCOL))
        os.write(done, b".")


def _limited(seconds: float, function: Any, *arguments: Any) -> Any:
    """Call a function; the system ends this process with SIGALRM if that takes longer."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _opened(told: Tree) -> Bench | str:
    """The bench of a study, or the error."""
    try:
        from flexdyn_ros.studies.bench import Bench
        from flexdyn_ros.studies.definition import read_study

        return Bench(replace(read_study(told["study"]), folder=told["folder"], file=told["file"]))
    except Exception as error:  # noqa: BLE001 - whatever the user's module does; it is told as the study's end
        return f"{type(error).__name__}: {error}"


def _computed(bench: Bench, told: Tree, point: dict[str, object]) -> Computed:
    """Compute one point."""
    try:
        results = bench.compute(point)
    except BaseException as error:  # noqa: BLE001 - a point that fails is a row, whatever it raised
        return None, (type(error).__name__, _message(error)), {}
    from flexdyn_ros.simulation.trajectory import Trajectory

    found = {name: value for name, value in results.items() if isinstance(value, Trajectory)}
    files = {name: _saved(value) for name, value in found.items() if told["trajectories"]}
    return {name: value for name, value in results.items() if name not in found}, None, files


def _message(error: BaseException) -> str:
    """The error in a line; of errors without words, where they were raised."""
    text = " ".join(str(error).split())
    if text:
        return text[:2000]
    frames = traceback.extract_tb(error.__traceback__)
    return f"in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""


def _saved(trajectory: Trajectory) -> bytes:
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
