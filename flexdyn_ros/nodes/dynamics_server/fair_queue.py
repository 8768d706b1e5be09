"""A queue that works on many requests in turn, a slice of bounded time of each, short ones first."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from math import inf
from typing import Any

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.dynamics_server.slices import Progress, Work
from flexdyn_ros.nodes.ros.turns import Turns

#: seconds of work that a slice is meant to take
SLICE = 0.005
#: a slice has at most this many times the samples of the one before it
GROWTH = 8
#: seconds of work after which a job is no longer a short one
SHORT = 0.05
#: slices of short jobs between two slices of long ones, where both wait
SHORT_SLICES = 3
#: share of the budget after which the time of the whole is foretold
FORETOLD = 0.02


class QueueFullError(FlexdynError):
    """The queue holds as much as it may."""


class StoppedError(FlexdynError):
    """Work is stopped before its end; the message says why, and how far it got."""


class Job:
    """Work on one request, done in slices.

    Parameters
    ----------
    work : Work
        Yields its progress, is sent the size of the next slice, returns what `done` is called with. When it
        is to stop, a StoppedError is thrown into it.
    done : callable
        Called with the result, or with the exception that ended the work, by the thread that made the last
        slice.
    samples : int
        Of the request, for the bounds of the queue.
    budget : float
        Seconds of work, counted in processor time of the thread.
    is_long : bool
        Known to be no short one.
    clock : callable
        Seconds of work so far.
    """

    def __init__(
        self,
        work: Work,
        done: Callable[[Any], None],
        *,
        samples: int = 1,
        budget: float = inf,
        is_long: bool = False,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self.samples, self.spent = samples, 0.0
        self._work, self._done, self._budget, self._clock = work, done, budget, clock
        self._is_long, self._reason = is_long, ""
        self._progress: Progress | None = None
        #: of the next slice
        self._size = 1
        #: of what is computed now, without the first slice: samples, seconds
        self._measured = [0, 0.0]

    @property
    def is_long(self) -> bool:
        """Whether it has taken, or is known to take, more than a short one."""
        return self._is_long or self.spent > SHORT

    def stop(self, reason: str) -> None:
        """End the work before its next slice, whichever thread asks."""
        self._reason = reason

    def advance(self) -> bool:
        """Do one slice; whether the job is over."""
        begin, before = self._clock(), self._progress
        try:
            if self._reason:
                self._progress = self._work.throw(StoppedError(self._described(self._reason)))
            elif before is None:
                before = self._progress = next(self._work)
                if self._clock() - begin < SLICE:
                    self._progress = self._work.send(self._size)
            else:
                self._progress = self._work.send(self._size)
            took = self._clock() - begin
            self.spent += took
            self._learn(before, took)
            complaint = self._complaint()
            if complaint:
                self._progress = self._work.throw(StoppedError(complaint))
        except StopIteration as end:
            self.spent += max(0.0, self._clock() - begin)
            self._done(end.value)
            return True
        except Exception as error:  # noqa: BLE001  what one request runs into must not end the others
            self._done(error)
            return True
        return False

    def _learn(self, before: Progress | None, took: float) -> None:
        """Size of the next slice from the time that this one took."""
        now = self._progress
        assert now is not None
        n = now.done - before.done if before is not None and before.what == now.what else 0
        if before is None or n <= 0:
            self._size, self._measured = 1, [0, 0.0]
            return
        if before.done > 0:
            # the first slice also pays for what is done once
            self._measured[0] += n
            self._measured[1] += took
        wanted = n * SLICE / took if took > 0.0 else inf
        self._size = max(1, int(min(GROWTH * n, wanted)))

    def _complaint(self) -> str:
        """Why the budget does not suffice, if it does not."""
        progress, (samples, seconds) = self._progress, self._measured
        assert progress is not None
        advice = (
            f"expected at most {self._budget:g} s of work (parameter max_seconds); ask for fewer samples at a"
            " time"
        )
        if self.spent > self._budget:
            return f"{self._described('stopped')}: {advice}, or call the library"
        if samples == 0 or self.spent < FORETOLD * self._budget:
            return ""
        whole = self.spent + seconds / samples * (progress.total - progress.done)
        if whole <= self._budget:
            return ""
        fitting = max(1, int(0.8 * self._budget * samples / seconds))
        return (
            f"samples is {progress.total}, which would take about {whole:.3g} s of work"
            f" ({progress.what}, foretold after {progress.done} in {self.spent:.2g} s), {advice},"
            f" here some {fitting}"
        )

    def _described(self, reason: str) -> str:
        if self._progress is None:
            return f"{reason} before it began"
        done, total, what = self._progress
        return f"{reason} after {self.spent:.3g} s of work and {done} of {total} {what}"


class FairQueue:
    """Jobs that wait for their next slice, and the threads that make the slices.

    Short jobs come first, in turn; where long ones wait too, they get one slice in four. A job that has taken
    more than a short one's time is a long one from then on.

    Parameters
    ----------
    most_jobs, most_samples : int
        Bounds of what may wait; a job of more samples is taken when no other is there.
    threads : int
        How many jobs are worked on at a time, one of them a short one: a single sample of a large robot may
        take seconds, and cannot be cut. 0: none, `work_once` is called by the owner.
    turns : Turns, optional
        Taken for each slice of a long job.
    """

    def __init__(
        self, most_jobs: int, most_samples: int, threads: int = 2, turns: Turns | None = None
    ) -> None:
        self._most_jobs, self._most_samples = most_jobs, most_samples
        self._turns = turns
        self._short: deque[Job] = deque()
        self._long: deque[Job] = deque()
        #: all that are not over, those at work among them
        self._jobs: set[Job] = set()
        self._passed_over = 0
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, args=(0 < i == threads - 1,), name=f"worker {i}", daemon=True)
            for i in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        """Jobs that are not over."""
        return len(self._jobs)

    @property
    def samples(self) -> int:
        """Samples of the jobs that are not over."""
        return sum(job.samples for job in self._jobs)

    def push(self, job: Job) -> None:
        """Take in a job.

        Raises
        ------
        QueueFullError
            If as many as may already wait.
        """
        with self._changed:
            if self._closed:
                raise QueueFullError("the server ends, expected no more requests")
            samples = self.samples
            if self._jobs and (
                len(self._jobs) >= self._most_jobs or samples + job.samples > self._most_samples
            ):
                raise QueueFullError(
                    f"{len(self._jobs)} requests with {samples} samples are being worked on, expected with"
                    f" this one's {job.samples} samples at most {self._most_jobs} requests (parameter"
                    f" max_waiting) and {self._most_samples} samples (parameter max_waiting_samples): ask"
                    " again later"
                )
            self._jobs.add(job)
            self._line_up(job)

    def close(self, reason: str, patience: float = 1.0) -> None:
        """End all jobs and threads; waits for slices that are being made for `patience` seconds."""
        with self._changed:
            self._closed = True
            for job in self._jobs:
                job.stop(reason)
            self._changed.notify_all()
        if not self._threads:
            while self.work_once():
                pass
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def work_once(self) -> bool:
        """Make the next slice, if there is a job; whether there was one."""
        with self._changed:
            job = self._next()
        if job is None:
            return False
        self._work_on(job)
        return True

    def _run(self, only_short: bool) -> None:
        while True:
            with self._changed:
                while (job := self._next(only_short)) is None:
                    if self._closed:
                        return
                    self._changed.wait()
            self._work_on(job)

    def _work_on(self, job: Job) -> None:
        is_over = True
        try:
            with self._turns if self._turns is not None and job.is_long else nullcontext():
                is_over = job.advance()
        finally:
            with self._changed:
                if is_over:
                    self._jobs.discard(job)
                else:
                    self._line_up(job)

    def _line_up(self, job: Job) -> None:
        (self._long if job.is_long else self._short).append(job)
        self._changed.notify_all()

    def _next(self, only_short: bool = False) -> Job | None:
        """The job whose turn it is, taken out of the line."""
        if only_short:
            return self._short.popleft() if self._short else None
        if self._short and not (self._long and self._passed_over >= SHORT_SLICES):
            self._passed_over = self._passed_over + 1 if self._long else 0
            return self._short.popleft()
        self._passed_over = 0
        return self._long.popleft() if self._long else None
