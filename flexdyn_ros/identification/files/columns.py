"""What a file of measurements or a simulated trajectory holds: columns, their names and units."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.simulation.trajectory import Trajectory

#: names of columns of times
TIMES = ("time", "t", "timestamp", "stamp")


class Table(NamedTuple):
    """Times (n,) [s], or None where a column is yet to be chosen; columns (n,) by name; whether efforts were
    held until the next sample, as far as the file tells; factors to SI of columns whose units it tells."""

    t: np.ndarray | None
    columns: dict[str, np.ndarray]
    held: bool | None = None
    units: Mapping[str, float] = MappingProxyType({})


def is_time(name: str) -> bool:
    """Whether a column is one of times by its name, or by that of its field in a struct."""
    return name.rpartition(".")[2].lower() in TIMES


UNITS = {
    "rad": 1.0, "deg": pi / 180.0, "°": pi / 180.0, "rev": 2.0 * pi, "turn": 2.0 * pi,
    "m": 1.0, "cm": 1e-2, "mm": 1e-3,
    "rad/s": 1.0, "deg/s": pi / 180.0, "rpm": pi / 30.0, "rev/s": 2.0 * pi, "m/s": 1.0, "mm/s": 1e-3,
    "rad/s2": 1.0, "deg/s2": pi / 180.0, "m/s2": 1.0, "rad/s^2": 1.0, "deg/s^2": pi / 180.0,
    "m/s^2": 1.0, "g": 9.80665,
    "N m": 1.0, "Nm": 1.0, "mN m": 1e-3, "kN m": 1e3, "N": 1.0, "kN": 1e3,
    "Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "bar": 1e5,
    "A": 1.0, "mA": 1e-3, "V": 1.0, "mV": 1e-3, "-": 1.0, "1": 1.0, "microstrain": 1e-6,
}  # fmt: skip


#: of columns of times, where a file tells them
TIME_UNITS = {
    "s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9,
    "min": 60.0, "h": 3600.0,
}  # fmt: skip


def factor_of(unit: str, what: str, units: Mapping[str, float] = UNITS) -> float:
    """Factor from a unit to SI.

    Raises
    ------
    UnknownNameError
        For a unit that is not known; `what` names the column.
    """
    UnknownNameError.check(f"unit of {what}", unit, units)
    return units[unit]


#: what is kept of the cylinders
OF_LEGS = ("pressure_bore", "pressure_rod", "stroke")


def columns_of(trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Positions, velocities, efforts and states of elements; of cylinders pressures, strokes, and the
    openings that were held from each sample on."""
    wanted = (
        *trajectory.q_names, *(f"{key}.velocity" for key in trajectory.v_names),
        *(f"{key}.effort" for key in trajectory.effort_names), *trajectory.state_names,
    )  # fmt: skip
    columns = {key: trajectory[key] for key in wanted}
    if trajectory.hydraulics is not None:
        for leg in trajectory.cylinder_names:
            columns |= {key: trajectory[key] for part in OF_LEGS for key in (f"{leg}.{part}",)}
            columns[f"{leg}.valve_command"] = _led_to(trajectory[f"{leg}.valve_command"])
            del columns[f"{leg}.effort"]
    return columns


def _led_to(commands: np.ndarray) -> np.ndarray:
    """Commands from each sample on, of those that led to it."""
    return np.append(commands[1:], commands[-1])
