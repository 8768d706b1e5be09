"""What runs in the workers of the cluster: chunks of points, handed one by one to a process that computes.

Nothing heavy is imported here: what computes lives in the child process.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic, perf_counter, sleep, time
from typing import Any, NamedTuple

from flexdyn_ros.numerics.compiling.cache_folder import cache_folder

#: what loading a study and compiling its kernels may take, beside the limit of a point [s]
LOADING_LIMIT = 1800.0
#: how long a point may still run once the study was stopped, and how often that is looked for [s]
GRACE, LOOK = 1.0, 0.1
#: rows of points that are shorter than this [s] are left in the pipe, of so many bytes where the system lets
#: it be chosen, and taken together: to be woken for each would cost the processor that computes them
NAP, PIPE = 0.025, 1 << 20
ONE_THREAD = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


class Chunk(NamedTuple):
    """Points to compute: study as the child process is told it, indices (n,), points (n,), seconds a
    point."""

    told: dict[str, Any]
    indices: list[int]
    points: list[dict[str, Any]]
    time_limit: float


class Done(NamedTuple):
    """Rows of a chunk: (index, results or None, (kind, message) or None, files); seconds that they took,
    loading the study aside; fewer rows than points if the study was stopped."""

    rows: list[tuple[int, dict[str, Any] | None, tuple[str, str] | None, dict[str, bytes]]]
    seconds: float
    stopped: bool


class StudyRefused(Exception):
    """A worker cannot load the study at all."""


class _Child:
    """A process that computes, and the pipes to it."""

    def __init__(self) -> None:
        to_child, write = os.pipe()
        read, from_child = os.pipe()
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "flexdyn_ros.studies.processes.child", str(to_child), str(from_child)],
            pass_fds=(to_child, from_child), stdin=subprocess.DEVNULL, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(to_child)
        os.close(from_child)
        if sys.platform == "linux":
            with suppress(OSError):  # the system's bound of pipes may be lower
                fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, PIPE)
        self.outbox, self.inbox = Connection(write, readable=False), Connection(read, writable=False)
        #: the first point of a process may have to wait until kernels are compiled
        self.key, self.ended, self.answered = "", False, False

    def begin(self, indices: list[int], points: list[dict[str, Any]]) -> None:
        """Let it compute points; rows come one by one, in this order."""
        with suppress(OSError):  # one that has ended is noticed where its rows are read
            self.outbox.send(("points", indices, points))

    def end(self) -> None:
        if self.ended:
            return
        self.ended = True
        self.process.kill()
        self.process.wait()
        self.outbox.close()
        self.inbox.close()

    def told(self) -> str:
        """How the process ended."""
        code = self.process.wait()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


_stopped: set[str] = set()
_children: dict[int, _Child] = {}


def stop_studies(key: str) -> None:
    """Let the chunks of a study return what they have; called in the workers."""
    _stopped.add(key)


def end_children() -> None:
    """End the processes that compute; called in the workers."""
    for child in list(_children.values()):
        child.end()
    _children.clear()


def compute_chunk(chunk: Chunk) -> Done:
    """Compute points one after the other; see `Done`.

    Raises
    ------
    StudyRefused
        If the study cannot be loaded here.
    """
    rows: list[Any] = []
    key, count = chunk.told["key"], len(chunk.points)
    if key not in _stopped:
        _ready_child(chunk.told)
    start = perf_counter()
    while len(rows) < count and key not in _stopped:
        child = _ready_child(chunk.told)
        first = len(rows)
        child.begin(chunk.indices[first:], chunk.points[first:])
        begun = perf_counter()
        for n, index in enumerate(chunk.indices[first:]):
            _nap(child, n, count - first, perf_counter() - begun)
            row = _received(child, index, chunk.time_limit, key)
            if row is None:
                break
            rows.append(row)
            if child.ended:
                break
    return Done(rows, perf_counter() - start, len(rows) < count)


def _ready_child(told: dict[str, Any]) -> _Child:
    """The child process of this thread, with the study loaded."""
    me = threading.get_ident()
    child = _children.get(me)
    if child is not None and (child.ended or child.process.poll() is not None):
        child.end()
        child = None
    if child is None:
        child = _children[me] = _Child()
    if child.key != told["key"]:
        child.outbox.send(("study", told))
        try:
            answer = child.inbox.recv() if child.inbox.poll(LOADING_LIMIT) else None
        except (EOFError, OSError):
            raise StudyRefused(
                f"a process that computes ended by {child.told()} as it loaded the study"
            ) from None
        if answer is None:
            child.end()
            raise StudyRefused(f"the study was not loaded after {LOADING_LIMIT:g} s")
        if answer[1] is not None:
            raise StudyRefused(answer[1])
        child.key = told["key"]
    return child


def _nap(child: _Child, done: int, count: int, seconds: float) -> None:
    """Wait, where points are short, until several rows are there; not so long that the last is late."""
    left = seconds / done * (count - done) if done else 0.0
    if seconds < NAP * done and left > 2.0 * NAP and not child.inbox.poll():
        sleep(NAP)


def _received(child: _Child, index: int, limit: float, key: str) -> Any:
    """The row of a point as the child sends it; a failure if it takes too long or ends; None if stopped."""
    try:
        begun, deadline, stopping = time(), monotonic() + limit, False
        while not child.inbox.poll(min(LOOK, limit)):
            if key in _stopped and not stopping:
                deadline, stopping = min(deadline, monotonic() + GRACE), True
            if monotonic() > deadline:
                if not child.answered and not stopping and kernels_written_since(begun):
                    begun, deadline = time(), monotonic() + limit
                    continue
                child.end()
                if stopping:
                    return None
                return (
                    index,
                    None,
                    ("TimeLimit", f"not done after {limit:g} s, the time limit of a point"),
                    {},
                )
        row = child.inbox.recv()
        child.answered = True
        if key in _stopped:
            child.end()
        return row
    except (EOFError, OSError):
        how = child.told()
        child.end()
        return index, None, ("ProcessEnded", f"the process that computed it ended by {how}"), {}


def kernels_written_since(begun: float) -> bool:
    """Whether compiled kernels were put into the cache since that time [s since the epoch]: who waits for the
    compiler, of this process or of another, is not a point that takes too long."""
    for folder in (cache_folder(), *cache_folder().glob("*")):
        with suppress(OSError):  # another process may have removed it
            if folder.stat().st_mtime >= begun:
                return True
    return False
