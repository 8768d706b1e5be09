"""Units that columns may have, as factors to SI."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi

from flexdyn_ros.errors import UnknownNameError

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
