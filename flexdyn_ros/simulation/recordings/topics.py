"""Trajectories as recordings (MCAP) and back: the topics that the simulator node would have published."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.expanding import bending_frames, expand
from flexdyn_ros.numerics.algebra.placement import quaternions_of
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.recordings.bag import Bag
from flexdyn_ros.simulation.recordings.cdr import (
    DEFLECTIONS,
    ELEMENT_STATES,
    ENERGY,
    HYDRAULICS,
    JOINT_STATES,
    ODOMETRY,
    STATE,
    TEXT,
    Layout,
)
from flexdyn_ros.writing import beside

if TYPE_CHECKING:
    from flexdyn_ros.simulation.samples import Samples

STATE_TOPIC, ENERGY_TOPIC = "/simulator/state", "/simulator/energy"
ELEMENT_TOPIC, HYDRAULIC_TOPIC = "/simulator/element_states", "/simulator/hydraulic_state"
#: names of the metadata records: of the robot, of how the run ended
ROBOT_NOTE, RUN_NOTE = "flexdyn_robot", "flexdyn_run"
JOINT_PARTS = ("position", "velocity", "effort")
ENERGY_PARTS = ("kinetic", "gravity", "elastic", "total", "work", "dissipated")
#: fields of a Deflection and of a LinkDeflection that have an entry for each station, and its numbers
DEFLECTION_PARTS = (
    ("displacement", "displacements", 3), ("rotation", "rotations", 3), ("curvature", "curvatures", 3),
    ("strain", "strains", 1), ("moment", "moments", 3), ("axial_force", "axial_forces", 1),
)  # fmt: skip
#: fields of HydraulicState that have a number for each cylinder, before its flags
HYDRAULIC_PARTS = (
    "force", "force_hydraulic", "force_friction", "force_stop", "pressure_bore", "pressure_rod", "flow_bore",
    "flow_rod", "spool", "valve_command", "stroke",
)  # fmt: skip
#: samples whose messages are made at once
BLOCK = 2000


class _Stream(NamedTuple):
    """Messages of one topic: bytes (n, size), stamps (n,) [ns], number of the channel."""

    channel: int
    stamps: np.ndarray
    rows: np.ndarray


def record_trajectory(
    trajectory: Samples,
    path: str | PathLike,
    *,
    deflection_rate_hz: float = 30.0,
    split_size: int = 0,
    split_duration: float = 0.0,
) -> None:
    """Write a trajectory as an MCAP recording that rosbag2 and Foxglove open.

    Topics: `/simulator/state` and `/simulator/energy` at every sample, `/simulator/element_states` of robots
    that have such states, `/simulator/hydraulic_state` where `hydraulics` were recorded and, if the
    trajectory has its robot,
    `/joint_states` of the expanded robot at every sample, `/odom` of a base that moves, `/deflections`,
    `/robot_description` and `/expanded/robot_description`. Stamps are the times of the trajectory, to the
    nanosecond; accelerations are differences of the velocities.

    Parameters
    ----------
    trajectory : Samples
    path : path
    deflection_rate_hz : float
        Deflections per second of simulated time; they are larger than everything else.
    split_size, split_duration : int, float
        Bytes and seconds after which the next file begins; with one of them path is a new folder of rosbag2.

    Raises
    ------
    OSError
        If it cannot be written, or the folder of a split recording is there already.
    StateError
        If the trajectory begins before time 0, which a recording cannot.
    MissingExtraError
        If mcap or rosbags is not installed.
    """
    if len(trajectory) and trajectory.t[0] < 0.0:
        raise StateError(
            f"a recording cannot begin before 0 s, this trajectory does at {trajectory.t[0]:g} s"
        )
    is_split = bool(split_size or split_duration)
    with (
        nullcontext(path) if is_split else beside(path) as draft,
        Bag(draft, split_size=split_size, split_duration=split_duration) as bag,
    ):
        if trajectory.robot is not None:
            note_robot(bag, trajectory.robot, _nanoseconds(trajectory.t[:1]))
        else:
            bag.note(ROBOT_NOTE, _names_note(trajectory))
        for start in range(0, len(trajectory), BLOCK):
            chosen = slice(start, min(start + BLOCK, len(trajectory)))
            streams = list(_streams(bag, trajectory, chosen, deflection_rate_hz))
            _write_in_order(bag, streams)
        bag.note(RUN_NOTE, _run_note(trajectory))


def note_robot(bag: Bag, robot: Robot, stamps: np.ndarray | None = None) -> None:
    """Write what a reader needs to know of a robot: its description, latched, and the units of its
    coordinates.

    Parameters
    ----------
    bag : Bag
    robot : Robot
    stamps : (1,) array of int, optional
        Time of the messages [ns]; default 0.
    """
    stamps = np.zeros(1, dtype=np.int64) if stamps is None or not len(stamps) else stamps
    texts = {"/robot_description": robot.description.text}
    expanded = _expanded(robot)
    if expanded is not None:
        texts["/expanded/robot_description"] = expanded.urdf
    for topic, text in texts.items():
        channel = bag.channel(topic, TEXT, latched=True, depth=1)
        bag.write(channel, Layout().text(text).messages(stamps, {})[0].tobytes(), int(stamps[0]))
    bag.note(ROBOT_NOTE, _robot_note(robot))


def run_note(status: int, message: str, *, method: str, dt: float, wall_time: float) -> dict[str, str]:
    """How a run ended, as the note RUN_NOTE: status and message as of a `Trajectory`, method, step and time
    that it took [s]; without events."""
    return {
        "message": message,
        "method": method,
        "numbers": json.dumps([status, dt, wall_time]),
        "events": "[]",
        "saturated": "[]",
    }


def state_layout(
    robot: str, q_names: tuple[str, ...], v_names: tuple[str, ...], effort_names: tuple[str, ...]
) -> Layout:
    """Layout of DynamicsState messages; slots q, v, a, tau."""
    layout = Layout().header("world").text(robot)
    layout.texts(q_names).doubles("q", len(q_names))
    layout.texts(v_names).doubles("v", len(v_names)).doubles("a", len(v_names))
    return layout.texts(effort_names).doubles("tau", len(effort_names))


def joint_layout(names: Sequence[str], frame: str = "", sizes: Sequence[int] = ()) -> Layout:
    """Layout of JointState messages; slots position, velocity, effort, of other sizes where given."""
    layout = Layout().header(frame).texts(names)
    for slot, size in zip(JOINT_PARTS, sizes or [len(names)] * 3, strict=True):
        layout.doubles(slot, size)
    return layout


def energy_layout(robot: str) -> Layout:
    """Layout of Energy messages; one slot, all six numbers."""
    return Layout().header("world").text(robot).doubles("parts", len(ENERGY_PARTS), sequence=False)


def element_layout(robot: str, names: Sequence[str]) -> Layout:
    """Layout of ElementStates messages; slot values."""
    return Layout().header("world").text(robot).texts(names).doubles("values", len(names))


def hydraulic_layout(names: Sequence[str]) -> Layout:
    """Layout of HydraulicState messages of cylinders; slots HYDRAULIC_PARTS and flags."""
    layout = Layout().header("").texts(names)
    for part in HYDRAULIC_PARTS:
        layout.doubles(part, len(names))
    return layout.doubles("flags", len(names), kind="<u4")


def robot_deflection_layout(robot: Robot, found: Mapping[str, Any], frame: str = "world") -> Layout:
    """`deflection_layout` of what `robot.deflections` answered."""
    frames = bending_frames(robot.description)
    links = [(link, *frames[link], d.station) for link, d in found.items()]
    return deflection_layout(frame, robot.name, links)


def deflection_layout(frame: str, robot: str, links: Sequence[tuple[str, str, float, np.ndarray]]) -> Layout:
    """Layout of LinkDeflections messages for links given by name, frame, length and stations; slots N/PART of
    the N-th link for DEFLECTION_PARTS."""
    layout = Layout().header(frame).text(robot).count(len(links))
    for n, (link, own, length, stations) in enumerate(links):
        layout.text(link).text(own).constants(np.array([length]), sequence=False).constants(stations)
        for part, _, width in DEFLECTION_PARTS:
            layout.doubles(f"{n}/{part}", len(stations), width=width)
    return layout


# ---- one block of samples ----


def _streams(bag: Bag, t: Samples, chosen: slice, deflection_rate: float) -> Iterator[_Stream]:
    stamps = _nanoseconds(t.t[chosen])
    layout = state_layout(t.robot_name, t.q_names, t.v_names, t.effort_names)
    numbers = {
        "q": t.q[chosen],
        "v": t.v[chosen],
        "a": _accelerations(t, chosen),
        "tau": t.tau[chosen],
    }
    yield _Stream(bag.channel(STATE_TOPIC, STATE), stamps, layout.messages(stamps, numbers))
    if t.state_names:
        rows = element_layout(t.robot_name, t.state_names).messages(stamps, {"values": t.states[chosen]})
        yield _Stream(bag.channel(ELEMENT_TOPIC, ELEMENT_STATES), stamps, rows)
    if t.hydraulics is not None:
        state = t.hydraulics._asdict()
        numbers = {part: state[part][chosen] for part in (*HYDRAULIC_PARTS, "flags")}
        rows = hydraulic_layout(t.cylinder_names).messages(stamps, numbers)
        yield _Stream(bag.channel(HYDRAULIC_TOPIC, HYDRAULICS), stamps, rows)
    if t.energy is not None:
        parts = [*t.energy, t.energy.total, t.work, t.dissipated]
        values = np.stack([part[chosen] for part in parts], axis=-1)
        rows = energy_layout(t.robot_name).messages(stamps, {"parts": values})
        yield _Stream(bag.channel(ENERGY_TOPIC, ENERGY), stamps, rows)
    if t.robot is not None:
        yield from _robot_streams(bag, t, t.robot, chosen, deflection_rate)


def _robot_streams(
    bag: Bag, t: Samples, robot: Robot, chosen: slice, deflection_rate: float
) -> Iterator[_Stream]:
    """What needs the robot itself: joint states, odometry, deflections."""
    stamps, q, v = _nanoseconds(t.t[chosen]), t.q[chosen], t.v[chosen]
    expanded = _expanded(robot)
    if expanded is not None:
        names = expanded.joint_names
        layout = joint_layout(names)
        numbers = {
            "position": expanded.joint_positions(q),
            "velocity": expanded.joint_velocities(q, v),
            "effort": expanded.joint_efforts(t.tau[chosen]),
        }
        yield _Stream(bag.channel("/joint_states", JOINT_STATES), stamps, layout.messages(stamps, numbers))
    if robot.description.base.type in ("floating", "planar"):
        rows = _odometry(robot, q, v, stamps)
        yield _Stream(bag.channel("/odom", ODOMETRY), stamps, rows)
    slow = _thinned(t.t, chosen, deflection_rate)
    if slow.size:
        found = robot.deflections(t.q[slow])
        if found:
            rows = _deflection_rows(robot, found, _nanoseconds(t.t[slow]))
            yield _Stream(bag.channel("/deflections", DEFLECTIONS), _nanoseconds(t.t[slow]), rows)


def _odometry(robot: Robot, q: np.ndarray, v: np.ndarray, stamps: np.ndarray) -> np.ndarray:
    """nav_msgs/Odometry of the root link: pose in the world, twist in its own axes, linear first."""
    root = robot.description.root
    T = robot.frames(q, root)
    V = np.einsum("nij,nj->ni", robot.jacobian(q, root), v)
    back = np.swapaxes(T[:, :3, :3], -1, -2)
    twist = np.concatenate(
        (np.einsum("nij,nj->ni", back, V[:, 3:]), np.einsum("nij,nj->ni", back, V[:, :3])), axis=-1
    )
    layout = Layout().header("odom").text(root)
    for slot, count in (("pose", 7), ("pose_covariance", 36), ("twist", 6), ("twist_covariance", 36)):
        layout.doubles(slot, count, sequence=False)
    zeros = np.zeros((len(q), 36))
    numbers = {
        "pose": np.concatenate((T[:, :3, 3], quaternions_of(T[:, :3, :3])), axis=-1),
        "pose_covariance": zeros,
        "twist": twist,
        "twist_covariance": zeros,
    }
    return layout.messages(stamps, numbers)


def station_numbers(bent: Any) -> list[np.ndarray]:
    """Numbers of a Deflection in the order of `DEFLECTION_PARTS`, as LinkDeflection has them: strains that
    are not known are 0 there."""
    numbers = [getattr(bent, part) for part, _, _ in DEFLECTION_PARTS]
    strain = [part for part, _, _ in DEFLECTION_PARTS].index("strain")
    numbers[strain] = np.nan_to_num(numbers[strain])
    return numbers


def _deflection_rows(robot: Robot, found: dict[str, object], stamps: np.ndarray) -> np.ndarray:
    numbers = {
        f"{n}/{part}": values
        for n, d in enumerate(found.values())
        for (part, _, _), values in zip(DEFLECTION_PARTS, station_numbers(d), strict=True)
    }
    return robot_deflection_layout(robot, found).messages(stamps, numbers)


def _write_in_order(bag: Bag, streams: list[_Stream]) -> None:
    """Messages of a block by rising time, so that players need not sort."""
    stamps = np.concatenate([stream.stamps for stream in streams])
    owner = np.repeat(np.arange(len(streams)), [len(stream.stamps) for stream in streams])
    place = np.concatenate([np.arange(len(stream.stamps)) for stream in streams])
    for i in np.argsort(stamps, kind="stable").tolist():
        stream = streams[owner[i]]
        bag.write(stream.channel, stream.rows[place[i]].tobytes(), int(stamps[i]))


# ---- notes ----


def _names_note(t: Samples | Robot) -> dict[str, str]:
    fields = ("q_names", "v_names", "effort_names", "q_units", "v_units", "effort_units", "state_units")
    return {name: json.dumps(getattr(t, name)) for name in fields if hasattr(t, name)}


def _robot_note(robot: Robot) -> dict[str, str]:
    q_units, v_units, effort_units = units_of(robot)
    note = _names_note(robot)
    note |= {"q_units": json.dumps(q_units), "v_units": json.dumps(v_units)}
    note |= {"state_units": json.dumps([state.unit for state in robot.element_states])}
    note |= {"effort_units": json.dumps(effort_units), "name": robot.name, "kind": robot.kind}
    return note | {"options": json.dumps(options_of(robot))}


def options_of(robot: Robot) -> dict[str, Any]:
    """What was set beside the text of the description, as `load(options=...)` takes it."""
    options: dict[str, Any] = {}
    for override in robot.description.overrides:
        try:
            json.dumps(override.new)
        except TypeError:  # a road given as a function: a file cannot hold it
            continue
        options[override.path] = override.new
    return options


def _run_note(t: Samples) -> dict[str, str]:
    events = [
        {"time": e.time, "name": e.name, "terminal": e.terminal, "q": e.q.tolist(), "v": e.v.tolist()}
        for e in t.events
    ]
    note = run_note(t.status, t.message, method=t.method, dt=t.dt, wall_time=t.wall_time)
    return note | {
        "events": json.dumps(events),
        "saturated": json.dumps(np.flatnonzero(t.saturated).tolist()),
        "held": json.dumps([bool(t.is_fixed), bool(t.held)]),
    }


# ---- small things ----


def _nanoseconds(t: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(t) * 1e9).astype(np.int64)


def _accelerations(t: Samples, chosen: slice) -> np.ndarray:
    """Differences of the velocities: what happened, whatever acted on the robot."""
    start, stop = max(chosen.start - 1, 0), min(chosen.stop + 1, len(t))
    times = t.t[start:stop]
    if times.size < 2 or np.any(np.diff(times) <= 0.0):
        return np.zeros_like(t.v[chosen])
    rates = np.gradient(t.v[start:stop], times, axis=0)
    return rates[chosen.start - start : chosen.start - start + (chosen.stop - chosen.start)]


def _thinned(t: np.ndarray, chosen: slice, rate: float) -> np.ndarray:
    """Indices of the first sample in each interval 1/rate among the chosen ones."""
    tick = np.floor((t - t[0]) * rate + 1e-9)
    first = np.flatnonzero(np.diff(tick, prepend=-1.0) > 0.0)
    return first[(first >= chosen.start) & (first < chosen.stop)]


def _expanded(robot: Robot) -> Any:
    """The expanded robot, or None for families that have none yet."""
    try:
        return expand(robot)
    except UnsupportedError:
        return None
