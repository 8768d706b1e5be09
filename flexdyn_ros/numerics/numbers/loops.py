"""Loops whose number of rounds depends on values."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.teaching import when_compiling

__all__ = ["again"]


def again(condition, values):
    """Whether a loop goes round once more, and its values now: a tuple of all that changes in a round.

        while True:
            goes_on, values = again(CONDITION OF values, values)
            if not goes_on:
                break
            values = ...

    So an exporter sees a round once: a condition that is known later only gives other values to the first
    round and ends the loop after it.
    """
    if hasattr(condition, "again"):
        return condition.again(values)
    return bool(condition), values


@when_compiling
def _teach() -> None:
    from numba.extending import overload

    @overload(again, jit_options={"forceinline": True})
    def _again(condition, values):
        return lambda condition, values: (condition, values)
