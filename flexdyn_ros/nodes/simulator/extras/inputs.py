"""Topics that the simulator hears for one family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Input"]


class Input(NamedTuple):
    """A topic that an extra hears: callback(message, simulation) runs between two ticks and may raise
    CommandError."""

    kind: Any
    topic: str
    callback: Callable[[Any, Any], None]
