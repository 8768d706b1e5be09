"""Units by their ratios: a rate that is a multiple of what it should be tells which unit was meant."""

from __future__ import annotations

from itertools import product
from math import log, pi

__all__ = ["causes_of", "causes_of_times"]

#: how far the logarithm of a factor may be from that of units
_NEAR = 0.03
#: how many of a unit are one of SI
_OF = {
    "rad": {"rad": 1.0, "degrees": 180.0 / pi, "turns": 0.5 / pi},
    "rad/s": {"rad/s": 1.0, "deg/s": 180.0 / pi, "rpm": 30.0 / pi, "turns/s": 0.5 / pi},
    "m": {"m": 1.0, "mm": 1e3, "cm": 1e2, "inches": 1.0 / 0.0254},
    "m/s": {"m/s": 1.0, "mm/s": 1e3, "cm/s": 1e2, "m/min": 60.0, "mm/min": 6e4, "inches/s": 1.0 / 0.0254},
    "rad/s2": {"rad/s2": 1.0, "deg/s2": 180.0 / pi, "turns/s2": 0.5 / pi},
    "m/s2": {"m/s2": 1.0, "mm/s2": 1e3, "cm/s2": 1e2, "g": 1.0 / 9.80665},
}
_RATES = {"rad": "rad/s", "m": "m/s", "rad/s": "rad/s2", "m/s": "m/s2"}
_TIMES = {
    "s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "minutes": 1.0 / 60.0, "hours": 1.0 / 3600.0,
    "days": 1.0 / 86400.0,
}  # fmt: skip
_SI = ("rad", "rad/s", "rad/s2", "m", "m/s", "m/s2", "s")


def causes_of(factor: float, unit: str, values: str = "positions", rates: str = "rates") -> str:
    """What may be why a column is a multiple of the rate of another; empty if no units are.

    Parameters
    ----------
    factor : float
        The multiple, positive.
    unit : str
        Of the other column, as it should be: rad, m, rad/s or m/s.
    values, rates : str
        What the other column, and the one of rates, are called.
    """
    if unit not in _RATES:
        return ""
    found: dict[int, list[tuple[float, str]]] = {}
    choices = product(_OF[unit].items(), _OF[_RATES[unit]].items(), _TIMES.items())
    for (own, many), (of_rate, rate), (time, ticks) in choices:
        apart = abs(log(rate * ticks / many / factor))
        if apart < _NEAR:
            words = [("times", time), (rates, of_rate), (values, own)]
            odd = [f"{what} in {name}" for what, name in words if name not in _SI]
            found.setdefault(len(odd), []).append((apart, " and ".join(odd)))
    found.pop(0, None)
    return " or ".join(text for _, text in sorted(found[min(found)])[:3]) if found else ""


def causes_of_times(latest: float) -> str:
    """The unit of times since 1970 that reach so far."""
    return "ns" if latest > 1e17 else "us" if latest > 1e14 else "ms"
