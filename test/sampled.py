"""Parameters of tests of which a few run always, the rest with `scripts/test --slow`."""

from collections.abc import Collection, Sequence

import pytest


def few(values: Sequence, always: int | Collection):
    """The first `always` of the values, or those in it, run always; the others show the same faults.

    Values of several parameters are tuples.
    """
    chosen = values[:always] if isinstance(always, int) else always
    sets = [value if isinstance(value, tuple) else (value,) for value in values]
    marks = [() if value in chosen else pytest.mark.slow for value in values]
    return [pytest.param(*of_one, marks=mark) for of_one, mark in zip(sets, marks, strict=True)]
