"""Recordings read back: the trajectory and the robot that are in an MCAP file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError
from flexdyn_ros.loading import load
from flexdyn_ros.robot.results import Energy
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Event
from flexdyn_ros.simulation.recordings.bag import MOST_BYTES, records
from flexdyn_ros.simulation.recordings.cdr import Layout
from flexdyn_ros.simulation.recordings.recorded_types import STATE, types
from flexdyn_ros.simulation.recordings.topics import ROBOT_NOTE, RUN_NOTE, energy_layout, state_layout

__all__ = ["read_fields", "recorded_robot"]


def read_fields(
    path: str | PathLike, robot: Robot | None = None, *, most_bytes: int = MOST_BYTES
) -> dict[str, Any]:
    """Fields of the trajectory in a recording of ours, or in any MCAP file with a topic `.../state`.

    Numbers are those that were written, bit for bit; times are known to the nanosecond. What a recording
    that broke off does not say (method, events, how it ended) is empty, and its status is -1.

    Parameters
    ----------
    path : path
    robot : Robot, optional
        For `frames` and `deflections` of the trajectory.
    most_bytes : int
        What the recording may take in memory, unpacked.

    Raises
    ------
    StateError
        If the file is no MCAP file, is damaged, too large, or holds no states.
    DimensionError
        If the robot has other coordinates, or the states are not all of one robot.
    """
    topics: dict[str, list[Any]] = defaultdict(list)
    notes: dict[str, dict[str, str]] = {}
    for topic, record in records(path, most_bytes=most_bytes):
        if topic:
            topics[topic].append(record.data)
        else:
            notes[record.name] = dict(record.metadata)
    states = _of_topic(topics, "/state")
    if not states:
        raise StateError(f"{path} holds no states: no topic that ends in /state")
    first = _decoded(states[0], STATE, path)
    names = (tuple(first.position_names), tuple(first.velocity_names), tuple(first.effort_names))
    if robot is not None and (robot.q_names, robot.v_names) != names[:2]:
        raise DimensionError(f"the coordinates of {robot.name!r} are not those of the recording {path}")
    layout = state_layout(first.robot, *names)
    rows = _rows(states, layout, path)
    energy, work, dissipated = _energies(_of_topic(topics, "/energy"), first.robot, layout.stamps(rows), path)
    return dict(
        t=layout.stamps(rows) / 1e9,
        q=layout.numbers(rows, "q"),
        v=layout.numbers(rows, "v"),
        tau=layout.numbers(rows, "tau"),
        energy=energy,
        work=work,
        dissipated=dissipated,
        robot_name=first.robot,
        q_names=names[0],
        v_names=names[1],
        effort_names=names[2],
        robot=robot,
        **_understood(path, _units, notes.get(ROBOT_NOTE, {}), names),
        **_understood(path, _run, notes.get(RUN_NOTE), len(rows)),
    )


def recorded_robot(path: str | PathLike) -> Robot:
    """The robot of a recording, from the description recorded with it: data, as text from a topic is.

    Raises
    ------
    StateError
        If the file is no MCAP file, is damaged, or holds no description.
    DescriptionError
        If the description is wrong, is xacro, or names files outside packages.
    """
    text, options = None, {}
    for topic, record in records(path):
        if topic.endswith("/robot_description") and "/expanded/" not in topic and text is None:
            text = _decoded(record.data, "std_msgs/msg/String", path).data
        elif not topic and record.name == ROBOT_NOTE:
            options = _understood(path, json.loads, record.metadata.get("options", "{}"))
        if text is not None and options:
            break
    if text is None:
        raise StateError(f"{path} holds no robot description; name the robot")
    return load(text, options=options or None, origin="recording")


def _decoded(message: bytes, kind: str, path: str | PathLike) -> Any:
    """A message of a kind that is known here; definitions in the recording are not used."""
    try:
        return types().deserialize_cdr(message, kind)
    except Exception as error:  # noqa: BLE001  the decoder trusts its bytes, and runs into anything
        cause = f"{type(error).__name__}: {error}"
        raise StateError(f"{path} holds a message that is no {kind}: {cause}") from None


def _understood(path: str | PathLike, read: Callable[..., Any], *arguments: Any) -> Any:
    """What is in a note of a recording."""
    try:
        return read(*arguments)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        raise StateError(f"{path} holds a note that cannot be read: {cause}") from None


def _of_topic(topics: dict[str, list[Any]], ending: str) -> list[Any]:
    """Messages of the first topic with this ending."""
    return next((messages for topic, messages in topics.items() if topic.endswith(ending)), [])


def _rows(messages: list[bytes], layout: Layout, path: str | PathLike) -> np.ndarray:
    """Messages as bytes (n, size), all of one layout."""
    if any(len(message) != len(layout) for message in messages):
        raise DimensionError(f"{path} holds states of several robots, or of robots that changed")
    rows = np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), len(layout))
    if not layout.fits(rows):
        raise DimensionError(f"{path} holds states of several robots")
    return rows


def _energies(
    messages: list[bytes], robot: str, stamps: np.ndarray, path: str | PathLike
) -> tuple[Energy | None, np.ndarray, np.ndarray]:
    """Energies, work, dissipated at the times of the states; interpolated where they were recorded less
    often."""
    if not messages:
        return None, np.zeros(len(stamps)), np.zeros(len(stamps))
    layout = energy_layout(robot)
    rows = _rows(messages, layout, path)
    values, own = layout.numbers(rows, "parts"), layout.stamps(rows)
    if not np.array_equal(own, stamps):
        order = np.argsort(own, kind="stable")
        values = np.stack([np.interp(stamps, own[order], column[order]) for column in values.T], axis=-1)
    kinetic, gravity, elastic, _, work, dissipated = np.ascontiguousarray(values.T)
    return Energy(kinetic, gravity, elastic), work, dissipated


def _units(note: dict[str, str], names: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    """Units of the coordinates; "-" where the recording does not say."""
    units: dict[str, Any] = {}
    for key, own in zip(("q_units", "v_units", "effort_units"), names, strict=True):
        units[key] = tuple(json.loads(note[key])) if key in note else ("-",) * len(own)
    return units


def _run(note: dict[str, str] | None, samples: int) -> dict[str, Any]:
    """How the run ended."""
    saturated = np.zeros(samples, dtype=bool)
    if note is None:
        return {
            "status": -1, "message": "recording without an end", "method": "", "dt": 0.0, "wall_time": 0.0,
            "events": (), "saturated": saturated, "held": False,
        }  # fmt: skip
    status, dt, wall_time = json.loads(note["numbers"])
    saturated[json.loads(note["saturated"])] = True
    is_fixed, held = json.loads(note.get("held", "[true, false]"))
    events = [
        Event(e["time"], e["name"], e["terminal"], np.array(e["q"]), np.array(e["v"]))
        for e in json.loads(note["events"])
    ]
    return {
        "status": status, "message": note["message"], "method": note["method"], "dt": dt,
        "wall_time": wall_time, "events": tuple(events), "saturated": saturated,
        "is_fixed": bool(is_fixed), "held": bool(held),
    }  # fmt: skip
