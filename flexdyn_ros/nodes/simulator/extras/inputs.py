"""Topics that the simulator publishes and hears for one family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Input(NamedTuple):
    """A topic that an extra hears: callback(message, simulation) runs between two ticks and may raise
    CommandError."""

    kind: Any
    topic: str
    callback: Callable[[Any, Any], None]


class Extra:
    """Topics of a family: what it hears, and what it publishes by the two functions."""

    inputs: tuple[Input, ...] = ()

    def publish_fast(self, stamp: Any) -> None:
        """At publish_rate_hz."""

    def publish_slow(self, stamp: Any) -> None:
        """At deflection_rate_hz."""
