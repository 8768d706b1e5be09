"""A loop in real time: ticks at their times in a thread of its own, and a record of how punctual they
were.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

#: lateness that counts as a late tick [s]
LATE = 0.002
#: lateness that is given up instead of caught up [s]
LOST = 0.25
#: lateness values that are kept for median and p99: the last minute at 1 kHz
KEPT = 1 << 16


@dataclass(frozen=True)
class PaceReport:
    """How punctual the loop was since its statistics were cleared.

    real_time_factor: simulated per wall time; recent_factor: the same over the last second or so; lateness of
    wake-ups [s]: median and p99 of the last 65536; late_ticks: more than 2 ms late; overruns: times at which
    the loop was so late that it gave up catching up.
    """

    real_time_factor: float
    recent_factor: float
    ticks: int
    late_ticks: int
    lateness_median: float
    lateness_p99: float
    overruns: int


class Pace:
    """Calls `tick(steps)` so that simulated time keeps the pace of wall time times `factor`.

    Parameters
    ----------
    tick : callable(int) -> bool
        Advances by that many steps; False stops the pace until `resume`. Called with the lock held.
    step : float
        Simulated time per step [s].
    factor : float
        Simulated per wall time; 0: as fast as possible.
    priority : int
        Of real-time scheduling (SCHED_FIFO) for the thread that keeps pace with wall time, where the system
        grants it; 0: ordinary scheduling.
    """

    def __init__(self, tick: Callable[[int], bool], step: float, factor: float, *, priority: int = 0) -> None:
        self._tick, self._step = tick, step
        self._priority = priority
        # a tick lasts a millisecond or more of wall time: shorter steps are taken several at a time
        self._steps = max(1, round(0.001 * factor / step)) if factor > 0.0 else max(1, round(0.01 / step))
        self._period = self._steps * step / factor if factor > 0.0 else 0.0
        self._lock = threading.Lock()
        self._visitors = 0
        self._running = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._lateness = np.zeros(KEPT)
        self.clear()

    # ---- control ----

    def start(self, paused: bool) -> None:
        """Start the thread."""
        self._stopping = False
        if not paused:
            self._running.set()
        thread = threading.Thread(target=self._run, name="pace", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """End the thread; returns when the tick in progress is over."""
        self._stopping = True
        self._running.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._running.clear()

    def pause(self) -> None:
        """No tick begins after this, except one that has begun."""
        self._running.clear()

    def resume(self) -> None:
        """Go on, from now."""
        self._running.set()

    @property
    def paused(self) -> bool:
        """Whether ticks are held back."""
        return not self._running.is_set()

    @contextmanager
    def between_ticks(self) -> Iterator[None]:
        """Exclusive use of what `tick` uses."""
        self._visitors += 1
        try:
            with self._lock:
                yield
        finally:
            self._visitors -= 1

    # ---- the loop ----

    def _ask_for_priority(self) -> None:
        """Request SCHED_FIFO for this thread; ignored where not permitted or free-running."""
        if self._priority > 0 and self._period > 0.0 and hasattr(os, "sched_setscheduler"):
            with suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(self._priority))

    def _run(self) -> None:
        self._ask_for_priority()
        schedule = time.monotonic()
        ticking = False
        while not self._stopping:
            if not self._running.is_set():
                ticking = False
                self._running.wait()
                continue
            if not ticking:
                schedule, ticking = time.monotonic(), True
                self._last_wall = schedule
            if self._period > 0.0:
                schedule = self._wait_until(schedule + self._period)
            with self._lock:
                if self._running.is_set() and not self._stopping and not self._tick(self._steps):
                    self._running.clear()
            self._note_tick()
            if self._visitors:
                # a lock is not fair: let those in who wait for it
                time.sleep(2e-5)

    def _wait_until(self, due: float) -> float:
        """Sleep until a time; that time, or now if the loop is so late that it must give up."""
        delay = due - time.monotonic()
        if delay > 0.0:
            time.sleep(delay)
        late = time.monotonic() - due
        self._lateness[self._ticks % KEPT] = late
        self._late_ticks += late > LATE
        if late > LOST:
            self._overruns += 1
            return due + late
        return due

    def _note_tick(self) -> None:
        now = time.monotonic()
        self._ticks += 1
        self._wall += now - self._last_wall
        self._simulated += self._steps * self._step
        self._last_wall = now

    # ---- the record ----

    def clear(self) -> None:
        """Forget the record."""
        self._ticks = self._late_ticks = self._overruns = 0
        self._wall = self._simulated = 0.0
        self._last_wall = time.monotonic()
        self._before = (0.0, 0.0)

    def report(self) -> PaceReport:
        """The record until now."""
        lateness = self._lateness[: min(self._ticks, KEPT)] if self._period > 0.0 else np.zeros(0)
        median, p99 = np.percentile(lateness, (50, 99)) if len(lateness) else (0.0, 0.0)
        wall, simulated = self._wall - self._before[0], self._simulated - self._before[1]
        self._before = (self._wall, self._simulated)
        return PaceReport(
            real_time_factor=self._simulated / self._wall if self._wall > 0.0 else 0.0,
            recent_factor=simulated / wall if wall > 0.0 else 0.0,
            ticks=self._ticks,
            late_ticks=int(self._late_ticks),
            lateness_median=float(median),
            lateness_p99=float(p99),
            overruns=self._overruns,
        )
