"""Parameters of tests of which a few run always, the rest with `scripts/test --slow`."""

from collections.abc import Collection, Sequence

import pytest


def few(values: Sequence, always: int | Collection):
    """The first `always` of the values, or those in it, run always; the others show the same faults."""
    chosen = values[:always] if isinstance(always, int) else always
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.slow) for value in values]
