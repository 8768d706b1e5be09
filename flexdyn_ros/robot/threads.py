"""Batches on several threads: kernels release the GIL, so that slices of a batch run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, cached_property
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["batch_threads", "run_in_slices", "set_batch_threads", "shared_property"]

#: a slice smaller than this is not worth a thread of its own
SMALLEST_SLICE = 256

_threads: int | None = None


def batch_threads() -> int:
    """Number of threads that batches use: the last `set_batch_threads`, else FLEXDYN_THREADS, else all
    usable cores."""
    if _threads is not None:
        return _threads
    chosen = os.environ.get("FLEXDYN_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def set_batch_threads(count: int | None) -> None:
    """Let batches use `count` threads; None goes back to the default."""
    global _threads
    if count is not None and count < 1:
        raise ValueError(f"count is {count}, expected at least 1")
    _threads = count


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # not at the top: few processes make threads

    return ThreadPoolExecutor(workers, thread_name_prefix="flexdyn-batch")


def run_in_slices(call: Callable[..., int], rows: list[np.ndarray]) -> int:
    """call(*slices of rows) over consecutive slices of the first axis; the first status that is not 0,
    shifted to the batch.

    `call` must release the GIL and write only to its own slices; the result does not depend on the number
    of threads.
    """
    count = rows[0].shape[0]
    pieces = 1 if count < 2 * SMALLEST_SLICE else min(batch_threads(), count // SMALLEST_SLICE)
    if pieces == 1:
        return call(*rows)
    bounds = [16 * round(count * i / pieces / 16) for i in range(pieces)] + [count]
    slices = list(zip(bounds, bounds[1:], strict=False))
    pool = _pool(pieces, os.getpid())
    futures = [pool.submit(call, *[array[a:b] for array in rows]) for a, b in slices]
    statuses = [future.result() for future in futures]
    for (start, _), status in zip(slices, statuses, strict=True):
        if status:
            return status + 8 * start
    return 0


if TYPE_CHECKING:
    shared_property = cached_property
else:

    class shared_property(cached_property):
        """A `cached_property` of which all threads that ask at once get the same value.

        `functools` has no lock since Python 3.12: each thread would get a value of its own, and a kernel
        could be given the address of one that is thrown away.
        """

        def __init__(self, function):
            super().__init__(function)
            self._own_lock = RLock()

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            with self._own_lock:
                return super().__get__(instance, owner)
