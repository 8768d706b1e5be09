"""HydraulicState messages from cylinders."""

from __future__ import annotations

from array import array
from typing import Any

from flexdyn_ros.dynamics.hydraulics import Cylinders
from flexdyn_ros.nodes.conversions import doubles

__all__ = ["fill_hydraulic_state"]

#: fields of the message that are fields of the state as well
FIELDS = (
    "force",
    "force_hydraulic",
    "force_friction",
    "force_stop",
    "pressure_bore",
    "pressure_rod",
    "flow_bore",
    "flow_rod",
    "spool",
    "valve_command",
    "stroke",
)


def fill_hydraulic_state(message: Any, cylinders: Cylinders) -> None:
    """Write the present state into a HydraulicState message, all but header and names."""
    columns = cylinders.rows.T
    for i, name in enumerate(FIELDS):
        setattr(message, name, doubles(columns[i]))
    message.flags = array("I", (int(x) for x in cylinders["flags"]))
