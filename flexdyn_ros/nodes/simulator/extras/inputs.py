"""Topics that the simulator publishes and hears for one family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from flexdyn_ros.simulation.live.simulation import Simulation


class Input(NamedTuple):
    """A topic that an extra hears: callback(message, simulation) runs between two ticks and may raise
    CommandError."""

    kind: Any
    topic: str
    callback: Callable[[Any, Any], None]


class Extra:
    """Topics of a family: what it hears, and what it publishes by the two functions."""

    inputs: tuple[Input, ...] = ()

    def publish_fast(self, stamp: object) -> None:
        """At publish_rate_hz."""

    def publish_slow(self, stamp: object) -> None:
        """At deflection_rate_hz."""


@dataclass(frozen=True)
class Setting:
    """What extras are made from.

    make(kind, topic, qos) makes a publisher that is silent while the node is not active; qos is the depth of
    a reliable queue, or a QoSProfile (`nodes/ros/queues.py`). `simulation` keeps its robot up to date: look
    there at every publication.
    """

    simulation: Simulation
    settings: Any
    make: Callable[..., Any]
