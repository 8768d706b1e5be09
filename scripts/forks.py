"""Work in forks of this process, some at once: what a fork does to itself, or imports, ends with it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

WAITED = "waited"


def in_children(tasks: Iterable, work: Callable, seconds: int, jobs: int) -> Iterator[tuple]:
    """Every task with what `work` makes of it in a child; None if the child computes too long or dies, WAITED
    if it was ended because nothing came of it for four times as long."""
    running: dict[int, tuple] = {}
    waiting = list(reversed(list(tasks)))
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                if waiting and len(running) < jobs:
                    task = waiting.pop()
                    result = Path(folder) / str(len(waiting))
                    child = os.fork()
                    if child == 0:
                        _child(work, task, seconds, result)
                    running[child] = task, result, time.monotonic() + 4 * seconds
                    continue
                time.sleep(0.02)
                for child, (task, result, deadline) in list(running.items()):
                    has_ended = os.waitpid(child, os.WNOHANG)[0] == child
                    if has_ended or time.monotonic() > deadline:
                        _end(child)
                        del running[child]
                        nothing = None if has_ended else WAITED
                        yield task, json.loads(result.read_text()) if result.exists() else nothing
        finally:
            for child in running:
                _end(child)


def _child(work: Callable, task: object, seconds: int, result: Path) -> None:
    with contextlib.suppress(BaseException):
        os.setsid()
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, signal.SIG_DFL)
        for stream in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        kept = result.with_suffix(".part")
        kept.write_text(json.dumps(work(task)))
        kept.rename(result)
    os._exit(0)


def _end(child: int) -> None:
    """End a child and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
