"""What runs in the workers of the cluster: chunks of points, handed to a process that computes.

Nothing heavy is imported here: what computes lives in the child process.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from select import select
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from flexdyn_ros.numerics.compiling.cache import cache_folder

if TYPE_CHECKING:
    from flexdyn_ros.studies.store import Row

#: what loading a study may take [s]
LOADING_LIMIT = 1800.0
#: how often it is looked whether a process that does not answer has ended [s]
LOOK = 0.1
#: for workers that were started without dask's nanny, which sets the first three
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
              "VECLIB_MAXIMUM_THREADS")  # fmt: skip


@dataclass(frozen=True)
class Chunk:
    """Points to compute: study as the child process is told it, indices (n,), points (n,), seconds a
    point."""

    told: dict[str, Any]
    indices: list[int]
    points: list[dict[str, object]]
    time_limit: float


class StudyRefused(Exception):
    """A worker cannot load the study at all."""


class _Child:
    """A process that computes, and the file of its answers, which outlasts it."""

    def __init__(self) -> None:
        if sys.platform == "linux":
            self.answers: Any = io.FileIO(os.memfd_create("answers"), "r+")
        else:
            self.answers = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as the process
        file = self.answers.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "flexdyn_ros.studies.processes.child", str(file)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(file,),
            env=os.environ | dict.fromkeys(ONE_THREAD, "1"), start_new_session=True,
        )  # fmt: skip
        #: the first point of a process may have to wait until kernels are compiled
        self.key, self.has_computed = "", False

    def ask(self, *job: object) -> tuple[list[Any], int | None]:
        """What it answers, and its exit code if it ended over that."""
        jobs, done = self.process.stdin, self.process.stdout
        assert jobs is not None
        assert done is not None
        self.answers.seek(0)
        self.answers.truncate()
        with suppress(OSError):  # it has ended
            jobs.write(pickle.dumps(job))
            jobs.flush()
        # what an experiment started may hold the pipe of a process that has ended
        while self.process.poll() is None and not select([done], [], [], LOOK)[0]:
            pass
        if self.process.poll() is not None or not done.read(1):
            self.end()
        self.answers.seek(0)
        content, found = io.BytesIO(self.answers.read()), []
        with suppress(EOFError, pickle.UnpicklingError):  # the end, or half an answer
            while True:
                found.append(pickle.load(content))
        return found, self.process.returncode

    def end(self) -> None:
        """End it, unless it has ended, and what it started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


_stopped: set[str] = set()
_children: dict[int, _Child] = {}


def stop_study(key: str) -> None:
    """Let the chunks of a study return what they have; called in the workers."""
    _stopped.add(key)
    for child in list(_children.values()):
        if child.key == key:
            child.end()


def compute_chunk(chunk: Chunk) -> tuple[list[Row], float]:
    """Compute points one after the other.

    Returns
    -------
    rows : fewer than points if the study was stopped
    seconds : that they took, loading the study aside

    Raises
    ------
    StudyRefused
        If the study cannot be loaded here.
    """
    rows: list[Row] = []
    seconds = 0.0
    key, limit = chunk.told["key"], chunk.time_limit
    while (first := len(rows)) < len(chunk.points) and key not in _stopped:
        child = _ready_child(chunk.told)
        begun, start = time(), perf_counter()
        found, code = child.ask("points", chunk.indices[first:], chunk.points[first:], limit)
        rows += found
        seconds += perf_counter() - start
        compiling = code == -signal.SIGALRM and not (found or child.has_computed)
        child.has_computed = True
        if code is None or key in _stopped or (compiling and kernels_written_since(begun)):
            continue
        if len(rows) == len(chunk.points):  # it ended after the last
            break
        failure = ("ProcessEnded", f"the process that computed it ended by {_told(code)}")
        if code == -signal.SIGALRM:
            failure = ("TimeLimit", f"not done after {limit:g} s, the time limit of a point")
        rows.append((chunk.indices[len(rows)], None, failure, {}))
    return rows, seconds


def _ready_child(told: dict[str, Any]) -> _Child:
    """The child process of this thread, with the study loaded."""
    child = _children.get(threading.get_ident())
    if child is None or child.process.poll() is not None:
        child = _children[threading.get_ident()] = _Child()
    if child.key != told["key"]:
        child.key = told["key"]
        answers, code = child.ask("study", told, LOADING_LIMIT)
        if code is not None and told["key"] not in _stopped:
            raise StudyRefused(f"a process that computes ended by {_told(code)} as it loaded the study")
        if answers and answers[0] is not None:
            child.key = ""
            raise StudyRefused(answers[0])
    return child


def _told(code: int) -> str:
    """How a process ended."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def kernels_written_since(begun: float) -> bool:
    """Whether compiled kernels were put into the cache since that time [s since the epoch]: who waits for the
    compiler, of this process or of another, is not a point that takes too long."""
    for folder in (cache_folder(), *cache_folder().glob("*")):
        with suppress(OSError):  # another process may have removed it
            if folder.stat().st_mtime >= begun:
                return True
    return False
