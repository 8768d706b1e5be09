"""Columns that a simulation predicts: coordinates, rates, places of frames, bending of links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot

__all__ = ["Channel", "channels_of", "predicted"]

_OF_FRAME = re.compile(r"(.+)\.([xyz])")
_OF_LINK = re.compile(r"([^@]+)@([0-9.eE+-]+)\.(strain|(?:displacement|rotation|curvature)_[xyz])")
_BENT = {"strain": "-", "displacement": "m", "rotation": "rad", "curvature": "1/m"}


class Channel(NamedTuple):
    """A column that is predicted: its name, kind (position, velocity, frame, link), unit, and of coordinates
    their place in q or v."""

    name: str
    kind: str
    unit: str
    place: int = -1


def channels_of(robot: Robot, columns: Iterable[str], wanted: Sequence[str] | None) -> tuple[Channel, ...]:
    """The channels among columns, or those that are wanted.

    Raises
    ------
    StateError
        If a column that is wanted cannot be predicted, or none can.
    """
    if wanted is None:
        found = [channel for name in columns if (channel := _channel(robot, name)) is not None]
    else:
        maybe = {name: _channel(robot, name) for name in wanted}
        unknown = [name for name, channel in maybe.items() if channel is None]
        if unknown:
            raise StateError(
                f"{unknown[0]!r} cannot be predicted: expected a coordinate, its .velocity, FRAME.x, "
                "LINK@STATION.strain, .displacement_y, .rotation_z or .curvature_z"
            )
        found = [channel for channel in maybe.values() if channel is not None]
    if not found:
        raise StateError(f"no column can be predicted: {', '.join(columns)}")
    return tuple(found)


def _channel(robot: Robot, name: str) -> Channel | None:
    q_units, v_units, _ = units_of(robot)
    if name in robot.q_names:
        i = robot.q_names.index(name)
        return Channel(name, "position", q_units[i], i)
    if name.endswith(".velocity") and name.removesuffix(".velocity") in robot.v_names:
        i = robot.v_names.index(name.removesuffix(".velocity"))
        return Channel(name, "velocity", v_units[i], i)
    link = _OF_LINK.fullmatch(name)
    if link and link[1] in robot.description.flexible_links:
        return Channel(name, "link", _BENT[link[3].partition("_")[0]])
    frame = _OF_FRAME.fullmatch(name)
    if frame and frame[1] in robot.frame_names:
        return Channel(name, "frame", "m")
    return None


def predicted(robot: Robot, channels: Sequence[Channel], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Values (n, k) of k channels in states q (n, nq), v (n, nv)."""
    columns = []
    poses: dict[str, np.ndarray] = {}
    for channel in channels:
        if channel.kind == "position":
            columns.append(q[:, channel.place])
        elif channel.kind == "velocity":
            columns.append(v[:, channel.place])
        elif channel.kind == "frame":
            frame, axis = channel.name.rsplit(".", 1)
            if frame not in poses:
                poses[frame] = robot.frames(q, frame)
            columns.append(poses[frame][:, "xyz".index(axis), 3])
        else:
            columns.append(_bent(robot, channel.name, q))
    return np.column_stack(columns)


def _bent(robot: Robot, name: str, q: np.ndarray) -> np.ndarray:
    match = _OF_LINK.fullmatch(name)
    assert match is not None, name
    link, station, part = match.groups()
    deflection = robot.deflections(q, [float(station)])[link]
    word, _, axis = part.partition("_")
    values = (
        np.asarray(getattr(deflection, word))[..., 0]
        if not axis
        else getattr(deflection, word)[..., 0, "xyz".index(axis)]
    )
    return np.asarray(values)
