"""What `hydraulic_actuators` says in /diagnostics."""

from __future__ import annotations

from dataclasses import asdict

from diagnostic_msgs.msg import DiagnosticStatus

from flexdyn_ros.nodes.ros.diagnostics import ERROR, OK, WARN, status
from flexdyn_ros.simulation.live.hydraulic_policy import Actuation


def hydraulic_health(
    node: str, actuation: Actuation, disagreement: str = "", silence: str = ""
) -> DiagnosticStatus:
    """Status NODE: legs. ERROR after a fault, without leg states or when the simulator disagrees about
    lockstep, WARN for what is stale or refused, and where leg states are waited for (`silence`)."""
    counters = actuation.counters
    conditions = actuation.conditions()
    if silence:
        conditions = (*conditions, silence)
    level, message = OK, "running"
    if disagreement or actuation.fault or any("no leg state" in condition for condition in conditions):
        level = ERROR
    elif conditions or counters.rejected:
        level = WARN
    if disagreement or conditions:
        message = "; ".join([disagreement, *conditions] if disagreement else conditions)
    elif counters.rejected:
        message = f"{counters.rejected} refused, last: {counters.last_rejection}"
    values = asdict(counters) | {"enabled": str(actuation.enabled).lower()}
    return status(level, f"{node}: legs", message, values)
