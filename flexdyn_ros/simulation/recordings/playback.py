"""Recordings read back: the trajectory and the robot that are in an MCAP file."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.budget import MOST_BYTES
from flexdyn_ros.errors import DimensionError, FlexdynWarning, StateError, UnknownNameError
from flexdyn_ros.loading import load
from flexdyn_ros.robot.results import Energy
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Event
from flexdyn_ros.simulation.recordings.cdr import ELEMENT_STATES, ENERGY, STATE, TEXT, Layout, types
from flexdyn_ros.simulation.recordings.reading import Message, Note, Recording
from flexdyn_ros.simulation.recordings.topics import (
    ROBOT_NOTE,
    RUN_NOTE,
    element_layout,
    energy_layout,
    state_layout,
)


def read_fields(
    path: str | PathLike[str],
    robot: Robot | None = None,
    *,
    most_bytes: int = MOST_BYTES,
    topics: Sequence[str] = (),
    part: int | None = None,
) -> dict[str, Any]:
    """Fields of the trajectory in a recording of ours, or in any with a topic of states.

    Numbers are those that were written, bit for bit; times are known to the nanosecond. What a recording
    that broke off does not say (method, events, how it ended) is empty, and its status is -1.

    Parameters
    ----------
    path : path
        A file or folder, as `Recording` reads it.
    robot : Robot, optional
        For `frames` and `deflections` of the trajectory.
    most_bytes : int
        What the recording may take in memory, unpacked.
    topics : sequence of str
        The topic of states, where there are several.
    part : int, optional
        Which part, where the times jump back (a simulator was reset): 0 is the first, -1 the last, which is
        the default.

    Raises
    ------
    StateError
        If the file is no recording, is damaged, too large, holds no states, or those of several topics.
    UnknownNameError
        If it has not the topic that was chosen.
    DimensionError
        If the robot has other coordinates, or the states are not all of one robot.
    """
    found = Recording(path, most_bytes)
    messages: dict[str, list[_Placed]] = defaultdict(list)
    notes: dict[str, dict[str, str]] = {}
    for place, record in enumerate(found.read(lambda _, kind: kind in (STATE, ENERGY, ELEMENT_STATES))):
        if isinstance(record, Note):
            notes[record.name] = record.metadata
        else:
            messages[record.topic].append((place, record.data))
    topic = _topic_of_states(found, messages, topics)
    first = _decoded(messages[topic][0][1], STATE, path)
    names = (tuple(first.position_names), tuple(first.velocity_names), tuple(first.effort_names))
    if robot is not None and (robot.q_names, robot.v_names) != names[:2]:
        raise DimensionError(f"the coordinates of {robot.name!r} are not those of the recording {path}")
    layout = state_layout(first.robot, *names)
    rows = _rows(messages[topic], layout, path)
    chosen, told = _chosen_part(layout.stamps(rows), part, path)
    energies = _part_of(messages, topic, "energy", energy_layout(first.robot), chosen, path)
    state_names = _state_names(messages, topic, path)
    elements = element_layout(first.robot, state_names)
    states = _part_of(messages, topic, "element_states", elements, chosen, path)
    rows, is_whole = rows[chosen.rows], len(chosen.rows) == len(rows)
    energy, work, dissipated = _energies(energies, first.robot, layout.stamps(rows), path)
    run = _understood(path, _run, notes.get(RUN_NOTE), len(rows), is_whole)
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
        states=_at_times(states, elements, "values", layout.stamps(rows), path),
        state_names=state_names if states else (),
        robot=robot,
        **_understood(path, _units, notes.get(ROBOT_NOTE, {}), (*names, state_names if states else ())),
        **run | {"warnings": (*run.get("warnings", ()), *told)},
    )


def recorded_robot(path: str | PathLike[str], *, topics: Sequence[str] = ()) -> Robot:
    """The robot of a recording, from the description recorded with it: data, as text from a topic is.

    Parameters
    ----------
    path : path
        A file or folder, as `Recording` reads it.
    topics : sequence of str
        Where there are several descriptions: that in the namespace of these topics is taken.

    Raises
    ------
    StateError
        If the file is no recording, is damaged, or holds no description, or several.
    DescriptionError
        If the description is wrong, is xacro, or names files outside packages.
    """
    found = Recording(path)
    texts: dict[str, bytes] = {}
    options = None
    for record in found.read(_is_description):
        if isinstance(record, Message):
            texts.setdefault(record.topic, record.data)
        elif record.name == ROBOT_NOTE:
            options = _understood(path, json.loads, record.metadata.get("options", "{}"))
    if not texts:
        raise StateError(f"{path} holds no robot description; name the robot")
    if len(set(texts.values())) > 1:
        near = [key for key in texts if any(one.startswith(_namespace(key)) for one in topics)]
        longest = max(map(len, near), default=0)
        texts = {key: texts[key] for key in near if len(key) == longest} or texts
    if len(set(texts.values())) > 1:
        raise StateError(
            f"{path} holds the descriptions of several robots: {', '.join(texts)}; choose a topic"
        )
    text = _decoded(next(iter(texts.values())), TEXT, path).data
    return load(text, options=options or None, origin="recording")


def parts_of(stamps: np.ndarray, breaks: Sequence[int] | None = None) -> list[slice]:
    """Where the times of messages (n,) rise, or stay: after each jump back, or at `breaks`, a new part
    begins."""
    if breaks is None:
        breaks = (np.flatnonzero(np.diff(stamps) < 0) + 1).tolist()
    edges = [0, *breaks, len(stamps)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def choice_of_parts(
    path: str | PathLike[str], stamps: np.ndarray, part: int | None, breaks: Sequence[int] | None = None
) -> tuple[slice, tuple[str, ...]]:
    """The samples of one part of a recording whose times (n,) [ns] jump back, and what is told of it.

    Raises
    ------
    StateError
        If it has no such part.
    """
    parts = parts_of(stamps, breaks)
    number = len(parts) - 1 if part is None else part
    if not -len(parts) <= number < len(parts):
        raise StateError(f"{path} has {len(parts)} parts, there is no part {number}")
    if len(parts) == 1 or part is not None:
        return parts[number], ()
    spans = ", ".join(f"{stamps[one][0] / 1e9:g} .. {stamps[one][-1] / 1e9:g} s" for one in parts[:8])
    return parts[number], (
        f"{path}: times jump back, as after a reset: {len(parts)} parts ({spans}{', ...' * (len(parts) > 8)})"
        ", the last one is read; Trajectory.load(..., part=0) reads the first",
    )


#: a message, and how many came before it
_Placed = tuple[int, bytes]


class _Part(NamedTuple):
    """Indices of the states of a part, and its number among how many."""

    rows: np.ndarray
    number: int
    parts: int


def _is_description(topic: str, kind: str) -> bool:
    return kind == TEXT and topic.endswith("/robot_description") and "/expanded/" not in topic


def _namespace(topic: str) -> str:
    return topic.rpartition("/")[0] + "/"


def _topic_of_states(found: Recording, messages: dict[str, list[_Placed]], topics: Sequence[str]) -> str:
    """The one topic of states that is there, or was chosen."""
    of_states = [topic for topic in messages if found.topics[topic] == STATE]
    for topic in topics:
        UnknownNameError.check(f"topic in {found.path}", topic, tuple(found.topics))
    chosen = [topic for topic in of_states if topic in topics] if topics else of_states
    if len(chosen) > 1:
        raise StateError(
            f"{found.path} holds states on {' and '.join(chosen)}: choose one, topics={chosen[0]!r} (--topic)"
        )
    if not chosen:
        where = f" on {', '.join(topics)}" if topics else ""
        raise StateError(
            f"{found.path} holds no states{where}: no topic of {STATE}; it has {found.listed()}. Joint "
            "states are read by Measurement.read"
        )
    return chosen[0]


def _chosen_part(
    stamps: np.ndarray, part: int | None, path: str | PathLike[str]
) -> tuple[_Part, tuple[str, ...]]:
    """The states of a part, and what is told of it."""
    chosen, told = choice_of_parts(path, stamps, part)
    for text in told:
        warnings.warn(text, FlexdynWarning, stacklevel=4)
    parts = parts_of(stamps)
    rows = np.arange(len(stamps))[chosen]
    return _Part(rows, parts.index(chosen), len(parts)), told


def _beside(messages: dict[str, list[_Placed]], topic: str, name: str) -> list[_Placed]:
    """Messages of a topic in the namespace of that of the states."""
    other = f"{_namespace(topic)}{name}"
    return messages.get(other, []) if other != topic else []


def _state_names(
    messages: dict[str, list[_Placed]], topic: str, path: str | PathLike[str]
) -> tuple[str, ...]:
    """Names of the states of elements; none where they were not recorded."""
    found = _beside(messages, topic, "element_states")
    return tuple(_decoded(found[0][1], ELEMENT_STATES, path).names) if found else ()


def _part_of(
    messages: dict[str, list[_Placed]],
    topic: str,
    name: str,
    layout: Layout,
    chosen: _Part,
    path: str | PathLike[str],
) -> list[_Placed]:
    """Messages of a topic beside the states that belong to a part of these."""
    found = _beside(messages, topic, name)
    if chosen.parts == 1 or not found:
        return found
    parts = parts_of(layout.stamps(_rows(found, layout, path)))
    if len(parts) == chosen.parts:
        return found[parts[chosen.number]]
    # what belongs to a state is written after it
    places = [place for place, _ in messages[topic]]
    first, after = places[chosen.rows[0]], (*places, inf)[chosen.rows[-1] + 1]
    return [one for one in found if first <= one[0] < after]


def _decoded(message: bytes, kind: str, path: str | PathLike[str]) -> Any:
    """A message of a kind that is known here; definitions in the recording are not used."""
    try:
        return types().deserialize_cdr(message, kind)
    except Exception as error:  # noqa: BLE001  the decoder trusts its bytes, and runs into anything
        cause = f"{type(error).__name__}: {error}"
        raise StateError(f"{path} holds a message that is no {kind}: {cause}") from None


def _understood(path: str | PathLike[str], read: Callable[..., object], *arguments: object) -> Any:
    """What is in a note of a recording."""
    try:
        return read(*arguments)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        raise StateError(f"{path} holds a note that cannot be read: {cause}") from None


def _rows(messages: list[_Placed], layout: Layout, path: str | PathLike[str]) -> np.ndarray:
    """Messages as bytes (n, size), all of one layout."""
    if any(len(message) != len(layout) for _, message in messages):
        raise DimensionError(f"{path} holds states of several robots, or of robots that changed")
    data = b"".join(message for _, message in messages)
    rows = np.frombuffer(data, np.uint8).reshape(len(messages), len(layout))
    if not layout.fits(rows):
        raise DimensionError(f"{path} holds states of several robots")
    return rows


def _energies(
    messages: list[_Placed], robot: str, stamps: np.ndarray, path: str | PathLike
) -> tuple[Energy | None, np.ndarray, np.ndarray]:
    """Energies, work, dissipated at the times of the states."""
    if not messages:
        return None, np.zeros(len(stamps)), np.zeros(len(stamps))
    values = _at_times(messages, energy_layout(robot), "parts", stamps, path)
    kinetic, gravity, elastic, _, work, dissipated = np.ascontiguousarray(values.T)
    return Energy(kinetic, gravity, elastic), work, dissipated


def _at_times(
    messages: list[_Placed], layout: Layout, slot: str, stamps: np.ndarray, path: str | PathLike
) -> np.ndarray:
    """Numbers (n, count) of messages at the times of the states (n,); interpolated where they were recorded
    less often, no columns where they were not."""
    if not messages:
        return np.zeros((len(stamps), 0))
    rows = _rows(messages, layout, path)
    values, own = layout.numbers(rows, slot), layout.stamps(rows)
    if np.array_equal(own, stamps):
        return values
    order = np.argsort(own, kind="stable")
    return np.stack([np.interp(stamps, own[order], column[order]) for column in values.T], axis=-1)


def _units(note: dict[str, str], names: tuple[tuple[str, ...], ...]) -> dict[str, object]:
    """Units of the coordinates and states; "-" where the recording does not say."""
    units: dict[str, Any] = {}
    for key, own in zip(("q_units", "v_units", "effort_units", "state_units"), names, strict=True):
        found = json.loads(note.get(key, "[]"))
        # states of elements are not in every recording of a robot that has them
        units[key] = tuple(found) if len(found) == len(own) else ("-",) * len(own)
    return units


def effort_delay(note: Mapping[str, str]) -> float:
    """By how much efforts of a recording come late, from the note of its run [s]: the node `simulator`, whose
    notes do not say whether efforts were held, records means over the last step (`Stepper.effort`)."""
    return 0.0 if "held" in note else 0.5 * float(json.loads(note["numbers"])[1])


def _run(note: dict[str, str] | None, samples: int, is_whole: bool) -> dict[str, object]:
    """How the run ended. What a note says of single samples is of a recording in one part."""
    saturated = np.zeros(samples, dtype=bool)
    if note is None:
        return {
            "status": -1, "message": "recording without an end", "method": "", "dt": 0.0, "wall_time": 0.0,
            "events": (), "saturated": saturated, "held": False,
        }  # fmt: skip
    status, dt, wall_time = json.loads(note["numbers"])
    if is_whole:
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
