"""Columns that a simulation predicts: coordinates, rates, frames, bending of links, what actuators show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot

#: names of their numbers
SENSOR = re.compile(r"(.+)\.(factor|offset|cutoff|ratio)")
#: where they start unless told: no low pass has a start of its own
START = {"factor": 1.0, "offset": 0.0, "ratio": 0.5**0.5}


class Sensor(NamedTuple):
    """column = factor * low pass(value) + offset; natural frequency of the low pass [Hz], infinite without
    one, and its damping ratio."""

    factor: float = 1.0
    offset: float = 0.0
    cutoff: float = np.inf
    ratio: float = START["ratio"]

    def seen(self, values: np.ndarray, step: float) -> np.ndarray:
        """What it makes of values (n,), a step apart [s], at rest before the first."""
        if np.isfinite(self.cutoff):
            values = _low_passed(values, self.cutoff, self.ratio, step)
        return self.factor * values + self.offset


def sensors_of(values: Mapping[str, float]) -> dict[str, Sensor]:
    """Sensors by column, of numbers COLUMN.factor and so on."""
    found: dict[str, Sensor] = {}
    for name, value in values.items():
        match = SENSOR.fullmatch(name)
        if match:
            found[match[1]] = found.get(match[1], Sensor())._replace(**{match[2]: value})
    return found


def _low_passed(values: np.ndarray, cutoff: float, ratio: float, step: float) -> np.ndarray:
    """w^2 / (s^2 + 2 z w s + w^2) by the trapezoidal rule, from rest at the first value."""
    from scipy.signal import lfilter, lfilter_zi

    g = np.pi * max(cutoff, 1e-6) * step  # w h / 2
    below = np.array([1.0 + 2.0 * ratio * g + g * g, 2.0 * (g * g - 1.0), 1.0 - 2.0 * ratio * g + g * g])
    above = g * g * np.array([1.0, 2.0, 1.0])
    b, a = above / below[0], below / below[0]
    found, _ = lfilter(b, a, values, zi=lfilter_zi(b, a) * values[0])
    return np.asarray(found)


_OF_FRAME = re.compile(r"(.+)\.([xyz])")
_OF_IMU = re.compile(r"(.+)\.(angular_velocity|linear_acceleration)\.([xyz])")
_IMU = {"angular_velocity": "rad/s", "linear_acceleration": "m/s2"}
_OF_LINK = re.compile(r"([^@]+)@([0-9.eE+-]+)\.(strain|(?:displacement|rotation|curvature)_[xyz])")
_BENT = {"strain": "-", "displacement": "m", "rotation": "rad", "curvature": "1/m"}


#: units of what actuators show, by how its column ends
_SHOWN = {"pressure": "Pa", "pressure_bore": "Pa", "pressure_rod": "Pa", "stroke": "m", "force": "N"}


class Channel(NamedTuple):
    """A column that is predicted: its name, kind (position, velocity, frame, imu, link, actuator), unit, and
    of coordinates their place in q or v."""

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
                "FRAME.angular_velocity.x, FRAME.linear_acceleration.x, LINK@STATION.strain (of "
                "links with a section), .displacement_y, .rotation_z or .curvature_z, ACTUATOR.pressure, "
                "LEG.pressure_bore, .pressure_rod, .stroke or .force"
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
    if link and link[1] in robot.description.flexible_links and _is_known(robot, *link.group(1, 3)):
        return Channel(name, "link", _BENT[link[3].partition("_")[0]])
    actuator, _, part = name.rpartition(".")
    if actuator in robot.effort_names and part in _SHOWN:
        return Channel(name, "actuator", _SHOWN[part])
    imu = _OF_IMU.fullmatch(name)
    if imu and imu[1] in robot.frame_names:
        return Channel(name, "imu", _IMU[imu[2]])
    frame = _OF_FRAME.fullmatch(name)
    if frame and frame[1] in robot.frame_names:
        return Channel(name, "frame", "m")
    return None


def _is_known(robot: Robot, link: str, part: str) -> bool:
    """Strains are not where a link has no section."""
    return part != "strain" or not np.isnan(robot.deflections(robot.neutral(), [0.0])[link].strain).any()


class Simulated(NamedTuple):
    """Times (n,), states q (n, nq) and v (n, nv), and what actuators showed (n, m), by columns `shown`."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    actuators: np.ndarray
    shown: tuple[str, ...]


def predicted(robot: Robot, channels: Sequence[Channel], run: Simulated) -> np.ndarray:
    """Values (n, k) of k channels."""
    poses: dict[str, np.ndarray] = {}

    def pose(frame: str) -> np.ndarray:
        if frame not in poses:
            poses[frame] = robot.frames(run.q, frame)
        return poses[frame]

    def column(channel: Channel) -> np.ndarray:
        if channel.kind == "position":
            return run.q[:, channel.place]
        if channel.kind == "velocity":
            return run.v[:, channel.place]
        if channel.kind == "actuator":
            return run.actuators[:, run.shown.index(channel.name)]
        if channel.kind == "frame":
            frame, axis = channel.name.rsplit(".", 1)
            return pose(frame)[:, "xyz".index(axis), 3]
        return (
            _felt(robot, channel.name, run, pose)
            if channel.kind == "imu"
            else _bent(robot, channel.name, run.q)
        )

    return np.column_stack([column(channel) for channel in channels])


def _felt(robot: Robot, name: str, run: Simulated, pose: Callable[[str], np.ndarray]) -> np.ndarray:
    """What an IMU at a frame shows along one of its axes: angular velocity, or acceleration less gravity, the
    slope of the frame's velocity over the samples."""
    match = _OF_IMU.fullmatch(name)
    assert match is not None, name
    frame, part, axis = match.groups()
    twist = robot.frame_velocity(run.q, run.v, frame)
    if part == "angular_velocity":
        values = twist[:, :3]
    else:
        values = np.gradient(twist[:, 3:], run.t, axis=0, edge_order=2) - robot.gravity
    return np.einsum("nj,nj->n", pose(frame)[:, :3, "xyz".index(axis)], values)


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
