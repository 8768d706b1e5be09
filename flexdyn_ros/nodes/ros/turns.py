"""Turns of threads that work for long, so that a core is left for what is quick."""

from __future__ import annotations

import os
from collections import deque
from threading import Lock
from types import TracebackType


def cores_for_long_work() -> int:
    """All usable cores but one, and at least one."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, usable - 1)


class Turns:
    """A semaphore that is fair: `with turns:` lets in at most `places` threads, in the order of their asking.

    A thread that leaves and enters again goes behind those that wait.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._line: deque[Lock] = deque()
        self._lock = Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            gate = Lock()
            gate.acquire()
            self._line.append(gate)
        gate.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        with self._lock:
            if self._line:
                self._line.popleft().release()
            else:
                self._free += 1

    def pass_on(self) -> None:
        """Inside `with turns:`: let those that wait go first."""
        if self._line:
            self.__exit__()
            self.__enter__()
