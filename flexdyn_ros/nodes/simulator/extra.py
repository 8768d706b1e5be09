"""What the simulator publishes and hears for some robots: the form that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from flexdyn_ros.simulation.live.simulation import Simulation


class Extra:
    """Topics of a family: what it hears, and what it publishes by the two functions.

    Attributes
    ----------
    inputs : dict
        callback(message, simulation) by topic; it runs between two ticks and may raise CommandError.
    """

    inputs: Mapping[str, Callable[[object, Simulation], None]] = MappingProxyType({})

    def publish_fast(self, stamp: object) -> None:
        """At publish_rate_hz."""

    def publish_slow(self, stamp: object) -> None:
        """At deflection_rate_hz."""

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """What it says in /diagnostics, NODE: WORD each."""
        return []


@dataclass(frozen=True)
class Setting:
    """What extras are made from.

    make(topic, *parts) is `ManagedNode.advertise`; record(topic), where there is a recording, gives a
    function that keeps messages which come on that topic. `simulation` keeps its robot up to date: look there
    at every publication.
    """

    simulation: Simulation
    settings: Any
    make: Callable[..., Any]
    record: Callable[[str], Callable[[Any], None]] | None = None
