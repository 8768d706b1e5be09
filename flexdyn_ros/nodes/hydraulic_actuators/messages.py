"""HydraulicState messages from cylinders."""

from __future__ import annotations

from array import array
from typing import Any

from flexdyn_interfaces.msg import HydraulicState
from flexdyn_ros.families.actuators.hydraulics import Cylinders
from flexdyn_ros.nodes.ros.conversions import doubles

#: fields of the message that are fields of the state as well, in their order
FIELDS = [
    name for name, kind in HydraulicState.get_fields_and_field_types().items() if kind == "sequence<double>"
]


def pace_word(lockstep: bool) -> str:
    """What header.frame_id of leg states and leg forces says, which have no frame: how the sender's time goes
    on."""
    return "lockstep" if lockstep else "free_running"


def disagreement(word: str, other: str, lockstep: bool) -> str:
    """What is wrong if the other side's word is not ours; empty if it is, or if it says nothing."""
    if word not in ("lockstep", "free_running") or word == pace_word(lockstep):
        return ""
    theirs, ours = (str(x).lower() for x in (not lockstep, lockstep))
    return (
        f"parameter lockstep is {ours} here and {theirs} at the {other}, expected the same: "
        "forces have no effect until both agree"
    )


def fill_hydraulic_state(message: Any, cylinders: Cylinders) -> None:
    """Write the present state into a HydraulicState message, all but header and names."""
    columns = cylinders.rows.T
    for i, name in enumerate(FIELDS):
        setattr(message, name, doubles(columns[i]))
    message.flags = array("I", (int(x) for x in cylinders["flags"]))
