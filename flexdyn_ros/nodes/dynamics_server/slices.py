"""Work that is done slice by slice: a generator that says how far it is and is sent how many samples come
next, and the job that chooses the size of the slices and keeps to a budget of seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from math import inf
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError

#: seconds of work that a slice is meant to take
SLICE = 0.005
#: a slice has at most this many times the samples of the one before it
GROWTH = 8
#: seconds of work after which a job is no longer a short one
SHORT = 0.02
#: share of the budget after which the time of the whole is foretold
FORETOLD = 0.02


class Progress(NamedTuple):
    """How far a piece of work is: samples done, samples in all, what is computed of them."""

    done: int
    total: int
    what: str = "samples"


#: yields its progress before every slice, is sent the size of the slice, returns its result
Work = Generator[Progress, int, Any]


def in_slices(
    samples: int, piece: Callable[[slice], tuple[np.ndarray, ...]], what: str = "samples"
) -> Generator[Progress, int, tuple[np.ndarray, ...]]:
    """The arrays (samples, ...) that `piece` makes, slice after slice of the samples.

    Parameters
    ----------
    samples : int
    piece : callable
        From a slice of the samples to arrays with one row per sample of it.
    what : str
        What is computed, for reports of the progress.
    """
    whole: tuple[np.ndarray, ...] | None = None
    done = 0
    while done < samples:
        size = yield Progress(done, samples, what)
        part = slice(done, min(samples, done + size))
        found = piece(part)
        if part == slice(0, samples):
            return found
        if whole is None:
            whole = tuple(np.empty((samples, *rows.shape[1:]), rows.dtype) for rows in found)
        for array, rows in zip(whole, found, strict=True):
            array[part] = rows
        done = part.stop
    return whole or ()


def done_at_once(work: Work) -> Any:
    """The result of work that is done in slices as large as they can be."""
    try:
        progress = next(work)
        while True:
            progress = work.send(progress.total)
    except StopIteration as end:
        return end.value


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
        Called with this job and the result, or the exception that ended the work, by the thread that made the
        last slice. It does not hold the job itself: what a request and its response hold is freed at once.
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
        done: Callable[[Job, Any], None],
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
            if complaint := self._complaint():
                self._progress = self._work.throw(StoppedError(complaint))
        except StopIteration as end:
            self.spent += max(0.0, self._clock() - begin)
            self._done(self, end.value)
            return True
        except Exception as error:  # noqa: BLE001  what one request runs into must not end the others
            self._done(self, error)
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
