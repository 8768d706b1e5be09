"""All mistakes of a description, not the first alone.

A reader that finds a mistake raises a DescriptionError. Parts that do not depend on each other are read
within `part()`: while mistakes are collected, such an error is kept and the next part is read; else it goes
on up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from flexdyn_ros.errors import DescriptionError

_found: ContextVar[list[DescriptionError] | None] = ContextVar("mistakes", default=None)


class _Part:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        found = _found.get()
        if found is None or not isinstance(error, DescriptionError):
            return False
        found.append(error)
        return True


_PART = _Part()


def part() -> _Part:
    """Around what may be wrong without making the rest unreadable."""
    return _PART


def any_found() -> bool:
    """Whether mistakes are collected, and some have been."""
    return bool(_found.get())


def end_of_stage() -> None:
    """Give up here if parts before were wrong: what follows needs them all."""
    found = _found.get()
    if found:
        raise found.pop()


def read_all(readers: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """What readers that do not depend on each other return, by name.

    While mistakes are collected, all of them are tried before the last mistake is raised.
    """
    values, found, last = {}, _found.get(), None
    for name, read in readers.items():
        try:
            values[name] = read()
        except DescriptionError as error:
            if found is None:
                raise
            if last is not None:
                found.append(last)
            last = error
    if last is not None:
        raise last
    return values


@contextmanager
def collected() -> Iterator[list[DescriptionError]]:
    """Collect mistakes inside; the last one that nothing can follow is among them, and is not raised."""
    found: list[DescriptionError] = []
    token = _found.set(found)
    try:
        yield found
    except DescriptionError as error:
        found.append(error)
    finally:
        _found.reset(token)
