"""Work that is done slice by slice: a generator that says how far it is and is sent how many samples come
next."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np


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
