"""How links bend, in messages."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections
from flexdyn_ros.expanding import bending_frames
from flexdyn_ros.nodes.ros.conversions import vector_message
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS

_KNOWN: WeakKeyDictionary[Any, dict[str, tuple[str, float]]] = WeakKeyDictionary()


def deflection_message(robot: Robot, bent: dict[str, object], row: tuple[int, ...] = ()) -> LinkDeflections:
    """LinkDeflections of one sample, the one at `row` of what `robot.deflections` answered; frames
    LINK/beam, SECTION/base of soft sections."""
    frames = bending_frames_of(robot)
    return LinkDeflections(
        robot=robot.name, links=[_link(name, *frames[name], d, row) for name, d in bent.items()]
    )


def bending_frames_of(robot: Robot) -> dict[str, tuple[str, float]]:
    """`bending_frames`, once for every robot."""
    if robot not in _KNOWN:
        _KNOWN[robot] = bending_frames(robot.description)
    return _KNOWN[robot]


def _link(name: str, frame: str, length: float, d: Any, row: tuple[int, ...]) -> LinkDeflection:
    values = {field: (getattr(d, part)[row], width) for part, field, width in DEFLECTION_PARTS}
    return LinkDeflection(
        link=name,
        frame_id=frame,
        length=length,
        stations=doubles(d.station),
        **{field: _vectors(x) if width == 3 else doubles(x) for field, (x, width) in values.items()},
    )


def _vectors(rows: np.ndarray) -> list[object]:
    return [vector_message(x) for x in rows.tolist()]
